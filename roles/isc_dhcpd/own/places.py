"""The subnets and hosts of a dhcpd.conf."""

from __future__ import annotations

import contextlib
import ipaddress
import re
from itertools import chain

from leaselab.lab.leases import Range
from leaselab.lab.own_kinds import relay_in
from leaselab.model.errors import usage_error

from .classes import booting, is_ignored
from .expressions import AGENT, AGENT6
from .rules import around, rules_of
from .statements import bytes_of

_MAC = re.compile(r"(?:[0-9a-f]{1,2}:){5}[0-9a-f]{1,2}", re.IGNORECASE)
_ROUTERS = ("option", "routers")
_POOLS = ("pool", "pool6")
_OF_RELAY = {
    **{("option", name): code for name, code in AGENT.items()},
    **{("v6relopt", "1", name): code for name, code in AGENT6.items()},
}
"""Options of the relay by which a host is known: as it has them, and their codes."""


class Place:
    """A subnet: where its clients come from, and how many addresses it has for them."""

    def __init__(self, statement, rules, pools, network):
        """`rules` hold around it; `pools` are those of its shared network.

        `network` stands for that, None for none.  Raises a usage error with the line for what
        is no subnet.
        """
        self.spot, self._rules, self._shared = statement.spot, rules, pools
        self.network = network or self
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
        # In DHCPv6 dhcpd looks at those of pools alone.
        outer = around([*self._rules, *rules_of(own)]) if self.prefix.version == 4 else []
        if ranges := list(self._ranges(own)):
            yield ranges, outer, self.spot
        within = [(one, True) for one in self.inner if one.name in _POOLS]
        for pool, is_mine in [*within, *((one, False) for one in self._shared)]:
            ranges = self._ranges(pool.inner or ())
            if ranges := [held for held in ranges if is_mine or self._has(held[1])]:
                yield ranges, [*outer, *rules_of(pool.inner)], pool.spot

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
                low, high = sorted(
                    int(ipaddress.ip_address(end)) for end in statement.words[1:3]
                )
                length = int("".join(statement.words[3:]).strip("/"))
                yield "prefix", Range(low, high + (1 << (128 - length)) - 1, 0, length)


def places_of(statements, word, rules=(), pools=(), network=None):
    """Yield the subnets, each with the rules and the pools of what it is in.

    `network` stands for the shared network in which they are, None for none.
    """
    rules = [*rules, *rules_of(statements)]
    for one in statements:
        if one.name == word:
            yield Place(one, rules, pools, network)
        elif one.inner:
            shared = [held for held in one.inner if held.name in _POOLS]
            within = object() if one.name == "shared-network" else network
            yield from places_of(one.inner, word, rules, [*pools, *shared], within)


def hosts_of(statements, around=()):
    """Yield the hosts, each with the rules on booting of what it is in before its own."""
    around = [*around, *booting(statements)]
    for one in statements:
        if one.name == "host":
            yield one._replace(inner=(*around, *(one.inner or ())))
        elif one.inner:
            yield from hosts_of(one.inner, around)


def identity_of(host, family):
    """How a host is known: a word of a population and its value; None where not."""
    if family == 4 and is_ignored(host):  # in DHCPv6 dhcpd looks at no such rule
        return None
    inner = {one.name: one for one in host.inner or ()}
    mac = _mac_of(inner["hardware"].words) if "hardware" in inner else ""
    if family == 4 and mac:
        return "macs", mac
    for one in host.inner or ():
        words = one.words
        value = bytes_of(words[-1])
        if value is None:
            continue
        is_uid = one.name == "uid"
        if (is_uid or words[-2:-1] == ("dhcp-client-identifier",)) and family == 4:
            return "options", [61, f"hex:{value.hex()}"]
        if is_uid or words[:3] == ("host-identifier", "option", "dhcp6.client-id"):
            return "duids", value.hex()
        if one.name == "host-identifier" and (code := _OF_RELAY.get(words[1:-1])):
            return "agent", [code, f"hex:{value.hex()}"]
    return ("macs", mac) if mac else None  # of DHCPv6 it is in a DUID of type LL


def _mac_of(words):
    """The hardware address of a statement; empty for that of another network."""
    if words[1:2] and words[1].lower() == "ethernet" and _MAC.fullmatch(words[-1]):
        return ":".join(part.zfill(2) for part in words[-1].lower().split(":"))
    return ""


def address_of(host):
    """The first fixed address of a host, empty for none."""
    fixed = (one for one in host.inner or () if one.name.startswith("fixed-address"))
    return next(("".join(one.words[1:2]).strip(",") for one in fixed), "")


def prefix_of(host):
    """The first fixed prefix of a host, empty for none."""
    fixed = (one for one in host.inner or () if one.name == "fixed-prefix6")
    return next(("".join(one.words[1:2]) for one in fixed), "")


def fixed(hosts):
    """The addresses that are reserved; a name is none."""
    for host in hosts:
        for inner in host.inner or ():
            for word in inner.words[1:] if inner.name.startswith("fixed-address") else ():
                with contextlib.suppress(ValueError):
                    yield str(ipaddress.ip_address(word))


def _ends(words):
    """First and last address of a range: two addresses in any order, one, or a prefix."""
    ends = [word for word in words if word.lower() != "dynamic-bootp"]
    if "/" in ends[0]:
        whole = ipaddress.ip_network(ends[0])
        return int(whole[0]), int(whole[-1])
    low, high = sorted(int(ipaddress.ip_address(end)) for end in (ends[0], ends[-1]))
    return low, high
