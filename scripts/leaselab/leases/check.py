"""Decides of a history which promises servers have broken; pure.

Only what no loss, delay or order of the messages explains is a violation.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from leaselab.leases.history import LINGER, NEVER, SECOND, History, Ints, Kind
from leaselab.leases.holds import ROUNDING, Holds, holds_of
from leaselab.leases.modes import CONNECTED, Mode
from leaselab.leases.words import lines_of
from leaselab.model.lease_safety import (
    DECLINED,
    FORGOTTEN,
    OTHER,
    REFUSED,
    TWICE,
    Rule,
    Violation,
)

DECLINED_S = 600
"""How long no server offers a declined address at the least: dnsmasq; others wait for a day."""


@dataclass(frozen=True)
class Case:
    """A broken rule: its events in their order, and since when it was broken."""

    events: tuple[int, ...]
    at: int
    note: str = ""

    @property
    def size(self) -> tuple[int, int]:
        """Shorter ones are easier to read, and then the earlier ones."""
        return len(self.events), self.at


Cases = Iterator[Case]


def check(
    history: History,
    *,
    mode: Mode = CONNECTED,
    store: Mapping[str, str] | None = None,
) -> tuple[Violation, ...]:
    """What was broken, each with its shortest counter-example, in the order of the rules.

    `store` is what the server that answers next holds after the history: clients by address.
    """
    holds = holds_of(history)
    found: dict[Rule, Iterator[Case]] = {
        TWICE: _twice(history, holds),
        FORGOTTEN: _forgotten(history, holds, store),
        REFUSED: _refused(history, holds),
        DECLINED: _declined(history, holds),
        OTHER: _other(history),
    }
    violations = []
    for rule, cases in found.items():
        count, shortest = 0, None
        for case in cases:
            count += 1
            if shortest is None or case.size < shortest.size:
                shortest = case
        if shortest:
            lines = tuple(lines_of(history, shortest.events, shortest.note))
            permitted = mode.permits.get(rule, "")
            violations.append(
                Violation(rule=rule, count=count, lines=lines, permitted=permitted)
            )
    return tuple(violations)


def known_to_all(stores: Sequence[Mapping[str, str]]) -> Mapping[str, str]:
    """What all of several servers hold: each of them may be the next to answer."""
    first, *others = stores
    return {
        what: whose
        for what, whose in first.items()
        if all(s.get(what) == whose for s in others)
    }


def _twice(history: History, holds: Holds) -> Cases:
    """An address that a client gets while another one holds it."""
    address = history.address[holds.event]
    order = np.lexsort((holds.start, address))
    event, start, end = holds.event[order], holds.start[order], holds.end[order]
    address = address[order]
    client = history.client[history.owner[event]]
    # Most addresses have one client all the time.
    changes = np.flatnonzero((address[1:] == address[:-1]) & (client[1:] != client[:-1]))
    shared = np.isin(address, address[changes])
    rows = zip(
        *(column[shared].tolist() for column in (address, client, event, start, end)),
        strict=True,
    )
    held: dict[int, tuple[int, int]] = {}
    before = NEVER
    for where, who, what, since, until in rows:
        if where != before:
            held, before = {}, where
        for other, (its_end, its_event) in list(held.items()):
            if its_end <= since:
                del held[other]
            elif other != who:
                both = min(its_end, until)
                note = f"both have it for {(both - since) / SECOND:.6g} s"
                yield Case((its_event, what), since, note)
                del held[other]  # its conflict is counted once
        held[who] = until, what


def _forgotten(history: History, holds: Holds, store: Mapping[str, str] | None) -> Cases:
    """A client that gets another address within the time of the one that it has.

    And leases at the end of the history that the server which answers next does not know.
    """
    yield from _offered_others(history, holds)
    after = holds.next
    is_given = np.isin(history.kind[after], (Kind.GRANTED, Kind.RENEWED))
    is_given &= (after != NEVER) & (history.answered[after] != NEVER)
    # A client may ask for another one itself, by an offer from before.
    asked = history.asked[after]
    is_given &= (asked == NEVER) | (asked == history.address[holds.event])
    yield from _pairs(history, holds, is_given & _in_time(history, holds))
    if store is None:
        return
    last = holds.select((after == NEVER) & (holds.due > history.ends + LINGER))
    _, newest = np.unique(history.owner[last.event][::-1], return_index=True)
    for event in last.event[::-1][newest].tolist():
        known = store.get(history.addresses[history.address[event]])
        if known != history.clients[history.owner[event]]:
            of = f"has it for client {known}" if known else "does not know it"
            note = f"the server that answers next {of}"
            yield Case((event,), int(history.answered[event]), note)


def _refused(history: History, holds: Holds) -> Cases:
    """A renewal of the lease that its client holds, refused within the lease's time."""
    after = holds.next
    is_refused = (after != NEVER) & (history.kind[after] == Kind.REFUSED)
    is_refused &= history.asked[after] == history.address[holds.event]
    yield from _pairs(history, holds, is_refused & _in_time(history, holds))


def _offered_others(history: History, holds: Holds) -> Cases:
    """Offers of other addresses than the one that a client has."""
    offers = np.flatnonzero((history.kind == Kind.OFFERED) & history.is_answered)
    if not offers.size or not holds.event.size:
        return
    starts = np.unique(holds.start)

    def key(owner: Ints, at: Ints) -> Ints:
        place: Ints = owner * (starts.size + 1) + np.searchsorted(starts, at, side="right")
        return place

    held = key(history.owner[holds.event], holds.start)
    order = np.argsort(held, kind="stable")
    asked = key(history.owner[offers], history.sent[offers])
    row = order[np.searchsorted(held[order], asked, side="right") - 1]
    event = holds.event[row]
    is_other = history.owner[event] == history.owner[offers]
    is_other &= history.address[event] != history.address[offers]
    is_other &= (holds.start[row] < history.sent[offers]) & (
        history.answered[offers] <= holds.end[row]
    )
    is_other &= _same_place(history, event, offers)
    for before, offer in zip(event[is_other].tolist(), offers[is_other].tolist(), strict=True):
        yield Case((before, offer), int(history.answered[offer]))


def _in_time(history: History, holds: Holds) -> NDArray[np.bool_]:
    """Whether what has ended a lease was answered in its time, at the same place."""
    latest = np.minimum(holds.due, holds.calm)
    in_time: NDArray[np.bool_] = history.answered[holds.next] <= latest
    return in_time & _same_place(history, holds.event, holds.next)


def _pairs(history: History, holds: Holds, which: NDArray[np.bool_]) -> Cases:
    """The last lease before each of some events, with it."""
    events, after = holds.event[which], holds.next[which]
    last = dict(zip(after.tolist(), events.tolist(), strict=True))
    for event, before in last.items():
        yield Case((before, event), int(history.answered[event]))


def _same_place(history: History, first: Ints, then: Ints) -> NDArray[np.bool_]:
    """Whether a client may have been at the same place: elsewhere it needs another lease."""
    places = history.place[first], history.place[then]
    same: NDArray[np.bool_] = (
        (places[0] == places[1]) | (places[0] == NEVER) | (places[1] == NEVER)
    )
    return same


def _declined(history: History, holds: Holds) -> Cases:
    """An address that is offered or given after its client has declined it, before its time."""
    offers = _Events(history, (Kind.OFFERED, Kind.GRANTED, Kind.RENEWED), history.address)
    for event, known_at in _known_declines(history, holds):
        over = history.sent[event] + DECLINED_S * SECOND - ROUNDING
        of_it = offers.of(int(history.address[event]))
        for offer in of_it[np.searchsorted(history.sent[of_it], known_at) :][:1].tolist():
            if history.answered[offer] < over:
                yield Case((event, offer), int(history.answered[offer]))


def _known_declines(history: History, holds: Holds) -> Iterator[tuple[int, int]]:
    """Declines by the holders of addresses, and since when servers certainly know them (us).

    DHCPv4 has no answer to it.  A server that had lost it would give the client its address
    again: if its next offer is of another one, it knows.
    """
    after = holds.next
    is_it = (after != NEVER) & (history.kind[after] == Kind.DECLINED)
    is_it &= history.address[after] == history.address[holds.event]
    latest = np.minimum(holds.due, holds.calm)
    is_it &= history.answered[after] <= latest
    until = dict(zip(after[is_it].tolist(), latest[is_it].tolist(), strict=True))
    offers = _Events(history, (Kind.OFFERED,), history.owner)
    for event, its_latest in until.items():
        answered = int(history.answered[event])
        if answered == NEVER:
            own = offers.of(int(history.owner[event]))
            for offer in own[np.searchsorted(own, event) :][:1].tolist():
                is_other = history.address[offer] != history.address[event]
                if is_other and history.answered[offer] <= its_latest:
                    answered = int(history.answered[offer])
        if answered != NEVER:
            yield event, answered


class _Events:
    """Answered events of some kinds by a column's values, in the order of their time."""

    def __init__(self, history: History, kinds: tuple[Kind, ...], by: Ints) -> None:
        events = np.flatnonzero(np.isin(history.kind, kinds) & history.is_answered)
        self._events = events[np.argsort(by[events], kind="stable")]
        self._values = by[self._events]

    def of(self, value: int) -> Ints:
        """Those of a value."""
        first, last = np.searchsorted(self._values, (value, value + 1))
        return self._events[first:last]


def _other(history: History) -> Cases:
    """An acknowledgement of another address than the one that was asked for."""
    given = history.is_answered & (history.kind == Kind.GRANTED)
    is_other = given & (history.asked != NEVER) & (history.asked != history.address)
    for event in np.flatnonzero(is_other).tolist():
        if "." in history.addresses[history.address[event]]:  # RFC 8415 lets DHCPv6 do it
            yield Case((event,), int(history.answered[event]))
