"""What a result is of: the same by task, by bench document, by record and by row."""

import json

import msgspec
import pytest
from msgspec.structs import replace
from tests.bench_document import DOCUMENT
from tests.examples import built, edited, example_result

from leaselab.archive.row import row_of
from leaselab.lab.deploy.bench_file import parse_bench
from leaselab.model.identity import Conditions, Subject
from leaselab.model.procedures import procedure_of

RESULT = example_result()


def changed(server=None, **fields):
    """The scenario's result with other fields, and with other ones of its server."""
    asked = RESULT.scenario
    fields |= {"server": replace(asked.server, **server)} if server else {}
    return replace(RESULT, scenario=replace(asked, **fields))


OPTIONS = RESULT.scenario.server.options
DEFAULTED = {"options": {**OPTIONS, "new": 1}, "defaulted": ("new",)}


@pytest.mark.parametrize(
    ("other", "same"),
    [
        (changed(description="Another text", factors={}), True),
        (changed(DEFAULTED), True),
        (changed(name="v4-memfile-mt"), False),
        (changed({"options": {**OPTIONS, "queue_size": 1}}), False),
    ],
    ids=["what says it again", "a new option's default", "another name", "another option"],
)
def test_a_scenario_is_the_same_by_its_name_and_settings(other, same):
    first, second = Subject.of_record(RESULT), Subject.of_record(other)
    assert first.same_scenario(second) is second.same_scenario(first) is same


def test_a_subject_is_the_same_whatever_it_was_made_from():
    record = built(RESULT, "b" * 40)
    document = json.loads(json.dumps(DOCUMENT))
    document["scenario"] = msgspec.to_builtins(record.scenario)
    document["servers"]["server"]["build"] = {"source": {"hash": "b" * 40, "tree": "b" * 40}}
    of_record = Subject.of_record(record)
    assert of_record.is_like(Subject.of_bench(parse_bench(document, "tests")))
    assert of_record.is_like(Subject.of_commit(record.scenario, record.source))
    assert not of_record.is_like(Subject.of_commit(record.scenario, None))


def test_conditions_are_the_same_whatever_they_were_made_from():
    commit = {"commit": "c" * 40}
    record = edited(RESULT, lambda document: document["generator"].update(options=commit))
    document = {
        **DOCUMENT,
        "name": record.bench.name,
        "environment": record.bench.environment,
        "generator": {**DOCUMENT["generator"], "settings": commit},
        "procedure": msgspec.to_builtins(record.procedure),
    }
    conditions = Conditions.of_record(record)
    assert conditions == Conditions.of_row(row_of(record, "2026/11/x"))
    assert conditions == Conditions.of_bench(parse_bench(document, "tests"))
    assert conditions == Conditions.by(("docker", "1"), "c" * 40, record.procedure)


def test_another_procedure_is_of_the_same_lab_and_no_other_place_or_generator_is():
    conditions, procedure = Conditions.of_record(RESULT), RESULT.procedure
    burst = Conditions.by(conditions.place, None, procedure_of({"name": "burst"}))
    assert conditions != burst
    assert conditions.same_lab(burst)
    others = [(("docker", "2"), None), (("rack1", "1"), None), (conditions.place, "c" * 40)]
    for other in others:
        assert not conditions.same_lab(Conditions.by(*other, procedure))
