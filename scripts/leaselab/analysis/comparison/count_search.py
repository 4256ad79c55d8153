"""Which commits of a range changed what is counted: the next commit to count, or the end.

Counts are exact, so two of them decide whether a change lies between their commits, and plain
bisection suffices.  It follows the ends of a range, so it does not see changes that cancel each
other out between two counted commits; more of these are counted first where that is asked for.
All that is known is a value, as of `leaselab.analysis.duels.bisect`: a search that was
interrupted goes on as if it had not been.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

from leaselab.analysis.duels.bisect import Ending
from leaselab.analysis.duels.culprits import Gap

Count = TypeVar("Count")
Size = Callable[[Count, Count], float]
"""How much two counts differ (0..); 0 where they do not."""


@dataclass(frozen=True, slots=True)
class KnownCounts(Generic[Count]):
    """A range of commits and what was counted of them; place 0 is the good end."""

    last: int
    """Place of the bad end."""
    of: Mapping[int, Count]
    """What was counted, by place."""
    broken: frozenset[int] = frozenset()
    """Places that cannot be counted: they do not build or do not start."""

    def inside(self, gap: Gap) -> list[int]:
        """Return the places within a gap that can be counted."""
        return [one for one in range(gap.after + 1, gap.place) if one not in self.broken]


@dataclass(frozen=True, slots=True)
class CountEnd:
    """What came of the search."""

    ending: Ending
    culprits: tuple[Gap, ...] = ()
    """Changes between two neighbours, the oldest first.  All commits of a gap but the last
    cannot be counted, if there are several."""
    spread: tuple[Gap, ...] = ()
    """Parts whose ends differ, though nothing in them does: of several small changes."""


def next_count(
    counts: KnownCounts[Count], size: Size[Count], every: int | None = None
) -> int | CountEnd:
    """Return the place that is counted next, or how the search ends.

    The two ends are counted, with `every` also each so many-th place from the bad end.  Where
    neighbours among these differ, the place between them is counted, and so on in the halves
    that differ; without `every` only in the half that differs more, up to one change.
    """
    if {0, counts.last} & counts.broken:
        return CountEnd(Ending.BROKEN)
    first = _first_places(counts, every)
    for place in first:
        if place not in counts.of:
            return place
    culprits: list[Gap] = []
    spread: list[Gap] = []
    for gap in itertools.starmap(Gap, itertools.pairwise(first)):
        if not size(counts.of[gap.after], counts.of[gap.place]):
            continue
        for found in _within(counts, size, gap, one=every is None):
            if isinstance(found, int):
                return found
            (spread if counts.inside(found) else culprits).append(found)
    if not (culprits or spread) and size(counts.of[0], counts.of[counts.last]):
        spread.append(Gap(0, counts.last))
    ending = Ending.FOUND if culprits else Ending.SCATTERED if spread else Ending.SAME
    return CountEnd(ending, tuple(culprits), tuple(spread))


def most_counts(counts: KnownCounts[Count], every: int | None = None) -> tuple[int, int]:
    """How many places are counted in any case, and how many more one change needs at most."""
    first = _first_places(counts, every)
    widest = max(place - after for after, place in itertools.pairwise(first))
    return len(set(first) - counts.of.keys()), (widest - 1).bit_length()


def _first_places(counts: KnownCounts[Count], every: int | None) -> list[int]:
    """The places that are counted whatever others say; the nearest to those that cannot be."""
    able = [place for place in range(counts.last + 1) if place not in counts.broken]
    wanted = range(counts.last, 0, -every) if every else (counts.last,)
    near = {min(able, key=lambda one: (abs(one - place), one)) for place in wanted}
    return sorted({0, *near})


def _within(
    counts: KnownCounts[Count], size: Size[Count], gap: Gap, *, one: bool
) -> Iterator[int | Gap]:
    """A place to count, or the changes in a gap whose ends differ; of `one`, one of them.

    A gap that has places inside is a change that neither half shows.
    """
    inside = counts.inside(gap)
    if not inside:
        yield gap
        return
    middle = (gap.after + gap.place) / 2
    counted = [place for place in inside if place in counts.of]
    split = min(counted or inside, key=lambda one: (abs(one - middle), one))
    if not counted:
        yield split
        return
    sizes = {
        half: size(counts.of[half.after], counts.of[half.place])
        for half in (Gap(gap.after, split), Gap(split, gap.place))
    }
    halves = [half for half in sizes if sizes[half]]
    if not halves:
        yield gap
    for half in [max(halves, key=sizes.__getitem__)] if one and halves else halves:
        yield from _within(counts, size, half, one=one)
