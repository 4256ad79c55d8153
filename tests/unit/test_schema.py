"""The schema of results: made of the types, described in full, and kept by what is written."""

import json
import re

import pytest
from jsonschema import Draft202012Validator
from msgspec.structs import replace
from tests.examples import confirmed, edited, example_result, invalid_result

from leaselab.archive.schema import SCHEMA_PATH, SCHEMA_VERSION, decode, encode, json_schema
from leaselab.model.errors import LeaselabError, Outcome

SCHEMA = json.loads(SCHEMA_PATH.read_text(encoding="utf-8"))
VALIDATOR = Draft202012Validator(SCHEMA)
EXAMPLES = {
    "ok": example_result(),
    "built": example_result(commit="1a2b3c4d5e6f7a8b"),
    "six": example_result(scenario="v6-memfile-mt"),
    "invalid": invalid_result(),
    "confirmed": confirmed(example_result()),
    "not sustained": confirmed(example_result(), loss=0.3),
}
FIELDS = {
    f"{name}.{field}": described
    for name, definition in SCHEMA["$defs"].items()
    for field, described in definition["properties"].items()
}


def changed(edit):
    """The JSON document of the example after `edit` has changed it in place."""
    document = json.loads(encode(example_result()))
    edit(document)
    return document


def part_of(document, place):
    """The part at a place, such as ``rounds.0``."""
    for name in filter(None, place.split(".")):
        document = document[int(name) if name.isdigit() else name]
    return document


def refusal(document):
    """How reading a document ends; the file of the schema has to refuse it as well."""
    assert not VALIDATOR.is_valid(document)
    with pytest.raises(LeaselabError) as caught:
        decode(json.dumps(document).encode(), "a sweep")
    assert (caught.value.outcome, caught.value.where) == (Outcome.USAGE, "a sweep")
    return caught.value


def test_the_file_is_a_schema_and_what_the_types_say():
    """Else `PYTHONPATH=scripts .venv/bin/python -m leaselab.archive.schema` renews it."""
    Draft202012Validator.check_schema(SCHEMA)
    assert json.loads(json.dumps(json_schema())) == SCHEMA
    version = SCHEMA["$defs"]["Record"]["properties"]["schema_version"]
    assert version["enum"] == [SCHEMA_VERSION]
    assert SCHEMA["$id"].endswith(f"result-{SCHEMA_VERSION}.json")


def test_every_field_is_described():
    every = FIELDS | SCHEMA["$defs"]
    assert [name for name, what in every.items() if not what.get("description")] == []
    assert len(FIELDS) > 150


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("Percentiles.p99.9", "99.9th percentile (s)."),  # another name than its attribute's
        ("MaxRate.rounds", "Rounds planned."),  # inherited
        ("MaxRate.name", "The word for it, such as ``max-rate``."),  # what identifies it
        ("Commit.hash", "Full hash of the commit."),  # a dataclass of another module
        ("Sample.udp_drops", "null where the kernel does not report them."),  # two lines
    ],
)
def test_words_are_those_below_the_field(path, words):
    assert FIELDS[path]["description"].endswith(words)


def test_every_number_says_its_unit_or_what_it_counts():
    """A field of seconds, bytes or rates names the unit; the others are counts or ratios."""
    units = ("(s)", "/s)", "(s since", "(bytes)", "(us)", "(ratio)", "(0..1)", "(Mbit/s)")
    named = ("_s", "_bytes", "_us", "_mbps", "rate", "ratio", "p50", "p90", "p99", "p99.9")
    words = ("t", "max", "lower", "upper", "at_least", "seconds", "spread", "relative_width")
    missing = [
        path
        for path, field in FIELDS.items()
        if re.search(r"'type': '(number|integer)'", str(field))
        and ((name := path.partition(".")[2]).endswith(named) or name in words)
        and not any(unit in field["description"] for unit in units)
    ]
    assert missing == []


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_examples_fit_and_are_read_back_as_they_were(name):
    content = encode(EXAMPLES[name])
    VALIDATOR.validate(json.loads(content))
    assert decode(content, "here") == EXAMPLES[name]


def test_every_field_is_written():
    """Those at their defaults too: who reads the file needs no types."""
    document = json.loads(encode(example_result()))
    assert document["schema_version"] == SCHEMA_VERSION
    for kind, part in {
        "Record": document,
        "Round": document["rounds"][0],
        "Trial": document["rounds"][0]["trials"][0],
        "Server": document["servers"]["server"],
        "MaxRate": document["procedure"],
        "Metric": document["metrics"][0],
    }.items():
        assert list(part) == list(SCHEMA["$defs"][kind]["properties"])


def test_the_stable_core_is_required():
    core = {
        "Record": (
            "schema_version id started_at finished_at outcome "
            "scenario procedure servers generator bench metrics provenance"
        ),
        "Scenario": "name server generator transaction",
        "MaxRate": "name",  # the others have defaults, and are written all the same
        "Metric": "name title unit better value how",
        "Round": "index started_at metrics traffic_s wall_s",
        "Trial": "rate duration_s attempted completed late lost traffic_s",
    }
    for kind, names in core.items():
        assert SCHEMA["$defs"][kind]["required"] == names.split()
    for name in core["Record"].split():
        error = refusal(changed(lambda document, name=name: document.pop(name)))
        assert name in error.found


@pytest.mark.parametrize(
    ("place", "field", "value", "named"),
    [
        ("rounds.2", "max_rat", 1, "$.rounds[2]"),
        ("procedure", "loss", 0.1, "$.procedure"),
        ("procedure", "name", "soak", "$.procedure.name"),
        ("metrics.0", "mean", 1, "$.metrics[0]"),
        ("metrics.0", "ci95", [1.0], "$.metrics[0].ci95"),
        ("rounds.0.trials.1", "completed", 1.5, "$.rounds[0].trials[1].completed"),
        ("rounds.0.trials.1", "lost", -1, "$.rounds[0].trials[1].lost"),
        ("rounds.0.trials.1", "traffic_s", -0.1, "$.rounds[0].trials[1].traffic_s"),
        ("", "outcome", "fine", "$.outcome"),
        ("", "id", "last", "$.id"),
        ("", "started_at", "yesterday", "$.started_at"),
        ("servers.server", "commit", "HEAD", "commit"),
        ("servers.server", "program_sha256", "12", "program_sha256"),
        ("bench.hosts.server", "memory_bytes", "64G", "memory_bytes"),
    ],
)
def test_what_does_not_fit_is_named(place, field, value, named):
    error = refusal(changed(lambda document: part_of(document, place).update({field: value})))
    assert named in error.found


@pytest.mark.parametrize(
    "parent", ["", "scenario", "servers.server", "bench", "generator", "provenance"]
)
def test_more_fields_are_welcome_where_things_are_described(parent):
    document = changed(lambda known: part_of(known, parent).update(more={"text": 1}))
    VALIDATOR.validate(document)
    assert decode(json.dumps(document).encode(), "here") == example_result()


def test_what_cannot_be_known_is_null():
    def forget(document):
        for metric in document["metrics"]:
            metric |= {"value": None, "ci95": None, "standard_error": None, "spread": None}
        server = document["servers"]["server"]
        kept = ("name", "holds", "libraries_sha256", "tuning", "beside")
        server |= dict.fromkeys(set(server) - set(kept))
        hosts = document["bench"]["hosts"]
        document["bench"]["hosts"] = {role: dict.fromkeys(host) for role, host in hosts.items()}
        trial = document["rounds"][0]["trials"][0]
        trial |= {"cpu_us": None, "raw_file": None, "samples": {}}
        trial["latency_s"] = dict.fromkeys(trial["latency_s"])
        trial["per_second"][0]["attempted"] = None

    record = edited(example_result(), forget)
    VALIDATOR.validate(json.loads(encode(record)))
    assert decode(encode(record), "here") == record


def test_a_record_that_its_types_do_not_allow_is_not_written():
    with pytest.raises(ValueError, match=r"20261121T113005Z-v4-memfile-3f9a: .*outcome"):
        encode(replace(example_result(), outcome="fine"))
    with pytest.raises(ValueError, match="value: too long, too deep or out of range: nan"):
        replace(example_result().figure, value=float("nan"))


@pytest.mark.parametrize("version", [0, 1, 3, "2", None])
def test_a_result_of_another_version_is_refused(version):
    error = refusal(changed(lambda document: document.update(schema_version=version)))
    assert (error.found, error.wanted) == (f"schema version {version}", "2")


@pytest.mark.parametrize("content", [b"", b"{", b"\xff", b"[]", b"1", b"null", b"{}"])
def test_what_is_no_result_is_said_to_be_none(content):
    with pytest.raises(LeaselabError, match="not a result") as caught:
        decode(content, "here")
    assert (caught.value.outcome, caught.value.where) == (Outcome.USAGE, "here")
