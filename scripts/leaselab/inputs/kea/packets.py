"""Packets of clients, made of pieces of their fields that a class asks for."""

from __future__ import annotations

from collections.abc import Sequence

from leaselab.inputs.client_kinds import Unknown
from leaselab.inputs.kea.options import Form, Options
from leaselab.inputs.kea.subnets import ASKED_FOR, HEAD4
from leaselab.inputs.kea.texts import ANY, Packet, Pieces, Placed
from leaselab.inputs.kea.vendor import with_vendor_options

LLT = b"\0\1\0\1\x2c\0\0\0\2\0\0\0\0\0"
"""A DUID of link layer and time (RFC 8415, 11.2)."""


def packet_of(asked: Pieces, place: Packet, options: Options) -> Packet:
    """The packet of a client at a place that sends what is asked of it."""
    packet = dict(place)
    for field, parts in asked.items():
        if ANY in parts:
            packet.setdefault(field, options.form(field).there)
    for field, parts in asked.items():
        pieces = [part for part in parts if isinstance(part, tuple)]
        if pieces:
            form = options.form(field)
            usual = place.get(field) or form.usual
            if any(whole for *_, whole in pieces):
                usual = b""
            elif field == "duid" and any(
                at + len(value) > len(usual) for at, value, _ in pieces
            ):
                usual = LLT
            packet[field] = _filled(pieces, usual)
            if form.length:
                packet[field] = _with_length(field, packet[field], pieces, *form.length)
            packet[field] = _of_numbers(field, packet[field], pieces, form)
    for field in (*ASKED_FOR["both"], *HEAD4):
        if packet.get(field) != place.get(field):
            raise Unknown(field)
    if len(packet["relay"]) != len(place["relay"]):
        raise Unknown("relay")
    return with_vendor_options(packet, options.family)


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


def _of_numbers(field: str, value: bytes, pieces: Sequence[Placed], form: Form) -> bytes:
    """An option of numbers, each with so many bytes; zeros are where no class wants any.

    Raises Unknown where a class wants all of a value that Kea drops, or reads in part.
    """
    least = max(form.least, -(-len(value) // form.size) * form.size)
    is_whole = any(whole for *_, whole in pieces)
    if is_whole and not least <= len(value) <= (form.most or len(value)):
        raise Unknown(f"{field} of {len(value)} bytes, which Kea drops")
    return value.ljust(least, b"\0")


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
