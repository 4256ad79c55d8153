"""From a captured frame to the datagram in it: Ethernet, VLANs, Linux cooked, raw IP.

Pure.  What is no datagram of some ports is named by the reason for which it is skipped.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

OTHER = "other protocols"
TRUNCATED = "cut short"
FRAGMENT = "fragments"

Ports = Mapping[int, tuple[int, ...]]
"""UDP ports of a protocol by family, 4 and 6."""
_IPV4, _IPV6 = 0x0800, 0x86DD
_VLANS = (0x8100, 0x88A8, 0x9100)
_MOST_VLANS = 4
_UDP, _FRAGMENT_HEADER = 17, 44
_EXTENSIONS = (0, 43, 60)
"""Hop-by-hop options, routing, destination options: 8 bytes and 8 times their second."""
_MOST_EXTENSIONS = 8

_ETHERNET, _SLL, _SLL2, _NULL, _LOOP = 1, 113, 276, 0, 108
_RAW = (12, 14, 101, 228, 229)
LINKS = (_ETHERNET, _SLL, _SLL2, _NULL, _LOOP, *_RAW)
"""Link types that are read, by their numbers in libpcap."""


@dataclass(frozen=True, slots=True)
class Datagram:
    """A datagram to or from a port of its protocol."""

    family: int
    """4 or 6."""
    source: bytes
    target: bytes
    """Addresses, 4 or 16 bytes."""
    payload: bytes


def datagram_of(link: int, frame: bytes, ports: Ports) -> Datagram | str:
    """The datagram of some ports in a frame of a link type, or why there is none."""
    try:
        protocol, place = _network(link, frame)
        if protocol == _IPV4:
            return _of_ipv4(frame, place, ports[4])
        return _of_ipv6(frame, place, ports[6]) if protocol == _IPV6 else OTHER
    except IndexError:
        return TRUNCATED


def _network(link: int, frame: bytes) -> tuple[int, int]:
    """The network protocol's EtherType, and where it begins."""
    if link == _ETHERNET:
        protocol, place = _two(frame, 12), 14
    elif link == _SLL:
        protocol, place = _two(frame, 14), 16
    elif link == _SLL2:
        protocol, place = _two(frame, 0), 20
    else:
        place = 4 if link in (_NULL, _LOOP) else 0
        protocol = {4: _IPV4, 6: _IPV6}.get(frame[place] >> 4, 0)
    for _ in range(_MOST_VLANS):
        if protocol not in _VLANS:
            break
        protocol, place = _two(frame, place + 2), place + 4
    return protocol, place


def _of_ipv4(frame: bytes, place: int, ports: tuple[int, ...]) -> Datagram | str:
    if frame[place + 9] != _UDP:
        return OTHER
    fragment = _two(frame, place + 6)
    if fragment & 0x1FFF:
        return FRAGMENT
    header = 4 * (frame[place] & 15)
    if header < 20:
        return TRUNCATED
    ends = frame[place + 12 : place + 16], frame[place + 16 : place + 20]
    datagram = _of_udp(frame, place + header, ports, is_part=bool(fragment & 0x2000))
    return datagram if isinstance(datagram, str) else Datagram(4, *ends, datagram)


def _of_ipv6(frame: bytes, place: int, ports: tuple[int, ...]) -> Datagram | str:
    following, at, is_part = frame[place + 6], place + 40, False
    for _ in range(_MOST_EXTENSIONS):
        if following == _FRAGMENT_HEADER:
            fragment = _two(frame, at + 2)
            if fragment & 0xFFF8:
                return FRAGMENT
            is_part = bool(fragment & 1)
            following, at = frame[at], at + 8
        elif following in _EXTENSIONS:
            following, at = frame[at], at + 8 + 8 * frame[at + 1]
        else:
            break
    if following != _UDP:
        return OTHER
    ends = frame[place + 8 : place + 24], frame[place + 24 : place + 40]
    datagram = _of_udp(frame, at, ports, is_part=is_part)
    return datagram if isinstance(datagram, str) else Datagram(6, *ends, datagram)


def _of_udp(frame: bytes, place: int, ports: tuple[int, ...], *, is_part: bool) -> bytes | str:
    """The payload of a datagram, or why there is none."""
    if _two(frame, place) not in ports and _two(frame, place + 2) not in ports:
        return OTHER
    if is_part:
        return FRAGMENT
    size = _two(frame, place + 4)
    payload = frame[place + 8 : place + size]
    if size < 8 or len(payload) < size - 8:
        return TRUNCATED
    return payload


def _two(frame: bytes, place: int) -> int:
    """A number of two bytes; raises IndexError where the frame is too short."""
    return frame[place] << 8 | frame[place + 1]
