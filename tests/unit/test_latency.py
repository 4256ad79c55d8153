"""Latency of a result, by stage."""

import pytest
from msgspec.structs import replace
from tests.examples import example_result

from leaselab.analysis.figures.summary import PERCENTILES, latencies
from leaselab.model.trial import WHOLE, Percentiles


def with_latencies(*each):
    """A record whose rounds show these latencies, a mapping by stage each."""
    record = example_result()
    rounds = []
    for round_, latency in zip(record.rounds, each, strict=False):
        trials = list(round_.trials)
        trials[round_.shown_trial] = replace(round_.shown, latency_s=latency)
        rounds.append(replace(round_, trials=tuple(trials)))
    return replace(record, rounds=tuple(rounds))


def percentiles(p50):
    return Percentiles(p50=p50, p90=2 * p50, p99=3 * p50, p999=4 * p50, max=5 * p50)


def test_each_stage_has_the_median_of_its_rounds_in_the_trials_order():
    record = with_latencies(
        {"B": percentiles(0.1), "A": percentiles(1.0), WHOLE: None},
        {"B": percentiles(0.3), "A": None, WHOLE: None},
        {"B": percentiles(0.2), "A": percentiles(3.0), WHOLE: None},
    )
    curves = latencies(record)
    assert list(curves) == ["B", "A"]
    assert len(PERCENTILES) == len(curves["B"])
    assert curves["B"] == pytest.approx([0.2, 0.4, 0.6, 0.8, 1.0])
    assert curves["A"] == pytest.approx([2.0, 4.0, 6.0, 8.0, 10.0])


def test_a_round_that_shows_no_trial_has_no_latency():
    record = with_latencies({"A": percentiles(1.0)}, {"A": percentiles(5.0)})
    first, second = record.rounds
    alone = replace(record, rounds=(first, replace(second, shown_trial=None)))
    assert latencies(alone)["A"][0] == pytest.approx(1.0)
    assert latencies(replace(record, rounds=())) == {}
