"""The clients of a dhcpd.conf that have reservations."""

from __future__ import annotations

import ipaddress
import math
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from leaselab.inputs.client_kinds import (
    ByPrefix,
    Having,
    Identity,
    InList,
    Kinds,
    Telling,
    divided,
)
from leaselab.inputs.dhcpd.classes import Classes, is_ignored, packet_of
from leaselab.inputs.dhcpd.places import Leased, Place, address_of, prefix_of
from leaselab.inputs.dhcpd.rules import Client, Rules
from leaselab.inputs.dhcpd.shares import Shares
from leaselab.inputs.dhcpd.statements import Statement
from leaselab.inputs.leases import Range
from leaselab.model.pool import POOL_USE_LIMIT

_ANOTHER_HOSTS = "the address or prefix of an earlier host, which one client at a time may have"
_ANOTHERS_CLIENT = "the client of an earlier host of its network, and dhcpd takes one of them"
_OF_RANGE = "an address of a range, which dhcpd also gives to other clients"


_Hosts = Sequence[tuple[Statement, Identity | None]]
_Known = tuple[Statement, Identity]
"""A host, and who it is."""


class Pool(NamedTuple):
    """A pool of a place."""

    place: Place
    ranges: Sequence[Leased]
    rules: Rules
    has_others: bool
    """Whether it admits unknown clients."""
    size: int
    """For how many clients it has room."""


class Hosts:
    """Hosts with their clients, and the pools that some of these may have an address of."""

    def __init__(
        self,
        kinds: Kinds,
        hosts: _Hosts,
        places: Sequence[Place],
        classes: Classes,
        shares: Shares,
    ) -> None:
        """`hosts` are pairs of a host and its identity; `kinds` gets their clients."""
        self._kinds, self._family = kinds, kinds.family
        self._hosts, self._places = hosts, places
        self._classes, self._shares = classes, shares
        self._roam: dict[tuple[tuple[str, ...], ...], bool] = {}
        self._by_prefix = ByPrefix((place.prefix, place) for place in places)
        self._roaming = self._without_address(hosts)

    def _without_address(self, hosts: _Hosts) -> list[tuple[Client, list[_Known]]]:
        """Hosts without an address, by the classes in which their clients are.

        Of each group: a client of it, and the hosts with their identities.
        """
        groups: dict[object, tuple[Client, list[_Known]]] = {}
        known: set[str] = set()
        for host, identity in hosts:
            is_again = str(identity) in known  # it is one client
            if identity and not (is_again or address_of(host) or prefix_of(host)):
                known.add(str(identity))
                client = self._known(identity)
                if client.ignored() is None and self._shares.take_alone(client):
                    group = groups.setdefault(client.classes, (client, []))
                    group[1].append((host, identity))
        return list(groups.values())

    def _known(self, identity: Identity) -> Client:
        """A client that has a reservation."""
        own: Having = {"clients": 1}
        if isinstance(identity, Telling):
            own[identity.word] = [identity.value]
        listed = identity.value if isinstance(identity, InList) else None
        packet = packet_of(own, self._family, 0, listed)
        return Client(self._classes, packet, is_known=True)

    def admits_roaming(self, rules: Rules) -> bool:
        """Whether a pool is for clients that have a reservation without an address."""
        if rules.said not in self._roam:
            found = (client.refusal(rules) for client, _ in self._roaming)
            self._roam[rules.said] = any(refusal is None for refusal in found)
        return self._roam[rules.said]

    def add(self, pools: Sequence[Pool]) -> None:
        """Add the clients, each through a relay of its address's subnet.

        `pools` are those of all places.
        """
        held: set[str | tuple[object, str]] = set()
        doubled: dict[str, list[Statement]] = {
            why: [] for why in (_ANOTHER_HOSTS, _ANOTHERS_CLIENT, _OF_RANGE)
        }
        shared = _merged(self._shared(pools))
        for host, identity in self._hosts:
            address, prefix = address_of(host), prefix_of(host)
            wanted = address or prefix
            place, why = self._place(address) if address else (None, "")
            if prefix and not address:  # dhcpd gives it whatever the subnet
                place, why = next(iter(self._places), None), "there is no subnet"
            ignored = self._known(identity).ignored() if identity else None
            if identity is None or (wanted and place is None):
                none = (
                    "its client is ignored"
                    if is_ignored(host)
                    else "no client is known to have it"
                )
                why = why if identity else none
                self._kinds.say(f"{host.spot}: {' '.join(host.words)}: {why}")
            elif ignored is not None:
                why = ignored.said("its client is ignored")
                self._kinds.say(f"{host.spot}: {' '.join(host.words)}: {why}")
            elif wanted in held:
                doubled[_ANOTHER_HOSTS].append(host)
            elif place is not None and wanted and (place.network, str(identity)) in held:
                doubled[_ANOTHERS_CLIENT].append(host)
            elif address and _is_in(address, shared):
                doubled[_OF_RANGE].append(host)
            elif place is not None:
                held |= {wanted, (place.network, str(identity))}
                want = ("both" if address else "prefix") if prefix else "address"
                self._kinds.reserve(place, identity, want)
        for why, alike in doubled.items():
            if alike:
                host = alike[0]
                count = f"the first of {len(alike)} hosts with {why}"
                self._kinds.say(f"{host.spot}: {' '.join(host.words)}: {count}")
        self._of_roaming(pools)
        self._kinds.add_reserved()

    def _shared(self, pools: Iterable[Pool]) -> Iterator[Range]:
        """Yield ranges whose addresses dhcpd gives to other clients, as it does in DHCPv4."""
        for pool in pools if self._family == 4 else ():
            if pool.has_others or self.admits_roaming(pool.rules):
                yield from (held for _, held in pool.ranges)

    def _of_roaming(self, pools: Sequence[Pool]) -> None:
        """Known clients without an address of their own: in pools for them, by their sizes."""
        taken: Counter[int] = Counter()
        beyond: list[_Known] = []
        several = {pool.rules.said: pool.rules for pool in pools}
        groups: dict[frozenset[tuple[tuple[str, ...], ...]], list[_Known]] = {}
        for client, hosts in self._roaming:
            admitted = (said for said, rules in several.items() if not client.refusal(rules))
            groups.setdefault(frozenset(admitted), []).extend(hosts)
        for known, hosts in groups.items():
            rooms = []
            for at, pool in enumerate(pools):
                # An unknown client has one address of a pool at least, if it is for such.
                half = math.ceil(pool.size * POOL_USE_LIMIT)
                most = min(half, max(0, pool.size - pool.has_others))
                rooms.append(max(0, most - taken[at]) if pool.rules.said in known else 0)
            chosen = divided(len(hosts), rooms)
            taken.update(chosen)
            for at, (_, identity) in zip(chosen, hosts, strict=False):
                self._kinds.reserve(pools[at].place, identity)
            beyond += hosts[len(chosen) :]
        for host, _ in beyond[:1]:
            self._kinds.say(
                f"{host.spot}: {' '.join(host.words)}: {len(beyond)} hosts "
                "without fixed-address are beyond half of the pools that admit them"
            )

    def _place(self, word: str) -> tuple[Place | None, str]:
        """The subnet of an address, or why there is none."""
        try:
            address = ipaddress.ip_address(word)
        except ValueError:
            return None, "its address is a name, and none is asked of DNS"
        return next(iter(self._by_prefix.of(address)), None), "in no subnet"


def _merged(ranges: Iterable[Range]) -> list[list[int]]:
    """Some ranges as first and last addresses, in order and without gaps of none."""
    merged: list[list[int]] = []
    for held in sorted(ranges):
        if merged and held.first <= merged[-1][1] + 1:
            merged[-1][1] = max(merged[-1][1], held.last)
        else:
            merged.append([held.first, held.last])
    return merged


def _is_in(address: str, merged: Sequence[Sequence[int]]) -> bool:
    """Whether an address is in one of some ranges, as `_merged`."""
    number = int(ipaddress.ip_address(address))
    at = bisect_right(merged, number, key=lambda held: held[0])
    return at > 0 and number <= merged[at - 1][1]
