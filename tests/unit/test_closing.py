"""The sentence that a comparison ends with."""

import pytest
from msgspec.structs import replace
from tests.examples import MAX_RATES, example_result

from leaselab.analysis.comparison.verdict import compare
from leaselab.model.record import Experiment
from leaselab.report.verdict.sentence import closing
from leaselab.report.verdict.table import conditions, figures

BASE = example_result()


def test_a_server_that_loses_at_any_load_and_an_unsteady_machine_are_said_first():
    reasons = [{"word": "loses-at-any-load", "text": "the server said so"}]
    other = example_result(MAX_RATES[:3], token="0003", outcome="invalid", reasons=reasons)
    assert closing(compare(BASE, other)).startswith("Slower: ")
    reasons = [{"word": "unsteady", "text": "it moved"}]
    other = example_result([0.9 * rate for rate in MAX_RATES], token="0002", reasons=reasons)
    first, _, verdict = closing(compare(BASE, other)).partition(": ")
    assert "unsteady while B was measured" in first
    assert verdict.startswith("Slower: ")


@pytest.mark.parametrize(
    ("interleaved", "test"),
    [
        (True, "t test of the rounds' ratios, measured in turn: p"),
        (False, "Yuen's test, across sessions: p"),
    ],
)
def test_the_test_that_is_named_is_the_one_that_was_used(interleaved, test):
    base, other = (
        example_result([factor * rate for rate in MAX_RATES], token=token)
        for factor, token in ((1.0, "000a"), (0.97, "000b"))
    )
    # A says that both alternated; whether they did, both have to say
    base = replace(base, experiment=Experiment(id="e", points=(), interleaved=True))
    other = replace(other, experiment=Experiment(id="e", points=(), interleaved=interleaved))
    comparison = compare(base, other)
    assert any(line.startswith(test) for line in figures(comparison))
    reported = "\n".join(conditions(comparison))
    assert ("their runs alternated" in reported) is interleaved


def test_goals_that_differ_are_listed_for_both():
    other = replace(BASE, procedure=replace(BASE.procedure, trial_s=7))
    assert BASE.procedure.words in list(conditions(compare(BASE, BASE)))
    goals = f"A: {BASE.procedure.words}; B: {other.procedure.words}"
    assert goals in list(conditions(compare(BASE, other)))
