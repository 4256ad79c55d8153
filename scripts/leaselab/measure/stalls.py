"""What clients notice of an operation: the longest gap, what is lost, and how long it is slow.

Pure functions of a load that was counted by short bins; times are since its start (s).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.float64]

NEAR = 0.1
"""How far latency may be above that of before, to be as before (ratio)."""
WINDOW_S, LEAST_IN_WINDOW = 0.05, 20
"""Latency is the mean of windows of this length, and of so many transactions at the least."""
USUAL_SHARE, SETTLED_S = 0.9, 1.0
"""Share of the windows that are near, before it and for so long after it."""


@dataclass(frozen=True, slots=True)
class Binned:
    """A load by bins; all but `replies` are of the transactions that were due in each."""

    bin_s: float
    replies: Numbers
    """Replies that came in each, of any stage of a transaction, shape (bins,): a server that
    goes on may first offer leases, and complete nothing."""
    attempted: Numbers
    completed: Numbers
    """Those completed in time."""
    late: Numbers
    latency_s: Numbers
    """Latency of all that were answered, added up (s)."""

    def place(self, at_s: float) -> int:
        """Return the number of the bin of a time, within the load."""
        return min(max(0, round(at_s / self.bin_s)), self.attempted.size)


@dataclass(frozen=True, slots=True)
class Stretch:
    """A stretch of a load: its begin and its end (s)."""

    begin_s: float
    end_s: float

    @property
    def length_s(self) -> float:
        """How long it is (s)."""
        return self.end_s - self.begin_s


@dataclass(frozen=True, slots=True)
class Noticed:
    """What clients noticed in a stretch that begins with an operation."""

    stall_s: float | None
    """Longest time between two answers; None where none came any more (s)."""
    late: int
    lost: int
    """Transactions that were lost, or answered in another way than expected."""
    recovered_s: float | None
    """Time until latency is as before; None where it is not in this stretch (s)."""


def noticed(load: Binned, before: Stretch, after: Stretch, effect_s: float) -> Noticed:
    """Return what clients noticed of an operation in the stretch after its begin.

    `before` is a settled stretch to compare with, `effect_s` when the operation took effect.
    """
    gap = longest_gap(load, after)
    usual = longest_gap(load, before)
    first, last = load.place(after.begin_s), load.place(after.end_s)
    late = int(load.late[first:last].sum())
    bad = int(load.attempted[first:last].sum() - load.completed[first:last].sum())
    recovered = None
    if gap is not None:
        is_stall = usual is None or gap.length_s > 2 * usual.length_s
        known = gap.end_s if is_stall else after.begin_s
        recovered = _recovered(load, before, after, known, effect_s)
    return Noticed(gap.length_s if gap else None, late, bad - late, recovered)


def longest_gap(load: Binned, within: Stretch) -> Stretch | None:
    """Return the longest time between two answers that ends in a stretch, or reaches its end.

    What reaches it counts as far as the end: the rest is of what follows.  None where nothing
    was answered before the stretch, or nothing any more at the end of the load.
    """
    at = np.flatnonzero(load.replies)
    first, last = load.place(within.begin_s), load.place(within.end_s)
    begin = int(np.searchsorted(at, first, side="right")) - 1
    end = int(np.searchsorted(at, last, side="left"))
    if begin < 0 or last <= first:
        return None
    times = np.append(at[begin:end], last)
    is_last = last == load.attempted.size
    if is_last and end == at.size and last - times[-2] > load.place(WINDOW_S):
        return None
    if is_last and times.size > 2:
        times = times[:-1]  # nothing was due any more
    place = int(np.argmax(np.diff(times)))
    return Stretch(*(float(times[one] * load.bin_s) for one in (place, place + 1)))


def _recovered(
    load: Binned, before: Stretch, after: Stretch, known_s: float, effect_s: float
) -> float | None:
    """Return how long after its begin latency is as before, and stays so (s).

    Not before `known_s`, when a stall ended.  What is slow until the effect is of it, too.
    """
    window = max(load.place(WINDOW_S), _bins_of(load, before, LEAST_IN_WINDOW))
    means = _means(load, window)
    own = means[load.place(before.begin_s) : load.place(before.end_s) - window + 1]
    own = own[np.isfinite(own)]
    if not own.size:
        return None
    limit = max((1 + NEAR) * np.median(own), float(np.quantile(own, USUAL_SHARE)))
    near = means <= limit
    sums = np.concatenate(([0], np.cumsum(near)))
    begin, last = load.place(after.begin_s), min(load.place(after.end_s), near.size)
    settled = max(1, load.place(SETTLED_S))
    at = np.arange(begin, last)
    ends = np.minimum(at + settled, near.size)
    stays = near[at] & (sums[ends] - sums[at] >= USUAL_SHARE * (ends - at))
    slow = np.flatnonzero(~stays[: max(0, load.place(effect_s) - begin)])
    first = max(load.place(known_s) - begin, int(slow[-1]) + 1 if slow.size else 0)
    settled_at = np.flatnonzero(stays[first:])
    return float((first + settled_at[0]) * load.bin_s) if settled_at.size else None


def _bins_of(load: Binned, stretch: Stretch, count: int) -> int:
    """Return how many bins have a number of transactions, by those of a stretch."""
    first, last = load.place(stretch.begin_s), load.place(stretch.end_s)
    rate = load.attempted[first:last].sum() / max(1, last - first)
    return int(np.ceil(count / rate)) if rate else 0


def _means(load: Binned, window: int) -> Numbers:
    """Return the mean latency of the windows that begin with each bin (s).

    Infinite where nothing of a window was answered.
    """
    window = max(1, min(window, load.attempted.size))

    def sums_of(figures: Numbers) -> Numbers:
        until = np.concatenate(([0.0], np.cumsum(figures)))
        sums: Numbers = until[window:] - until[:-window]
        return sums

    counts, sums = sums_of(load.completed + load.late), sums_of(load.latency_s)
    means: Numbers = np.divide(sums, counts, out=np.full(sums.size, np.inf), where=counts > 0.5)
    return means


def settled_before(
    made: Sequence[Stretch], recovered: Sequence[float | None], at: int, first: Stretch
) -> Stretch:
    """Return the settled stretch to compare the operation at a place with.

    From where the one before had recovered, if it did early enough; else the same as that had.
    `made` are the stretches of the operations, `first` is that before all.
    """
    settled = first
    for place in range(1, at + 1):
        since = recovered[place - 1]
        if since is None:
            continue
        one = made[place - 1]
        stretch = Stretch(one.begin_s + since, one.end_s)
        if stretch.length_s >= SETTLED_S:
            settled = stretch
    return settled
