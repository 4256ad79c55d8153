"""What a checker of leases finds."""

from __future__ import annotations

import enum

import msgspec


class Rule(enum.StrEnum):
    """What servers promise their clients."""

    TWICE = "twice"
    """No two clients hold an address at once."""
    FORGOTTEN = "forgotten"
    """The server that answers next knows each acknowledged lease."""
    REFUSED = "refused"
    """A renewal within its time is not refused."""
    DECLINED = "declined"
    """A declined address is not offered again before its time."""
    OTHER = "other"
    """An acknowledged lease is the one that was asked for."""
    OUTSIDE = "outside"
    """Leases are of the pools."""

    @property
    def broken(self) -> str:
        """What has happened where it is broken, of one case."""
        return _BROKEN[self]


_BROKEN = {
    Rule.TWICE: "an address had two clients at once",
    Rule.FORGOTTEN: "an acknowledged lease was not known afterwards",
    Rule.REFUSED: "a renewal was refused within its time",
    Rule.DECLINED: "a declined address was offered again before its time",
    Rule.OTHER: "a client got another address than it had asked for",
    Rule.OUTSIDE: "an address is outside of the pools",
}


class Violation(msgspec.Struct, frozen=True, kw_only=True):
    """A broken rule, and its shortest counter-example."""

    rule: Rule
    count: int
    """How often it was broken."""
    lines: tuple[str, ...]
    """Of one case, who got what when."""
    permitted: str = ""
    """Why that is no fault in the mode in which the servers were; empty for a fault."""
