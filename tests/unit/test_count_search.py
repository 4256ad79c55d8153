"""The decisions of a search by counts, which a test makes up."""

import math
from itertools import accumulate, pairwise

from hypothesis import given
from hypothesis import strategies as st

from leaselab.analysis.comparison.count_search import (
    CountEnd,
    KnownCounts,
    most_counts,
    next_count,
)
from leaselab.analysis.duels.bisect import Ending
from leaselab.analysis.duels.culprits import Gap


def change(a, b):
    """Counts of equal code are equal to the last instruction."""
    return b - a


@st.composite
def ranges(draw):
    """What each commit costs, the good end first, and which of them do not build."""
    last = draw(st.integers(1, 40))
    places = st.integers(1, last)
    steps = draw(st.dictionaries(places, st.sampled_from([-10, -5, 5, 10]), max_size=5))
    costs = [*accumulate([100, *(steps.get(place, 0) for place in range(1, last + 1))])]
    return costs, frozenset(draw(st.sets(places))) - {last}


def search(costs, broken=frozenset(), every=None, known=()):
    """Search to the end; a commit that does not build is known as such once it was tried.

    Returns the end, and the places that were counted or tried, in that order.
    """
    last, of, tried = len(costs) - 1, {place: costs[place] for place in known}, []
    while True:
        counts = KnownCounts(last, of, broken & set(tried))
        step = next_count(counts, change, every)
        if isinstance(step, CountEnd):
            return step, tried
        assert step not in tried, "nothing is counted twice"
        assert len(tried) - len(broken) < len(costs)
        tried.append(step)
        if step not in broken:
            of = {**of, step: costs[step]}


def steps_of(costs, broken):
    """Where what it costs changes, between neighbours of the commits that build."""
    able = [place for place in range(len(costs)) if place not in broken]
    return [Gap(a, b) for a, b in pairwise(able) if costs[a] != costs[b]]


@given(ranges())
def test_every_commit_counted_names_exactly_the_steps(made):
    costs, broken = made
    end, tried = search(costs, broken, every=1)
    assert list(end.culprits) == steps_of(costs, broken)
    assert end.ending is (Ending.FOUND if end.culprits else Ending.SAME)
    assert sorted(tried) == [*range(len(costs))]


@given(ranges(), st.integers(1, 12), st.data())
def test_every_nth_commit_counted_names_a_step_wherever_two_of_them_differ(made, every, data):
    """Whatever the archive has already."""
    costs, broken = made
    able = [place for place in range(len(costs)) if place not in broken]
    known = data.draw(st.sets(st.sampled_from(able)))
    end, _ = search(costs, broken, every, known)
    true = steps_of(costs, broken)
    assert set(end.culprits) <= set(true)
    if not broken:
        last = len(costs) - 1
        nth = sorted({0, *range(last, 0, -every)})
        for a, b in pairwise(nth):
            named = [gap for gap in end.culprits if a <= gap.after < gap.place <= b]
            assert bool(named) >= (costs[a] != costs[b])


@given(ranges(), st.data())
def test_halving_names_a_step_wherever_the_ends_differ(made, data):
    costs, broken = made
    able = [place for place in range(len(costs)) if place not in broken]
    known = data.draw(st.sets(st.sampled_from(able)))
    end, _ = search(costs, broken, known=known)
    ends = costs[-1] - costs[0]
    assert set(end.culprits) <= set(steps_of(costs, broken))
    assert bool(end.culprits) == (ends != 0)
    assert all((costs[gap.place] - costs[gap.after]) * ends > 0 for gap in end.culprits)
    assert end.ending is (Ending.FOUND if end.culprits else Ending.SAME)


@given(ranges(), st.data())
def test_halving_counts_the_ends_and_as_few_more_as_halves_need(made, data):
    costs, _ = made
    known = data.draw(st.sets(st.sampled_from(range(len(costs)))))
    last = len(costs) - 1
    most = 2 + math.ceil(math.log2(last))
    for archived in ((), known):
        _, tried = search(costs, known=archived)
        counts = KnownCounts(last, {place: costs[place] for place in archived})
        assert len(tried) <= sum(most_counts(counts)) <= most
