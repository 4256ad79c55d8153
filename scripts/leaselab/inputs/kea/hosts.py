"""The reservations that Kea looks up, and what it knows of a client by one."""

from __future__ import annotations

import ipaddress
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from leaselab.inputs.configuration import Configuration, Match
from leaselab.inputs.json_tokens import Spot
from leaselab.inputs.kea.expressions import Reserved
from leaselab.inputs.kea.subnets import Place
from leaselab.model.pool import Address

_IDENTIFIERS: Mapping[int, tuple[str, ...]] = {
    4: ("hw-address", "duid", "circuit-id", "client-id"),
    6: ("hw-address", "duid"),
}
"""Those by which Kea looks up reservations unless it is configured."""
_KNOWN = {*_IDENTIFIERS[4], "flex-id"}


class Host(NamedTuple):
    """A reservation that Kea looks up."""

    value: Mapping[str, Any]
    spot: Spot
    reserved: Reserved
    want: str
    """What it reserves; empty where a pool decides what its client gets."""
    address: Address | None


class Hosts:
    """The reservations of a configuration."""

    def __init__(
        self, configuration: Configuration, family: int, say: Callable[[str], None]
    ) -> None:
        """`say` notes why some have no client."""
        server = configuration.whole.value
        listed = server.get("host-reservation-identifiers", _IDENTIFIERS[family])
        self._identifiers = _KNOWN if "auto" in listed else set(listed)
        self._early = bool(server.get("early-global-reservations-lookup", False))
        self._say = say
        self._global = list(configuration.at("reservations[*]"))

    def of(self, place: Place) -> list[Host]:
        """Those of a subnet."""
        if not place.in_subnet:
            self._unseen(place.reservations, "are not looked up, by reservations-in-subnet")
            return []
        # In a shared network their classes are added after the lease.
        deferred = place.network is not None
        return list(self._seen(place.reservations, early=False, deferred=deferred))

    def of_all(self, places: Iterable[Place]) -> tuple[list[Host], list[Place]]:
        """Those of no subnet, and the places whose clients may have them."""
        at = [place for place in places if place.in_global or self._early]
        if not at:
            self._unseen(self._global, "are not looked up, by reservations-global")
            return [], at
        return list(self._seen(self._global, early=self._early, deferred=False)), at

    def _seen(self, matches: Iterable[Match], *, early: bool, deferred: bool) -> Iterator[Host]:
        dropped: list[Match] = []
        others: dict[str, list[Match]] = {}
        for match in matches:
            own = match.value
            by = next((word for word in own if word in _KNOWN), "")
            classes = frozenset(() if deferred else own.get("client-classes", ()))
            if by and by not in self._identifiers:
                others.setdefault(by, []).append(match)
            elif "DROP" in classes:
                dropped.append(match)
            else:
                yield _host(match, Reserved(classes, early))
        self._unseen(dropped, "give class DROP")
        for by, unseen in others.items():
            self._unseen(unseen, f"are by {by}, which host-reservation-identifiers lacks")

    def _unseen(self, matches: Sequence[Match], why: str) -> None:
        if matches:
            self._say(f"{matches[0].spot}: {len(matches)} reservations {why}")


def _host(match: Match, reserved: Reserved) -> Host:
    own = match.value
    addresses = [own["ip-address"]] if own.get("ip-address") else own.get("ip-addresses", ())
    want = "address" if addresses else ""
    if own.get("prefixes"):
        want = "both" if addresses else "prefix"
    address = ipaddress.ip_address(addresses[0]) if addresses else None
    return Host(own, match.spot, reserved, want, address)
