"""What a message of DHCP says of leases: of clients and of servers, DHCPv4 and DHCPv6.

Pure (RFC 2131, 3527, 4039, 8415).  Relays are unwrapped.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator
from dataclasses import dataclass

from leaselab.inputs.clients.frames import Datagram
from leaselab.inputs.clients.messages import BOOTP, MALFORMED, options4, options6

NO_BINDING = 3
"""Status of a lease that a server does not know."""
_COOKIE = b"\x63\x82\x53\x63"
_NONE4, _NONE6 = bytes(4), bytes(16)
_MOST_RELAYS = 32
_KINDS4 = {
    1: "ask", 2: "offer", 3: "request", 4: "decline", 5: "reply", 6: "refuse", 7: "release",
}  # fmt: skip
_KINDS6 = {
    1: "ask", 2: "offer", 3: "request", 5: "renew", 6: "renew", 7: "reply", 8: "release",
    9: "decline",
}  # fmt: skip
OF_SERVERS = ("offer", "reply", "refuse")


@dataclass(frozen=True, slots=True)
class Binding:
    """An address or a prefix in a message; the words are empty where none is named."""

    word: str
    valid_s: int = 0
    group: str = ""
    """Which of a client's several leases it is for (DHCPv6)."""
    status: int = 0


@dataclass(frozen=True, slots=True)
class Spoken:
    """A message that is about leases."""

    kind: str
    """What it is: ask, request, renew, release, decline; offer, reply, refuse."""
    xid: int
    hardware: str
    """The hardware address (DHCPv4), by which answers find their client."""
    identifier: str
    """The client identifier or DUID; empty without one."""
    bindings: tuple[Binding, ...]
    relay: str
    server: str
    is_rapid: bool = False


def spoken(datagram: Datagram) -> Spoken | str:
    """The message in a datagram, or why there is none."""
    try:
        return (_of_v4 if datagram.family == 4 else _of_v6)(datagram.payload)
    except (IndexError, ValueError):
        return MALFORMED


def _of_v4(data: bytes) -> Spoken | str:
    if data[236:240] != _COOKIE:
        return BOOTP if len(data) >= 240 else MALFORMED
    first = dict(reversed([*options4(data[240:], ends=True)]))
    kind = _KINDS4.get(first.get(53, b"\0")[0], "")
    if not kind:
        return BOOTP
    own, given, relay = data[12:16], data[16:20], data[24:28]
    asked = first.get(50, _NONE4)
    if kind == "request" and 54 not in first:  # it has the address, or had it once
        kind = "renew"
    if kind in OF_SERVERS:
        address = given
    else:
        address = asked if kind == "decline" or asked != _NONE4 else own
    valid_s = int.from_bytes(first.get(51, b"")[:4], "big")
    link = dict(options4(first.get(82, b""))).get(5, b"")
    if kind == "renew" and own != _NONE4 and relay == _NONE4:
        place = ""  # it came by itself, from wherever the client is
    else:
        place = _text(link if len(link) == len(relay) else relay)
    return Spoken(
        kind=kind,
        xid=int.from_bytes(data[4:8], "big"),
        hardware=data[28 : 28 + min(16, data[2])].hex(":"),
        identifier=first.get(61, b"").hex(":"),
        bindings=(Binding("" if address == _NONE4 else _text(address), valid_s),),
        relay=place,
        server=_text(first[54]) if len(first.get(54, b"")) == len(_NONE4) else "",
        is_rapid=80 in first,
    )


def _of_v6(data: bytes) -> Spoken | str:
    relay = _NONE6
    for _ in range(_MOST_RELAYS):
        if data[0] not in (12, 13):
            break
        relay = data[2:18] if data[2:18] != _NONE6 else relay
        data = dict(reversed([*options6(data[34:])])).get(9, b"")
    kind = _KINDS6.get(data[0], "")
    if not kind:
        return BOOTP
    options = [*options6(data[4:])]
    associations = [option for option in options if option[0] in (3, 25)]
    first = dict(reversed(options))
    duid = first.get(1, b"").hex(":")
    if not duid:
        return MALFORMED
    return Spoken(
        kind=kind,
        xid=int.from_bytes(data[1:4], "big"),
        hardware="",
        identifier=duid,
        bindings=tuple(binding for each in associations for binding in _of_ia(*each)),
        relay=_text(relay),
        server=first.get(2, b"").hex(":"),
        is_rapid=14 in first,
    )


def _of_ia(code: int, value: bytes) -> Iterator[Binding]:
    """The leases of an association; one without a word where it has none."""
    group, inside = value[:4].hex(), [*options6(value[12:])]
    status = int.from_bytes(dict(inside).get(13, b"")[:2], "big")
    leases = [lease for inner, lease in inside if (code, inner) in ((3, 5), (25, 26))]
    for lease in leases:
        if code == 3:
            word, valid = _text(lease[:16]), lease[20:24]
        else:
            word, valid = f"{_text(lease[9:25])}/{lease[8]}", lease[4:8]
        yield Binding(word, int.from_bytes(valid, "big"), group, status)
    if not leases:
        yield Binding("", 0, group, status)


def _text(address: bytes) -> str:
    return str(ipaddress.ip_address(address))
