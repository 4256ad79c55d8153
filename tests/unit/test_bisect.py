"""The decisions of a bisection, by duels that a test makes up."""

import math
from dataclasses import replace
from functools import partial

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leaselab.analysis.duels.bisect import (
    FEWEST,
    TRIES,
    Cost,
    End,
    Ending,
    Known,
    Limits,
    Step,
    Why,
    expected_cost,
    levels,
    next_step,
)
from leaselab.analysis.duels.culprits import Duelled, Gap
from leaselab.analysis.duels.duel import Answer

LIMITS = Limits()
PLENTY = Limits(budget_minutes=100_000.0)


def truthful(steps, step, at, off=0.0, *, sd=0.02, minutes=1.0):
    """A duel whose answer is right, and whose mean is off by so many standard errors."""
    change = sum(math.log1p(-drop) for place, drop in steps.items() if _in(place, step))
    error = sd / math.sqrt(step.rounds)
    answer = Answer.SLOWER if change < math.log1p(-LIMITS.find / 2) else Answer.SAME
    mean = change + off * error
    return Duelled(step.older, step.newer, at, minutes, answer, mean, error, step.rounds)


def _in(place, step):
    return step.older < place <= step.newer


def search(count, made, limits=PLENTY, broken=frozenset(), known=()):
    """Search to the end.  Returns the end and the steps.

    `made` makes each duel, or says which commits are slower, by how much.
    """
    made = made if callable(made) else partial(truthful, made)
    duels, steps = list(known), []
    while isinstance(step := next_step(Known(count, tuple(duels), broken), limits), Step):
        steps.append(step)
        duels.append(made(step, f"2026-11-24T{len(duels):06d}"))
        assert len(duels) < 1000
    return step, steps


def duelled(drops, *pairs, **given):
    """Truthful duels of these pairs, in that order."""
    steps = (Step(*pair, 30, Why.HALVE) for pair in pairs)
    return [truthful(drops, step, f"2025-{n}", **given) for n, step in enumerate(steps)]


@st.composite
def ranges(draw, most=3):
    """How many commits, which are slower by how much, and which cannot be measured."""
    count = draw(st.integers(1, 40))
    places = st.integers(1, count)
    able = draw(st.sets(places, max_size=most))
    drops = {place: draw(st.floats(0.03, 0.3)) for place in able}
    return count, drops, frozenset(draw(st.sets(places, max_size=count))) - able - {count}


CHANCES = st.randoms(use_true_random=True)


@settings(max_examples=100)
@given(ranges(), CHANCES)
def test_truthful_duels_name_no_innocent_commit_and_find_an_only_culprit(made_up, offs):
    count, drops, broken = made_up
    end, steps = search(
        count,
        lambda step, at: truthful(drops, step, at, offs.uniform(-1, 1)),
        broken=broken,
    )
    for culprit in end.culprits:
        within = range(culprit.gap.after + 1, culprit.gap.place + 1)
        assert any(place in drops for place in within)
        assert [item for item in within if item not in broken] == [culprit.gap.place]
    assert end.ending is (Ending.FOUND if drops else Ending.SAME)
    if len(drops) == 1:
        assert [culprit.gap.place for culprit in end.culprits] == [*drops]
        assert end.left is None
        assert len(steps) <= 3 * (2 + math.log2(count))


@given(st.integers(1, 30), st.floats(5, 300), st.sets(st.integers(1, 30)), CHANCES)
def test_it_ends_within_its_budget_whatever_duels_say(count, budget, broken, chance):
    limits = Limits(budget_minutes=budget)
    answers, spent = list(Answer), []

    def whatever(step, at):
        minutes = step.rounds * limits.round_minutes * chance.uniform(0.2, 1.0)
        mean, error = chance.gauss(-0.03, 0.03), chance.uniform(0, 0.02)
        answer = chance.choice(answers) if at[-1] != "0" else Answer.SLOWER
        spent.append(minutes)
        return Duelled(step.older, step.newer, at, minutes, answer, mean, error, step.rounds)

    end, _ = search(count, whatever, limits, frozenset(broken) - {count})
    assert isinstance(end, End)
    assert sum(spent) <= budget + 1e-6


@given(ranges(most=2), st.integers(0, 30), st.randoms(use_true_random=False))
def test_the_next_step_follows_from_what_is_known_and_from_no_order_of_it(made_up, many, order):
    """So a search that was killed anywhere goes on as if it had not been."""
    count, drops, broken = made_up
    duels = []
    for _ in range(many):
        step = next_step(Known(count, tuple(duels), broken), PLENTY)
        if isinstance(step, End):
            break
        duels.append(truthful(drops, step, f"{len(duels):03d}"))
    expected = next_step(Known(count, tuple(duels), broken), PLENTY)
    order.shuffle(duels)
    assert next_step(Known(count, tuple(duels), broken), PLENTY) == expected


@pytest.mark.parametrize("answer", [Answer.SAME, Answer.FASTER])
def test_the_ends_come_first_and_a_bad_end_that_is_not_slower_ends_it(answer):
    def made(step, at):
        return Duelled(step.older, step.newer, at, 5.0, answer, 0.05, 0.004, 11)

    ending = Ending.SAME if answer is Answer.SAME else Ending.FASTER
    ends = Step(0, 64, LIMITS.rounds, Why.ENDS)
    assert search(64, made) == (End(ending), [ends])


def unknown(step, at, mean=-0.015):
    return Duelled(step.older, step.newer, at, 16.0, Answer.UNKNOWN, mean, 0.01, step.rounds)


def test_while_the_ends_are_not_distinguished_each_duel_is_twice_as_long():
    end, steps = search(64, unknown)
    assert [step.rounds for step in steps] == [LIMITS.rounds * 2**n for n in range(3)]
    assert len(steps) == TRIES
    assert end == End(Ending.UNKNOWN)


def test_a_duel_that_the_budget_cut_short_is_made_again_with_a_larger_one():
    def never(step, at):
        return replace(unknown(step, at), minutes=step.rounds / 2)

    limits = Limits(budget_minutes=55.0, round_minutes=0.5)
    end, steps = search(5, never, limits)
    assert end == End(Ending.UNKNOWN)
    assert [step.rounds for step in steps] == [74, 36]
    made = [never(step, f"2026-11-24T{number}") for number, step in enumerate(steps)]
    more = next_step(Known(5, tuple(made)), Limits(budget_minutes=240.0, round_minutes=0.5))
    assert more == Step(0, 5, 148, Why.ENDS)


def test_it_halves_the_range_and_confirms_against_the_parent():
    end, steps = search(64, {20: 0.05})
    halved = [(0, newer) for newer in (64, 32, 16, 24, 20, 18, 19)]
    assert [(step.older, step.newer) for step in steps] == [*halved, (19, 20)]
    assert [step.why for step in steps] == [Why.ENDS, *[Why.HALVE] * 6, Why.CONFIRM]
    (culprit,) = end.culprits
    assert culprit.gap == Gap(19, 20)
    assert culprit.level.ratio == pytest.approx(0.95, abs=0.001)
    assert culprit.level.duels == 1


def test_duels_that_halve_are_as_long_as_the_noise_needs():
    def rounds(sd, drop):
        _, steps = search(64, partial(truthful, {20: drop}, sd=sd))
        return {step.rounds for step in steps if step.why is Why.HALVE}

    assert rounds(0.01, 0.05) == {FEWEST}
    assert min(rounds(0.05, 0.05)) > FEWEST
    assert rounds(0.2, 0.05) == {LIMITS.rounds}


def test_an_answer_that_chance_has_turned_is_outvoted():
    """A plain bisection would look in the wrong half for ever."""
    made = []

    def mistaken(step, at):
        made.append(step)  # the second is as if the culprit were newer
        return truthful({} if len(made) == 2 else {20: 0.05}, step, at)

    end, steps = search(64, mistaken)
    assert (steps[1].newer, steps[2].newer > 32) == (32, True)
    assert [culprit.gap for culprit in end.culprits] == [Gap(19, 20)]


@pytest.mark.parametrize(
    ("count", "drops", "broken", "gaps", "confirmed"),
    [
        (64, {10: 0.04, 50: 0.05}, set(), [Gap(9, 10), Gap(49, 50)], 2),
        # a gain between two of them hides neither
        (64, {20: 0.05, 40: -0.03, 50: 0.06}, set(), [Gap(19, 20), Gap(49, 50)], 2),
        # what cannot be measured is named with the culprit after it
        (12, {7: 0.05}, {5, 6, 9}, [Gap(4, 7)], 1),
        # the duel of the ends is that of the parent
        (1, {1: 0.05}, set(), [Gap(0, 1)], 0),
    ],
)
def test_each_culprit_is_named(count, drops, broken, gaps, confirmed):
    end, steps = search(count, drops, broken=frozenset(broken))
    assert [culprit.gap for culprit in end.culprits] == gaps
    assert end.left is None
    assert not {step.newer for step in steps} & broken
    assert sum(step.why is Why.CONFIRM for step in steps) == confirmed
    assert count > 1 or len(steps) == 1


def test_what_the_archive_has_is_not_measured_again():
    drops = {20: 0.05}
    _, steps = search(64, drops, known=duelled(drops, (0, 64), (0, 19), (0, 20)))
    assert [(step.older, step.newer) for step in steps] == [(19, 20)]


def test_a_duel_of_two_commits_inside_the_range_counts_as_well():
    drops = {20: 0.05}
    _, steps = search(64, drops, known=duelled(drops, (16, 24)))
    assert {step.newer for step in steps if step.why is Why.HALVE} <= set(range(16, 25))


def test_duels_before_the_first_of_the_ends_are_not_of_its_budget():
    old, ends = duelled({20: 0.05}, (16, 24), (0, 64), minutes=5)
    old = replace(old, minutes=500)
    assert Known(64, (old,)).minutes == 0
    assert Known(64, (old, ends)).minutes == 5


def test_rounds_that_take_longer_than_planned_are_counted_as_long():
    known = Known(64, tuple(duelled({20: 0.05}, (0, 64), minutes=60)))
    assert known.round_minutes(0.5) == 2
    assert known.round_minutes(3) == 3
    step = next_step(known, Limits(budget_minutes=71, round_minutes=0.5))
    assert step.rounds == 5  # of two minutes each


def test_a_commit_that_its_parent_does_not_bear_out_is_not_named():
    """Many small changes: the ends differ, and no commit alone does it."""
    made = partial(truthful, dict.fromkeys(range(3, 64, 6), 0.005), minutes=5)
    end, steps = search(64, made, Limits(budget_minutes=240))
    assert end.culprits == ()
    assert end.ending in (Ending.OPEN, Ending.SCATTERED)
    assert len(steps) > 5


def test_all_duels_together_say_how_fast_each_place_is():
    known = duelled({20: 0.05}, (0, 64), (0, 32), (16, 32))
    rows = levels(Known(64, tuple(known)))
    ratios = {place: round(item.ratio, 3) for place, item in rows.items()}
    assert ratios == {16: 1.0, 32: 0.95, 64: 0.95}
    assert [rows[place].duels for place in (64, 32, 16)] == [1, 3, 3]
    assert rows[64].ci95 == known[0].ci95, "one duel is not pooled"
    widths = [high - low for low, high in (rows[place].ci95 for place in (16, 32))]
    assert widths[0] > widths[1]


def test_its_cost_is_that_of_searches_that_it_makes_up():
    cost = expected_cost(Known(64), LIMITS)
    assert 7 <= cost.duels <= 9
    assert 7 <= cost.places <= 10
    assert 8 < cost.minutes < 30
    rest = Known(64, tuple(duelled({20: 0.05}, (0, 64), (0, 24))))
    assert expected_cost(rest, LIMITS).duels < cost.duels


def test_a_search_that_is_over_costs_nothing():
    ends = truthful({}, Step(0, 64, 74, Why.ENDS), "1", sd=1e-9)
    assert expected_cost(Known(64, (ends,)), LIMITS) == Cost(0.0, 0.0, 0.0)
