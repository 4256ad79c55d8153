"""The clients that a configuration is made for: relays, classes, reservations, prefixes."""

from __future__ import annotations

import ipaddress
import math
from functools import partial
from itertools import product

from leaselab.lab.configuration import refused
from leaselab.lab.own_kinds import MOST_LISTED, divided, leases_of, pool_share
from leaselab.model.pool import POOL_USE_LIMIT

from .expressions import Classes, Unknown
from .identities import FlexibleId, codes_of, hex_of, identity_of
from .subnets import Near, Place

MOST_KINDS = 4096
_MOST_ALONE = MOST_KINDS // 4
"""Clients of one subnet that have a kind each."""
_TRIED = 64
"""Combinations of classes of one pool that are tried."""
_ASKED = {4: ("option[55]", bytes([1, 3, 6, 15, 28, 42])), 6: ("option[6]", b"\0\x17\0\x18")}
"""Options that clients ask for unless a class wants others: mask, routers, DNS and the like."""
_RESERVED = (("reserved",),)
_OF_MOST = {("UNKNOWN",), ("ALL",)}
"""Classes of Kea's own in which all clients without a reservation are."""
_LATER = ("only-if-required", "only-in-additional-list")


class Clients:
    """Kinds of clients that a server answers, and clients that it would not answer."""

    def __init__(self, configuration, form, most, filling=None):
        """At most `most` clients take half of the free addresses, by the sizes of pools.

        `filling` has the leases that there are, None without any.
        """
        family = form.family
        self.family, self.kinds, self.unserved, self.addresses = family, [], [], 0
        self._configuration, self._used, self._issued = configuration, 0, 0
        self._filling = filling
        self._unworked, self._named, self._served, self._beyond = {}, set(), set(), {}
        classes = list(configuration.at("client-classes[*]"))
        tested = [
            (one.get("name", ""), one.get("test", ""))
            for one in form.server.get("client-classes", [])
            if not any(one.get(key) for key in _LATER)
        ]
        self._classes = Classes(tested, family)
        self._spots = {one.value.get("name", ""): one.spot for one in classes}
        self._flexible = FlexibleId(configuration, self._classes)
        self._places = list(self._of_file())
        self._global = list(configuration.at("reservations[*]"))
        self._near = Near(self._places, family)
        wanted = sum(size for place in self._places for _, size, _ in place.pools)
        self._share = pool_share(wanted, most)
        self._variants = self._spread()
        for place in self._places:
            self._of_pools(place)
            self._reserved(place, place.reservations)
        self._of_global_reservations()
        self._unreadable()
        # Where reservations are served, or a pool of one address, no free one is looked for.
        # Kea counts addresses and prefixes together.
        pools = (pool for place in self._places for pool in place.pools)
        offered = sum(leases_of({"clients": size, "want": want}) for _, size, want in pools)
        self.addresses = max(offered, 2 * sum(map(leases_of, self.kinds)))

    def _of_file(self):
        word = f"subnet{self.family}"
        for match in self._configuration.at(f"{word}[*]", f"shared-networks[*].{word}[*]"):
            try:
                yield Place(match, self.family, self._filling)
            except (KeyError, ValueError) as error:
                raise refused(match) from error

    def _spread(self):
        """Classes that no pool asks for, as far as a client can be in them, in turn."""
        asked = {name for place in self._places for name in place.asked}
        names = [
            name
            for name, test in self._classes.tests.items()
            if test is not None and name not in asked and name != "DROP"
        ]
        most = max(1, MOST_KINDS // max(1, len(self._places)))
        return names, most

    def _of_pools(self, place):
        if not place.pools and not place.reservations:
            self._not_served(place, "it has no pool")
        for guards, size, want in place.pools:
            if ("KNOWN",) in guards:
                if not (place.reservations or self._global):
                    self._not_served(place, "its pool is for clients with reservations")
                continue
            if not size:
                self._not_served(place, "its pool has no free address")
                continue
            clients = max(1, math.floor(size * self._share))
            try:
                way = self._way(place, guards, want)
            except Unknown:
                if self._is_reserved(place, guards):
                    continue  # they come as such
                needed = " and ".join(" or ".join(guard) for guard in guards)
                if not guards:
                    needed = "another relay, or a class that is not dropped"
                self._not_served(place, f"a client of its pool needs {needed}", guards)
                continue
            if set(guards) - _OF_MOST:
                self._add(place, way, {"clients": clients, "want": want}, guards)
                continue
            self._divide(place, way, clients, want, guards)

    def _next(self, names, most):
        """The next classes, each place with others where there are many."""
        chosen = [names[(self._used + at) % len(names)] for at in range(min(most, len(names)))]
        self._used += len(chosen)
        return chosen

    def _divide(self, place, way, clients, want, guards):
        """Put half of a pool's clients in no class, and divide the others among classes."""
        ways = []
        for name in self._next(*self._variants):
            try:
                ways.append((name, self._way(place, (*guards, (name,)), want)))
                self._served.add(name)
            except Unknown:
                self._unworked.setdefault(name, None)
        each = max(1, clients // 2 // len(ways)) if ways and clients > 1 else 0
        ways = ways[: clients // 2] if each else []
        self._add(place, way, {"clients": clients - each * len(ways), "want": want}, guards)
        for name, of_class in ways:
            self._add(place, of_class, {"clients": each, "want": want}, ((name,),))

    def _way(self, place, guards, want):
        """The packet of a client that gets an address of a place from a pool with guards."""
        last = Unknown("no class")
        for tried, names in enumerate(product(*guards)):
            if tried == _TRIED:
                break
            every = tuple(dict.fromkeys(names or place.first_guard))
            try:
                usual = {**place.packet(want), **self._flexible.usual}
                return self._classes.way(every, usual, partial(self._hits, place))
            except Unknown as why:
                last = why
        raise last

    def _hits(self, place, found):
        """Whether a client of a place with these classes is served from there."""
        chosen = None if "DROP" in found else self._selected(place, found)
        hits = chosen is place or (
            chosen is not None
            and chosen.network is not None
            and chosen.network == place.network
        )
        if not hits:
            why = "are dropped" if "DROP" in found else "are of no subnet that serves them"
            self._beyond |= dict.fromkeys(found, f"its clients {why}")
        return hits

    def _selected(self, place, found):
        """The subnet that Kea takes for a relay's client, as its `selectSubnet` does."""
        return next((one for one in self._near.of(place) if one.admits(found)), None)

    def _is_reserved(self, place, guards):
        """Whether clients with a reservation are in the classes that a pool asks for."""
        hosts = [match.value.get("client-classes", ()) for match in place.reservations]
        hosts += [match.value.get("client-classes", ()) for match in self._global]
        return any(all(set(guard) & set(own) for guard in guards) for own in hosts)

    def _of_global_reservations(self):
        """Those of no subnet: where their address is, or in pools for them, by their sizes."""
        held, wanting, rooms = {}, {}, {frozenset(): [_room(place) for place in self._places]}
        for match in self._global:
            word = match.value.get("ip-address") or "".join(
                match.value.get("ip-addresses", ())[:1]
            )
            address = ipaddress.ip_address(word) if word else None
            place = next(
                (one for one in self._places if address and address in one.prefix), None
            )
            if place is None:
                own = frozenset(match.value.get("client-classes", ()))
                if own not in rooms:
                    rooms[own] = [_room_for(one, own) for one in self._places]
                wanting.setdefault(own if any(rooms[own]) else frozenset(), []).append(match)
            else:
                held.setdefault(place.spot, (place, []))[1].append(match)
        for own, matches in wanting.items():
            chosen = divided(len(matches), rooms[own])
            for at, match in zip(chosen, matches, strict=False):
                place = self._places[at]
                held.setdefault(place.spot, (place, []))[1].append(match)
            for match in matches[len(chosen) :][:1]:
                self._say(
                    f"{match.spot}: {len(matches) - len(chosen)} reservations of no subnet are "
                    "beyond half of the pools that admit them"
                )
        for place, matches in held.values():
            self._reserved(place, matches)

    def _of_one_address_each(self, reservations):
        """The reservations without those of an address that an earlier one has."""
        firsts, again = {}, []
        for match in reservations:
            address = match.value.get("ip-address") or match.value.get("ip-addresses")
            if firsts.setdefault(str(address or match.spot), match) is not match:
                again.append(match)
        for match in again[:1]:
            self._say(
                f"{match.spot}: {len(again)} reservations have the address of an earlier one, "
                "and one client at a time may have it"
            )
        return firsts.values()

    def _reserved(self, place, reservations):
        listed, alone = {"macs": [], "duids": []}, []
        for match in self._of_one_address_each(reservations):
            own = identity_of(match.value, self.family) or self._flexible.of(match.value, place)
            if isinstance(own, tuple):
                listed[own[0]].append(own[1])
            elif own:
                alone.append(own)
            else:
                known = sorted(set(match.value) & {"flex-id", "hw-address"})
                by = known[0] if known else "no identifier"
                self._say(f"{match.spot}: no client has this reservation, by {by}")
        if not (any(listed.values()) or alone):
            return
        want = place.pools[0][2] if place.pools else "address"
        try:
            way = self._way(place, (), want)
        except Unknown:
            self._not_served(place, "its reserved clients are in no class that it serves")
            return
        for word, values in listed.items():
            if values:
                own = {"clients": len(values[:MOST_LISTED]), word: values[:MOST_LISTED]}
                self._add(place, way, {"want": want, **own}, _RESERVED)
        for own in alone[:_MOST_ALONE]:
            self._add(place, way, {"clients": 1, "want": want, **own}, _RESERVED)
        every = [(alone, _MOST_ALONE), *((values, MOST_LISTED) for values in listed.values())]
        if more := sum(len(values[most:]) for values, most in every):
            self._say(f"{place.spot}: {place.prefix}: {more} more reservations have no client")

    def _add(self, place, way, own, guards=()):
        """Add a kind of clients: `way` is their packet and what that was asked for.

        `own` is what its clients have instead of what the packet says.
        """
        packet, asked = way
        code, value = _ASKED[self.family]
        sent = {**packet, code: packet.get(code, value)}
        kind = {
            "name": ", ".join([str(place.prefix), *(" or ".join(guard) for guard in guards)]),
            "clients": own["clients"],
            "relay": str(place.relay),
        }
        if "macs" not in own and "duids" not in own:
            kind |= self._identities(asked, packet, own["clients"])
        codes = {"agent": codes_of(sent, "agent"), "options": codes_of(sent, "option")}
        if "option[61]" in asked and self.family == 4:
            kind, codes["options"][61] = self._by_client_id(
                kind, packet["option[61]"], asked["option[61]"]
            )
        if not self._flexible.differ(codes, asked, own):
            kind["clients"] = 1
        for key, every in codes.items():
            every |= dict(own.get(key, ()))
            if every:
                kind[key] = [[code, value] for code, value in every.items()]
        kind |= {key: own[key] for key in ("macs", "duids") if key in own}
        if own["want"] != "address":
            kind["want"] = own["want"]
        self.kinds.append(kind)

    def _identities(self, asked, packet, clients):
        """Who the clients of a kind are, and how many, where its class asks for that."""
        field = "mac" if self.family == 4 else "duid"
        if field not in asked:
            return {}
        pieces = [piece for piece in asked[field] if piece != "any"]
        known = {at + one for at, value, _ in pieces for one in range(len(value))}
        size = len(packet[field])
        # A DUID begins with its type, a hardware address with whose it is.
        first = size if any(whole for *_, whole in pieces) else 1 if field == "mac" else 4
        free = [at for at in reversed(range(first, size)) if at not in known][:4]
        count = min(clients, 256 ** len(free), MOST_LISTED)
        values = []
        for number in range(count):
            value = bytearray(packet[field])
            own = (self._issued + number) % 256 ** len(free)
            for at, digit in zip(free, own.to_bytes(len(free), "little"), strict=True):
                value[at] = digit
            values.append(bytes(value))
        self._issued += count
        if field == "mac":
            return {"clients": count, "macs": [value.hex(":") for value in values]}
        return {"clients": count, "duids": [value.hex() for value in values]}

    @staticmethod
    def _by_client_id(kind, value, pieces):
        """A kind whose class tests the client identifier, with that of its clients."""
        whole = any(piece != "any" and piece[2] for piece in pieces)
        if not whole and value.isascii() and value.decode("latin-1").isprintable():
            return kind, f"text:{value.decode()}{{client}}"
        return {**kind, "clients": 1}, hex_of(value)

    def _not_served(self, place, why, guards=()):
        reason = f"{place.spot}: {place.prefix}: {why}"
        for name in sorted({name for guard in guards for name in guard}):
            self._named.add(name)
            if name in self._spots:
                reason += f" ({name}, {self._spots[name]}: {self._why_not(name)})"
            else:
                reason += f" ({name}: it is not defined)"
        self._say(reason)

    def _unreadable(self):
        for name in dict.fromkeys([*self._classes.unread, *self._unworked]):
            if name not in self._named | self._served:
                self._say(f"{self._spots[name]}: class {name}: {self._why_not(name)}")

    def _why_not(self, name):
        why = self._classes.why_not(name) or self._beyond.get(name)
        return why or "its test cannot be worked out"

    def _say(self, reason):
        if reason not in self.unserved:
            self.unserved.append(reason)


def _room(place):
    """How many clients with a reservation may come for a subnet's pools: half of them."""
    if place.first_guard:
        return 0
    pools = [(size, guards) for guards, size, _ in place.pools if set(guards) <= {("KNOWN",)}]
    # A client without a reservation has one address of a pool at least, if it is for such.
    most = [size if guards else max(0, size - 1) for size, guards in pools]
    return min(math.ceil(sum(size for size, _ in pools) * POOL_USE_LIMIT), sum(most))


def _room_for(place, own):
    """How many come for a subnet's pools of classes that a reservation gives: half of them."""
    sizes = (
        size
        for guards, size, _ in place.pools
        if guards and all(own & set(guard) for guard in guards)
    )
    return math.ceil(sum(sizes) * POOL_USE_LIMIT)
