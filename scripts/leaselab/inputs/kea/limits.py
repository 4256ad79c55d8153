"""How many leases hook limits lets the clients of a subnet or a class have."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from leaselab.inputs.configuration import Configuration, Match
from leaselab.inputs.json_tokens import Spot

_LEASES: Mapping[str, tuple[str, ...]] = {
    "address": ("address",),
    "prefix": ("prefix",),
    "both": ("address", "prefix"),
    "options": (),
}
"""Kinds of leases that clients have, by what they ask for."""


@dataclass
class _Limit:
    """A limit, what is left of it, and how many clients there would be beyond it."""

    what: str
    left: int
    beyond: int = 0


class Limits:
    """The limits of a configuration, as far as the hook is loaded."""

    def __init__(self, configuration: Configuration, server: Mapping[str, Any]) -> None:
        """Limits are of names of classes, and of the places of subnets in the file."""
        self._limits: dict[tuple[str | Spot, str], _Limit] = {}
        self._rates: list[str] = []
        hooks = server.get("hooks-libraries", [])
        word = f"subnet{configuration.name.removeprefix('Dhcp')}[*]"
        at = ("client-classes[*]", word, f"shared-networks[*].{word}")
        loaded = any(hook["library"] == "libdhcp_limits.so" for hook in hooks)
        for match in configuration.at(*at) if loaded else ():
            self._note(match)

    def _note(self, match: Match) -> None:
        context = match.value.get("user-context")
        limits = context.get("limits") if isinstance(context, dict) else None
        if not isinstance(limits, dict):
            return
        of_class = "subnet" not in match.value
        owner = match.value.get("name") if of_class else match.spot
        named = f"{match.spot}: {match.value.get('name' if of_class else 'subnet')}"
        for lease in ("address", "prefix"):
            most = limits.get(f"{lease}-limit")
            if type(most) is int:
                self._limits[owner, lease] = _Limit(f"{named}: {lease}-limit {most}", most)
        if rate := limits.get("rate-limit"):
            self._rates.append(f"{named}: rate-limit {rate}: what is beyond it gets no answer")

    def take(self, owners: Iterable[str | Spot], want: str, clients: int) -> int:
        """Return how many of some clients may come, and count them to the limits of owners."""
        keys = ((owner, lease) for owner in owners for lease in _LEASES[want])
        held = [self._limits[key] for key in keys if key in self._limits]
        served = min([clients, *(limit.left for limit in held)])
        for limit in held:
            limit.beyond += clients - served if limit.left < clients else 0
            limit.left -= served
        return served

    def reasons(self) -> Iterator[str]:
        """Yield what the limits leave without an answer."""
        for limit in self._limits.values():
            if limit.beyond:
                yield f"{limit.what}: {limit.beyond} more clients get no lease"
        yield from self._rates
