"""From a captured frame to what is in its UDP or TCP: Ethernet, VLANs, MPLS, PPP, Wi-Fi, IP.

Pure.  What is of none of some ports is named by the reason for which it is skipped.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

OTHER = "other protocols"
TRUNCATED = "cut short"
FRAGMENT = "fragments"
TUNNELLED = "in a tunnel that is not read"
"""How the reason of packets in a tunnel begins; the kind of tunnel follows."""

Ports = Mapping[int, tuple[int, ...]]
"""Ports of a protocol by family, 4 and 6."""
_IPV4, _IPV6, _ETHER = 0x0800, 0x86DD, 0x6558
"""What frames hold, by EtherTypes; a frame of Ethernet has the last one here."""
_VLANS = (0x8100, 0x88A8, 0x9100, 0x9200)
_MPLS, _PPPOE = (0x8847, 0x8848), 0x8864
_PSEUDOWIRE = 1 << 16 | 0x8847
"""What labels of MPLS are before where it is no packet of IP."""
_UNREAD = 0xFFFF
_MOST_TAGS = 8
_SNAP, _LEAST_TYPE = b"\xaa\xaa\3\0\0\0", 0x0600
"""What is before an EtherType of IEEE 802.3, which has a length in its place (RFC 1042)."""
_PPP = {0x0021: _IPV4, 0x0057: _IPV6}
_NIBBLES = {4: _IPV4, 6: _IPV6}
_TCP, _UDP, _FRAGMENT_HEADER = 6, 17, 44
_EXTENSIONS = (0, 43, 60)
"""Hop-by-hop options, routing, destination options: 8 bytes and 8 times their second."""
_MOST_EXTENSIONS = 8
_TUNNELS = {4: "IP", 41: "IP", 47: "GRE", 50: "IPsec", 97: "EtherIP", 115: "L2TP"}
_TUNNEL_PORTS = {
    1194: "OpenVPN", 1701: "L2TP", 2152: "GTP", 3544: "Teredo", 4341: "LISP", 4500: "IPsec",
    4789: "VXLAN", 4790: "VXLAN", 5246: "CAPWAP", 5247: "CAPWAP", 6080: "GUE", 6081: "Geneve",
    6635: "MPLS", 8472: "VXLAN", 37008: "TZSP", 51820: "WireGuard",
}  # fmt: skip
_TUNNEL_TYPES = {
    0x22F3: "TRILL", 0x8903: "FabricPath", 0x88E5: "MACsec", 0x88E7: "PBB", 0x894F: "NSH",
    _PSEUDOWIRE: "MPLS",
}  # fmt: skip
"""Tunnels, which are counted and not read: by protocols of IP, ports of UDP, and EtherTypes."""
_TCP_HEADER, _SYN = 20, 2

_ETHERNET, _PPP_ETHERNET, _WIRELESS, _RADIOTAP = 1, 51, 105, 127
_TYPED = {113: (14, 16), 276: (0, 20), 104: (2, 4)}
"""Where an EtherType and its packet are: Linux cooked, and Cisco's HDLC."""
_BARE = {**dict.fromkeys((12, 14, 101, 228, 229), 0), **dict.fromkeys((0, 108), 4)}
"""Where a packet of IP is without one: raw, and of loopback."""
_PPP_LINKS = (9, 50)
LINKS = (_ETHERNET, _PPP_ETHERNET, _WIRELESS, _RADIOTAP, *_TYPED, *_BARE, *_PPP_LINKS)
"""Link types that are read, by their numbers in libpcap."""
_DATA, _IS_QOS, _IS_PROTECTED, _HAS_CONTROL, _BOTH_WAYS = 0x08, 0x80, 0x40, 0x80, 0x03
"""Of a frame of IEEE 802.11: what it is, and its flags."""


@dataclass(frozen=True, slots=True)
class Datagram:
    """A datagram to or from a port of its protocol, or a segment of TCP to or from it."""

    family: int
    """4 or 6."""
    source: bytes
    target: bytes
    """Addresses, 4 or 16 bytes."""
    payload: bytes
    segment: Segment | None = None
    """What TCP says of it; None for UDP."""


@dataclass(frozen=True, slots=True)
class Segment:
    """Where the payload of a segment is in its stream."""

    ports: tuple[int, int]
    """Of source and target."""
    number: int
    """Of the first byte."""
    begins: bool
    """Whether it opens the connection (SYN)."""


def datagram_of(link: int, frame: bytes, ports: Ports, *, tcp: bool = False) -> Datagram | str:
    """The datagram of some ports in a frame of a link type, or why there is none.

    With `tcp` also segments of these ports, which may be parts of a message or several.
    """
    try:
        return _carried(frame, *_network(link, frame), ports, tcp=tcp)
    except IndexError:
        return TRUNCATED


def todo_for(skipped: Collection[str]) -> str:
    """What a user can do about packets that were skipped for these reasons; empty for none."""
    if any(reason.startswith(TUNNELLED) for reason in skipped):
        return (
            "capture at an end of the tunnel; or save the packets of one tunnel (tcpdump -r "
            "CAPTURE -w PART FILTER), and cut its headers off: editcap -L -C BYTES PART OUTPUT"
        )
    if FRAGMENT in skipped:
        return "capture where packets are whole, such as behind what divides them"
    return "capture whole packets: tcpdump -s 0" if TRUNCATED in skipped else ""


def _network(link: int, frame: bytes) -> tuple[int, int]:
    """The network protocol's EtherType, and where it begins."""
    if link == _ETHERNET:
        protocol, place = _ETHER, 0
    elif link == _PPP_ETHERNET:
        protocol, place = _PPPOE, 0
    elif link in (_WIRELESS, _RADIOTAP):
        protocol, place = _wireless(frame, frame[2] if link == _RADIOTAP else 0)
    elif link in _PPP_LINKS:
        place = 4 if frame[:2] == b"\xff\3" else 2
        protocol = _PPP.get(_two(frame, place - 2), 0)
    elif link in _TYPED:
        at, place = _TYPED[link]
        protocol = _two(frame, at)
    else:
        place = _BARE[link]
        protocol = _NIBBLES.get(frame[place] >> 4, 0)
    return _untagged(frame, protocol, place)


def _wireless(frame: bytes, place: int) -> tuple[int, int]:
    """As `_network`, of a frame of IEEE 802.11; nothing is known of other than plain data."""
    kind, flags = frame[place], frame[place + 1]
    if kind & 0x0F != _DATA or flags & _IS_PROTECTED:
        return _UNREAD, place
    place += 24 + 6 * (flags & _BOTH_WAYS == _BOTH_WAYS)
    if kind & _IS_QOS:
        place += 2 + 4 * bool(flags & _HAS_CONTROL)
    return 0, place


def _untagged(frame: bytes, protocol: int, place: int) -> tuple[int, int]:
    """What Ethernet, tags of VLANs, labels of MPLS and PPPoE are before."""
    for _ in range(_MOST_TAGS):
        if protocol == _ETHER:
            protocol, place = _two(frame, place + 12), place + 14
        elif protocol in _VLANS:
            protocol, place = _two(frame, place + 2), place + 4
        elif protocol == _PPPOE:
            protocol, place = _PPP.get(_two(frame, place + 6), 0), place + 8
        elif protocol < _LEAST_TYPE and frame[place : place + len(_SNAP)] == _SNAP:
            protocol, place = _two(frame, place + len(_SNAP)), place + len(_SNAP) + 2
        elif protocol in _MPLS:
            is_last = frame[place + 2] & 1
            place += 4
            if is_last:
                protocol = _NIBBLES.get(frame[place] >> 4, _PSEUDOWIRE)
        else:
            break
    return protocol, place


def _carried(
    frame: bytes, protocol: int, place: int, ports: Ports, *, tcp: bool
) -> Datagram | str:
    """The datagram of a packet, or why there is none."""
    if protocol not in (_IPV4, _IPV6):
        by = f"EtherType {protocol & 0xFFFF:#06x}"
        return _tunnelled(_TUNNEL_TYPES.get(protocol), by)
    family, kind, at, part = (_ipv4 if protocol == _IPV4 else _ipv6)(frame, place)
    if kind != _UDP and not (tcp and kind == _TCP):
        return _tunnelled(_TUNNELS.get(kind), f"protocol {kind}")
    if part & 0x1FFF:
        return FRAGMENT
    both = _two(frame, at), _two(frame, at + 2)
    if both[0] in ports[family] or both[1] in ports[family]:
        return FRAGMENT if part else _datagram(frame, family, place, kind, at)
    if kind == _TCP:
        return OTHER
    port = both[1] if both[1] in _TUNNEL_PORTS else both[0]
    return _tunnelled(_TUNNEL_PORTS.get(port), f"port {port}")


def _tunnelled(name: str | None, by: str) -> str:
    """Why a packet is not read: by the tunnel that it is in, None for another protocol."""
    return f"{TUNNELLED} ({name}, {by})" if name else OTHER


def _ipv4(frame: bytes, place: int) -> tuple[int, int, int, int]:
    """Family of a packet, what it carries, where, and which part of it."""
    header = 4 * (frame[place] & 15)
    if header < 20:
        raise IndexError(header)
    return 4, frame[place + 9], place + header, _two(frame, place + 6) & 0x3FFF


def _ipv6(frame: bytes, place: int) -> tuple[int, int, int, int]:
    """The same of a packet of IPv6, with the part as IPv4 says it."""
    kind, at, part = frame[place + 6], place + 40, 0
    for _ in range(_MOST_EXTENSIONS):
        if kind == _FRAGMENT_HEADER:
            fragment = _two(frame, at + 2)
            part = fragment >> 3 | (fragment & 1) << 13
            kind, at = frame[at], at + 8
        elif kind in _EXTENSIONS and not part & 0x1FFF:
            kind, at = frame[at], at + 8 + 8 * frame[at + 1]
        else:
            break
    return 6, kind, at, part


def _datagram(frame: bytes, family: int, place: int, kind: int, at: int) -> Datagram:
    """What a whole packet carries; raises IndexError where it is cut short."""
    size, first = (4, place + 12) if family == 4 else (16, place + 8)
    ends = frame[first : first + size], frame[first + size : first + 2 * size]
    segment = None
    if kind == _UDP:
        head, end = 8, at + _two(frame, at + 4)
    else:
        head, flags = 4 * (frame[at + 12] >> 4), frame[at + 13]
        end = place + (_two(frame, place + 2) if family == 4 else 40 + _two(frame, place + 4))
        number = _two(frame, at + 4) << 16 | _two(frame, at + 6)
        both = _two(frame, at), _two(frame, at + 2)
        segment = Segment(both, number, bool(flags & _SYN))
    if end < at + head or end > len(frame) or (segment and head < _TCP_HEADER):
        raise IndexError(end)
    return Datagram(family, *ends, frame[at + head : end], segment)


def _two(frame: bytes, place: int) -> int:
    """A number of two bytes; raises IndexError where the frame is too short."""
    return frame[place] << 8 | frame[place + 1]
