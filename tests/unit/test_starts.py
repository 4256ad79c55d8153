"""The share of the servers' starts in what the rounds of a duel scatter by."""

import math
import random

import pytest
from msgspec.structs import replace
from tests.examples import round_of, trial_of

from leaselab.analysis.duels.starts import LEAST_ROUNDS, start_share
from leaselab.model.procedures.duel import Duel
from leaselab.model.trial import Second

RATE = 100_000


def fought(plan, count, start_sd, within_sd, *, seed=1, place=0.0):
    """Rounds of A and of B whose starts scatter, and what follows within a start as well.

    With one trial in a start, its seconds scatter.  The order of a round makes `place` of its
    ratio (logarithm).
    """
    chance = random.Random(seed)  # noqa: S311 - a simulation
    both = [], []
    units = plan.trials if plan.trials > 1 else plan.trial_s
    for index in range(1, count + 1):
        for side, rounds in enumerate(both):
            start = chance.gauss(0, start_sd) + side * place * plan.order_of(index)
            rates = [
                round(RATE * math.exp(start + chance.gauss(0, within_sd))) for _ in range(units)
            ]
            rounds.append(round_of(*trials_of(plan, rates), index=index))
    return both


def trials_of(plan, rates):
    if plan.trials > 1:
        return [trial_of(2 * RATE, 1, 2 * RATE - rate) for rate in rates]
    seconds = tuple(
        Second(t=float(place), attempted=2 * RATE, completed=rate, p50_s=None, p99_s=None)
        for place, rate in enumerate(rates)
    )
    trial = trial_of(2 * RATE, len(rates), 2 * RATE * len(rates) - sum(rates))
    return [replace(trial, per_second=seconds)]


def share(plan, rounds):
    return start_share(plan, range(1, len(rounds[0]) + 1), *rounds)


@pytest.mark.parametrize("plan", [Duel(trials=4), Duel()], ids=["trials", "seconds"])
def test_the_share_of_the_starts_is_that_of_the_simulation(plan):
    """Of 4 trials of 1 % in a start of 2 %, the starts make 94 % of the variance."""
    units = plan.trials if plan.trials > 1 else plan.trial_s
    seen = share(plan, fought(plan, 120, 0.02, 0.01, place=0.05))
    assert seen.share == pytest.approx(4 / (4 + 1 / units), abs=0.03)
    assert seen.rounds == 120
    assert seen.by_trials is (plan.trials > 1)
    assert share(plan, fought(plan, 120, 0.0, 0.02)).share < 0.2


@pytest.mark.parametrize("start_sd", [0.0, 0.007, 0.02])
def test_its_interval_holds_the_truth_in_95_of_100_duels(start_sd):
    plan = Duel(trials=2)
    truth = start_sd**2 / (start_sd**2 + 0.01**2 / plan.trials)
    made = [share(plan, fought(plan, 10, start_sd, 0.01, seed=seed)) for seed in range(100)]
    held = sum(seen.ci95[0] <= truth <= seen.ci95[1] for seen in made)
    assert held >= 86  # four standard deviations below 95


def test_few_rounds_and_rounds_without_several_figures_of_a_start_show_no_share():
    plan = Duel(trials=2)
    assert share(plan, fought(plan, LEAST_ROUNDS, 0.02, 0.01)) is not None
    assert share(plan, fought(plan, LEAST_ROUNDS - 1, 0.02, 0.01)) is None
    single = Duel(trial_s=1)
    assert share(single, fought(single, 20, 0.02, 0.01)) is None


def test_a_round_with_a_trial_that_does_not_count_shows_nothing():
    plan = Duel(trials=2)
    first, second = fought(plan, 20, 0.02, 0.01)
    good, spoiled = first[3].trials
    first[3] = replace(first[3], trials=(good, replace(spoiled, valid=False, reason="stalled")))
    assert share(plan, (first, second)).rounds == 19
