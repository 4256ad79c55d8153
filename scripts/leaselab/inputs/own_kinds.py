"""Kinds of clients for a user's own configuration, of servers that answer relays."""

from __future__ import annotations

import ipaddress
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate
from typing import Any, Protocol

from leaselab.model.pool import POOL_USE_LIMIT

MOST_CLIENTS = 100_000
"""Clients that a configuration has of its own at the most; fewer where its pools are small."""
MOST_LISTED = 20_000
"""Clients whose identities are listed one by one, of one kind."""
MOST_ADDRESSES = 2**18
"""Addresses of one pool that are counted: the sizes of larger ones say nothing of clients."""
INFORMING = 1000
"""Clients of a subnet that ask for options alone, of a server that has no leases."""
_ALONE = 1024
"""Clients of a subnet that have a kind each."""
_ASKED = {4: (55, "hex:01030f060c2a"), 6: (6, "hex:00170018")}
"""Options that clients ask for: mask, routers, DNS and the like."""
_SENT = ("options", "agent")
"""What clients send of their own, and their relay of them."""
RESERVED = "reserved"
"""What clients with reservations are called in the names of their kinds."""
_LINK_SELECTION = 5
"""Sub-option of option 82 that names the subnet (RFC 3527): the relay has the lab's address."""


class Place(Protocol):
    """A subnet: its prefix, and the address of a relay in it."""

    prefix: ipaddress.IPv4Network | ipaddress.IPv6Network
    relay: ipaddress.IPv4Address | ipaddress.IPv6Address


class Kinds:
    """Kinds of clients that a server answers, and clients that it would not answer."""

    def __init__(self, family: int) -> None:
        """Begin without any."""
        self.family = family
        self.kinds: list[dict[str, Any]] = []
        self._unserved: dict[str, None] = {}
        self._reserved: dict[tuple[str, str, str], tuple[Place, list[Any], dict[str, Any]]] = {}

    def add(self, place: Place, own: Mapping[str, Any], of: str = "") -> None:
        """Add a kind of clients of a subnet; `own` is what they have, `of` what they are."""
        options = dict([_ASKED[self.family], *own.get("options", ())])
        kind = {
            "name": kind_name(place, *([of] if of else [])),
            **own,
            "options": [[code, value] for code, value in options.items()],
        }
        agent = list(own.get("agent", ()))
        if self.family == 4:
            agent.insert(0, [_LINK_SELECTION, f"hex:{place.relay.packed.hex()}"])
        else:
            kind["relay"] = str(place.relay)
        if agent:
            kind["agent"] = agent
        if kind.get("want") == "address":
            del kind["want"]
        self.kinds.append(kind)

    def reserve(self, place: Place, word: str, value: object, own: Mapping[str, Any]) -> None:
        """Note a client with a reservation: `word` (macs, duids, _SENT) is what it has.

        `own` is what clients of its kind have as well; `add_reserved` adds what was noted.
        """
        key = (str(place.relay), word, str(own))
        self._reserved.setdefault(key, (place, [], dict(own)))[1].append(value)

    def add_reserved(self) -> None:
        """Add the kinds of clients that have the reservations."""
        for (_, word, _), (place, values, own) in self._reserved.items():
            more = len(values) - (_ALONE if word in _SENT else MOST_LISTED)
            if more > 0:
                self.say(f"{place.prefix}: {more} more reservations have no client")
            for part in _parts(word, values):
                has = [*own.get(word, ()), *part] if word in _SENT else part
                self.add(place, {**own, "clients": len(part), word: has}, RESERVED)

    def say(self, reason: str) -> None:
        """Note a part of the file whose clients get no answer, once."""
        self._unserved.setdefault(reason)

    @property
    def unserved(self) -> list[str]:
        """What was noted by `say`."""
        return list(self._unserved)

    def addresses(self, wanted: int) -> int:
        """Addresses that there are for the clients; `wanted` is the size of the pools."""
        return max(wanted, 2 * sum(int(kind["clients"]) for kind in self.kinds))


def kind_name(place: Place, *of: str) -> str:
    """Return the name of a kind of clients of a subnet: `of` is what they are, if anything."""
    return ", ".join([str(place.prefix), *of])


def named_in(kind: Mapping[str, Any]) -> tuple[str, str]:
    """Return the subnet and what clients are, empty for plain ones, as `kind_name` has them."""
    prefix, _, of = str(kind["name"]).partition(", ")
    return prefix, of


def leases_of(kind: Mapping[str, Any]) -> int:
    """Return how many leases clients of a kind have: an address and a prefix are two."""
    return int(kind["clients"]) * (2 if kind.get("want") == "both" else 1)


def pool_share(addresses: int, most_clients: int) -> float:
    """Return the share of so many addresses that clients take, by the sizes of the pools."""
    return min(POOL_USE_LIMIT, most_clients / addresses) if addresses else 0.0


def divided(clients: int, rooms: Sequence[int]) -> list[int]:
    """Return the place of each of some clients, by the rooms of places.

    Without room for all of them it is as many as there is room for.
    """
    ends = list(accumulate(rooms))
    served = min(clients, ends[-1] if ends else 0)
    return [bisect_right(ends, number * ends[-1] // served) for number in range(served)]


def joined(parts: Iterable[Mapping[Any, Sequence[Any]]]) -> dict[Any, list[Any]]:
    """Return what several parts of a test ask for, together: pieces by their fields."""
    every: dict[Any, list[Any]] = {}
    for part in parts:
        for field, pieces in part.items():
            every.setdefault(field, []).extend(pieces)
    return every


def numbered(base: bytes, free: Sequence[int], numbers: Iterable[int]) -> Iterator[bytes]:
    """Yield bytes with each number in its places `free`, the lowest digit in the first.

    Larger numbers begin again.
    """
    for number in numbers:
        filled = bytearray(base)
        digits = (number % 256 ** len(free)).to_bytes(len(free), "little")
        for at, digit in zip(free, digits, strict=True):
            filled[at] = digit
        yield bytes(filled)


def _parts(word: str, values: list[Any]) -> Iterable[list[Any]]:
    """Clients of one kind: those that differ in an option have a kind each."""
    if word in _SENT:
        return ([value] for value in values[:_ALONE])
    return [values[:MOST_LISTED]]


def relay_in(prefix: Any, routers: Iterable[str]) -> Any:  # noqa: ANN401  (of either family)
    """Address of a relay that is in a subnet: its router's, or the first."""
    for word in routers:
        try:
            router = ipaddress.ip_address(word)
        except ValueError:
            continue
        if router in prefix:
            return router
    return prefix[1] if prefix.num_addresses > 1 else prefix[0]
