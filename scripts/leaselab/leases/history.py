"""A history of leases: who asked for what when, and what was answered.

An event is one message of a client and its answer.  Where no answer came, the server may have
acted or not.  Times are whole microseconds of one clock.
"""

from __future__ import annotations

import enum
from array import array
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

SECOND = 1_000_000
NEVER = -1
"""In place of the time of an answer that did not come, of an unknown address or place."""
LINGER = 10 * SECOND
"""How long after it was sent a message without an answer may still reach a server (us)."""

Ints = NDArray[np.int64]


class Kind(enum.IntEnum):
    """What a client asked for, and how that was answered."""

    OFFERED = 0
    GRANTED = 1
    """A new lease: by a request after an offer, or at once."""
    RENEWED = 2
    """A lease for longer, also by another server or after a restart of the client."""
    REFUSED = 3
    """The same, refused."""
    RELEASED = 4
    DECLINED = 5
    """The client has found another host at the address."""


@dataclass(frozen=True)
class History:
    """Events in the order in which they were sent; shapes are (events,)."""

    kind: Ints
    owner: Ints
    """Numbers of clients, each with another for prefixes beside addresses."""
    place: Ints
    """Where the client was, such as behind which relay; `NEVER` where that is not known."""
    address: Ints
    """Positions in `addresses`: the one given, or asked for; `NEVER` where it is not known."""
    asked: Ints
    """The one asked for, if that is known."""
    sent: Ints
    answered: Ints
    done: Ints
    """After it the server no longer acts on the message or on a copy of it."""
    until: Ints
    """The end of a lease, counted from when it was asked for."""
    server: Ints
    """Positions in `servers`; `NEVER` without an answer."""
    client: Ints
    """Who an owner is, a number by owner, shape (owners,)."""
    clients: tuple[str, ...]
    """The same as a word."""
    addresses: tuple[str, ...]
    servers: tuple[str, ...]

    def __len__(self) -> int:
        return self.kind.size

    @property
    def is_answered(self) -> NDArray[np.bool_]:
        """Of each event whether an answer came."""
        answered: NDArray[np.bool_] = self.answered != NEVER
        return answered

    @property
    def gives_lease(self) -> NDArray[np.bool_]:
        """Of each event whether its client has a lease by the answer."""
        given: NDArray[np.bool_] = np.isin(self.kind, (Kind.GRANTED, Kind.RENEWED))
        return given & self.is_answered

    @property
    def ends(self) -> int:
        """When the last thing happened."""
        return int(max(self.sent.max(), self.answered.max())) if len(self) else 0


class _Table(dict[str, int]):
    """Numbers of words, in the order of their first use."""

    def __missing__(self, word: str) -> int:
        self[word] = number = len(self)
        return number


_COLUMNS = (
    *("kind", "owner", "place", "address", "asked", "sent", "answered", "done", "until"),
    "server",
)


class Recorder:
    """Takes down events in any order, with 80 bytes for each."""

    def __init__(self) -> None:
        """Begin without any."""
        self._values = array("q")
        self._owners: dict[tuple[str, bool], int] = {}
        self._addresses, self._servers, self._places = _Table(), _Table(), _Table()

    def __len__(self) -> int:
        return len(self._values) // len(_COLUMNS)

    def add(  # the fields of an event
        self,
        kind: Kind,
        client: str,
        address: str,
        sent: int,
        answered: int = NEVER,
        *,
        valid_s: int = 0,
        asked: str = "",
        server: str = "",
        place: str = "",
        resent: int = NEVER,
    ) -> None:
        """Add an event; what is empty is not known.

        A prefix has its length: a client may hold one beside an address.  `resent` is when the
        last copy of a message was sent, of one that was sent several times.
        """
        is_done = answered != NEVER and resent == NEVER
        owner = client, "/" in (address or asked)
        self._values.extend(
            (
                kind,
                self._owners.setdefault(owner, len(self._owners)),
                self._places[place] if place else NEVER,
                self._addresses[address] if address else NEVER,
                self._addresses[asked] if asked else NEVER,
                sent,
                answered,
                answered if is_done else max(sent, answered, resent) + LINGER,
                sent + valid_s * SECOND,
                self._servers[server] if answered != NEVER else NEVER,
            )
        )

    def history(self) -> History:
        """Return what was taken down, sorted."""
        rows = np.array(self._values, dtype=np.int64).reshape(-1, len(_COLUMNS))
        rows = rows[np.argsort(rows[:, _COLUMNS.index("sent")], kind="stable")]
        columns = dict(zip(_COLUMNS, np.ascontiguousarray(rows.T), strict=True))
        clients = _Table()
        return History(
            **columns,
            client=np.array([clients[who] for who, _ in self._owners], dtype=np.int64),
            clients=tuple(who for who, _ in self._owners),
            addresses=tuple(self._addresses),
            servers=tuple(self._servers),
        )
