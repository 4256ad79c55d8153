"""What reports say of a duel: its page, its test report, and several in a table."""

import pytest
from junitparser import Error, JUnitXml
from msgspec.structs import replace
from tests.examples import MAX_RATES, built, example_result
from tests.past import fought

from leaselab.analysis.verdict import Limit, compare
from leaselab.archive.store import Store
from leaselab.model.errors import Outcome
from leaselab.report.export.junit import junit_of_comparisons
from leaselab.report.site.experiment import experiment
from leaselab.report.verdict import comparison_document


@pytest.fixture
def duel(tmp_path):
    """Make a duel of this true ratio; its two results."""

    def make(ratio, **fields):
        first, second = (
            built(example_result(token=letter * 4), letter * 40) for letter in "ab"
        )
        store = Store(tmp_path)
        return [store.load(one) for one in fought(tmp_path, first, second, ratio, **fields)]

    return make


def test_the_page_judges_by_the_same_rounds_as_the_command(duel):
    """Its tables show losses in per cent; a round that lost 0.5 % was too light."""
    both = [
        replace(
            record,
            rounds=tuple(
                replace(one, metrics={**one.metrics, "loss_ratio": 0.005 if odd else 0.05})
                for one in record.rounds
                for odd in [one.index % 5 == 0]
            ),
        )
        for record in duel(0.95)
    ]
    found = compare(*both)
    told, _ = experiment(both)
    assert found.verdict.duel.rounds == 16
    assert told["duel"]["word"] == found.word
    assert any(line.endswith("; 16 rounds count") for line in told["duel"]["lines"])


def test_one_that_cannot_tell_is_an_error_in_a_test_report(duel):
    found = compare(*duel(0.985, noise=0.06))
    assert found.outcome is Outcome.INVALID
    (suite,) = JUnitXml.fromstring(junit_of_comparisons([found]))
    (case,) = [one for one in suite if one.name.endswith("verdict")]
    assert [type(one) for one in case.result] == [Error]


def test_an_interval_without_an_upper_end_is_null_there():
    few = [5000.0, 6000.0]
    base = example_result(few, procedure=replace(example_result().procedure, rounds=2, trim=0))
    other = example_result(
        MAX_RATES[:3],
        token="0003",
        outcome="invalid",
        reasons=[{"word": "generator-limited", "text": "it offered no more"}],
    )
    found = compare(base, replace(other, at_least=5400.0))
    assert found.verdict.limit is Limit.AT_LEAST
    low, high = comparison_document(found)["ci95"]
    assert low < 1
    assert high is None
