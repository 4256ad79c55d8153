"""bench.json: what the engine takes from Ansible, and what it refuses."""

import copy

import pytest
from tests.bench_document import DOCUMENT

from leaselab.lab.bench.lock import lease_s
from leaselab.lab.contract.server import PROFILE_END_S
from leaselab.lab.deploy.bench_file import parse_bench
from leaselab.model.errors import LeaselabError, Outcome
from leaselab.model.procedures.max_rate import MaxRate


@pytest.fixture
def document():
    return copy.deepcopy(DOCUMENT)


def refused(document, match):
    with pytest.raises(LeaselabError, match=match) as caught:
        parse_bench(document, "bench.json")
    assert caught.value.outcome is Outcome.USAGE
    assert caught.value.where


def test_a_document_becomes_a_bench(document):
    bench = parse_bench(document, "bench.json")
    assert bench.hosts["generator"].access.port == 22041
    assert bench.hosts["server"].facts["governor"] is None
    assert bench.scenario.name == "v4-memfile"


def test_a_procedure_names_only_what_differs(document):
    procedure = parse_bench(document, "bench.json").procedure
    assert procedure == MaxRate(rounds=3, trim=0, late_s=1.0, loss_ratio=0.025)


@pytest.mark.parametrize("role", ["server", "generator"])
def test_a_bench_needs_both_hosts(document, role):
    del document["hosts"][role]
    refused(document, f"no host for the {role}")


@pytest.mark.parametrize("version", [None, 0, 1, 3, "2"])
def test_another_schema_version_is_refused(document, version):
    document["schema_version"] = version
    refused(document, "schema version is not this leaselab's")


@pytest.mark.parametrize("content", [[], "text", 1, None])
def test_another_json_than_an_object_is_refused(content):
    refused(content, "not a JSON object")


def test_a_misspelt_parameter_names_the_right_one(document):
    document["procedure"]["ruonds"] = 3
    refused(document, "did you mean 'rounds'")


def test_a_scenario_is_one_of_this_version(document):
    document["scenario"]["lease_lifetime_s"] = 60
    refused(document, "unknown key 'lease_lifetime_s'")


def pair(document):
    """Let a pair serve, on two hosts."""
    document["scenario"]["partner"] = True
    document["servers"]["partner"] = document["servers"]["server"]
    document["hosts"]["partner"] = document["hosts"]["server"]


@pytest.mark.parametrize("part", ["servers", "hosts"])
def test_a_pair_needs_its_partner(document, part):
    pair(document)
    assert parse_bench(document, "bench.json").partner
    del document[part]["partner"]
    refused(document, "no partner for the pair")


def support(document):
    """Have something serve for the server, on the partner's host."""
    pair(document)
    document["scenario"] |= {"partner": False, "support": {"kind": "mysql", "options": {}}}


@pytest.mark.parametrize("part", ["servers", "hosts"])
def test_a_support_needs_its_host(document, part):
    support(document)
    assert parse_bench(document, "bench.json").partner
    del document[part]["partner"]
    refused(document, "no support")


def test_a_lock_lasts_until_a_support_and_then_the_server_have_started(document):
    alone = lease_s(parse_bench(document, "bench.json"))
    support(document)
    assert lease_s(parse_bench(document, "bench.json")) == 300 > alone


def test_a_bench_needs_its_server(document):
    document["servers"] = {}
    refused(document, r"no server.*wanted servers\.server")


def test_a_lock_outlasts_the_end_of_a_profile(document):
    document["procedure"] = {"name": "profile", "rate": 100}
    assert lease_s(parse_bench(document, "bench.json")) > PROFILE_END_S


def test_a_lock_outlasts_what_comes_between_its_renewals(document):
    """A start of the server; with a database and a partner, what these take to start."""
    assert lease_s(parse_bench(document, "bench.json")) == 60
    document["servers"]["server"]["start_limit_s"] = 1150.0
    assert lease_s(parse_bench(document, "bench.json")) == 1150
    del document["servers"]["server"]["start_limit_s"]
    document["scenario"]["beside"] = {"mysql": {}}
    assert lease_s(parse_bench(document, "bench.json")) == 150
    document["servers"]["server"]["settle_s"] = 25.0
    pair(document)
    assert lease_s(parse_bench(document, "bench.json")) == 2 * 150 + 2 * 25
