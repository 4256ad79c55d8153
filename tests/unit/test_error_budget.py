"""What duels can detect on a bench, by duels whose answer is known."""

import math
import random

import pytest
from msgspec.structs import replace
from tests.examples import example_result, round_of

from leaselab.analysis.comparison.incompatibilities import incompatibilities
from leaselab.analysis.duels.duel import last_bound, scatter
from leaselab.analysis.duels.error_budget import error_budget, minutes_of, wider_error
from leaselab.analysis.duels.estimate import power, trimmed
from leaselab.model.procedures.duel import MOST_WIDER, Duel
from leaselab.model.record import Experiment
from leaselab.report.verdict.table import budget_words

PLAN = Duel(rounds=20)


def duel(ratio, number, slowdown, sd=0.004, rounds=PLAN.rounds):
    """Two results of one duel whose rounds scatter about a ratio."""
    chance = random.Random(f"{number} {slowdown}")  # noqa: S311 - a simulation
    ids = tuple(f"20261124T1{number:05d}Z-v4-memfile-{side * 4}" for side in "ab")
    experiment = Experiment(id=ids[0], points=ids, interleaved=True, slowdown=slowdown)

    def result(point, speed):
        # with the figure of the example that it is made of
        usual = {"loss_ratio": 0.05, "cpu_us": None, "max_rate": 1000.0}
        rates = (speed * 1000 * math.exp(sd * chance.gauss(0, 1)) for _ in range(rounds))
        made = (
            round_of(index=index, metrics={**usual, "completed_rate": rate})
            for index, rate in enumerate(rates, start=1)
        )
        return replace(
            example_result(),
            id=point,
            procedure=PLAN,
            rounds=tuple(made),
            experiment=experiment,
            started_at=f"2026-11-24T12:{number:02d}:00.000Z",
            finished_at=f"2026-11-25T12:{number:02d}:00.000Z",  # interrupted for a night
            wall_s=150.0,
        )

    return result(ids[0], 1.0), result(ids[1], ratio)


@pytest.fixture
def made():
    equal = [duel(1.0, number, 0.0) for number in range(4)]
    slowed = [duel(0.96, 10 + number, 0.03) for number in range(3)]
    return [*equal, *slowed]


def test_equal_and_slowed_duels_are_counted_apart(made):
    budget = error_budget(made, PLAN)
    assert (budget.equal.duels, budget.equal.slower) == (4, 0)
    assert (budget.slowed.duels, budget.slowed.slower) == (3, 3)
    assert budget.equal.minutes == pytest.approx(5.0)
    assert budget.slowed.ratio == pytest.approx(0.96, abs=0.005)
    assert (budget.slowdown, budget.since[:16]) == (0.03, "2026-11-24T12:00")


def test_of_several_slowdowns_the_one_is_reported_that_is_nearest_to_what_is_looked_for(made):
    others = [duel(0.99, 20 + number, 0.01) for number in range(2)]
    budget = error_budget([*made, *others], PLAN)
    assert (budget.slowdown, budget.slowed.duels, budget.equal.duels) == (0.03, 3, 4)
    budget = error_budget([*made, *others], PLAN, 0.01)
    assert (budget.slowdown, budget.slowed.duels, budget.equal.duels) == (0.01, 2, 4)


@pytest.mark.parametrize(
    "other", [{"trial_s": 10}, {"rounds": 33}, {"find": 0.05}, {"late_s": 1.0}]
)
def test_duels_of_another_kind_say_nothing_of_these(made, other):
    assert error_budget(made, replace(PLAN, **other)) is None
    assert error_budget(made, replace(PLAN, rate=9000)) is not None


def test_where_both_are_up_they_share_their_time(made):
    (base, other), *_ = made
    experiment = replace(base.experiment, both_up=True)
    assert minutes_of(base, other) == pytest.approx(5.0)
    assert minutes_of(replace(base, experiment=experiment), other) == pytest.approx(2.5)


def test_the_smallest_drop_is_the_one_that_the_scatter_lets_be_found(made):
    budget = error_budget(made, PLAN)
    # Two rates that scatter by 0.4 % each.
    assert budget.scatter == pytest.approx(0.004 * 2**0.5, rel=0.2)
    error = budget.scatter / PLAN.rounds**0.5
    df = PLAN.rounds - 2 * trimmed(PLAN.rounds) - 2
    chance = power(error, df, budget.smallest, last_bound(PLAN), least=0.015)
    assert chance == pytest.approx(0.9, abs=0.01)


def test_a_noisier_bench_finds_only_larger_drops():
    quiet, noisy = (error_budget([duel(1.0, 1, 0.0, sd)], PLAN) for sd in (0.01, 0.05))
    assert noisy.smallest > quiet.smallest
    assert error_budget([duel(1.0, 1, 0.0, 1.0)], PLAN).smallest is None


def wandering(sd, pairs):
    """Duels of equal servers and of slowed ones, whose ratios wander from duel to duel."""
    chance = random.Random(3)  # noqa: S311 - a simulation
    return [
        duel((1 - slowdown) * math.exp(sd * chance.gauss(0, 1)), number, slowdown)
        for slowdown in (0.0, 0.03)
        for number in range(pairs)
    ]


def test_duels_that_scatter_more_than_their_rounds_explain_make_errors_larger():
    assert error_budget(wandering(0.0, 10), PLAN).wider == 1.0
    wider = error_budget(wandering(0.01, 10), PLAN).wider
    error = 0.004 * 2**0.5 / PLAN.rounds**0.5
    assert wider == pytest.approx(0.01 / error, rel=0.35)
    assert f"duels scatter {wider:g} times as much" in budget_words(
        error_budget(wandering(0.01, 10), PLAN), "v4-memfile"
    )
    assert error_budget(wandering(1.0, 10), PLAN).wider == MOST_WIDER


def test_few_duels_and_exact_ones_do_not_show_how_far_they_scatter():
    assert error_budget(wandering(0.01, 4), PLAN).wider == 1.0
    assert wider_error(([(0.01, 0.0)] * 10, [])) == 1.0


def test_without_a_duel_that_came_to_a_verdict_there_is_none():
    assert error_budget([], PLAN) is None
    assert error_budget([duel(1.0, 1, 0.0, rounds=2)], PLAN) is None
    assert scatter(PLAN, (), ()) is None


def test_it_is_reported_in_one_line_and_so_is_that_there_is_none(made):
    reported = budget_words(error_budget(made, PLAN), "v4-memfile")
    assert "0 of 4 duels of equal servers called slower, 5.0 min each" in reported
    assert "3 of 3 duels with B slowed down by 3 % found" in reported
    assert "calibrate --error-budget v4-memfile" in budget_words(None, "v4-memfile")


def test_a_server_that_was_slowed_down_is_compared_with_no_other(made):
    plain, braked = made[0], made[-1]
    assert incompatibilities(plain[0], braked[0]) == []
    assert [row.name for row in incompatibilities(plain[1], braked[1])] == ["slowdown"]
