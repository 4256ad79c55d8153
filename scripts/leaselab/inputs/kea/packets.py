"""Packets of clients, made of pieces of their fields that a class asks for."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from leaselab.inputs.client_kinds import Unknown
from leaselab.inputs.kea.subnets import ASKED_FOR, HEAD4
from leaselab.inputs.kea.texts import ANY, Packet, Pieces, Placed
from leaselab.inputs.kea.vendor import ANYBODY, with_vendor_options

_ENTERPRISE = ANYBODY.to_bytes(4, "big")
_NAME = b"\x0eleaselab-value\0"
"""A name as DNS has them, of 16 bytes: options of names and of addresses of IPv6 take it."""
_THERE: Mapping[int, Mapping[int, bytes]] = {
    4: {
        **dict.fromkeys((88, 137, 141, 213), _NAME),
        55: bytes([1, 3, 6, 15, 28, 42]),
        79: b"\0leaselab",
        81: b"\0\0\0leaselab",
        119: b"\x08leaselab\0",
        124: _ENTERPRISE + b"\x08leaselab",
        125: _ENTERPRISE + b"\0",
    },
    6: {
        **dict.fromkeys((12, 21, 22, 23, 24, 27, 28, 29, 30, 31, 33, 34, 40, 51, 52), _NAME),
        **dict.fromkeys((57, 58, 64, 65, 80, 88, 143), _NAME),
        6: b"\0\x17\0\x18",
        15: b"\0\x08leaselab",
        16: _ENTERPRISE + b"\0\x08leaselab",
        17: _ENTERPRISE,
        39: b"\0\x08leaselab\0",
        60: b"\0\x08leaselab",
    },
}
"""Values of options that have to be there, where Kea drops a message with one out of form."""
_LENGTHS: Mapping[int, Mapping[int, tuple[int, int]]] = {
    4: {124: (4, 1)},
    6: {15: (0, 2), 16: (4, 2)},
}
"""Options with data of a length that is before them: its place and size."""
_NUMBERS: Mapping[int, Mapping[int, int]] = {4: {57: 2, 93: 2, 94: 3}, 6: {61: 2, 62: 3}}
"""Options of numbers: the bytes of each. Kea drops a message where one lacks some."""
_LEAST: Mapping[int, Mapping[str, int]] = {4: {"option[61]": 2}, 6: {"agent[37]": 4}}
"""Bytes that a field has at least; Kea drops a message where it has fewer."""
LLT = b"\0\1\0\1\x2c\0\0\0\2\0\0\0\0\0"
"""A DUID of link layer and time (RFC 8415, 11.2)."""


def packet_of(asked: Pieces, place: Packet, family: int) -> Packet:
    """The packet of a client at a place that sends what is asked of it."""
    packet = dict(place)
    for field, parts in asked.items():
        if ANY in parts:
            packet.setdefault(field, _THERE[family].get(code_of(field), b"leaselab"))
    for field, parts in asked.items():
        pieces = [part for part in parts if isinstance(part, tuple)]
        if pieces:
            usual = place.get(field) or _THERE[family].get(code_of(field), b"")
            if any(whole for *_, whole in pieces):
                usual = b""
            elif field == "duid" and any(
                at + len(value) > len(usual) for at, value, _ in pieces
            ):
                usual = LLT
            packet[field] = _filled(pieces, usual)
            if place_and_size := _LENGTHS[family].get(code_of(field)):
                packet[field] = _with_length(field, packet[field], pieces, *place_and_size)
            if size := _NUMBERS[family].get(code_of(field)):
                packet[field] = _of_numbers(field, packet[field], pieces, size)
            if len(packet[field]) < (least := _LEAST[family].get(field, 0)):
                packet[field] = _of_numbers(field, packet[field], pieces, least)
    for field in (*ASKED_FOR["both"], *HEAD4):
        if packet.get(field) != place.get(field):
            raise Unknown(field)
    if len(packet["relay"]) != len(place["relay"]):
        raise Unknown("relay")
    return with_vendor_options(packet, family)


def code_of(field: str) -> int:
    """The number of an option of a packet; 0 for another field."""
    match = re.fullmatch(r"option\[(\d+)\]", field)
    return int(match[1]) if match else 0


def _with_length(
    field: str, value: bytes, pieces: Sequence[Placed], place: int, size: int
) -> bytes:
    """An option whose length of data, in a place of so many bytes, is that of its value.

    Raises Unknown where a class wants another.
    """
    begin = place + size
    if all(at >= begin or at + len(piece) <= place for at, piece, _ in pieces):
        length = max(0, len(value) - begin).to_bytes(size, "big")
        return value[:place] + length + value[begin:]
    if value[place:begin] != max(0, len(value) - begin).to_bytes(size, "big"):
        raise Unknown(field)
    return value


def _of_numbers(field: str, value: bytes, pieces: Sequence[Placed], size: int) -> bytes:
    """An option of numbers, each with so many bytes; zeros are where no class wants any.

    Raises Unknown where a class wants all of a value that lacks some.
    """
    short = -len(value) % size
    if short and any(whole for *_, whole in pieces):
        raise Unknown(f"{field} of {len(value)} bytes, which Kea drops")
    return value + bytes(short)


def _filled(pieces: Sequence[Placed], usual: bytes) -> bytes:
    """Put pieces in their places over the usual bytes of a field."""
    size = max(at + len(value) for at, value, _ in pieces)
    if size > 1024:
        raise Unknown("a field that is too long")
    # Only what names a client has bytes of its own beside those.
    filled = bytearray(usual.ljust(size, b"\0"))
    for at, value, _ in pieces:
        filled[at : at + len(value)] = value
    return bytes(filled)
