"""The subnets of a configuration: where their clients come from, and what they have."""

from __future__ import annotations

import ipaddress
import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from leaselab.inputs.client_kinds import MOST_ADDRESSES, ByPrefix, Prefix, relay_in
from leaselab.inputs.configuration import Level, Match, ends_of, network_of, refused
from leaselab.inputs.json_tokens import octets
from leaselab.inputs.kea.texts import Packet, Pieces
from leaselab.inputs.known_costs import known_costs
from leaselab.inputs.leases import Filling
from leaselab.model.pool import POOL_USE_LIMIT, Address

Guards = tuple[tuple[str, ...], ...]
"""Classes that something asks for, of each list one."""
ASKED_FOR: Mapping[str, tuple[str, ...]] = {
    "address": ("option[3]",),
    "prefix": ("option[25]",),
    "both": ("option[3]", "option[25]"),
    "options": (),
}
"""Options of DHCPv6 by which a client asks for something."""
BY_MAC = b"\0\3\0\1"
"""How a DUID of a hardware address begins."""
_MAC = bytes.fromhex("000c01000000")
HEAD4 = {"pkt4.htype": b"\0\0\0\1", "pkt4.hlen": b"\0\0\0\6"}
"""What the head of every message of DHCPv4 has: Ethernet."""
_OF_MOST = {("UNKNOWN",), ("ALL",)}
"""Classes of Kea's own in which all clients without a reservation are."""


class Way(NamedTuple):
    """What clients of a kind send."""

    packet: Packet
    asked: Pieces
    """What its classes ask for."""
    classes: set[str]
    """The classes by which Kea chooses a pool."""


@dataclass
class Pool:
    """Pools of a subnet that ask for the same classes and have the same kind of lease."""

    guards: Guards
    """Those of its subnet first."""
    size: int
    """How many leases are free, at most `MOST_ADDRESSES`."""
    want: str
    ways: list[Way] = field(default_factory=list)
    """What clients without a reservation send for one, by alternatives; none where nothing."""
    hosts: int = 0
    """How many clients with a reservation have one."""
    clients: int = 0
    """How many clients without a reservation come for one."""

    @property
    def is_for_all(self) -> bool:
        """Whether it is for all clients without a reservation."""
        return set(self.guards) <= _OF_MOST

    @property
    def room(self) -> int:
        """How many clients with a reservation may come: half, with one of the others."""
        others = 1 if self.ways else 0
        return max(0, math.ceil(self.size * POOL_USE_LIMIT) - self.hosts - others)

    def has(self, want: str) -> bool:
        """Whether it has some of what clients ask for."""
        return want == self.want or "both" in (want, self.want)

    def admits(self, way: Way) -> bool:
        """Whether a client that sends something may have one."""
        return admits(self.guards, way.classes)


class Place:
    """A subnet: where its clients come from, and what it has for them."""

    def __init__(
        self, match: Match, family: int, reserved: Iterable[int], filling: Filling | None = None
    ) -> None:
        """Raises a usage error for addresses of the other family.

        `reserved` are the numbers of addresses that reservations of no subnet have; `filling`
        has the leases that there are, None without any.
        """
        around, in_network = match.around, len(match.around) > 1
        self.spot, self.ident = match.spot, match.value.get("id", 0)
        self.prefix: Prefix = network_of(match.value["subnet"])
        self.network = around[0].path if in_network else None
        levels = [match, *(around[:1] if in_network else ())]
        self.relays = [
            ipaddress.ip_address(address)
            for level in levels
            for address in _relays(level.value.get("relay", {}))
        ]
        if {family} != {one.version for one in (self.prefix, *self.relays)}:
            raise refused(match)
        # Kea looks for no subnet by such an address of a relay of DHCPv6.
        self.relays = [one for one in self.relays if family == 4 or not one.is_link_local]
        # Kea takes it literally, digits of `0x...` and quotes too.
        named = (level.value.get("interface-id", "") for level in levels)
        self.interface_id = octets(str(next(filter(None, named), "")))
        self.guards = tuple(guard for level in levels for guard in _guards(level.value))
        settings = Level(match, known_costs()["kea"].replaced)
        self.in_subnet = bool(settings.get("reservations-in-subnet", True))
        self.in_global = bool(settings.get("reservations-global", False))
        routers = (
            str(option.get("data", "")).split(",")[0].strip()
            for option in match.value.get("option-data", [])
            if option.get("name") == "routers" or option.get("code") == 3
        )
        self.relay = self.relays[0] if self.relays else relay_in(self.prefix, routers)
        hosts = match.value.get("reservations", [])
        self.reservations = [
            match._replace(value=host, spot=spot)
            for host, spot in zip(hosts, getattr(hosts, "spots", ()), strict=True)
        ]
        in_pools = self.in_subnet and not settings.get("reservations-out-of-pool", False)
        held = {*(reserved_of(match.value) if in_pools else ())}
        self._reserved = sorted(held.union(reserved if self.in_global else ()))
        self._filling = filling
        self.pools = list(self._pools(match, family))
        self.asked = {name for pool in self.pools for guard in pool.guards for name in guard}

    def _pools(self, match: Match, family: int) -> Iterator[Pool]:
        """Yield the pools, those of the same guards as one."""
        sizes: dict[tuple[str, Guards], int] = {}
        subnet: Mapping[str, Any] = match.value
        for number, pool in enumerate(subnet.get("pools", [])):
            key = ("address", (*self.guards, *_guards(pool)))
            first, last = ends_of(pool["pool"])
            if not int(self.prefix[0]) <= first <= last <= int(self.prefix[-1]):
                path = f"{match.path}.pools[{number}].pool"
                wanted = "addresses of its subnet"
                raise refused(Match(path, pool["pool"], pool.spots["pool"]), wanted)
            sizes[key] = sizes.get(key, 0) + self._free(last - first + 1, first, last)
        for pool in subnet.get("pd-pools", []) if family == 6 else ():
            key = ("prefix", (*self.guards, *_guards(pool)))
            length = int(pool["delegated-len"]) - int(pool["prefix-len"])
            first, last = ends_of(f"{pool['prefix']}/{pool['prefix-len']}")
            free = self._free(2**length, first, last)
            sizes[key] = sizes.get(key, 0) + free
        for (want, guards), size in sizes.items():
            both = sizes.get(("prefix", guards)) if want == "address" else None
            if want == "prefix" and ("address", guards) in sizes:
                continue
            if both is not None:
                yield Pool(guards, min(size, both, MOST_ADDRESSES), "both")
            else:
                yield Pool(guards, min(size, MOST_ADDRESSES), want)

    def _free(self, size: int, first: int, last: int) -> int:
        reserved = bisect_right(self._reserved, last) - bisect_left(self._reserved, first)
        leased = self._filling.within(first, last) if self._filling else 0
        return max(0, size - reserved - leased)

    def stands(self, relay: Address) -> bool:
        """Whether an address may be that of a relay of its clients."""
        return relay in self.relays or (not self.relays and relay in self.prefix)

    def admits(self, found: Set[str]) -> bool:
        """Whether a client with these classes may be of this subnet."""
        return admits(self.guards, found)

    def packet(self, want: str = "address") -> dict[str, bytes]:
        """What its relay says of every client, what names one, and what it asks for."""
        packet = {"relay": self.relay.packed}
        if self.relay.version == 6:
            packet["duid"] = BY_MAC + _MAC
            packet |= dict.fromkeys(ASKED_FOR[want], b"")
            if self.interface_id:
                packet["agent[18]"] = self.interface_id
            return packet
        return {**packet, **HEAD4, "mac": _MAC}


class Near:
    """The subnets that a relay's clients may be of, in the order in which Kea looks at them."""

    def __init__(self, places: Iterable[Place], family: int) -> None:
        """Index subnets by their relays, prefixes and interfaces: there may be thousands."""
        self._family = family
        self._relays: dict[Address, list[Place]] = {}
        self._named: dict[bytes, list[Place]] = {}
        ordered = sorted(places, key=lambda place: place.ident or 2**32)
        self._around = ByPrefix((place.prefix, place) for place in ordered)
        for place in ordered:
            for relay in place.relays:
                self._relays.setdefault(relay, []).append(place)
            if place.interface_id:
                self._named.setdefault(place.interface_id, []).append(place)

    def of(self, place: Place, relay: Address) -> list[Place]:
        """Those of a subnet's own relay, itself among them if they are what Kea makes of it.

        `relay` is its address.
        """
        named = self._named.get(place.interface_id, []) if self._family == 6 else []
        around = self._around.of(relay)
        relayed = self._relays.get(relay, [])
        if self._family == 4:
            return [*relayed, *(one for one in around if not one.relays), *around]
        return [*named, *relayed, *around]


def leave_room(groups: Sequence[Sequence[Pool]]) -> None:
    """Have fewer clients for pools whose leases those of other pools may all have.

    Each group has pools of the same classes; the client of one may be one of another, too.
    """
    firsts = [pools[0] for pools in groups]
    sizes = [sum(pool.size - pool.hosts for pool in pools) for pools in groups]
    counts = [sum(pool.clients for pool in pools) for pools in groups]
    admitting = _Admitting(firsts)
    by_way = [[admitting.of(way) for way in first.ways] for first in firsts]
    # The groups of which some clients may have what each has.
    coming: list[list[int]] = [[] for _ in firsts]
    for at, held in enumerate(by_way):
        for one in set().union(*held):
            if firsts[one].has(firsts[at].want):
                coming[one].append(at)
    for at, (first, pools) in enumerate(zip(firsts, groups, strict=True)):
        own = [one for one in set.intersection(*by_way[at]) if firsts[one].has(first.want)]
        rooms: dict[int, int] = {}
        for one in own:
            for other in coming[one]:
                rooms[other] = rooms.get(other, 0) + sizes[one]
        taken = sum(min(counts[other], room) for other, room in rooms.items() if other != at)
        left = sum(sizes[one] for one in own) - taken
        if left < counts[at]:
            for pool in pools:
                pool.clients = math.floor(pool.clients * max(0, left) / counts[at])


class _Admitting:
    """Pools by the classes of the last thing that they ask for: there may be thousands."""

    def __init__(self, pools: Sequence[Pool]) -> None:
        self._pools = pools
        self._by_class: dict[str, list[int]] = {}
        for at, pool in enumerate(pools):
            for name in dict.fromkeys(pool.guards[-1] if pool.guards else ("",)):
                self._by_class.setdefault(name, []).append(at)

    def of(self, way: Way) -> set[int]:
        """The numbers of those that a client who sends something may have."""
        near = {at for name in (*way.classes, "") for at in self._by_class.get(name, ())}
        return {at for at in near if self._pools[at].admits(way)}


def admits(guards: Iterable[Sequence[str]], found: Set[str]) -> bool:
    """Whether a client with some classes has those that something asks for."""
    return all(set(guard) & found for guard in guards)


def reserved_of(level: Mapping[str, Any]) -> Iterator[int]:
    """The numbers of the first addresses of what reservations have."""
    for word in reserved_words(level):
        yield int(ipaddress.ip_network(word, strict=False).network_address)


def reserved_words(level: Mapping[str, Any]) -> Iterator[str]:
    """The addresses and prefixes that reservations have."""
    for host in level.get("reservations", []):
        alone = [host["ip-address"]] if "ip-address" in host else []
        yield from [*alone, *host.get("ip-addresses", []), *host.get("prefixes", [])]


def _relays(relay: Mapping[str, Any]) -> list[str]:
    given = relay.get("ip-addresses", [])
    return [*given, *([relay["ip-address"]] if "ip-address" in relay else [])]


def _guards(value: Mapping[str, Any]) -> list[tuple[str, ...]]:
    """The classes that something asks for: of each list one."""
    single, several = value.get("client-class"), tuple(value.get("client-classes", []))
    guards = [*([(single,)] if single else []), *([several] if several else [])]
    # Those of a pair are left out with it.
    return [guard for guard in guards if not any(name.startswith("HA_") for name in guard)]
