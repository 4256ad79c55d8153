"""Kinds of clients as leaseload reads them, of packets that were worked out."""

from __future__ import annotations

import ipaddress
from collections.abc import Container, Iterable

from leaselab.inputs.client_kinds import (
    MOST_LISTED,
    ClientKind,
    Having,
    Sent,
    hex_of,
    kind_name,
    numbered,
    written,
)
from leaselab.inputs.json_tokens import plain
from leaselab.inputs.kea.identities import FlexibleId, codes_of
from leaselab.inputs.kea.subnets import Guards, Place, Way
from leaselab.inputs.kea.texts import Packet, Piece, Pieces

_ASKED = {4: ("option[55]", bytes([1, 3, 6, 15, 28, 42])), 6: ("option[6]", b"\0\x17\0\x18")}
"""Options that clients ask for unless a class wants others: mask, routers, DNS and the like."""
_MOST_SEVERAL = 1024
"""Clients of a kind that have a kind each."""


class Kinds:
    """Kinds of clients, whose identities differ."""

    def __init__(self, family: int, flexible: FlexibleId, reserved: Container[bytes]) -> None:
        """Begin without any; `flexible` has them differ in a flexible identifier.

        `reserved` are the hardware addresses, or DUIDs, that only reservations have.
        """
        self.family, self._reserved = family, reserved
        self.every: list[ClientKind] = []
        self._flexible, self._issued = flexible, 0

    def add(self, place: Place, way: Way, own: Having, guards: Guards = ()) -> bool:
        """Add a kind of clients: `way` is their packet, what that was asked for, its classes.

        `own` is what its clients have instead of what the packet says.  Returns whether there
        is a client that has no reservation, or comes for it.
        """
        packet, asked = way.packet, way.asked
        code, value = _ASKED[self.family]
        sent = {**packet, code: packet.get(code, value)}
        kind: ClientKind = {
            "name": plain(kind_name(place, *map(" or ".join, guards))),
            "clients": own["clients"],
            "relay": str(ipaddress.ip_address(packet["relay"])),
        }
        listed = own.get("macs", own.get("duids"))
        if listed is None:
            listed = self._identities(asked, packet, own["clients"])
        if listed is not None:
            kind["clients"] = len(listed)
            kind["duids" if self.family == 6 and "macs" not in own else "macs"] = listed
        if not kind["clients"]:
            return False
        codes: dict[Sent, dict[int, str]] = {
            "agent": codes_of(sent, "agent"),
            "options": codes_of(sent, "option"),
        }
        several = 0
        if "option[61]" in asked and self.family == 4:
            identity, whole = self._by_client_id(packet["option[61]"], asked["option[61]"])
            codes["options"][61] = identity
            if identity.startswith("hex:"):
                several = 0 if whole else min(kind["clients"], _MOST_SEVERAL)
                kind["clients"] = 1
        if not self._flexible.differ(codes, asked, own):
            kind["clients"] = 1
        for key, every in codes.items():
            every |= dict(own.get(key, ()))
            if every:
                kind[key] = written(every.items())
        if own["want"] not in ("address", "options"):
            kind["want"] = own["want"]
        numbers = range(self._issued, self._issued + several)
        self._issued += several
        self.every += [self._with_number(kind, number) for number in numbers] or [kind]
        return True

    @staticmethod
    def _with_number(kind: ClientKind, number: int) -> ClientKind:
        """The client with a number of those whose identifier is no text."""
        options = [
            [code, f"{value}{number:06x}" if code == 61 else value]
            for code, value in kind["options"]
        ]
        return {**kind, "options": options}

    def _identities(self, asked: Pieces, packet: Packet, clients: int) -> list[str] | None:
        """Who the clients of a kind are, and how many, where its class asks for that."""
        field = "mac" if self.family == 4 else "duid"
        if field not in asked:
            return None
        pieces = [piece for piece in asked[field] if isinstance(piece, tuple)]
        known = {at + one for at, value, _ in pieces for one in range(len(value))}
        size = len(packet[field])
        # A DUID begins with its type, a hardware address with whose it is.
        first = size if any(whole for *_, whole in pieces) else 1 if field == "mac" else 4
        free = [at for at in reversed(range(first, size)) if at not in known][:4]
        count = min(clients, 256 ** len(free), MOST_LISTED)
        numbers = range(self._issued, self._issued + count)
        every = numbered(packet[field], free, numbers)
        values = [value for value in every if value not in self._reserved]
        self._issued += count
        return [value.hex(":") if field == "mac" else value.hex() for value in values]

    @staticmethod
    def _by_client_id(value: bytes, pieces: Iterable[Piece]) -> tuple[str, bool]:
        """The identifier of clients whose class tests it, and whether it tests all of it."""
        whole = any(isinstance(piece, tuple) and piece[2] for piece in pieces)
        if not whole and value.isascii():
            return f"text:{value.decode()}{{client}}", whole
        return hex_of(value), whole
