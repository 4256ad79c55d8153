"""The subnets and hosts of a dhcpd.conf."""

from __future__ import annotations

import contextlib
import ipaddress
import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Literal

from leaselab.inputs.client_kinds import Identity, InList, Prefix, Telling, relay_in
from leaselab.inputs.dhcpd.classes import booting, is_ignored
from leaselab.inputs.dhcpd.reader import AGENT, AGENT6
from leaselab.inputs.dhcpd.rules import around, lasting, rules_of
from leaselab.inputs.dhcpd.statements import Statement, Statements, bytes_of, wrong
from leaselab.inputs.leases import Range
from leaselab.model.errors import LeaselabError

_MAC = re.compile(r"(?:[0-9a-f]{1,2}:){5}[0-9a-f]{1,2}", re.IGNORECASE)
_ROUTERS = ("option", "routers")
_POOLS = ("pool", "pool6")
_NETWORKS: Mapping[int, type[ipaddress.IPv4Network | ipaddress.IPv6Network]] = {
    32: ipaddress.IPv4Network,
    128: ipaddress.IPv6Network,
}
"""Of an address or a prefix, by the length of an address."""
_OF_RELAY: Mapping[tuple[str, ...], int] = {
    **{("option", name): code for name, code in AGENT.items()},
    **{("v6relopt", "1", name): code for name, code in AGENT6.items()},
}
"""Options of the relay by which a host is known: as it has them, and their codes."""


What = Literal["address", "prefix"]
Leased = tuple[What, Range]
"""What is leased of a range."""
_Ranged = tuple[What, Range, str]
"""With its place."""


class Network:
    """A shared network, or what else has subnets: its pools, and those around it."""

    def __init__(self, statements: Statements, length: int, around: Network | None) -> None:
        """`length` is that of an address; `around` is the network that it is in, if any."""
        self._around = around
        self._pools = [one for one in statements if one.name in _POOLS]
        self._ranges = sorted(
            (held.first, at, what, held, spot)
            for at, pool in enumerate(self._pools)
            for what, held, spot in ranges_of(pool.inner or (), length)
        )
        self._met: set[int] = set()

    def within(self, prefix: Prefix) -> Iterator[tuple[list[Leased], Statement]]:
        """Yield its pools with ranges of a subnet: these, and the pool's statement."""
        if self._around is not None:
            yield from self._around.within(prefix)
        low = bisect_left(self._ranges, int(prefix[0]), key=lambda one: one[0])
        high = bisect_left(self._ranges, int(prefix[-1]) + 1, key=lambda one: one[0])
        self._met.update(range(low, high))
        pools: dict[int, list[_Ranged]] = {}
        for _, at, what, held, spot in sorted(self._ranges[low:high], key=lambda one: one[1]):
            pools.setdefault(at, []).append((what, held, spot))
        for at, ranges in pools.items():
            yield _within(ranges, prefix), self._pools[at]

    def check(self) -> None:
        """Raise a usage error for a range that is in none of its subnets."""
        for at, (_, _, what, held, spot) in enumerate(self._ranges):
            if what == "address" and at not in self._met:
                raise _beyond(held, spot, "the subnets of its network")


def _within(ranges: Iterable[_Ranged], prefix: Prefix) -> list[Leased]:
    """Ranges with what is leased of them; a usage error for one that leaves its subnet."""
    low, high = int(prefix[0]), int(prefix[-1])
    for what, held, spot in ranges:
        if what == "address" and not low <= held.first <= held.last <= high:
            raise _beyond(held, spot, f"its subnet {prefix}")
    return [(what, held) for what, held, _ in ranges]


def _beyond(held: Range, spot: str, place: str) -> LeaselabError:
    first, last = (str(_NETWORKS[held.length](end)[0]) for end in held[:2])
    return wrong(f"a range beyond {place}", spot, f"{first} to {last}")


class Place:
    """A subnet: where its clients come from, and how many addresses it has for them."""

    def __init__(
        self, statement: Statement, rules: Statements, around: Network, network: object
    ) -> None:
        """`rules` hold around it; `around` has the pools that it shares with others.

        `network` stands for its shared network, None for none.  Raises a usage error with the
        line for what is no subnet.
        """
        self.spot, self._rules, self._around = statement.spot, rules, around
        self.is_shared, self.network = network is not None, network or self
        words = statement.words
        try:
            is_six = words[0].lower() == "subnet6"
            of_family = _NETWORKS[128 if is_six else 32]
            self.prefix: Prefix = of_family(words[1] if is_six else f"{words[1]}/{words[3]}")
        except (ValueError, LookupError) as error:
            what = "not a subnet as dhcpd has them"
            raise wrong(what, statement.spot, " ".join(words)) from error
        self.inner = statement.inner or ()
        routers = (one.words[2:3] for one in self.inner if one.words[:2] == _ROUTERS)
        self.relay = relay_in(self.prefix, chain.from_iterable(routers))
        self.pools = list(self._pools())

    def _pools(self) -> Iterator[tuple[list[Leased], list[Statement], str]]:
        """Yield the ranges of each pool, whom it admits (allow, deny), and its place."""
        own = [one for one in self.inner if one.inner is None]
        # In DHCPv6 dhcpd looks at those of pools alone.
        outer = around([*self._rules, *rules_of(own)]) if self.prefix.version == 4 else []
        if ranges := self._ranges(own):
            yield ranges, outer, self.spot
        for pool in self.inner:
            if pool.name in _POOLS and (ranges := self._ranges(pool.inner or ())):
                yield ranges, [*outer, *rules_of(pool.inner)], pool.spot
        for ranges, pool in self._around.within(self.prefix):
            yield ranges, [*outer, *rules_of(pool.inner)], pool.spot

    def _ranges(self, statements: Iterable[Statement]) -> list[Leased]:
        """Its ranges among statements; those of another subnet of its network are not its."""
        held = list(ranges_of(statements, self.prefix.max_prefixlen))
        if self.is_shared and self.prefix.version == 4:
            low, high = int(self.prefix[0]), int(self.prefix[-1])
            held = [one for one in held if low <= one[1].first <= high]
        return _within(held, self.prefix)


def ranges_of(statements: Iterable[Statement], length: int) -> Iterator[_Ranged]:
    """Yield what is leased, its range, and its place, of each; `length` is of an address.

    Raises a usage error with the line for what is no range.
    """
    for statement in statements:
        if "temporary" in statement.words:
            continue
        is_prefix = statement.name == "prefix6"
        if not is_prefix and statement.name not in ("range", "range6"):
            continue
        try:
            held = (_prefixes if is_prefix else _addresses)(statement.words[1:], length)
        except (ValueError, LookupError) as error:
            what = "not a range as dhcpd has them"
            raise wrong(what, statement.spot, " ".join(statement.words)) from error
        yield "prefix" if is_prefix else "address", held, statement.spot


def _addresses(words: Sequence[str], length: int) -> Range:
    """The range of addresses of two in any order, of one, or of a prefix."""
    of_family = _NETWORKS[length]
    ends = [word for word in words if word.lower() != "dynamic-bootp"]
    if not 1 <= len(ends) <= 2:
        raise ValueError(words)
    if "/" in ends[0]:
        whole = of_family(ends[0])
        return Range(int(whole[0]), int(whole[-1]), 0, length)
    low, high = sorted(int(of_family(end)[0]) for end in (ends[0], ends[-1]))
    return Range(low, high, 0, length)


def _prefixes(words: Sequence[str], _: int) -> Range:
    """The range of prefixes of the first, the last, and their length."""
    low, high = sorted(int(ipaddress.IPv6Address(end)) for end in words[:2])
    length = int("".join(words[2:]).strip("/"))
    return Range(low, high + (1 << (128 - length)) - 1, 0, length)


def places_of(
    statements: Statements,
    word: str,
    rules: Statements = (),
    around_it: Network | None = None,
    network: object = None,
) -> Iterator[Place]:
    """Yield the subnets, each with the rules and the pools of what it is in.

    `around_it` has the pools of that, None at the top; `network` stands for the shared network
    in which they are, None for none.
    """
    if around_it is None:
        around_it = Network((), 0, None)
    rules = lasting([*rules, *rules_of(statements)])
    for one in statements:
        if one.name == word:
            yield Place(one, rules, around_it, network)
        elif one.inner:
            within = Network(one.inner, 32 if word == "subnet" else 128, around_it)
            shared = object() if one.name == "shared-network" else network
            yield from places_of(one.inner, word, rules, within, shared)
            within.check()


def hosts_of(statements: Statements, around: Statements = ()) -> Iterator[Statement]:
    """Yield the hosts, each with the last rule on booting of what it is in before its own."""
    around = [*around, *booting(statements)][-1:]
    for one in statements:
        if one.name == "host":
            yield one._replace(inner=(*around, *(one.inner or ())))
        elif one.inner:
            yield from hosts_of(one.inner, around)


def identity_of(host: Statement, family: int) -> Identity | None:
    """How a host is known: a word of a population and its value; None where not."""
    if family == 4 and is_ignored(host):  # in DHCPv6 dhcpd looks at no such rule
        return None
    inner = {one.name: one for one in host.inner or ()}
    mac = _mac_of(inner["hardware"].words) if "hardware" in inner else ""
    if family == 4 and mac:
        return InList("macs", mac)
    for one in host.inner or ():
        words = one.words
        value = bytes_of(words[-1])
        if value is None:
            continue
        is_uid = one.name == "uid"
        if (is_uid or words[-2:-1] == ("dhcp-client-identifier",)) and family == 4:
            return Telling("options", (61, f"hex:{value.hex()}"))
        if is_uid or words[:3] == ("host-identifier", "option", "dhcp6.client-id"):
            return InList("duids", value.hex())
        if one.name == "host-identifier" and (code := _OF_RELAY.get(words[1:-1])):
            return Telling("agent", (code, f"hex:{value.hex()}"))
    return InList("macs", mac) if mac else None  # of DHCPv6 it is in a DUID of type LL


def _mac_of(words: Sequence[str]) -> str:
    """The hardware address of a statement; empty for that of another network."""
    if words[1:2] and words[1].lower() == "ethernet" and _MAC.fullmatch(words[-1]):
        return ":".join(part.zfill(2) for part in words[-1].lower().split(":"))
    return ""


def address_of(host: Statement) -> str:
    """The first fixed address of a host, empty for none."""
    fixed = (one for one in host.inner or () if one.name.startswith("fixed-address"))
    return next(("".join(one.words[1:2]).strip(",") for one in fixed), "")


def prefix_of(host: Statement) -> str:
    """The first fixed prefix of a host, empty for none."""
    fixed = (one for one in host.inner or () if one.name == "fixed-prefix6")
    return next(("".join(one.words[1:2]) for one in fixed), "")


def fixed(hosts: Iterable[Statement]) -> Iterator[str]:
    """The addresses that are reserved; a name is none."""
    for host in hosts:
        for inner in host.inner or ():
            for word in inner.words[1:] if inner.name.startswith("fixed-address") else ():
                with contextlib.suppress(ValueError):
                    yield str(ipaddress.ip_address(word))
