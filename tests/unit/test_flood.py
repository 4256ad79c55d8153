"""Floods: as much as the generator can offer, and how fast that is answered."""

import statistics

import msgspec
import pytest
from tests.formula import Flood, Zones, formula_bench, formula_point

from leaselab.measure.generators.adapter import GENERATOR_STALLED
from leaselab.measure.trials import Trials
from leaselab.model.procedure import STALLED_LIMIT
from leaselab.model.trial import Load

FLOOD = {"name": "flood", "floods": 5, "flood_s": 3, "rounds": 2}


def measured(zones, **changed):
    return formula_point(formula_bench(**{**FLOOD, **changed}), zones)


def spoiled(monkeypatch, numbers, reason=GENERATOR_STALLED):
    """Have the generator spoil some floods of the first round, by their number."""
    real, made = Trials.measure, []

    def measure(self, load, name, **how):
        trial = real(self, load, name, **how)
        if load.flood:
            made.append(load)
            if len(made) in numbers:
                return msgspec.structs.replace(trial, valid=False, reason=reason)
        return trial

    monkeypatch.setattr(Trials, "measure", measure)


def test_no_rate_is_asked_for_and_the_mean_is_of_all_but_the_first():
    """The first one is half as fast: the cache is empty."""
    zones = Zones(cold=0.5)
    point = measured(zones)
    assert zones.resets == 2 * 2  # of the probe and the warm-up, and never between floods
    for round_ in point.rounds:
        assert {trial.load for trial in round_.trials} == {Load(0, 3, flood=True)}
        assert len(round_.trials) == 5
        rates = [trial.completed_rate for trial in round_.trials]
        assert rates[0] < 0.9 * rates[1]
        assert round_.metrics["flood_rate"] == pytest.approx(statistics.fmean(rates[1:]))
        assert round_.metrics["flood_rate"] == pytest.approx(Flood.per_s, rel=0.01)
        spread = statistics.stdev(rates[1:]) / statistics.fmean(rates[1:])
        assert round_.metrics["flood_spread"] == pytest.approx(spread)
        assert round_.metrics["loss_ratio"] == 0
        assert round_.trials[1].offered_rate == pytest.approx(rates[1])


def test_a_flood_that_a_stall_spoiled_is_made_again(monkeypatch):
    spoiled(monkeypatch, {2, 4})
    first, second = measured(Zones()).rounds
    assert (len(first.trials), len(second.trials)) == (7, 5)
    assert first.metrics["flood_rate"] == pytest.approx(Flood.per_s, rel=0.01)


def test_stalls_that_last_leave_too_few_floods_for_a_figure(monkeypatch):
    spoiled(monkeypatch, set(range(3, 40)))
    error = measured(Zones()).error
    assert error.outcome.label == "invalid"
    assert (error.where, error.found) == ("flood for 3 s", GENERATOR_STALLED)


def test_floods_that_were_left_before_stalls_that_last_have_a_figure(monkeypatch):
    spoiled(monkeypatch, set(range(4, 40)))
    point = measured(Zones(), rounds=1)
    assert len(point.rounds[0].trials) == 5 + STALLED_LIMIT
    assert point.rounds[0].metrics["flood_rate"] > 0
