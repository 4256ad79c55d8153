"""A case in words: who got what when."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from leaselab.leases.history import NEVER, SECOND, History, Kind

_ASKED = {
    Kind.OFFERED: "asks for a lease",
    Kind.GRANTED: "asks for {asked}",
    Kind.RENEWED: "renews {asked}",
    Kind.REFUSED: "renews {asked}",
    Kind.RELEASED: "releases {address}",
    Kind.DECLINED: "declines {address}",
}
_ANSWERED = {
    Kind.OFFERED: "is offered {address}",
    Kind.GRANTED: "gets {address} until {until}",
    Kind.RENEWED: "has {address} until {until}",
    Kind.REFUSED: "is refused",
    Kind.RELEASED: "is answered",
    Kind.DECLINED: "is answered",
}


def lines_of(history: History, events: Sequence[int], note: str = "") -> Iterator[str]:
    """Lines for events, in the order in which things happened; times since the first event."""
    steps = [step for event in events for step in _steps(history, event)]
    yield from (f"{_time(history, at)}  {what}" for at, what in sorted(steps))
    if note:
        yield note


def _steps(history: History, event: int) -> Iterator[tuple[int, str]]:
    kind = Kind(history.kind[event])
    client = history.clients[history.owner[event]]
    address, asked = (
        history.addresses[column[event]] if column[event] != NEVER else ""
        for column in (history.address, history.asked)
    )
    until = _time(history, int(history.until[event]))
    words = {"address": address, "asked": asked or address or "a lease", "until": until}
    yield int(history.sent[event]), f"client {client} {_ASKED[kind].format(**words)}"
    if history.answered[event] == NEVER:
        return
    server = history.servers[history.server[event]]
    of = f", by server {server}" if server else ""
    yield int(history.answered[event]), f"client {client} {_ANSWERED[kind].format(**words)}{of}"


def _time(history: History, at: int) -> str:
    return f"{(at - int(history.sent[0])) / SECOND:.6f} s"
