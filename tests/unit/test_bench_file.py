"""bench.json: what the engine takes from Ansible, and what it refuses."""

import copy
import json

import pytest
from tests.bench_document import DOCUMENT

from leaselab.lab.bench_file import parse_bench, read_bench
from leaselab.model.errors import LeaselabError, Outcome


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


def test_a_plan_names_only_what_differs(document):
    plan = parse_bench(document, "bench.json").plan
    assert (plan.runs, plan.trim, plan.goal.late_s, plan.goal.loss_ratio) == (3, 0, 1.0, 0.025)


def test_it_is_read_from_a_file(tmp_path, document):
    path = tmp_path / "bench.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    assert read_bench(path) == parse_bench(document, "elsewhere")


@pytest.mark.parametrize("role", ["server", "generator"])
def test_a_bench_needs_both_hosts(document, role):
    del document["hosts"][role]
    refused(document, f"no host for the {role}")


@pytest.mark.parametrize("version", [None, 0, 2, "1"])
def test_another_schema_version_is_refused(document, version):
    document["schema_version"] = version
    refused(document, "schema version is not this leaselab's")


@pytest.mark.parametrize("content", [[], "text", 1, None])
def test_another_json_than_an_object_is_refused(content):
    refused(content, "not a JSON object")


def test_a_misspelt_parameter_names_the_right_one(document):
    document["plan"]["rnus"] = 3
    refused(document, "did you mean 'runs'")


def test_a_scenario_that_cannot_hold_its_sweep_is_refused(document):
    document["scenario"]["lease_lifetime_s"] = 60
    refused(document, "leases could expire")


def test_a_missing_file_says_how_it_is_made(tmp_path):
    with pytest.raises(LeaselabError, match=r"no such file.*deploy and tune first") as caught:
        read_bench(tmp_path / "bench.json")
    assert caught.value.outcome is Outcome.USAGE


@pytest.mark.parametrize("content", [b"", b"{", b"\xff\xfe"])
def test_a_damaged_file_is_refused(tmp_path, content):
    path = tmp_path / "bench.json"
    path.write_bytes(content)
    with pytest.raises(LeaselabError, match="not readable") as caught:
        read_bench(path)
    assert caught.value.outcome is Outcome.USAGE
