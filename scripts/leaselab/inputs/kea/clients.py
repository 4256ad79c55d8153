"""The clients that a configuration is made for: relays, classes, reservations, prefixes."""

from __future__ import annotations

import ipaddress
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from itertools import islice, product
from typing import Any

from leaselab.inputs.client_kinds import (
    INFORMING,
    LISTS,
    MOST_LISTED,
    OPTIONS_ALONE,
    RESERVED,
    ClientKind,
    Having,
    InList,
    Unknown,
    divided,
    kind_name,
    leases_of,
    listing,
    pool_share,
)
from leaselab.inputs.configuration import Configuration
from leaselab.inputs.json_tokens import Spot
from leaselab.inputs.kea import grammar
from leaselab.inputs.kea.expressions import Classes, Reserved
from leaselab.inputs.kea.hosts import Host, Hosts
from leaselab.inputs.kea.identities import FlexibleId, Sending, identity_of, named_by
from leaselab.inputs.kea.kinds import Kinds
from leaselab.inputs.kea.lab_form import KeaForm
from leaselab.inputs.kea.limits import Limits
from leaselab.inputs.kea.subnets import Guards, Near, Place, Pool, Way, leave_room, reserved_of
from leaselab.inputs.kea.templates import SPAWNED, tests_of
from leaselab.inputs.kea.texts import Packet
from leaselab.inputs.leases import Filling
from leaselab.model.pool import Address

MOST_KINDS = 4096
_MOST_ALONE = MOST_KINDS // 4
"""Clients of one subnet that have a kind each."""
_TRIED = 64
"""Combinations of classes of one pool that are tried."""
_RESERVED = ((RESERVED,),)
_Placed = tuple[Host, Pool | None]
"""A reservation, and the pool of its lease; None where it has a lease of its own."""
_Alike = tuple[Reserved, Guards, str, tuple[bytes | None, ...]]
"""What reservations have together whose clients send the same."""
_NO_ROOM = "no pool has room for it"
_LATER = ("only-if-required", "only-in-additional-list")


class Clients:
    """Kinds of clients that a server answers, and clients that it would not answer."""

    def __init__(
        self, configuration: Configuration, form: KeaForm, most: int, filling: Filling | None
    ) -> None:
        """At most `most` clients take half of the free addresses, by the sizes of pools.

        `filling` has the leases that there are, None without any.
        """
        self.family, self._used, self._most_clients = form.family, 0, most
        self._configuration, self._filling = configuration, filling
        self._said: dict[str, None] = {}
        self._unworked: dict[str, None] = {}
        self._beyond: dict[str, str] = {}
        self._named: set[str] = set()
        self._served: set[str] = set()
        self._come: set[tuple[str, str]] = set()
        self.informs = False
        """Whether all clients ask for options alone, as no subnet has a lease."""
        classes = list(configuration.at("client-classes[*]"))
        early: list[Mapping[str, Any]] = []
        later: list[Mapping[str, Any]] = []
        for one in form.server.get("client-classes", []):
            (later if any(one.get(key) for key in _LATER) else early).append(one)
        self._later = {one.get("name", "") for one in later}
        spots: dict[str, Spot] = {one.value.get("name", ""): one.spot for one in classes}
        tests, spawned = tests_of(early, grammar.named(early, form.server) | set(spots))
        self._spots = {name: spots[by] for name, by in spawned.items()} | spots
        self._places = list(self._of_file())
        if self.family == 6 and not (self._places or form.left_out):
            # It gives options to clients of any link.
            whole = configuration.whole
            held = {"subnet": "::/0", "reservations-global": False}
            self._places = [Place(whole._replace(value=held), 6, ())]
        hosts = Hosts(configuration, self.family, self._say)
        self._hosts = {place.spot: hosts.of(place) for place in self._places}
        self._global, self._of_global = hosts.of_all(self._places)
        self._anywhere = {host.reserved for host in self._global}
        every = [*self._global, *(host for own in self._hosts.values() for host in own)]
        pools = [pool for place in self._places for pool in place.pools]
        has_leases = bool(pools) or any(host.want for host in every)
        self._is_stateless = self.family == 6 and bool(self._places) and not has_leases
        given = {name for host in every for name in host.reserved.classes}
        defined = [one.value for one in configuration.at("option-def[*]")]
        self._classes = Classes(tests.items(), self.family, given, defined)
        self._flexible = FlexibleId(configuration, self._classes)
        self._limits = Limits(configuration, form.server)
        self._near = Near(self._places, self.family)
        self._share = pool_share(sum(pool.size for pool in pools), most)
        self._most = max(1, MOST_KINDS // max(1, len(pools)))
        owns = (identity_of(host.value, self.family) for host in every)
        reserved = {value for own in owns for value in named_by(own, self.family).values()}
        self._kinds = Kinds(self.family, self._flexible, reserved)
        self.kinds = self._all()
        self._unreadable()
        for reason in self._limits.reasons():
            self._say(reason)
        # Where reservations are served, or a pool of one address, no free one is looked for.
        # Kea counts addresses and prefixes together.
        offered = sum(leases_of({"clients": pool.size, "want": pool.want}) for pool in pools)
        self.addresses = max(offered, 2 * sum(map(leases_of, self.kinds)))

    @property
    def unserved(self) -> list[str]:
        """Why parts of the file have no client that is served, each once."""
        return list(self._said)

    def _of_file(self) -> Iterator[Place]:
        word = f"subnet{self.family}"
        reserved = list(reserved_of(self._configuration.whole.value))
        for match in self._configuration.at(f"{word}[*]", f"shared-networks[*].{word}[*]"):
            yield Place(match, self.family, reserved, self._filling)

    def _all(self) -> list[ClientKind]:
        """The kinds of clients of all pools, and of all reservations."""
        for place in self._places:
            for pool in place.pools:
                pool.ways = self._alternatives(place, pool)
        # Clients with a reservation are part of a pool's half, and of its limits.
        for place, hosts in self._placed():
            self._reserved(place, hosts)
        reserved, self._kinds.every = self._kinds.every, []
        self._count()
        self._spread = self._classes_to_spread()
        for place in self._places:
            self._of_pools(place)
        if self._is_stateless and not (self._kinds.every or reserved):
            self._informing()
        return [*self._kinds.every, *reserved]

    def _informing(self) -> None:
        """Add clients of each subnet that ask for options alone."""
        self.informs = True
        clients = max(1, min(INFORMING, self._most_clients // len(self._places)))
        for place in self._places:
            try:
                way = next(self._ways(place, place.guards, "options"))
            except Unknown:
                self._not_served(place, "its clients are in no class", place.guards)
                continue
            self._add(place, way, {"clients": clients, "want": "options"}, place.guards)

    def _alternatives(self, place: Place, pool: Pool) -> list[Way]:
        try:
            return list(islice(self._ways(place, pool.guards, pool.want), self._most))
        except Unknown:
            return []

    def _count(self) -> None:
        """Note how many clients come for each pool: fewer where those of others come there.

        Kea gives a client any lease that its classes admit, also the last one of a pool for
        others, and those of a shared network's other subnets.
        """
        around: dict[str | Spot, dict[tuple[Guards, str], list[Pool]]] = {}
        for place in self._places:
            for pool in place.pools:
                if pool.ways and pool.size:
                    own = math.floor(pool.size * self._share) - pool.hosts
                    pool.clients = max(1, own)
                    alike = around.setdefault(place.network or place.spot, {})
                    alike.setdefault((pool.guards, pool.want), []).append(pool)
        for alike in around.values():
            if len(alike) > 1:
                leave_room(list(alike.values()))

    def _classes_to_spread(self) -> tuple[list[str], bool]:
        """Classes that no pool asks for, and whether they come where pools ask for others.

        They do where pools for all clients have no room for all of them, as far as they do
        not come there anyway.
        """
        pools = [pool for place in self._places for pool in place.pools]
        other = {name for place in self._places for name in place.asked} | {"DROP"}
        tests = self._classes.tests.items()
        names = [name for name, test in tests if test and name not in other]
        room = sum(pool.clients // 2 for pool in pools if pool.is_for_all)
        everywhere = room < max(1, len(names))
        if everywhere:
            other |= {name for pool in pools for way in pool.ways for name in way.classes}
        return [name for name in names if name not in other], everywhere

    def _of_pools(self, place: Place) -> None:
        if not (place.pools or place.reservations) and not self._is_stateless:
            self._not_served(place, OPTIONS_ALONE if self.family == 6 else "it has no pool")
        for pool in place.pools:
            if not pool.ways and ("KNOWN",) in pool.guards:
                if not (self._hosts[place.spot] or self._global):
                    self._not_served(place, "its pool is for clients with reservations")
            elif not pool.size:
                self._not_served(place, "its pool has no free address")
            elif pool.clients:
                self._of_pool(place, pool)
            elif pool.ways:
                self._not_served(place, "clients of other pools may have all of its pool")
            elif not any(self._admits(place, pool, own) for own in self._reserved_at(place)):
                needed = " and ".join(" or ".join(guard) for guard in pool.guards)
                if not pool.guards:
                    needed = "another relay, or a class that is not dropped"
                self._not_served(place, f"a client of its pool needs {needed}", pool.guards)

    def _of_pool(self, place: Place, pool: Pool) -> None:
        """Divide a pool's clients among its alternatives, and half of them among classes."""
        clients = self._limits.take((place.spot,), pool.want, pool.clients)
        open_, (names, everywhere) = pool.is_for_all, self._spread
        room = min(self._most, clients // 2) if open_ or everywhere else 0
        ways = self._in_classes(place, pool, names, room)
        each = max(1, clients // 2 // len(ways)) if ways else 0
        plain = pool.ways[: clients - each * len(ways)]
        for at, way in enumerate(plain):
            count = (clients - each * len(ways) - at - 1) // len(plain) + 1
            self._add(place, way, {"clients": count, "want": pool.want}, pool.guards)
        guards = () if open_ else pool.guards
        for name, way in ways:
            own: Having = {"clients": each, "want": pool.want}
            self._add(place, way, own, (*guards, (name,)))

    def _in_classes(
        self, place: Place, pool: Pool, names: Sequence[str], room: int
    ) -> list[tuple[str, Way]]:
        """What a pool's clients send that are in the next classes, each pool's in others."""
        ways: list[tuple[str, Way]] = []
        chosen = [names[(self._used + at) % len(names)] for at in range(len(names))]
        for name in chosen:
            if len(ways) == room:
                break
            self._used += 1
            try:
                guards = (*pool.guards, (name,))
                ways.append((name, next(self._ways(place, guards, pool.want))))
            except Unknown:
                self._unworked.setdefault(name, None)
        return ways

    def _ways(
        self,
        place: Place,
        guards: Guards,
        want: str,
        reserved: Reserved | None = None,
        named: Packet | None = None,
    ) -> Iterator[Way]:
        """Yield the packets of a place's clients that are in classes, as `Classes.ways` does.

        `guards` are the classes, of each list one; `named` is what names a client that is
        known.
        """
        last, named = Unknown("no class"), named or {}
        sent: list[Packet] = []
        usual = {**place.packet(want), **self._flexible.usual, **named}
        for names in islice(product(*guards), _TRIED):
            every, fits = tuple(dict.fromkeys(names)), partial(self._hits, place)
            try:
                for way in self._classes.ways(every, usual, fits, reserved):
                    if way.packet not in sent and named.items() <= way.packet.items():
                        sent.append(way.packet)
                        yield way
            except Unknown as why:
                last = why
        if not sent:
            raise last

    def _hits(self, place: Place, packet: Packet, before: set[str], found: set[str]) -> bool:
        """Whether a place serves its client that has some classes before and after lookup."""
        relay = ipaddress.ip_address(packet["relay"])
        if not place.stands(relay):
            self._beyond |= dict.fromkeys(found, "its clients come by another relay")
            return False
        dropped = "DROP" in before | found
        chosen = None if dropped else self._selected(place, relay, before)
        hits = chosen is place or (
            chosen is not None
            and chosen.network is not None
            and chosen.network == place.network
        )
        if not hits:
            late = place.admits(found) and not place.admits(before)
            why = "of no subnet that serves them"
            why = "known only after Kea has chosen the subnet" if late else why
            why = "dropped" if dropped else why
            self._beyond |= dict.fromkeys(found, f"its clients are {why}")
        return hits

    def _selected(self, place: Place, relay: Address, found: set[str]) -> Place | None:
        """The subnet that Kea takes for a relay's client, as its `selectSubnet` does."""
        return next((one for one in self._near.of(place, relay) if one.admits(found)), None)

    def _admits(self, place: Place, pool: Pool, reserved: Reserved) -> bool:
        """Whether clients with a reservation may have what a pool has."""
        try:
            return bool(next(self._ways(place, pool.guards, pool.want, reserved)))
        except Unknown:
            return False

    def _reserved_at(self, place: Place) -> set[Reserved]:
        """What Kea knows of clients with reservations that may come at a place, by these."""
        own = {host.reserved for host in self._hosts[place.spot]}
        return own | self._anywhere if place in self._of_global else own

    def _placed(self) -> Iterable[tuple[Place, list[_Placed]]]:
        """Yield places and their reservations, each with the pool of its lease or None.

        Those of no subnet are where their address is, or in pools for them, by their sizes.
        """
        placed: dict[Place, list[_Placed]] = {place: [] for place in self._places}
        wanting: dict[tuple[Place | None, Reserved], list[Host]] = {}
        for place in self._places:
            for host in self._hosts[place.spot]:
                if host.want:
                    placed[place].append((host, None))
                else:
                    wanting.setdefault((place, host.reserved), []).append(host)
        for host in self._global:
            address, places = host.address, self._of_global
            homes = [one for one in places if address is not None and address in one.prefix]
            home = homes[0] if homes else None
            if home or host.want == "prefix":
                placed[home or self._of_global[0]].append((host, None))
            else:
                wanting.setdefault((None, host.reserved), []).append(host)
        for (of, reserved), hosts in wanting.items():
            rooms = self._rooms([of] if of else self._of_global, reserved)
            chosen = divided(len(hosts), [room for *_, room in rooms])
            for number, host in zip(chosen, hosts, strict=False):
                at, pool, _ = rooms[number]
                pool.hosts += 1
                placed[at].append((host, pool))
            if more := hosts[len(chosen) :]:
                which = "without an address" if of else "of no subnet"
                why = "beyond half of the pools that admit them" if rooms else "in no pool"
                self._say(f"{more[0].spot}: {len(more)} reservations {which} are {why}")
        return placed.items()

    def _rooms(
        self, places: Iterable[Place], reserved: Reserved
    ) -> list[tuple[Place, Pool, int]]:
        """Pools for clients with a reservation, each with its place and how many may come.

        Where pools ask for a class that the reservation gives, they are these.
        """
        rooms: dict[bool, list[tuple[Place, Pool, int]]] = {True: [], False: []}
        for place in places:
            for pool in place.pools:
                if self._admits(place, pool, reserved):
                    own = any(reserved.classes & set(guard) for guard in pool.guards)
                    rooms[own].append((place, pool, pool.room))
        return rooms[any(room for *_, room in rooms[True])]

    def _of_one_address_each(self, hosts: Iterable[_Placed]) -> Iterable[_Placed]:
        """The reservations without those of an address that an earlier one has."""
        firsts: dict[str, _Placed] = {}
        again: list[Host] = []
        for host, pool in hosts:
            own = host.value
            has = own.get("ip-address") or own.get("ip-addresses") or own.get("prefixes")
            if firsts.setdefault(str(has or host.spot), (host, pool))[0] is not host:
                again.append(host)
        for host in again[:1]:
            self._say(
                f"{host.spot}: {len(again)} reservations have the address of an earlier one, "
                "and one client at a time may have it"
            )
        return firsts.values()

    def _reserved(self, place: Place, hosts: Iterable[_Placed]) -> None:
        """Add the clients that have reservations of a place."""
        groups: dict[_Alike, list[InList | Sending]] = {}
        left, more = _MOST_ALONE, 0
        again: list[Host] = []
        for host, pool in self._of_one_address_each(hosts):
            own = identity_of(host.value, self.family) or self._flexible.of(host.value, place)
            key = (place.network or "", str(own))
            if own and place.network and key in self._come:
                again.append(host)
            elif own:
                self._come.add(key)
                guards, want = (pool.guards, pool.want) if pool else (place.guards, host.want)
                seen = self._classes.seen(named_by(own, self.family))
                groups.setdefault((host.reserved, guards, want, seen), []).append(own)
            else:
                known = sorted(set(host.value) & {"flex-id", "hw-address"})
                by = known[0] if known else "no identifier"
                self._say(f"{host.spot}: no client has this reservation, by {by}")
        for host in again[:1]:
            self._say(
                f"{host.spot}: {len(again)} reservations are of a client that has an earlier "
                "one in the shared network, and Kea gives it one address there"
            )
        for (reserved, guards, want, _), owns in groups.items():
            named = named_by(owns[0], self.family)
            try:
                way = next(self._ways(place, guards, want, reserved, named))
            except Unknown:
                why = "of its reserved clients are in no class that it serves"
                self._not_served(place, f"{len(owns)} {why}")
                continue
            count = self._limits.take((place.spot,), want, len(owns))
            alone = [own for own in owns[:count] if not isinstance(own, InList)]
            listed = [own for own in owns[:count] if isinstance(own, InList)]
            for word in LISTS:
                values = [one.value for one in listed if one.word == word]
                more += len(values[MOST_LISTED:])
                if values := values[:MOST_LISTED]:
                    kind: Having = {"clients": len(values), "want": want}
                    self._add(place, way, listing(kind, word, values), _RESERVED)
            for own in alone[:left]:
                kind = {"clients": 1, "want": want}
                for of, sent in own.items():
                    kind[of] = sent
                self._add(place, way, kind, _RESERVED)
            more, left = more + len(alone[left:]), left - len(alone[:left])
        if more:
            self._say(f"{place.spot}: {place.prefix}: {more} more reservations have no client")

    def _add(self, place: Place, way: Way, own: Having, guards: Guards) -> None:
        """Add a kind of clients as `Kinds.add` does, as far as its classes are not limited."""
        clients = self._limits.take(way.classes, own["want"], own["clients"])
        if clients:
            self._served |= way.classes
            own = {**own, "clients": clients}
            for word in LISTS:
                own = listing(own, word, own[word][:clients]) if word in own else own
            if not self._kinds.add(place, way, own, guards):
                name = kind_name(place, *map(" or ".join, guards))
                self._say(f"{place.spot}: {name}: its clients have reservations")

    def _not_served(self, place: Place, why: str, guards: Guards = ()) -> None:
        reason = f"{place.spot}: {place.prefix}: {why}"
        for name in sorted({name for guard in guards for name in guard}):
            self._named.add(name)
            at = f", {self._spots[name]}" if name in self._spots else ""
            reason += f" ({name}{at}: {self._why_not(name, 'no client is in it here')})"
        self._say(reason)

    def _unreadable(self) -> None:
        known = self._named | self._served
        for name in dict.fromkeys([*self._classes.unread, *self._unworked]):
            if name not in known:
                self._say(f"{self._spots[name]}: class {name}: {self._why_not(name, _NO_ROOM)}")
        said = self._named | self._served | {*self._unworked, *self._classes.unread}
        pools = (pool for place in self._places for pool in place.pools)
        if any(pool.ways and pool.size for pool in pools):
            for name in self._spread[0]:
                if name not in said:
                    self._say(f"{self._spots[name]}: class {name}: {_NO_ROOM}")

    def _why_not(self, name: str, elsewhere: str) -> str:
        """Why no client is in a class; `elsewhere` for a class that others exclude."""
        if name not in self._spots:
            of = "it is of clients with reservations" if name == "KNOWN" else ""
            of = "no template class spawns it" if name.startswith(SPAWNED) else of
            return self._beyond.get(name) or of or "it is not defined"
        if name in self._later:
            return "it is worked out only after the subnet and the pool"
        if why := self._classes.why_not(name) or self._beyond.get(name):
            return why
        if name in self._classes.late:
            return "it is of clients with reservations"
        return elsewhere if self._comes(name) else "its test cannot be worked out"

    def _comes(self, name: str) -> bool:
        """Whether a client may be in a class, whatever subnets and pools ask for."""
        for place in self._places[:_TRIED]:
            with suppress(Unknown):
                return bool(next(self._classes.ways((name,), place.packet(), _anyhow)))
        return False

    def _say(self, reason: str) -> None:
        self._said.setdefault(reason)


def _anyhow(*_classes: object) -> bool:
    return True
