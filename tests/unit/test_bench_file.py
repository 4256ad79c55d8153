"""bench.json: what the engine takes from Ansible, and what it refuses."""

import copy

import pytest
from tests import refusals
from tests.bench_document import DOCUMENT

from leaselab.lab.bench.lock import lease_s
from leaselab.lab.contract.server import PROFILE_END_S
from leaselab.lab.contract.servers import apart, can_have_company
from leaselab.lab.deploy.bench_file import parse_bench
from leaselab.model.procedures.max_rate import MaxRate


@pytest.fixture
def document():
    return copy.deepcopy(DOCUMENT)


def refused(document, match):
    with refusals.refused(match) as caught:
        parse_bench(document, "bench.json")
    assert caught.value.where


def test_a_document_becomes_a_bench(document):
    bench = parse_bench(document, "bench.json")
    assert bench.hosts["generator"].access.port == 22041
    assert bench.hosts["server"].facts["governor"] is None
    assert bench.scenario.name == "v4-memfile"


def test_a_procedure_names_only_what_differs(document):
    procedure = parse_bench(document, "bench.json").procedure
    assert procedure == MaxRate(rounds=3, trim=0, late_s=1.0, loss_ratio=0.025)


@pytest.mark.parametrize(
    ("part", "lost", "what"),
    [
        ("hosts", "server", "no host for the server"),
        ("hosts", "generator", "no host for the generator"),
        ("servers", "server", r"no server.*wanted servers\.server"),
    ],
)
def test_a_bench_needs_both_hosts_and_its_server(document, part, lost, what):
    del document[part][lost]
    refused(document, what)


@pytest.mark.parametrize("version", [None, 0, 1, 3, "2"])
def test_another_schema_version_is_refused(document, version):
    refused(document | {"schema_version": version}, "schema version is not this leaselab's")


@pytest.mark.parametrize("content", [[], "text", 1, None])
def test_another_json_than_an_object_is_refused(content):
    refused(content, "not a JSON object")


def pair(document):
    """Let a pair serve, on two hosts."""
    document["scenario"]["partner"] = True
    document["servers"]["partner"] = document["servers"]["server"]
    document["hosts"]["partner"] = document["hosts"]["server"]


def support(document):
    """Have something serve for the server, on the partner's host."""
    pair(document)
    document["scenario"] |= {"partner": False, "support": {"kind": "mysql", "options": {}}}


@pytest.mark.parametrize("part", ["servers", "hosts"])
@pytest.mark.parametrize(
    ("beside", "what"), [(pair, "no partner for the pair"), (support, "no support")]
)
def test_a_pair_needs_its_partner_and_a_support_its_host(document, part, beside, what):
    beside(document)
    assert parse_bench(document, "bench.json").partner
    del document[part]["partner"]
    refused(document, what)


def test_a_lock_outlasts_what_comes_between_its_renewals(document):
    """A start of the server; with a database and a partner, what these take to start."""

    def lasts():
        return lease_s(parse_bench(document, "bench.json"))

    assert lasts() == 60
    document["servers"]["server"]["start_limit_s"] = 1150.0
    assert lasts() == 1150
    del document["servers"]["server"]["start_limit_s"]
    document["scenario"]["beside"] = {"mysql": {}}
    assert lasts() == 150
    document["servers"]["server"]["settle_s"] = 25.0
    pair(document)
    assert lasts() == 2 * 150 + 2 * 25
    document["servers"]["server"]["settle_s"] = 0.0
    support(document)
    assert lasts() == 300, "of the support, and then of the server"
    document["procedure"] = {"name": "profile", "rate": 100}
    assert lasts() > PROFILE_END_S


def test_a_server_that_declares_it_can_have_company_where_there_is_a_second_place(document):
    """One that does not declare it, has no second place or is of a pair cannot."""

    def can():
        return can_have_company(parse_bench(document, "bench.json"))

    server, there = document["servers"]["server"], document["hosts"]["server"]
    server["capabilities"] = ["two-addresses"]
    assert not can()
    there["second"] = {"interface": "leaselab2", "address": "198.18.0.11"}
    assert can()
    server["capabilities"] = ["crash", "list"]
    assert not can()
    server["capabilities"] = ["two-addresses"]
    pair(document)
    assert not can()


@pytest.mark.parametrize("change", [{}, {"relayed": True}])
def test_a_load_apart_is_heard_by_its_own_server_alone(document, change):
    document["servers"]["server"] |= {"load_apart": change} if change else {}
    bench = parse_bench(document, "bench.json")
    assert apart(bench).scenario.load == {**bench.scenario.load, **change}
