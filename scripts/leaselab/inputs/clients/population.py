"""Makes anonymous kinds of clients, as leaseload reads them, from a census."""

from __future__ import annotations

import ipaddress
import time
from bisect import bisect_left
from collections import Counter
from collections.abc import Mapping
from itertools import accumulate
from typing import Any

from leaselab.inputs.clients.census import MOST_MINUTES, Census, Group, is_shared
from leaselab.inputs.clients.file import Peak, Traffic, shares_of
from leaselab.inputs.clients.messages import WORDS
from leaselab.inputs.clients.values import Features, agent_value, written

MOST_LISTED = 4096
"""Kinds that a file has; the clients of smaller ones are of the largest of their relay."""
_FIRST_RELAY = {4: int(ipaddress.ip_address("240.0.0.0")), 6: 0x20010DB8 << 96}
"""Made-up addresses of relays: reserved ones, and those for documentation."""
_STEP = {4: 1, 6: 1 << 64}
_ETHERNET = 1
_SHOWN = 40
_TWO_MINUTES_S, _LEAST_S = 120, 10


def traffic_of(census: Census, shared: int, seen: tuple[float, float]) -> Traffic | None:
    """Traffic of a census's clients; None where none of them began an exchange.

    A value of an option is kept where at least `shared` clients sent it; `seen` is from when
    to when (s) there were packets.
    """
    begun = census.begun.total()
    groups = _Groups(census, shared)
    if not begun or not groups.kinds:
        return None
    first, minutes = _minutes(census)
    return Traffic(
        clients=census.clients,
        relays=groups.relays,
        seconds=round(census.last_s - census.first_s, 3),
        messages=census.messages,
        exchanges=begun,
        shares=shares_of(census.begun),
        resent=round(census.resent / max(1, census.messages - census.copies), 4),
        begins=time.strftime("%H:%M", time.gmtime(60 * first)),
        peak=_peak(census, first, minutes, seen),
        minutes=minutes,
        notes=[*_notes(census), *groups.notes],
        kinds=groups.kinds,
    )


class _Groups:
    """Kinds of clients behind their relays, written."""

    def __init__(self, census: Census, shared: int) -> None:
        self._family, self.notes = census.family, []
        self._features = list(census.kinds)
        groups = {key: group for key, group in census.groups.items() if group.clients > 0}
        self._values: Counter[tuple[int, bytes]] = Counter()
        self._vendors: Counter[bytes] = Counter()
        behind: Counter[int] = Counter()
        for (kind, relay), group in groups.items():
            features = self._features[kind]
            behind[relay] += group.clients
            self._vendors[features.vendor] += group.clients
            for option in set(features.options):
                self._values[option] += group.clients
        self._shared = shared
        ranks = [relay for relay, _ in behind.most_common() if relay]
        self._rank = {relay: rank for rank, relay in enumerate(ranks, 1)}
        self.relays = len(ranks)
        self._left_out: Counter[str] = Counter()
        merged: dict[str, dict[str, Any]] = {}
        order = sorted(groups.items(), key=lambda item: -item[1].clients)
        for (kind, relay), group in order:
            made = self._kind(self._features[kind], self._rank.get(relay, 0), group)
            known = merged.setdefault(repr(made), {**made, "clients": 0})
            known["clients"] += group.clients
        self.kinds = self._listed(list(merged.values()))
        self._number()
        self.notes += [f"{count} clients: {what}" for what, count in self._left_out.items()]

    def _kind(self, features: Features, relay: int, group: Group) -> dict[str, Any]:
        family = self._family
        kind: dict[str, Any] = {"name": self._name(features), "clients": 0}
        if relay:
            address = _FIRST_RELAY[family] + relay * _STEP[family] + (family == 6)
            kind["relay"] = str(ipaddress.ip_address(address))
        agent = []
        for code in dict.fromkeys(features.agent):
            shared = is_shared(group.agent.get(code, -1)) and group.clients > 1
            made = agent_value(family, code, relay=relay, is_shared=shared)
            agent += [[code, made]] if made else []
            if not made:
                self._left_out[f"option {code} of their relay is left out"] += group.clients
        options = []
        for code, value in features.options:
            shared = self._is_shared(self._values[code, value])
            text = written(family, code, value, is_shared=shared)
            options += [[code, text]] if text else []
            if not text:
                self._left_out[f"their option {code} is left out"] += group.clients
        kind |= {"agent": agent} if agent else {}
        kind |= {"options": options} if options else {}
        if features.vendor and self._is_shared(self._vendors[features.vendor]):
            kind["first_mac"] = features.vendor.hex(":") + ":00:00:00"
        if features.want != "address":
            kind["want"] = features.want
        if family == 4 and features.hardware != _ETHERNET:
            what = f"hardware type {features.hardware}, sent as Ethernet"
            self._left_out[what] += group.clients
        return kind

    def _is_shared(self, clients: int) -> bool:
        return clients >= self._shared

    def _name(self, features: Features) -> str:
        """A vendor class that is kept, else what is asked for."""
        first = dict(reversed(features.options))
        vendor = first.get(60, b"") if self._family == 4 else first.get(16, b"")[6:]
        code = 60 if self._family == 4 else 16
        if vendor and self._is_shared(self._values[code, first[code]]):
            text = vendor.decode("ascii", "replace")
            if text.isprintable():
                return text[:_SHOWN]
        return "others"

    def _listed(self, kinds: list[dict[str, Any]]) -> list[dict[str, Any]]:
        kinds.sort(key=lambda kind: -int(kind["clients"]))
        largest: dict[str, dict[str, Any]] = {}
        for kind in kinds[:MOST_LISTED]:
            largest.setdefault(kind.get("relay", ""), kind)
        rest = kinds[MOST_LISTED:]
        for kind in rest:
            largest.get(kind.get("relay", ""), kinds[0])["clients"] += kind["clients"]
        if rest:
            count = sum(int(kind["clients"]) for kind in rest)
            self.notes.append(
                f"{count} clients of {len(rest)} small kinds are of the largest of their relay"
            )
        return kinds[:MOST_LISTED]

    def _number(self) -> None:
        """Give kinds of one maker consecutive hardware addresses."""
        of_maker = [kind for kind in self.kinds if "first_mac" in kind]
        following: dict[str, int] = {}
        for kind in of_maker:
            first = following.get(kind["first_mac"][:8], 0)
            following[kind["first_mac"][:8]] = first + kind["clients"]
            kind["first_mac"] = kind["first_mac"][:8] + ":" + first.to_bytes(3, "big").hex(":")


def _minutes(census: Census) -> tuple[int, dict[str, list[int]]]:
    """The first minute of the busiest week, and what was begun in each from that on."""
    if not census.minutes:
        return 0, {}
    times = sorted(census.minutes)
    sums = [0, *accumulate(census.minutes[at].total() for at in times)]
    places = ((at, bisect_left(times, at + MOST_MINUTES)) for at in times)
    within = [sums[end] - sums[place] for place, (_, end) in enumerate(places)]
    first = times[within.index(max(within))]
    last = min(times[-1], first + MOST_MINUTES - 1)
    none: Counter[str] = Counter()
    listed = [census.minutes.get(at, none) for at in range(first, last + 1)]
    return first, {
        word: [begun[word] for begun in listed]
        for word in WORDS
        if any(word in begun for begun in listed)
    }


def _peak(
    census: Census, first: int, minutes: Mapping[str, list[int]], seen: tuple[float, float]
) -> Peak | None:
    if not minutes:
        return None
    counts = map(sum, zip(*minutes.values(), strict=True))
    rates = [count / _seen_s(first + at, *seen) for at, count in enumerate(counts)]
    most = rates.index(max(rates))
    shares = shares_of(census.minutes[first + most])
    return Peak(minute=most, per_s=round(rates[most], 4), shares=shares)


def _seen_s(minute: int, first_s: float, last_s: float) -> float:
    """How much of a minute was seen (s): less than all where no minute was seen in full."""
    length_s = last_s - first_s
    if length_s >= _TWO_MINUTES_S:
        return 60.0
    seen_s = min(last_s, 60 * minute + 60) - max(first_s, 60 * minute)
    return max(seen_s, min(length_s, _LEAST_S), 1.0)


def _notes(census: Census) -> list[str]:
    notes = [f"table of {name} full: {left} messages" for name, left in census.bounds.items()]
    if census.copies:
        notes.append(
            f"{census.copies} messages were seen again: relays passed them on, or copies"
        )
    if census.nested:
        notes.append(f"{census.nested} messages came through several relays; sent through one")
    if census.poor:
        notes.append(
            f"{census.poor} clients are of no kind: they only ended a lease, or no room"
        )
    times = sorted(census.minutes)
    if times and times[-1] - times[0] >= MOST_MINUTES:
        notes.append("times of more than a week: minutes of the busiest week are listed")
    return notes
