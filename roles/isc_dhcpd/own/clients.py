"""The clients that a dhcpd.conf is made for: relays, pools, reservations, prefixes."""

from __future__ import annotations

import contextlib
import ipaddress
import math
import re
from collections import Counter
from itertools import chain

from leaselab.lab.leases import Filling, Range
from leaselab.lab.own_kinds import MOST_ADDRESSES, Kinds, divided, pool_share, relay_in
from leaselab.model.errors import usage_error
from leaselab.model.pool import POOL_USE_LIMIT

from .classes import AGENT, REFUSE, classes_of, is_ignored, members
from .statements import every

_MAC = re.compile(r"(?:[0-9a-f]{1,2}:){5}[0-9a-f]{1,2}", re.IGNORECASE)
_ROUTERS = ("option", "routers")
_UNKNOWN = ("unknown", "unknown-clients")
_KNOWN = ("known", "known-clients")
_SOME = (*_KNOWN, "members", "all", "authenticated", "unauthenticated")
_POOLS = ("pool", "pool6")
_NOT_WORKED_OUT = "no client was worked out for its test"
_ANOTHER_HOSTS = "the address of an earlier host, which one client at a time may have"
_OF_RANGE = "an address of a range, which dhcpd also gives to other clients"


class Place:
    """A subnet: where its clients come from, and how many addresses it has for them."""

    def __init__(self, statement, rules, pools):
        """`rules` hold around it; `pools` are those of its shared network.

        Raises a usage error with the line for what is no subnet.
        """
        self.spot, self._rules, self._shared = statement.spot, rules, pools
        words = statement.words
        try:
            mask = f"/{words[3]}" if words[0].lower() == "subnet" else ""
            self.prefix = ipaddress.ip_network(words[1] + mask, strict=False)
            self.inner = statement.inner or ()
            routers = (one.words[2:3] for one in self.inner if one.words[:2] == _ROUTERS)
            self.relay = relay_in(self.prefix, chain.from_iterable(routers))
            self.pools = list(self._pools())
        except (ValueError, LookupError) as error:
            raise usage_error(
                "not a subnet as dhcpd has them",
                where=statement.spot,
                found=" ".join(words)[:60],
                todo="have dhcpd itself check the file: dhcpd -t -cf FILE",
            ) from error

    def _pools(self):
        """Yield the ranges of each pool, whom it admits (allow, deny), and its place."""
        own = [one for one in self.inner if one.inner is None]
        around = _denied([*self._rules, *_rules(own)])
        if ranges := list(self._ranges(own)):
            yield ranges, around, self.spot
        within = [(one, True) for one in self.inner if one.name in _POOLS]
        for pool, is_mine in [*within, *((one, False) for one in self._shared)]:
            ranges = self._ranges(pool.inner or ())
            if ranges := [held for held in ranges if is_mine or self._has(held[1])]:
                yield ranges, [*around, *_rules(pool.inner)], pool.spot

    def _has(self, held):
        """Whether a range of a shared network's pool is of this subnet."""
        return int(self.prefix[0]) <= held.first <= int(self.prefix[-1])

    def _ranges(self, statements):
        """Yield what is leased and its range, of each."""
        for statement in statements:
            if "temporary" in statement.words:
                continue
            if statement.name in ("range", "range6"):
                first, last = _ends(statement.words[1:])
                yield "address", Range(first, last, 0, self.prefix.max_prefixlen)
            elif statement.name == "prefix6":
                low, high = (int(ipaddress.ip_address(end)) for end in statement.words[1:3])
                length = int("".join(statement.words[3:]).strip("/"))
                yield "prefix", Range(low, high + (1 << (128 - length)) - 1, 0, length)


class Clients(Kinds):
    """Kinds of clients that dhcpd answers, and clients that it would not answer."""

    def __init__(self, statements, family, most, leases):
        """At most `most` clients take half of the free addresses, by the sizes of pools.

        `leases` are those that there are, None without any.
        """
        super().__init__(family)
        word = "subnet" if family == 4 else "subnet6"
        self._places = list(_places(statements, word))
        hosts = [one for one in every(statements) if one.name == "host"]
        self._roaming = [host for host in hosts if not _address_of(host)]
        pools = [ranges for place in self._places for ranges, *_ in place.pools]
        self.filling = leases and Filling(
            leases, family, [held for ranges in pools for _, held in ranges], _fixed(hosts)
        )
        wanted = sum(_most(self._free(ranges)) for ranges in pools)
        share = pool_share(wanted, most)
        self._classes = classes_of(statements) if family == 4 else {}
        asked = {_member(rule) for rule in every(statements) if rule.name == "allow"}
        self._spread = [
            name for name, own in self._classes.items() if own and name not in asked
        ]
        self._used, self._listed = 0, Counter()
        for place in self._places:
            self._of_pools(place, share)
        self._of_hosts(hosts)
        ignored = {
            "".join(one.words[1:2]).strip('"')
            for one in every(statements)
            if one.name in ("class", "subclass") and is_ignored(one)
        }
        for one in every(statements):
            if one.name == "range6" and "temporary" in one.words:
                self.say(f"{one.spot}: {' '.join(one.words)}: no client asks for one of these")
            name = "".join(one.words[1:2]).strip('"')
            if one.name == "class" and not self._classes.get(name):
                why = "its clients are ignored" if name in ignored else _NOT_WORKED_OUT
                self.say(f"{one.spot}: {' '.join(one.words)}: {why}")
        self.size = self.addresses(wanted)

    def _free(self, ranges):
        """How many addresses and prefixes of some ranges are free."""
        free = {"address": 0, "prefix": 0}
        for what, (first, last, _, length) in ranges:
            size = (last - first + 1) >> ((32 if self.family == 4 else 128) - length)
            free[what] += size - (self.filling.within(first, last) if self.filling else 0)
        return free

    def _of_pools(self, place, share):
        """Clients without a reservation, as many as a share of the pools that admit them."""
        clients, wants, denied = 0, {"address": 0, "prefix": 0}, set()
        for ranges, own, spot in place.pools:
            sizes = self._free(ranges)
            if not any(sizes.values()):
                self.say(f"{spot}: {place.prefix}: its pool has no free address")
                continue
            refusal = _refusal(own)
            if refusal is not None and self._classes.get(_member(refusal)):
                room = math.floor(_most(sizes) * share) or 1
                self._in_class(place, _member(refusal), room)
                continue
            if refusal is not None:
                if self._roaming and _admits_known(own):
                    continue  # they come as such
                self.say(
                    f"{spot}: {place.prefix}: its pool is for other clients, by "
                    f"'{' '.join(refusal.words)}' of line {refusal.line}"
                )
                continue
            clients += math.floor(_most(sizes) * share) or 1
            wants = {want: size + sizes[want] for want, size in wants.items()}
            denied |= {_member(rule) for rule in own if rule.name in REFUSE}
        if all(wants.values()):  # of other pools; each client has one of both
            clients = min(clients, math.floor(min(wants.values()) * share) or 1)
        names = [name for name in self._spread if name not in denied][: clients // 2]
        for name in names:
            self._in_class(place, name, clients // 2 // len(names))
        clients -= clients // 2 // len(names) * len(names) if names else 0
        if clients:
            want = "both" if all(wants.values()) else max(wants, key=lambda name: wants[name])
            self.add(place, {"clients": clients, "want": want})

    def _in_class(self, place, name, clients):
        """Add clients of a class: half of a pool's are in none unless it wants one."""
        own = members(self._classes[name], clients, self._used, self._listed[name])
        self._used += own["clients"]
        self._listed[name] += own["clients"]
        if own["clients"]:
            self.add(place, own, name)

    def _of_hosts(self, hosts):
        """Clients that have the reservations, each through a relay of its address's subnet."""
        held, doubled = set(), {_ANOTHER_HOSTS: [], _OF_RANGE: []}
        for host in hosts:
            address = _address_of(host)
            identity = self._identity_of(host)
            place, why = self._place(address) if address else (None, "")
            if identity is None or (address and place is None):
                why = why if identity else "no client is known to have it"
                self.say(f"{host.spot}: {' '.join(host.words)}: {why}")
            elif address in held:
                doubled[_ANOTHER_HOSTS].append(host)
            elif place is not None and self._is_of_range(place, address):
                doubled[_OF_RANGE].append(host)
            elif place is not None:
                held.add(address)
                self.reserve(place, *identity, {})
        for why, alike in doubled.items():
            if alike:
                host = alike[0]
                count = f"the first of {len(alike)} hosts with {why}"
                self.say(f"{host.spot}: {' '.join(host.words)}: {count}")
        self._of_roaming([host for host in self._roaming if self._identity_of(host)])
        self.add_reserved()

    def _is_of_range(self, place, address):
        """Whether dhcpd also gives the address to clients of a range, as it does in DHCPv4."""
        number = int(ipaddress.ip_address(address))
        return self.family == 4 and any(
            held.first <= number <= held.last
            for ranges, *_ in place.pools
            for _, held in ranges
        )

    def _of_roaming(self, hosts):
        """Known clients without an address of their own: in pools for them, by their sizes."""
        rooms = []
        for place in self._places:
            sizes = [
                (_most(self._free(ranges)), own)
                for ranges, own, _ in place.pools
                if _admits_known(own)
            ]
            # An unknown client has one address of a pool at least, if it is for such.
            most = [size if _refusal(own) else max(0, size - 1) for size, own in sizes]
            half = math.ceil(sum(size for size, _ in sizes) * POOL_USE_LIMIT)
            rooms.append(min(half, sum(most)))
        chosen = divided(len(hosts), rooms)
        for at, host in zip(chosen, hosts, strict=False):
            self.reserve(self._places[at], *self._identity_of(host), {})
        for host in hosts[len(chosen) :][:1]:
            self.say(
                f"{host.spot}: {' '.join(host.words)}: {len(hosts) - len(chosen)} hosts "
                "without fixed-address are beyond half of the pools that admit them"
            )

    def _identity_of(self, host):
        """How a host is known: a word of a population and its value; None where not."""
        if is_ignored(host):
            return None
        try:
            return self._identity(host, {one.name: one for one in host.inner or ()})
        except ValueError:
            return None  # digits that are none

    def _identity(self, host, inner):
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
            if words[:2] == ("host-identifier", "option") and words[2:3] and words[2] in AGENT:
                return "agent", [AGENT[words[2]], f"hex:{_bytes(words[-1]).hex()}"]
        return None

    def _place(self, word):
        """The subnet of an address, or why there is none."""
        try:
            address = ipaddress.ip_address(word)
        except ValueError:
            return None, "its address is a name, and none is asked of DNS"
        places = (place for place in self._places if address in place.prefix)
        return next(places, None), "in no subnet"


def _places(statements, word, rules=(), pools=()):
    """Yield the subnets, each with the rules and the pools of what it is in."""
    rules = [*rules, *_rules(statements)]
    for one in statements:
        if one.name == word:
            yield Place(one, rules, pools)
        elif one.inner:
            shared = [held for held in one.inner if held.name in _POOLS]
            yield from _places(one.inner, word, rules, [*pools, *shared])


def _address_of(host):
    """The first fixed address of a host, empty for none."""
    fixed = (one for one in host.inner or () if one.name.startswith("fixed-address"))
    return next(("".join(one.words[1:2]).strip(",") for one in fixed), "")


def _fixed(hosts):
    """The addresses that are reserved; a name is none."""
    for host in hosts:
        for inner in host.inner or ():
            for word in inner.words[1:] if inner.name.startswith("fixed-address") else ():
                with contextlib.suppress(ValueError):
                    yield str(ipaddress.ip_address(word))


def _ends(words):
    """First and last address of a range: two addresses, one, or a prefix."""
    ends = [word for word in words if word != "dynamic-bootp"]
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
    return min(*held, MOST_ADDRESSES) if held else 0


def _whom(rule):
    """Whom a rule is for."""
    return "".join(rule.words[1:2])


def _member(rule):
    """The class that a rule is for, empty for one that is for no class."""
    is_of = rule.words[1:3] == ("members", "of") and len(rule.words) > 3
    return rule.words[3].strip('"') if is_of else ""


def _rules(statements):
    return [one for one in statements or () if one.name in ("allow", *REFUSE)]


def _denied(rules):
    """Of rules around pools, the inner after the outer, the one that refuses the unknown."""
    last = [rule for rule in rules if _whom(rule) in _UNKNOWN][-1:]
    return [rule for rule in last if rule.name in REFUSE]


def _admits_known(rules):
    """Whether a pool is for clients with a reservation."""
    allowed = {_whom(rule) for rule in rules if rule.name == "allow"} & {*_UNKNOWN, *_SOME}
    denied = {_whom(rule) for rule in rules if rule.name in REFUSE}
    known = {*_KNOWN, "all"}
    return not denied & known and (not allowed or bool(allowed & known))


def _refusal(rules):
    """The rule that refuses a client without a reservation and in no class; None for none.

    Of several that allow, one is enough.
    """
    for rule in rules:
        if rule.name in REFUSE and _whom(rule) in (*_UNKNOWN, "all"):
            return rule
    allowed = [
        rule for rule in rules if rule.name == "allow" and _whom(rule) in (*_UNKNOWN, *_SOME)
    ]
    if any(_whom(rule) in (*_UNKNOWN, "all") for rule in allowed):
        return None
    return allowed[0] if allowed else None


def _bytes(word):
    """The bytes of a value: text in quotes, or hexadecimal digits with colons."""
    if word.startswith('"'):
        return word.strip('"').encode()
    return bytes.fromhex("".join(part.zfill(2) for part in word.split(":")))
