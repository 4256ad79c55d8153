"""The schema of results, and the example that the other tests use."""

import copy
import json

import pytest
from jsonschema import Draft202012Validator
from tests.examples import example_result, invalid_result

from leaselab.archive.schema import SCHEMA_VERSION, check_document, load_schema
from leaselab.model.errors import LeaselabError, Outcome


def fields(schema, path="$"):
    """Every field of the schema with its path."""
    for name, field in schema.get("properties", {}).items():
        yield f"{path}.{name}", field
        yield from fields(field, f"{path}.{name}")
    for name, definition in schema.get("$defs", {}).items():
        yield f"#{name}", definition
        yield from fields(definition, f"#{name}")
    if "items" in schema:
        yield from fields(schema["items"], f"{path}[]")


def test_the_schema_is_one():
    Draft202012Validator.check_schema(load_schema())


def test_every_field_is_described():
    bare = [
        path
        for path, field in fields(load_schema())
        if "$ref" not in field and not field.get("description")
    ]
    assert bare == []


def test_every_number_says_its_unit_or_what_it_counts():
    """A field of seconds, bytes or rates names the unit; the others are counts or ratios."""
    units = ("(s)", "/s)", "(bytes)", "(us)", "(ratio)", "per second", "(1/s)")
    named = ("_s", "_bytes", "rate", "_bound", "p50", "p90", "p99", "p99.9")
    missing = [
        path
        for path, field in fields(load_schema())
        if "number" in str(field.get("type"))
        and path.rpartition(".")[2].endswith(named)
        and not any(unit in field["description"] for unit in units)
    ]
    assert missing == []


@pytest.mark.parametrize("build", [example_result, invalid_result])
def test_the_examples_fit(build):
    check_document(build())
    check_document(json.loads(json.dumps(build())))


def test_the_stable_core_is_required():
    document = example_result()
    core = {
        "": (
            "schema_version id started_at finished_at outcome reasons "
            "scenario goal server bench runs summary"
        ),
        "scenario": "name family backend",
        "goal": "loss_ratio late_s relative_width",
        "server": "name version commit config_sha256",
        "bench": "name environment hosts",
        "summary": "max_rate cpu_us_per_exchange traffic_s wall_s",
    }
    for parent, names in core.items():
        for name in names.split():
            short = copy.deepcopy(document)
            del (short[parent] if parent else short)[name]
            with pytest.raises(LeaselabError, match=f"'{name}' is a required property"):
                check_document(short)


@pytest.mark.parametrize(
    ("change", "field"),
    [
        (lambda d: d["runs"][2].update(max_rat=1), "runs[2]"),
        (lambda d: d["goal"].update(loss=0.1), "goal"),
        (lambda d: d["summary"]["max_rate"].update(mean=1), "summary.max_rate"),
        (
            lambda d: d["runs"][0]["trials"][1].update(completed=1.5),
            "runs[0].trials[1].completed",
        ),
        (lambda d: d["runs"][0]["trials"][1].update(loss_ratio=1.2), "loss_ratio"),
        (lambda d: d.update(outcome="fine"), "outcome"),
        (lambda d: d.update(started_at="yesterday"), "started_at"),
        (lambda d: d["server"].update(commit="HEAD"), "server.commit"),
        (lambda d: d.update(schema_version=2), "schema_version"),
        (lambda d: d["bench"]["hosts"]["server"].update(memory_bytes="64G"), "memory_bytes"),
    ],
)
def test_what_does_not_fit_is_named(change, field):
    document = example_result()
    change(document)
    with pytest.raises(LeaselabError) as caught:
        check_document(document, where="a sweep")
    assert caught.value.outcome is Outcome.LAB
    assert caught.value.where == "a sweep"
    assert field in caught.value.what


@pytest.mark.parametrize(
    "parent", ["", "scenario", "server", "bench", "generator", "provenance"]
)
def test_more_fields_are_welcome_where_things_are_described(parent):
    document = example_result()
    (document[parent] if parent else document)["more"] = {"text": 1}
    check_document(document)


def test_what_cannot_be_known_is_null():
    document = example_result()
    document["summary"] |= {
        "max_rate": None,
        "completed_rate": None,
        "cpu_us_per_exchange": None,
        "traffic_share": None,
    }
    document["server"] |= dict.fromkeys(set(document["server"]) - {"name"})
    hosts = document["bench"]["hosts"]
    document["bench"]["hosts"] = {role: dict.fromkeys(host) for role, host in hosts.items()}
    trial = document["runs"][0]["trials"][0]
    trial |= {"cpu_us_per_exchange": None, "raw_file": None, "seed": None, "samples": []}
    trial["latency_s"] = dict.fromkeys(trial["latency_s"])
    check_document(document)


def test_the_version_of_schema_and_code_agree():
    assert load_schema()["properties"]["schema_version"] == {
        "description": "Raised when a field changes its meaning or goes away",
        "const": SCHEMA_VERSION,
    }
