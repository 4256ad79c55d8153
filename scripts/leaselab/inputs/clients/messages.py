"""Messages of DHCPv4 and DHCPv6 clients, as far as they say what kind of client sent them.

Pure (RFC 2131, 2132, 3046, 8415).  Relays are unwrapped, also nested ones.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from leaselab.inputs.clients.frames import Datagram

MALFORMED = "malformed"
REPLY = "replies"
BOOTP = "other messages of these ports"

Options = tuple[tuple[int, bytes], ...]
"""Codes and values, in the order in which they came."""

SECOND = "second"
"""The word for a message that asks for what was offered: it begins nothing."""
WORDS = ("new", "rapid", "renew", "rebind", "reboot", "inform", "release", "decline")
"""What clients begin, by the words of leaseload."""

_COOKIE = b"\x63\x82\x53\x63"
_BROADCAST = b"\xff\xff\xff\xff"
_NONE4, _NONE6 = bytes(4), bytes(16)
_ETHERNET = 1
_AGENT, _OVERLOAD = 82, 52
_LINK_SELECTION, _FLAGS, _SERVER_ID = 5, 10, 11
_MOST_RELAYS = 32
_WORDS4 = {1: "new", 3: SECOND, 4: "decline", 7: "release", 8: "inform"}
_WORDS6 = {
    1: "new", 3: SECOND, 4: "reboot", 5: "renew", 6: "rebind", 8: "release", 9: "decline",
    11: "inform",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Message:
    """A client's message."""

    family: int
    word: str
    """What it begins, or `SECOND`."""
    xid: int
    who: bytes
    """The identity that a server sees: client identifier, hardware address or DUID."""
    options: Options
    relay: bytes = b""
    """The subnet as the relay names it: by link selection (RFC 3527), else giaddr; the link
    address of the relay nearest to the client.  Empty without a relay."""
    agent: Options = ()
    """Sub-options of option 82 but link selection, also of a switch; options of that relay."""
    path: int = 0
    """Hash of who passed it on, and to whom: copies of one message differ in it."""
    want: str = "address"
    """What is asked for (DHCPv6): address, prefix or both."""
    hardware: int = _ETHERNET
    """Type of the hardware address."""
    vendor: bytes = b""
    """First three bytes of an Ethernet address that a manufacturer gave; empty otherwise."""
    hops: int = 0
    """Relays that it came through."""
    elapsed: int = 1
    """Since the client began, as it says itself: 0 as it begins."""


def message_of(datagram: Datagram) -> Message | str:
    """The message of a client in a datagram, or why there is none."""
    try:
        return (_of_v4 if datagram.family == 4 else _of_v6)(datagram)
    except (IndexError, ValueError):
        return MALFORMED


def _of_v4(datagram: Datagram) -> Message | str:
    data = datagram.payload
    if data[0] != 1:
        return REPLY if data[0] == 2 else BOOTP
    if data[236:240] != _COOKIE:
        return BOOTP if len(data) >= 240 else MALFORMED
    options = tuple(options4(data[240:], ends=True))
    overloaded = dict(options).get(_OVERLOAD)
    for field, marks in ((data[108:236], (b"\1", b"\3")), (data[44:108], (b"\2", b"\3"))):
        options += tuple(options4(field, ends=True)) if overloaded in marks else ()
    first = dict(reversed(options))
    word = _WORDS4.get(first.get(53, b"\0")[0])
    if word is None:
        return BOOTP
    giaddr, current = data[24:28], data[12:16]
    is_relayed = giaddr != _NONE4
    agent = tuple(options4(b"".join(value for code, value in options if code == _AGENT)))
    of_relay = dict(agent)
    link = of_relay.get(_LINK_SELECTION, b"")
    if word == SECOND and 54 not in first:
        if current == _NONE4:
            word = "reboot"
        else:
            # A relay that stands for the server (RFC 5107) also gets what is sent to it alone.
            flags = of_relay.get(_FLAGS, b"\x80" if _SERVER_ID in of_relay else b"")
            passed_on = (is_relayed and flags < b"\x80") or datagram.target == _BROADCAST
            word = "rebind" if passed_on else "renew"
    if word == "new" and 80 in first:
        word = "rapid"
    hardware, address = data[1], data[28 : 28 + min(16, data[2])]
    return Message(
        family=4,
        word=word,
        xid=int.from_bytes(data[4:8], "big"),
        who=b"\1" + first[61] if first.get(61) else bytes([0, hardware]) + address,
        options=options,
        relay=(link if len(link) == len(giaddr) else giaddr) if is_relayed else b"",
        agent=tuple(option for option in agent if option[0] != _LINK_SELECTION),
        path=hash((giaddr, datagram.target)),
        hardware=hardware,
        vendor=_vendor(address) if hardware == _ETHERNET else b"",
        hops=data[3],
        elapsed=int.from_bytes(data[8:10], "big"),
    )


def options4(data: bytes, *, ends: bool = False) -> Iterator[tuple[int, bytes]]:
    """Options; or sub-options, which have no end of their own, up to one that is cut short."""
    place = 0
    while place < len(data) - (not ends):
        code = data[place]
        if ends and code in (0, 255):
            if code == 255:
                return
            place += 1
            continue
        value = data[place + 2 : place + 2 + data[place + 1]]
        if len(value) < data[place + 1]:
            if not ends:
                return
            raise ValueError("an option that is cut short")
        yield code, value
        place += 2 + len(value)


def _of_v6(datagram: Datagram) -> Message | str:
    data, relay, hops, sender = datagram.payload, b"", 0, datagram.source
    agent: Options = ()
    while data[0] == 12:
        hops += 1
        if hops > _MOST_RELAYS or len(data) < 34:
            return MALFORMED
        options = tuple(options6(data[34:]))
        link, sender, inside = data[2:18], data[18:34], dict(reversed(options)).get(9, b"")
        # The nearest relay may leave the link to the next one: RFC 6221.
        relay = link if link != _NONE6 else relay
        agent = tuple(option for option in options if option[0] != 9) or agent
        data = inside
    word = _WORDS6.get(data[0])
    if word is None:
        return REPLY if data[0] in (2, 7, 10, 13) else BOOTP
    if len(data) < 4:
        return MALFORMED
    options = tuple(options6(data[4:]))
    codes = {code for code, _ in options}
    first = dict(reversed(options))
    duid = first.get(1, b"")
    return Message(
        family=6,
        word="rapid" if word == "new" and 14 in codes else word,
        xid=int.from_bytes(data[1:4], "big"),
        who=duid or sender,
        options=options,
        relay=relay or (_NONE6 if hops else b""),
        agent=agent,
        path=hash((datagram.source, datagram.target, hops)),
        want="both" if {3, 25} <= codes else "prefix" if 25 in codes else "address",
        vendor=_vendor(duid[-6:]) if duid[:2] in (b"\0\1", b"\0\3") else b"",
        hops=hops,
        elapsed=int.from_bytes(first.get(8, b"\1"), "big"),
    )


def options6(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Options; raises ValueError for one that is cut short."""
    place = 0
    while place < len(data):
        size = data[place + 2] << 8 | data[place + 3]
        value = data[place + 4 : place + 4 + size]
        if len(value) < size:
            raise ValueError("an option that is cut short")
        yield data[place] << 8 | data[place + 1], value
        place += 4 + size


def _vendor(address: bytes) -> bytes:
    """The part of an Ethernet address that says whose it is; none of one made at random."""
    return address[:3] if len(address) == 6 and not address[0] & 3 else b""
