"""Which commits of a range changed what is counted: the next commit to count, or the end.

Counts are exact, so two of them decide whether a change lies between their commits, and plain
bisection suffices.  It goes by the ends of a range, so it does not see changes that cancel each
other out between two counted commits; more of these are counted first where that is asked for.
All that is known is a value, as of `leaselab.analysis.duels.bisect`: a search that was
interrupted goes on as if it had not been.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

from leaselab.analysis.duels.bisect import Ending
from leaselab.analysis.duels.culprits import Gap

Count = TypeVar("Count")
Change = Callable[[Count, Count], float]
"""How much the second of two counts is more than the first; 0 where they do not differ."""


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


def next_count(
    counts: KnownCounts[Count], change: Change[Count], every: int | None = None
) -> int | CountEnd:
    """Return the place that is counted next, or how the search ends.

    The two ends are counted, with `every` also each so many-th place from the bad end.  Where
    neighbours among the counted places differ, the place between them is counted, and so on.
    Without `every` that is done up to one change, which has the sign of the ends' difference.
    """
    if {0, counts.last} & counts.broken:
        return CountEnd(Ending.BROKEN)
    for place in _first_places(counts, every):
        if place not in counts.of:
            return place
    ends = change(counts.of[0], counts.of[counts.last])
    sizes = {
        gap: change(counts.of[gap.after], counts.of[gap.place])
        for gap in itertools.starmap(Gap, itertools.pairwise(sorted(counts.of)))
    }
    changed = [gap for gap in sizes if (sizes[gap] * ends > 0 if every is None else sizes[gap])]
    culprits = tuple(gap for gap in changed if not counts.inside(gap))
    if every is not None or not culprits:
        # The halves of a gap come before all others, so what was begun is ended first.
        wide = (gap for gap in changed if counts.inside(gap))
        gap = min(
            wide, key=lambda one: (_halvings(counts, one), -abs(sizes[one])), default=None
        )
        if gap is not None:
            middle = (gap.after + gap.place) / 2
            return min(counts.inside(gap), key=lambda one: (abs(one - middle), one))
    return CountEnd(
        Ending.FOUND if culprits else Ending.SCATTERED if ends else Ending.SAME, culprits
    )


def most_counts(counts: KnownCounts[Count], every: int | None = None) -> tuple[int, int]:
    """How many places are counted in any case, and how many more one change needs at most."""
    first = _first_places(counts, every)
    gaps = itertools.starmap(Gap, itertools.pairwise(first))
    return len(set(first) - counts.of.keys()), max(_halvings(counts, gap) for gap in gaps)


def _halvings(counts: KnownCounts[Count], gap: Gap) -> int:
    """How many places within a gap are counted at most until no place is left between two."""
    return len(counts.inside(gap)).bit_length()


def _first_places(counts: KnownCounts[Count], every: int | None) -> list[int]:
    """The places that are counted whatever others say; the nearest to those that cannot be."""
    able = [place for place in range(counts.last + 1) if place not in counts.broken]
    wanted = range(counts.last, 0, -every) if every else (counts.last,)
    near = {min(able, key=lambda one: (abs(one - place), one)) for place in wanted}
    return sorted({0, *near})
