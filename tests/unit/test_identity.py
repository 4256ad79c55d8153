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


def with_scenario(record, **fields):
    return replace(record, scenario=replace(record.scenario, **fields))


def with_option(record, **options):
    server = replace(record.scenario.server, **options)
    return with_scenario(record, server=server)


def test_a_subject_is_the_same_whatever_it_was_made_from():
    record = built(RESULT, "b" * 40)
    document = json.loads(json.dumps(DOCUMENT))
    document["scenario"] = msgspec.to_builtins(record.scenario)
    document["servers"]["server"]["build"] = {"source": {"hash": "b" * 40, "tree": "b" * 40}}
    of_record = Subject.of_record(record)
    assert of_record.is_like(Subject.of_bench(parse_bench(document, "tests")))
    assert of_record.is_like(Subject.of_commit(record.scenario, record.source))
    assert not of_record.is_like(Subject.of_commit(record.scenario, None))


@pytest.mark.parametrize(
    ("other", "same"),
    [
        (with_scenario(RESULT, description="Another text", factors={}), True),
        (with_scenario(RESULT, name="v4-memfile-mt"), False),
        (with_option(RESULT, options={"backend": "memfile", "queue_size": 1}), False),
        (
            with_option(
                RESULT,
                options={**RESULT.scenario.server.options, "new": 1},
                defaulted=("new",),
            ),
            True,
        ),
    ],
    ids=["what says it again", "another name", "another option", "a new option's default"],
)
def test_a_scenario_is_the_same_by_its_name_and_settings(other, same):
    first, second = Subject.of_record(RESULT), Subject.of_record(other)
    assert first.same_scenario(second) is second.same_scenario(first) is same


def test_conditions_are_the_same_whatever_they_were_made_from():
    def of_generator(document):
        document["generator"]["options"] = {"commit": "c" * 40}

    record = edited(RESULT, of_generator)
    document = {
        **DOCUMENT,
        "name": record.bench.name,
        "environment": record.bench.environment,
        "generator": {**DOCUMENT["generator"], "settings": {"commit": "c" * 40}},
        "procedure": msgspec.to_builtins(record.procedure),
    }
    conditions = Conditions.of_record(record)
    assert conditions == Conditions.of_row(row_of(record, "2026/11/x"))
    assert conditions == Conditions.of_bench(parse_bench(document, "tests"))
    assert conditions == Conditions.by(("docker", "1"), "c" * 40, record.procedure)


def test_another_procedure_is_of_the_same_lab_and_no_other_place_or_generator_is():
    conditions = Conditions.of_record(RESULT)
    burst = Conditions.by(conditions.place, None, procedure_of({"name": "burst"}))
    assert conditions != burst
    assert conditions.same_lab(burst)
    for other in (
        Conditions.by(("docker", "2"), None, RESULT.procedure),
        Conditions.by(("rack1", "1"), None, RESULT.procedure),
        Conditions.by(conditions.place, "c" * 40, RESULT.procedure),
    ):
        assert not conditions.same_lab(other)
