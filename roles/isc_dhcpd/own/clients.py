"""The clients that a dhcpd.conf is made for: relays, pools, reservations, prefixes."""

from __future__ import annotations

import contextlib
import ipaddress
import math
import re

from leaselab.lab.leases import Filling, Range
from leaselab.lab.own import MOST_LISTED, pool_share
from leaselab.model.errors import usage_error

from .statements import every

_MOST = 2**40
"""Addresses of one pool that are counted."""
_ASKED = {4: [55, "hex:01030f060c2a"], 6: [6, "hex:00170018"]}
"""Options that clients ask for: mask, routers, DNS and the like."""
_LINK_SELECTION = 5
"""Sub-option of option 82 that names the subnet (RFC 3527): the relay has the lab's address."""
_MAC = re.compile(r"(?:[0-9a-f]{1,2}:){5}[0-9a-f]{1,2}", re.IGNORECASE)
_UNKNOWN = ("unknown", "unknown-clients")
_SOME = ("known", "known-clients", "members", "all", "authenticated", "unauthenticated")


class Place:
    """A subnet: where its clients come from, and how many addresses it has for them."""

    def __init__(self, statement, where):
        """Raises a usage error with the line for what is no subnet."""
        self.line = statement.line
        words = statement.words
        try:
            mask = f"/{words[3]}" if words[0].lower() == "subnet" else ""
            self.prefix = ipaddress.ip_network(words[1] + mask, strict=False)
            self.inner = statement.inner or ()
            self.relay = self._relay()
            self.pools = list(self._pools())
        except (ValueError, LookupError) as error:
            raise usage_error(
                "not a subnet as dhcpd has them",
                where=f"{where}:{statement.line}",
                found=" ".join(words)[:60],
                todo="have dhcpd itself check the file: dhcpd -t -cf FILE",
            ) from error

    def _relay(self):
        """Address of a relay that is in the subnet: its router's, or the first."""
        for one in self.inner:
            if one.words[:2] == ("option", "routers"):
                try:
                    router = ipaddress.ip_address(one.words[2])
                except ValueError:
                    continue
                if router in self.prefix:
                    return router
        return self.prefix[1] if self.prefix.num_addresses > 1 else self.prefix[0]

    def _pools(self):
        """Yield the ranges of each pool, whom it admits (allow, deny), and its line."""
        own = [one for one in self.inner if one.inner is None]
        pools = [one for one in self.inner if one.name in ("pool", "pool6")]
        for statements, held in [(own, self), *((pool.inner, pool) for pool in pools)]:
            ranges = list(self._ranges(statements))
            rules = [one for one in [*own, *statements] if one.name in ("allow", "deny")]
            if ranges:
                yield ranges, rules, held.line

    def _ranges(self, statements):
        """Yield what is leased and its range, of each."""
        for statement in statements:
            if statement.name in ("range", "range6"):
                first, last = _ends(statement.words[1:])
                yield "address", Range(first, last, 0, self.prefix.max_prefixlen)
            elif statement.name == "prefix6":
                low, high = (int(ipaddress.ip_address(end)) for end in statement.words[1:3])
                length = int("".join(statement.words[3:]).strip("/"))
                yield "prefix", Range(low, high + (1 << (128 - length)) - 1, 0, length)


class Clients:
    """Kinds of clients that dhcpd answers, and clients that it would not answer."""

    def __init__(self, statements, family, where, most, leases):
        """At most `most` clients take half of the free addresses, by the sizes of pools.

        `leases` are those that there are, None without any.
        """
        self.family, self.kinds, self.unserved = family, [], []
        self._where = where
        word = "subnet" if family == 4 else "subnet6"
        self._places = [Place(one, where) for one in every(statements) if one.name == word]
        hosts = [one for one in every(statements) if one.name == "host"]
        rules = [statement for statement in statements if statement.name in ("allow", "deny")]
        pools = [ranges for place in self._places for ranges, *_ in place.pools]
        self.filling = leases and Filling(
            leases, family, [held for ranges in pools for _, held in ranges], _fixed(hosts)
        )
        wanted = sum(_most(self._free(ranges)) for ranges in pools)
        share = pool_share(wanted, most)
        for place in self._places:
            self._of_pools(place, rules, share)
        self._of_hosts(hosts)
        for one in every(statements):
            if one.name == "class":
                words = " ".join(one.words)
                self._say(f"{where}:{one.line}: {words}: no client was worked out for its test")
        self.addresses = max(wanted, 2 * sum(kind["clients"] for kind in self.kinds))

    def _free(self, ranges):
        """How many addresses and prefixes of some ranges are free."""
        free = {"address": 0, "prefix": 0}
        for what, (first, last, _, length) in ranges:
            size = (last - first + 1) >> ((32 if self.family == 4 else 128) - length)
            free[what] += size - (self.filling.within(first, last) if self.filling else 0)
        return free

    def _of_pools(self, place, rules, share):
        """Clients without a reservation, as many as a share of the pools that admit them."""
        clients, wants = 0, {"address": 0, "prefix": 0}
        for ranges, own, line in place.pools:
            sizes = self._free(ranges)
            if not any(sizes.values()):
                self._say(f"{self._where}:{line}: {place.prefix}: its pool has no free address")
                continue
            refusal = _refusal([*rules, *own])
            if refusal is not None:
                self._say(
                    f"{self._where}:{line}: {place.prefix}: its pool is for other clients, by "
                    f"'{' '.join(refusal.words)}' of line {refusal.line}"
                )
                continue
            clients += math.floor(_most(sizes) * share) or 1
            wants = {want: size + sizes[want] for want, size in wants.items()}
        if clients:
            want = "both" if all(wants.values()) else max(wants, key=lambda name: wants[name])
            self._add(place, {"clients": clients}, want)

    def _of_hosts(self, hosts):
        """Clients that have the reservations, each through a relay of its address's subnet."""
        listed = {}
        for host in hosts:
            inner = {one.name: one for one in host.inner or ()}
            identity = self._identity(host, inner)
            fixed = inner.get("fixed-address") or inner.get("fixed-address6")
            place = self._place(fixed.words[1:]) if fixed else self._open()
            if identity is None or place is None:
                why = "no client is known to have it" if identity is None else "in no subnet"
                self._say(f"{self._where}:{host.line}: {' '.join(host.words)}: {why}")
                continue
            listed.setdefault((id(place), identity[0]), (place, []))[1].append(identity[1])
        for (_, word), (place, values) in listed.items():
            if word == "options":
                for value in values[:1024]:
                    self._add(place, {"clients": 1, "options": [value]}, reserved=True)
                continue
            own = values[:MOST_LISTED]
            self._add(place, {"clients": len(own), word: own}, reserved=True)

    def _identity(self, host, inner):
        """How a host is known: a word of a population and its value; None where not."""
        if self.family == 4 and "hardware" in inner:
            words = inner["hardware"].words
            if words[1:2] == ("ethernet",) and _MAC.fullmatch(words[-1]):
                return "macs", ":".join(part.zfill(2) for part in words[-1].lower().split(":"))
        for one in host.inner or ():
            words = one.words
            if words[-1:] and words[-2:-1] == ("dhcp-client-identifier",) and self.family == 4:
                return "options", [61, f"hex:{_bytes(words[-1]).hex()}"]
            if words[:3] == ("host-identifier", "option", "dhcp6.client-id"):
                return "duids", _bytes(words[-1]).hex()
        return None

    def _place(self, words):
        """The subnet of the first of some addresses."""
        try:
            address = ipaddress.ip_address(words[0])
        except ValueError:
            return None  # a name: nothing is asked of DNS
        return next((place for place in self._places if address in place.prefix), None)

    def _open(self):
        """The first subnet with a pool, for a known client without an address of its own."""
        return next((place for place in self._places if place.pools), None)

    def _add(self, place, own, want="address", *, reserved=False):
        kind = {
            "name": f"{place.prefix}, reserved" if reserved else str(place.prefix),
            **own,
            "options": [_ASKED[self.family], *own.get("options", [])],
        }
        if self.family == 4:
            kind["agent"] = [[_LINK_SELECTION, f"hex:{place.relay.packed.hex()}"]]
        else:
            kind["relay"] = str(place.relay)
        if want != "address":
            kind["want"] = want
        self.kinds.append(kind)

    def _say(self, reason):
        if reason not in self.unserved:
            self.unserved.append(reason)


def _fixed(hosts):
    """The addresses that are reserved; a name is none."""
    for host in hosts:
        for inner in host.inner or ():
            for word in inner.words[1:] if inner.name.startswith("fixed-address") else ():
                with contextlib.suppress(ValueError):
                    yield str(ipaddress.ip_address(word))


def _ends(words):
    """First and last address of a range: two addresses, one, or a prefix."""
    ends = [word for word in words if word not in ("dynamic-bootp", "temporary")]
    if "/" in ends[0]:
        whole = ipaddress.ip_network(ends[0])
        return int(whole[0]), int(whole[-1])
    low, high = (int(ipaddress.ip_address(end)) for end in (ends[0], ends[-1]))
    if high < low:
        raise ValueError("a range that ends before it begins")
    return low, high


def _most(sizes):
    """How many clients a pool has room for."""
    held = [size for size in sizes.values() if size]
    return min(*held, _MOST) if held else 0


def _refusal(rules):
    """The rule that refuses a client without a reservation and in no class; None for none.

    Of several that allow, one is enough.
    """
    for rule in rules:
        if rule.name == "deny" and rule.words[1] in (*_UNKNOWN, "all"):
            return rule
    allowed = [
        rule for rule in rules if rule.name == "allow" and rule.words[1] in (*_UNKNOWN, *_SOME)
    ]
    if any(rule.words[1] in (*_UNKNOWN, "all") for rule in allowed):
        return None
    return allowed[0] if allowed else None


def _bytes(word):
    """The bytes of a value: text in quotes, or hexadecimal digits with colons."""
    if word.startswith('"'):
        return word.strip('"').encode()
    return bytes.fromhex("".join(part.zfill(2) for part in word.split(":")))
