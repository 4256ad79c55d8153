"""The subnets of a configuration: where their clients come from, and what they have."""

from __future__ import annotations

import ipaddress

from leaselab.lab.configuration import ends_of
from leaselab.lab.own_kinds import MOST_ADDRESSES

ASKED_FOR = {
    "address": ("option[3]",),
    "prefix": ("option[25]",),
    "both": ("option[3]", "option[25]"),
}
"""Options of DHCPv6 by which a client asks for something."""
_MAC = bytes.fromhex("000c01000000")


class Place:
    """A subnet: where its clients come from, and what it has for them."""

    def __init__(self, match, family, filling=None):
        """Raises KeyError and ValueError for what no server takes.

        `filling` has the leases that there are, None without any.
        """
        around, in_network = match.around, len(match.around) > 1
        self.spot, self.ident = match.spot, match.value.get("id", 0)
        self.prefix = ipaddress.ip_network(match.value["subnet"], strict=False)
        if self.prefix.version != family:
            raise ValueError("a subnet of the other family")
        self.network = around[0].path if in_network else None
        levels = [match, *(around[:1] if in_network else ())]
        self.relays = [
            ipaddress.ip_address(address)
            for level in levels
            for address in _relays(level.value.get("relay", {}))
        ]
        self.interface_id = _text(match.value.get("interface-id", ""))
        if not self.interface_id and in_network:
            self.interface_id = _text(around[0].value.get("interface-id", ""))
        self.guards = [guard for level in levels for guard in _guards(level.value)]
        self.first_guard = tuple(guard[0] for guard in self.guards)
        self.relay = self.relays[0] if self.relays else self._inside(match.value)
        hosts = match.value.get("reservations", [])
        self.reservations = [
            match._replace(value=host, spot=spot)
            for host, spot in zip(hosts, getattr(hosts, "spots", ()), strict=True)
        ]
        self._filling = filling
        self.pools = list(self._pools(match.value, family))
        self.asked = {name for guards, *_ in self.pools for guard in guards for name in guard}

    def _inside(self, subnet):
        """Address of a relay that stands in the subnet: its router's, or the first."""
        for option in subnet.get("option-data", []):
            if option.get("name") == "routers" or option.get("code") == 3:
                first = str(option.get("data", "")).split(",")[0].strip()
                try:
                    router = ipaddress.ip_address(first)
                except ValueError:
                    continue
                if router in self.prefix:
                    return router
        return self.prefix[1] if self.prefix.num_addresses > 1 else self.prefix[0]

    def _pools(self, subnet, family):
        """Yield guards, free size and what is asked for, once for pools of the same guards."""
        sizes = {}
        for pool in subnet.get("pools", []):
            key = ("address", tuple(map(tuple, [*self.guards, *_guards(pool)])))
            first, last = ends_of(pool["pool"])
            sizes[key] = sizes.get(key, 0) + self._free(last - first + 1, first, last)
        for pool in subnet.get("pd-pools", []) if family == 6 else ():
            key = ("prefix", tuple(map(tuple, [*self.guards, *_guards(pool)])))
            length = int(pool["delegated-len"]) - int(pool["prefix-len"])
            if not 0 <= length <= 128:
                raise ValueError("a prefix that is longer than what is delegated of it")
            first, last = ends_of(f"{pool['prefix']}/{pool['prefix-len']}")
            free = self._free(2**length, first, last)
            sizes[key] = sizes.get(key, 0) + free
        for (want, guards), size in sizes.items():
            both = sizes.get(("prefix", guards)) if want == "address" else None
            if want == "prefix" and ("address", guards) in sizes:
                continue
            if both is not None:
                yield guards, min(size, both, MOST_ADDRESSES), "both"
            else:
                yield guards, min(size, MOST_ADDRESSES), want

    def _free(self, size, first, last):
        return size - self._filling.within(first, last) if self._filling else size

    def admits(self, found):
        """Whether a client with these classes may be of this subnet."""
        return all(set(guard) & found for guard in self.guards)

    def packet(self, want="address"):
        """What its relay says of every client, what names one, and what it asks for."""
        packet = {"relay": self.relay.packed}
        if self.relay.version == 6:
            packet["duid"] = b"\0\3\0\1" + _MAC
            packet |= dict.fromkeys(ASKED_FOR[want], b"")
            if self.interface_id:
                packet["agent[18]"] = self.interface_id
            return packet
        return {**packet, "mac": _MAC}


class Near:
    """The subnets that a relay's clients may be of, in the order in which Kea looks at them."""

    def __init__(self, places, family):
        """Index subnets by their relays, prefixes and interfaces: there may be thousands."""
        self._family, self._relays, self._prefixes, self._named = family, {}, {}, {}
        for place in sorted(places, key=lambda place: place.ident or 2**32):
            for relay in place.relays:
                self._relays.setdefault(relay, []).append(place)
            self._prefixes.setdefault(place.prefix, []).append(place)
            if place.interface_id:
                self._named.setdefault(place.interface_id, []).append(place)
        self._lengths = sorted({prefix.prefixlen for prefix in self._prefixes})

    def of(self, place):
        """Those of a subnet's own relay, itself among them if they are what Kea makes of it."""
        named = self._named.get(place.interface_id, []) if self._family == 6 else []
        around = [
            one
            for length in self._lengths
            for one in self._prefixes.get(
                ipaddress.ip_network((place.relay, length), strict=False), ()
            )
        ]
        around.sort(key=lambda one: one.ident or 2**32)
        relayed = self._relays.get(place.relay, [])
        if self._family == 4:
            return [*relayed, *(one for one in around if not one.relays), *around]
        return [*named, *relayed, *around]


def _relays(relay):
    given = relay.get("ip-addresses", [])
    return [*given, *([relay["ip-address"]] if "ip-address" in relay else [])]


def _guards(value):
    """The classes that something asks for: of each list one."""
    single, several = value.get("client-class"), tuple(value.get("client-classes", []))
    guards = [*([(single,)] if single else []), *([several] if several else [])]
    # Those of a pair are left out with it.
    return [guard for guard in guards if not any(name.startswith("HA_") for name in guard)]


def _text(value):
    """The bytes of a value that may be digits, ``0x...``, or text in quotes."""
    if value[:2].lower() == "0x":
        return bytes.fromhex(value[2:])
    return value.strip("'").encode()
