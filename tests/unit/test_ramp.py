"""Steps of offered load: what they come to, and when a server has settled in them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.doubles import Killed
from tests.examples import trial_of
from tests.formula import CACHED, Zones, formula_bench, formula_point

from leaselab.measure.generators.adapter import GENERATOR_STALLED
from leaselab.measure.procedures import ramp
from leaselab.measure.trials import Trials
from leaselab.model.trial import Second

RAMP = {"name": "ramp", "rates": [1000, 20_000, 5000], "step_s": 6, "rounds": 2}


def step(*completed, rate=1000):
    """A step by what was completed in each of its seconds."""
    seconds = tuple(
        Second(t=at, attempted=rate, completed=count, p50_s=0.001, p99_s=0.001)
        for at, count in enumerate(completed)
    )
    lost = rate * len(completed) - sum(completed)
    return trial_of(rate, len(completed), lost, per_second=seconds)


def measured(zones, **changed):
    return formula_point(formula_bench(**{**RAMP, **changed}), zones)


@pytest.mark.parametrize(
    ("completed", "seconds"),
    [
        ((1000,) * 9, 0),
        ((200, 400, 800, 1000, 1000, 1000, 1000, 1000, 1000), 3),
        ((1000, 200, 1000, 1000, 1000, 1000, 1000, 1000, 1000), 2),
        ((1000, 1000, 1000, 1000, 700, 500, 500, 500, 500), 5),
        ((200, 400, 800, 910, 950, 1080, 1000, 1000, 1000), 3),
        # backlog that is answered late is no rate that it keeps
        ((0, 0, 3000, 1000, 1000, 1000, 1000, 1000, 1000), 3),
        ((900, 100, 900, 100, 900, 100, 900, 100, 900), None),
        ((0,) * 9, None),
        ((1000, 1000), None),
    ],
)
def test_a_step_has_settled_when_it_stays_near_what_it_ends_with(completed, seconds):
    assert ramp.settled_s(step(*completed)) == seconds


@given(st.integers(0, 40), st.integers(6, 60))
def test_the_time_until_a_jump_is_the_time_until_it_has_settled(slow, seconds):
    slow = min(slow, seconds - max(3, seconds // 3))
    assert ramp.settled_s(step(*[100] * slow, *[1000] * (seconds - slow))) == slow


def test_the_whole_is_what_all_steps_completed_and_the_worst_latency():
    fast, slow = step(*[1000] * 6), step(*[500] * 3, *[1000] * 3)
    whole = ramp.whole([fast, slow])
    assert whole == {
        "completed_rate": pytest.approx(10_500 / 12),
        "loss_ratio": pytest.approx(1500 / 12_000),
        "p99_s": None,
        "settled_s": 3,
    }
    assert ramp.whole([fast, step(*[0] * 6)])["settled_s"] is None


def test_each_step_has_its_figures_and_a_cache_is_seen_to_warm_up():
    """Cold it answers 2000 a second, and after so many answers 50 000."""
    zones = Zones(cold=0.04)
    point = measured(zones, rates=[1000, 1500, 20_000])
    assert zones.resets == 2 * 3  # of the probe, the warm-up, and the end
    cold_s = (CACHED - 6 * 1000 - 6 * 1500) // 2000 + 1
    for round_ in point.rounds:
        metrics = round_.metrics
        assert [trial.rate for trial in round_.trials] == [1000, 1500, 20_000]
        assert metrics["step_1_completed_rate"] == 1000
        settled = [metrics[f"step_{at}_settled_s"] for at in (1, 2, 3)]
        assert [*settled, metrics["settled_s"]] == [0, 0, cold_s, cold_s]
        losses = [metrics[f"step_{at}_loss_ratio"] for at in (1, 2, 3)]
        assert losses == [0, 0, pytest.approx(cold_s * 0.9 / 6, abs=0.01)]
        assert metrics["cpu_us"] > 0


def test_a_server_whose_warm_up_is_kept_has_settled_from_the_beginning():
    zones = Zones(cold=0.04)
    kept = {"reset": "at-start", "warm_up_s": 20, "warm_up_rate": 2000}
    point = measured(zones, rates=[20_000], **kept)
    assert zones.resets == 2  # what proved that it serves
    assert [round_.metrics["settled_s"] for round_ in point.rounds] == [0, 0]
    assert [len(round_.warm_ups) for round_ in point.rounds] == [1, 1]
    assert point.rounds[0].warm_ups[0].rate == 2000


def spoiled_in(monkeypatch, *spoiled):
    """Have the generator stall in some trials, by their number over all rounds."""
    real, made = Trials.measure, []

    def measure(self, load, name, **how):
        trial = real(self, load, name, **how)
        if "warm-up" in name:
            return trial
        made.append(name)
        if len(made) in spoiled:
            return replace(trial, valid=False, reason=GENERATOR_STALLED)
        return trial

    monkeypatch.setattr(Trials, "measure", measure)


def test_a_ramp_that_a_stall_spoiled_is_repeated_on_a_server_that_was_reset(monkeypatch):
    spoiled_in(monkeypatch, 2)
    zones = Zones(cold=0.04)
    first, second = measured(zones, rates=[1000, 1500, 20_000]).rounds
    assert [trial.rate for trial in first.trials] == [1000, 1500, 1000, 1500, 20_000]
    assert len(second.trials) == 3
    assert zones.resets == 2 * 3 + 1
    assert first.metrics["settled_s"] == second.metrics["settled_s"] > 0
    assert first.shown_trial == 4


def test_a_hot_server_is_not_reset_before_its_ramp_is_repeated(monkeypatch):
    spoiled_in(monkeypatch, 2)
    zones = Zones()
    first, _ = measured(zones, reset="at-start").rounds
    assert len(first.trials) == 5
    assert zones.resets == 2  # what proved that it serves


def test_a_step_that_does_not_count_in_the_end_leaves_the_others_their_figures(monkeypatch):
    spoiled_in(monkeypatch, 2, 4, 6)
    first, second = measured(Zones()).rounds
    assert len(first.trials) == 2 + 2 + 3
    names = ("completed_rate", "step_2_p99_s", "step_1_p99_s", "step_3_completed_rate")
    assert [first.metrics[name] for name in names] == [None, None, 0.002, 5000]
    assert (first.shown_trial, first.shown.rate) == (6, 5000)
    assert second.metrics["completed_rate"] > 0


def test_a_ramp_of_which_no_step_counts_is_an_invalid_measurement(monkeypatch):
    spoiled_in(monkeypatch, *range(1, 9))
    error = measured(Zones()).error
    assert error.outcome.label == "invalid"
    assert (error.where, error.found) == ("ramp of 1000/s, 20000/s, 5000/s", GENERATOR_STALLED)


def test_one_killed_at_every_event_repeats_its_round_and_comes_to_the_same():
    """What was in the server's caches is gone, so the trials before the kill say nothing."""

    def made(zones):
        return [
            (
                [trial.load for trial in round_.trials],
                {name: value for name, value in round_.metrics.items() if value is not None},
            )
            for round_ in measured(zones).rounds
        ]

    whole = Zones(cold=0.5)
    wanted = made(whole)
    assert len(whole.events) == 2 * (2 + len(wanted[0][0]) + 1)
    for at in range(1, len(whole.events) + 1):
        zones = Zones(cold=0.5, kill_at=at)
        with pytest.raises(Killed):
            made(zones)
        kept = [name for name, _ in zones.events]
        for (loads, metrics), (other, known) in zip(made(zones), wanted, strict=True):
            assert loads == other
            assert metrics == pytest.approx(known, rel=0.01, abs=0.01)
        assert [name for name, _ in zones.events].count("trial") >= kept.count("trial")
