"""The clients that a dnsmasq.conf is made for: ranges, classes, reservations."""

from __future__ import annotations

import contextlib
import ipaddress
import math
import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from heapq import heapify, heapreplace
from itertools import islice

from leaselab.inputs.client_kinds import (
    INFORMING,
    ByPrefix,
    Having,
    Identity,
    Kinds,
    hex_of,
    relay_in,
)
from leaselab.inputs.dnsmasq.classes import Class, Packet, class_of, match, tags_of
from leaselab.inputs.dnsmasq.hosts import Host, Makers
from leaselab.inputs.dnsmasq.lab_form import DnsmasqForm
from leaselab.inputs.dnsmasq.lines import Line, Range, tag_of
from leaselab.inputs.dnsmasq.tags import Tags, by_tag
from leaselab.model.pool import POOL_USE_LIMIT, Address
from leaselab.model.text import some_of

MOST_KINDS = 4096
_OF_OTHERS = "known-othernet"
"""The tag of clients whose dhcp-host has no address of their network."""
_LEASE_MAX = 1000
"""Leases that dnsmasq holds where its file does not say how many."""


_Way = tuple[Class, frozenset[str]]
"""A class, and the tags of its clients."""
_Waiting = tuple[str, Identity, frozenset[str]]
"""A client with a reservation and no address: the place of that, who it is, and its tags."""


class Place:
    """A range with its subnet, and a relay in it."""

    def __init__(self, held: Range, order: int) -> None:
        self.held, self.prefix, self.order = held, held.prefix, order
        self.relay = relay_in(held.prefix, ())
        self._reserved: set[Address] = set()
        self.part = 1.0
        """Addresses that only one client gets, and the part of its addresses that is its own
        where ranges overlap."""
        self.room = self.taken = 0
        """Clients that may get its free addresses, and those of them with a dhcp-host."""

    def reserve(self, address: Address) -> None:
        """Note an address that only one client gets."""
        low, high = self.held.ends
        if self.held.size and low <= int(address) <= high:
            self._reserved.add(address)

    @property
    def free(self) -> int:
        """How many addresses any client may get."""
        return round((self.held.size - len(self._reserved)) * self.part)

    @property
    def left(self) -> int:
        """Clients that may get its addresses, but those with a dhcp-host."""
        return self.room - self.taken


class Rooms:
    """Ranges by the tags that they want, and which of them has the most room."""

    def __init__(self, places: Iterable[Place]) -> None:
        self._groups: dict[tuple[str, ...], list[Place]] = {}
        self._heaps: dict[tuple[str, ...], list[tuple[int, int, Place]]] = {}
        for place in places:
            self._groups.setdefault(tuple(place.held.filter), []).append(place)
        self._filters = list(self._groups)
        self._numbers = by_tag(self._filters)

    def of(self, tags: Collection[str]) -> list[list[Place]]:
        """The groups of ranges for clients with some tags."""
        return [self._groups[one] for one in self._wanted(tags)]

    def _wanted(self, tags: Collection[str]) -> list[tuple[str, ...]]:
        numbers = {at for tag in (*tags, "") for at in self._numbers[tag]}
        wanted = (self._filters[at] for at in numbers)
        return [one for one in wanted if match(one, tags)]

    def fill(self) -> None:
        """Note the room that each range has."""
        for wanted, places in self._groups.items():
            self._heaps[wanted] = [(-place.left, place.order, place) for place in places]
            heapify(self._heaps[wanted])

    def take(self, tags: Collection[str]) -> Place | None:
        """Have a client with some tags take room; return its range, None where none has any."""
        heaps = (self._heaps[one] for one in self._wanted(tags))
        most = min(heaps, key=lambda places: places[0][:2])
        *_, place = most[0]
        if not place.left:
            return None
        place.taken += 1
        heapreplace(most, (-place.left, place.order, place))
        return place


class Clients(Kinds):
    """Kinds of clients that dnsmasq answers, and clients that it would not answer."""

    def __init__(self, form: DnsmasqForm, most: int) -> None:
        """At most `most` clients take half of the free addresses, by the sizes of ranges."""
        lines, hosts, family = form.lines, form.hosts, form.family
        super().__init__(family)
        routers = [
            word
            for line in lines
            if line.name in ("dhcp-option", "dhcp-option-force")
            and {"3", "option:router"}.intersection(line.words)
            for word in line.words
        ]
        self._places = [Place(held, at) for at, held in enumerate(form.ranges)]
        self._near = ByPrefix((place.prefix, place) for place in self._places)
        for word in reversed(routers):
            with contextlib.suppress(ValueError):
                for place in self._near.of(ipaddress.ip_address(word)):
                    place.relay = relay_in(place.prefix, [word])
        _share([place for place in self._places if place.held.size])
        classes = [made for line in lines for made in self._class(line)]
        by_id = family == 6 or not any(line.name == "dhcp-ignore-clid" for line in lines)
        of_hosts = [Host(line, family, by_id=by_id) for line in hosts]
        self._asks_others = any(_OF_OTHERS in line.value for line in lines)
        self._makers = Makers(of_hosts if family == 4 else [])
        self._tags = Tags(
            classes,
            [_rule(line.words) for line in lines if line.name == "tag-if"],
            [tags_of(line.words) for line in lines if line.name == "dhcp-ignore"],
            self._makers,
            ["dhcpv6"] if family == 6 else (),
        )
        self._rooms = Rooms([place for place in self._places if place.held.size])
        self._filters = {
            tag.lstrip("!#") for place in self._places for tag in place.held.filter
        }
        ways = classes + [
            Class((*host.tags[1:], *host.tags)[0], host.line.name, host.maker)
            for host in of_hosts
            if host.maker
        ]
        self._plain = self._seen(Packet())
        seen = [(one, self._seen(one.packet)) for one in ways]
        self._ways: list[_Way] = [(one, tags) for one, tags in seen if tags is not None]
        self._by_tag, self._turn = defaultdict[str, list[_Way]](list), 0
        for one, tags in self._ways:
            for tag in tags:
                self._by_tag[tag].append((one, tags))
        self._macs: dict[str, Iterator[str]] = {}
        """The hardware addresses that are left of each pattern."""
        leases = _lease_max(lines)
        without, reserved = self._of_hosts(of_hosts, leases)
        wanted = sum(place.free for place in self._places)
        held = min(wanted, leases - reserved)
        share = min(POOL_USE_LIMIT * held, most) / wanted if wanted else 0
        clients = math.ceil(share) and (math.floor(share * wanted) or 1)
        for place in self._places:
            if place.free:
                place.room = min(clients, math.floor(place.free * share) or 1)
                clients -= place.room
        self._of_hosts_without(without)
        is_leasing = reserved or any(place.held.size for place in self._places)
        self.informs = family == 6 and not is_leasing
        """Whether all clients ask for options alone, as no range has a lease."""
        for place in self._places:
            if self.informs and place.held.is_static:
                place.room = max(1, min(INFORMING, most // len(self._places)))
            self._of_range(place)
        self.add_reserved()
        self.size = self.addresses(held)

    def _of_hosts(self, hosts: Iterable[Host], leases: int) -> tuple[list[_Waiting], int]:
        """Note clients with a reserved address, at most as many as there are leases.

        Return those without an address, each with the ranges that may give it one, and the
        number of the others.
        """
        without: list[_Waiting] = []
        come: set[str] = set()
        again: list[Line] = []
        reserved = left_out = 0
        for host in hosts:
            placed = self._placed(host)
            for place, address in placed:
                place.reserve(address)
            if not host.has_client:
                continue
            elsewhere = self._asks_others and host.addresses and not placed
            own = [_OF_OTHERS] if elsewhere else []
            places = self._served(host, [place for place, _ in placed], own)
            if host.identity is None or not places:
                known = host.identity is not None
                why = "in no range" if known else "no client is known to have it"
                self.say(f"{host.line.where}: {host.line.name} {host.line.value[:60]}: {why}")
            elif str(host.identity) in come:
                again.append(host.line)
            elif elsewhere or not host.addresses:
                tags = self._seen(Packet(), host, own) or frozenset()
                without.append((host.line.where, host.identity, tags))
            elif reserved == leases:
                left_out += 1
            else:
                reserved += 1
                self.reserve(places[0], host.identity)
            if places and self.family == 4:
                come.add(str(host.identity))
        for line in again[:1]:
            count = f"the first of {len(again)} whose clients have an earlier one, too"
            why = "dnsmasq keeps one lease for each"
            self.say(f"{line.where}: {line.name} {line.value[:60]}: {count}: {why}")
        if left_out:
            self.say(f"dhcp-lease-max {leases}: no lease for {left_out} more reservations")
        return without, reserved

    def _placed(self, host: Host) -> list[tuple[Place, Address]]:
        """Yield the ranges in whose subnets a host has an address, each with that."""
        if any(one.version == 6 and not int(one) >> 64 for one in host.addresses):
            near = set(self._places)
        else:
            near = {place for one in host.addresses for place in self._near.of(one)}
        placed = [
            (place, address)
            for place in near
            if (address := host.address(place.prefix)) is not None
        ]
        return sorted(placed, key=lambda one: one[0].order)

    def _served(self, host: Host, places: Iterable[Place], own: Sequence[str]) -> list[Place]:
        """Those of some ranges that give a host its address; of all without an address.

        `own` is the tag of a host whose addresses are of other networks, if it is asked for.
        """
        tags = self._seen(Packet(), host, own)
        if tags is None:
            return []
        if host.addresses and not own:
            return [place for place in places if match(place.held.filter, tags)]
        return [places[0] for places in self._rooms.of(tags)]

    def _seen(
        self, packet: Packet, host: Host | None = None, own: Iterable[str] = ()
    ) -> frozenset[str] | None:
        """The tags of a packet that ranges ask for, as `Tags.of`; None where it is ignored."""
        tags = self._tags.of(packet, host, own)
        return None if tags is None else frozenset(tags & self._filters)

    def _of_hosts_without(self, hosts: Iterable[_Waiting]) -> None:
        """Have clients with a reservation and no address take room of ranges."""
        left_out = []
        self._rooms.fill()
        for where, identity, tags in hosts:
            place = self._rooms.take(tags)
            if place is not None:
                self.reserve(place, identity)
            else:
                left_out.append(where)
        if left_out:
            where = some_of(left_out, 1)
            self.say(f"{where}: no room in half of the ranges' free addresses")

    def _of_range(self, place: Place) -> None:
        """Half of a range's clients are in no class, unless it wants one."""
        held, clients = place.held, place.left
        if not place.room and not held.is_static:
            self.say(f"{held.line.where}: {held.prefix}: {_why_not(place)}")
        if not clients:
            return
        plain = self._plain is not None and match(held.filter, self._plain)
        ways = [one for one, tags in self._next(held.filter) if match(held.filter, tags)]
        if not (plain or ways):
            needed = " and ".join(held.filter)
            needed = needed or "a tag that is not ignored, or a dhcp-host of its own"
            self.say(f"{held.line.where}: {held.prefix}: a client of it needs {needed}")
            return
        alone = clients if not ways else (clients + 1) // 2 if plain else 0
        if alone:
            self.add(place, {"clients": alone})
        ways = ways[: clients - alone]
        for number, one in enumerate(ways):
            each = (clients - alone) // len(ways) + (number < (clients - alone) % len(ways))
            if own := self._own(one, each):
                self.add(place, own, one.tag)

    def _own(self, one: Class, clients: int) -> Having | None:
        """What so many clients of a class have; None where none is left of it."""
        if one.where is not None:
            kind, code = one.where
            own: Having = {"clients": clients}
            own[kind] = [(code, hex_of(one.value))]
            return own
        left = self._macs.setdefault(one.mac, self._makers.within(one.mac))
        macs = list(islice(left, clients))
        return {"clients": len(macs), "macs": macs} if macs else None

    def _next(self, wanted: Iterable[str]) -> list[_Way]:
        """The classes that clients of a range may be in; others where there are many."""
        asked = [tag for tag in wanted if tag[:1] not in ("!", "#")]
        ways = min((self._by_tag[tag] for tag in asked), key=len, default=self._ways)
        most = max(1, MOST_KINDS // max(1, len(self._places)))
        if len(ways) <= most:
            return ways
        self._turn += most
        turn = self._turn % len(ways)
        return [*ways[turn : turn + most], *ways[: max(0, turn + most - len(ways))]]

    def _class(self, line: Line) -> Iterator[Class]:
        """Yield the class that a line defines; note one whose test is not worked out."""
        made = class_of(line, self.family)
        if isinstance(made, Class):
            yield made
        elif made is not None:
            self.say(f"{line.where}: {line.name} {made}: no client was worked out for its test")


def _share(places: Iterable[Place]) -> None:
    """Give each of some places that overlap a part of their addresses, by their sizes."""
    groups: list[list[Place]] = []
    end = -1
    for place in sorted(places, key=lambda place: place.held.ends):
        low, high = place.held.ends
        if low > end:
            groups.append([])
        groups[-1].append(place)
        end = max(end, high)
    for group in groups:
        first, last = group[0].held.ends[0], max(place.held.ends[1] for place in group)
        part = (last - first + 1) / sum(place.held.size for place in group)
        for place in group:
            place.part = part


def _lease_max(lines: Iterable[Line]) -> int:
    """How many leases there may be."""
    given = [line.value for line in lines if line.name == "dhcp-lease-max"]
    return int(given[-1]) if given and re.fullmatch("[0-9]{1,9}", given[-1]) else _LEASE_MAX


def _rule(words: Sequence[str]) -> tuple[list[str], set[str]]:
    """The tags that a tag-if wants, and those that it sets."""
    sets = {tag for word in words if (tag := tag_of(word, ("set:",)))}
    return [tag for word in words if (tag := tag_of(word, ("tag:",)))], sets


def _why_not(place: Place) -> str:
    """Why no client gets an address of a range."""
    if place.free:
        return "other clients have all leases (dhcp-lease-max)"
    if place.held.size:
        return "clients with reservations have all its addresses"
    is_proxy = "proxy" in place.held.others
    return "another server gives its addresses (proxy)" if is_proxy else "it gives no addresses"
