"""What trials say about the max rate, before anything is proven."""

from __future__ import annotations

import math
import random
import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.examples import trial_of

from leaselab.measure.outcomes import Outcomes
from leaselab.measure.response import Belief, Observation, Response, combine, expect
from leaselab.model.procedures.max_rate import MaxRate

PROCEDURE = MaxRate()


def trial(rate, loss_ratio, duration_s=5, valid=True, reason=""):
    lost = rate * duration_s - round(rate * duration_s * (1 - loss_ratio))
    return trial_of(rate, duration_s, lost, valid=valid, reason=reason)


def test_a_trial_at_the_goal_reads_as_its_own_rate():
    reading = Response().read(trial(40_000, 0.025), PROCEDURE)
    assert math.exp(reading.log_rate) == pytest.approx(40_000)
    assert reading.sd == pytest.approx(Response().noise_sd)


def test_overload_is_read_worse_the_further_it_is():
    near, far = (Response().read(trial(9000, loss), PROCEDURE) for loss in (0.05, 0.5))
    assert near.sd < 0.01 < far.sd
    assert math.exp(near.log_rate) == pytest.approx(9000 * 0.95 / 0.975, rel=0.01)


@pytest.mark.parametrize("loss_ratio", [0.0, 0.002])
def test_background_loss_is_only_a_lower_limit(loss_ratio):
    assert Response().read(trial(6000, loss_ratio), PROCEDURE).at_least


def test_of_trials_far_above_only_the_lowest_is_read():
    far = [trial(rate, 0.6) for rate in (30_000, 20_000, 25_000)]
    readings = Response().read_all([*far, trial(8000, 0.03)], PROCEDURE)
    assert len(readings) == 2
    assert readings[0] == Response().read(far[1], PROCEDURE)


def test_noise_is_learned_from_the_differences_within_a_run():
    def learned(*losses):
        trials = [trial(6000, loss) for loss in losses]
        return Response().scattered(trials, PROCEDURE)

    assert learned(*[0.025] * 20).noise_sd < 0.003
    assert learned(*[0.011, 0.051] * 10).noise_sd > 0.015
    assert learned(0.02) == Response()


def test_readings_are_weighted_by_their_precision_and_limits_alone_are_none():
    belief = combine([Observation(9.0, 0.01), Observation(9.1, 0.02)])
    assert (belief.log_rate, belief.sd) == pytest.approx((9.02, 0.01 / math.sqrt(1.25)))
    assert combine([Observation(9.0, 0.01, at_least=True)]) is combine([]) is None


def test_lower_limits_take_the_bias_out_of_noisy_readings():
    """Trials that lose nothing are the high ones: dropping them would pull down."""
    chance = random.Random(5)  # noqa: S311 - a simulation
    estimates, without = [], []
    for _ in range(400):
        drawn = [chance.gauss(9.0, 0.03) for _ in range(6)]
        observations = [Observation(min(x, 9.02), 0.03, at_least=x >= 9.02) for x in drawn]
        combined = combine(observations)
        kept = combine([item for item in observations if not item.at_least])
        if combined and kept:
            estimates.append(combined.log_rate)
            without.append(kept.log_rate)
    assert abs(statistics.fmean(estimates) - 9.0) < 0.002
    assert statistics.fmean(without) < 8.995


@given(
    st.lists(st.tuples(st.floats(5, 12), st.floats(0.001, 0.5)), min_size=1, max_size=6),
    st.lists(st.tuples(st.floats(5, 12), st.floats(0.001, 0.5)), max_size=6),
)
def test_the_belief_is_finite_and_no_limit_lowers_it(readings, limits):
    plain = combine([Observation(*item) for item in readings])
    both = combine(
        [Observation(*item) for item in readings]
        + [Observation(*item, at_least=True) for item in limits]
    )
    assert math.isfinite(both.log_rate)
    assert both.sd > 0
    assert both.log_rate >= plain.log_rate - 1e-5


def test_a_belief_says_which_side_a_trial_will_fall_on():
    belief = Belief(9.0, 0.01)
    assert belief.fails_at(9.0, 0.01) == pytest.approx(0.5)
    assert belief.fails_at(9.05, 0.01) > 0.99


def test_an_odd_run_widens_the_expectation_and_does_not_move_it():
    rates = [6000.0, 6010.0, 5990.0, 6005.0]
    calm, odd = expect(rates), expect([*rates, 9000.0])
    assert math.exp(odd.log_rate) == pytest.approx(6000, rel=0.005)
    assert odd.sd > 10 * calm.sd
    spreads = [expect([6000.0] * n).sd for n in (1, 3, 8)]
    assert spreads == sorted(spreads, reverse=True), "steady runs narrow it"
    assert spreads[-1] < 0.01
    assert expect([]) is None


def test_the_ceiling_comes_down_when_a_rate_is_out_of_reach_twice():
    short = trial(7000, 0.0, duration_s=1, valid=False, reason="generator-limited")
    short = replace(short, rate=9000)
    ceilings = [Outcomes((short,) * times, PROCEDURE).ceiling for times in (1, 2)]
    assert ceilings == [PROCEDURE.max_rate, 7000]
    floors = [Outcomes((), MaxRate(min_rate=rate)).floor for rate in (10, 500)]
    assert floors == [99, 500], "whole rates set a floor of their own"
