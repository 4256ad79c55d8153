"""Kinds of clients for a user's own configuration, of servers that answer relays."""

from __future__ import annotations

import ipaddress
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate
from typing import Any, Generic, Literal, NamedTuple, Protocol, Required, TypedDict, TypeVar

from leaselab.model.pool import POOL_USE_LIMIT, Address

MOST_CLIENTS = 100_000
"""Clients that a configuration has of its own at the most; fewer where its pools are small."""
MOST_LISTED = 20_000
"""Clients whose identities are listed one by one, of one kind."""
MOST_ADDRESSES = 2**18
"""Addresses of one pool that are counted: the sizes of larger ones say nothing of clients."""
INFORMING = 1000
"""Clients of a subnet that ask for options alone, of a server that has no leases."""
OPTIONS_ALONE = "it answers requests for options alone; those for leases are measured"
"""Why a subnet without leases has no clients beside others that have some."""
_ALONE = 1024
"""Clients of a subnet that have a kind each."""
_ASKED: Mapping[int, Value] = {4: (55, "hex:01030f060c2a"), 6: (6, "hex:00170018")}
"""Options that clients ask for: mask, routers, DNS and the like."""
RESERVED = "reserved"
"""What clients with reservations are called in the names of their kinds."""
_LINK_SELECTION = 5
"""Sub-option of option 82 that names the subnet (RFC 3527): the relay has the lab's address."""


Field = TypeVar("Field")
Piece = TypeVar("Piece")
T = TypeVar("T")
Prefix = ipaddress.IPv4Network | ipaddress.IPv6Network
Listed = Literal["macs", "duids"]
"""A list of the identities of clients."""
LISTS: tuple[Listed, ...] = ("macs", "duids")
Sent = Literal["options", "agent"]
"""What clients send of their own, and their relay of them."""
Value = tuple[int, str]
"""A code of an option, and its value as leaseload reads it."""


class Unknown(Exception):  # noqa: N818  # it is no error: the value is not in the file
    """The value that a class tests cannot be worked out for a client."""


class InList(NamedTuple):
    """A client that is listed by its identity."""

    word: Listed
    value: str


class Telling(NamedTuple):
    """A client that is known by what it, or its relay, sends."""

    word: Sent
    value: Value


Identity = InList | Telling


class Having(TypedDict, total=False):
    """What clients of a kind have."""

    clients: Required[int]
    macs: list[str]
    duids: list[str]
    options: list[Value]
    agent: list[Value]
    want: str
    """Kinds of leases that they ask for: address, prefix, both or options."""


class ClientKind(TypedDict, total=False):
    """A kind of clients as leaseload reads it."""

    name: Required[str]
    clients: Required[int]
    macs: list[str]
    duids: list[str]
    options: list[list[int | str]]
    agent: list[list[int | str]]
    want: str
    relay: str


class Place(Protocol):
    """A subnet: its prefix, and the address of a relay in it."""

    @property
    def prefix(self) -> Prefix:
        """Where its clients have their addresses."""

    @property
    def relay(self) -> Address:
        """The relay that they come through."""


class ByPrefix(Generic[T]):
    """Things by their prefixes, of which an address may be in several."""

    def __init__(self, pairs: Iterable[tuple[Prefix, T]]) -> None:
        """Index pairs of a prefix and a thing: there may be thousands."""
        self._by_mask: dict[tuple[int, int], dict[int, list[tuple[int, T]]]] = {}
        for at, (prefix, held) in enumerate(pairs):
            of_mask = self._by_mask.setdefault((prefix.version, int(prefix.netmask)), {})
            of_mask.setdefault(int(prefix.network_address), []).append((at, held))

    def of(self, address: Address) -> list[T]:
        """Those in whose prefixes an address is, in their order."""
        found = [
            one
            for (version, mask), of_mask in self._by_mask.items()
            if version == address.version
            for one in of_mask.get(int(address) & mask, ())
        ]
        return [held for _, held in sorted(found, key=lambda one: one[0])]


class Kinds:
    """Kinds of clients that a server answers, and clients that it would not answer."""

    def __init__(self, family: int) -> None:
        """Begin without any."""
        self.family = family
        self.kinds: list[ClientKind] = []
        self._unserved: dict[str, None] = {}
        self._reserved: dict[tuple[str, str, str], tuple[Place, list[Identity]]] = {}

    def add(self, place: Place, own: Having, of: str = "") -> None:
        """Add a kind of clients of a subnet; `own` is what they have, `of` what they are."""
        kind: ClientKind = {
            "name": kind_name(place, *([of] if of else [])),
            "clients": own["clients"],
            "options": written(dict([_ASKED[self.family], *own.get("options", ())]).items()),
        }
        for word in LISTS:
            if word in own:
                kind[word] = own[word]
        agent = list(own.get("agent", ()))
        if self.family == 4:
            agent.insert(0, (_LINK_SELECTION, hex_of(place.relay.packed)))
        else:
            kind["relay"] = str(place.relay)
        if agent:
            kind["agent"] = written(agent)
        if own.get("want", "address") != "address":
            kind["want"] = own["want"]
        self.kinds.append(kind)

    def reserve(self, place: Place, client: Identity, want: str = "address") -> None:
        """Note a client with a reservation; `add_reserved` adds what was noted."""
        key = (str(place.relay), client.word, want)
        self._reserved.setdefault(key, (place, []))[1].append(client)

    def add_reserved(self) -> None:
        """Add the kinds of clients that have the reservations."""
        for (_, _, want), (place, clients) in self._reserved.items():
            most = _ALONE if isinstance(clients[0], Telling) else MOST_LISTED
            if len(clients) > most:
                more = len(clients) - most
                self.say(f"{place.prefix}: {more} more reservations have no client")
            # Those that differ in an option have a kind each.
            each = 1 if isinstance(clients[0], Telling) else MOST_LISTED
            for at in range(0, min(len(clients), most), each):
                self.add(place, _having(clients[at : at + each], want), RESERVED)

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


def listing(own: Having, word: Listed, listed: list[str]) -> Having:
    """The same for those clients alone whose identities are in a list."""
    own = {**own, "clients": len(listed)}
    own[word] = listed
    return own


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


def joined(parts: Iterable[Mapping[Field, Sequence[Piece]]]) -> dict[Field, list[Piece]]:
    """Return what several parts of a test ask for, together: pieces by their fields."""
    every: dict[Field, list[Piece]] = {}
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


def _having(clients: Sequence[Identity], want: str) -> Having:
    """What some clients of one kind have."""
    own: Having = {"clients": len(clients), "want": want}
    for client in clients:
        if isinstance(client, Telling):
            own.setdefault(client.word, []).append(client.value)
        else:
            own.setdefault(client.word, []).append(client.value)
    return own


def written(values: Iterable[Value]) -> list[list[int | str]]:
    """Options as JSON has them."""
    return [[code, value] for code, value in values]


def hex_of(value: bytes) -> str:
    """Bytes as leaseload reads them."""
    return f"hex:{value.hex()}"


def relay_in(prefix: Prefix, routers: Iterable[str]) -> Address:
    """Address of a relay that is in a subnet: its router's, or the first."""
    for word in routers:
        try:
            router = ipaddress.ip_address(word)
        except ValueError:
            continue
        if router in prefix:
            return router
    return prefix[1] if prefix.num_addresses > 1 else prefix[0]
