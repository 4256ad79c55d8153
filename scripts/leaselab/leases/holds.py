"""When a client certainly holds an address, whatever the network lost and however it delayed.

A server acts somewhere between a message and its answer; on one without an answer some time
later, or never.  So a lease is certain from its answer on, if nothing that could end it was
under way at the same time, up to the next such message or its own end.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from leaselab.leases.history import NEVER, SECOND, History, Ints, Kind

ROUNDING = SECOND
"""Servers count whole seconds: a lease may end so much before its time (us)."""
_ENDING = (Kind.REFUSED, Kind.RELEASED, Kind.DECLINED)
_FAR = np.iinfo(np.int64).max


@dataclass(frozen=True)
class Holds:
    """Certain leases; shapes are (holds,)."""

    event: Ints
    """The position of the event that gave it."""
    start: Ints
    end: Ints
    due: Ints
    """Its own end: before that only its client ends it."""
    next: Ints
    """The event of the client that has ended it, `NEVER` without one."""
    calm: Ints
    """When the client sent the one after that, which may come before it."""

    def select(self, which: NDArray[np.bool_]) -> Holds:
        """Some of them."""
        return Holds(*(column[which] for column in vars(self).values()))


def holds_of(history: History) -> Holds:
    """The certain leases of a history, by client and time."""
    kind, address = history.kind, history.address
    is_given = history.gives_lease
    is_ending = np.isin(kind, _ENDING)
    events = np.flatnonzero(is_given | is_ending | (kind == Kind.GRANTED))
    events = events[np.argsort(history.owner[events], kind="stable")]  # by time within each
    if not events.size:
        return Holds(*(np.empty(0, dtype=np.int64) for _ in range(6)))
    # What ends every lease is as if it led to an address of its own.
    leads_to = np.where(is_ending, -2 - np.arange(len(history)), address)[events]
    owner, sent, done = (
        column[events] for column in (history.owner, history.sent, history.done)
    )
    of_owner = _groups(owner)
    run = _groups(owner, leads_to)
    firsts = np.flatnonzero(np.diff(run, prepend=-1))
    follows = np.append(firsts[1:], NEVER)[run]
    has_next = (follows != NEVER) & (owner[follows] == owner)
    latest = _running_max(done, of_owner)
    has_before = (firsts > 0) & (owner[firsts - 1] == owner[firsts])
    before = np.where(has_before, latest[firsts - 1], NEVER)[run]
    due = np.where(is_given[events], history.until[events] - ROUNDING, _FAR)
    due = -_running_max(-due[::-1], (run[-1] - run)[::-1])[::-1]  # a renewal may shorten it
    start = history.answered[events]
    end = np.where(has_next, np.minimum(due, sent[follows]), due)
    is_certain = is_given[events] & (before < sent) & (start < end)
    following = np.where(has_next, events[follows], NEVER)
    calm = np.where(has_next & has_next[follows], sent[follows[follows]], _FAR)
    return Holds(events, start, end, due, following, calm).select(is_certain)


def _groups(*columns: Ints) -> Ints:
    """Numbers of groups, from 0, of neighbours that are equal in all columns."""
    changes = np.zeros(columns[0].size, dtype=bool)
    for column in columns:
        changes[1:] |= column[1:] != column[:-1]
    return np.cumsum(changes)


def _running_max(values: Ints, group: Ints) -> Ints:
    """The largest value of each group so far; groups are numbered in their order."""
    known, ranks = np.unique(values, return_inverse=True)
    base = group * known.size  # of ranks, as times one above the other would not fit
    latest: Ints = known[np.maximum.accumulate(ranks + base) - base]
    return latest
