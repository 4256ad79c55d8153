"""Texts of expressions: constants, and what calls make of a value."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Mapping
from contextlib import suppress
from typing import Final, Literal

from leaselab.inputs.client_kinds import Unknown
from leaselab.inputs.json_tokens import octets
from leaselab.inputs.kea.grammar import Node

ANY: Final = "any"
"""Of a field that only has to be there."""
Packet = Mapping[str, bytes]
"""What is known of a message: bytes by the names of fields."""
Placed = tuple[int, bytes, bool]
"""Bytes of a field, with their place before them and whether they are all of it."""
Piece = Placed | Literal["any"]
Pieces = Mapping[str, list[Piece]]
"""What a client is asked to send."""


def worked_out(kind: str, inner: bytes, between: bytes, number: int = 0) -> bytes:
    """The value of a call for the value that it is given."""
    if kind == "split":
        pieces = re.split(b"[" + re.escape(between) + b"]", inner) if between else [inner]
        return pieces[number - 1] if 0 < number <= len(pieces) else b""
    if kind in ("lcase", "ucase"):
        return inner.lower() if kind == "lcase" else inner.upper()
    if kind == "hexstring":
        return between.join(b"%02x" % byte for byte in inner)
    if kind == "addrtotext" and len(inner) in (4, 16):
        return str(ipaddress.ip_address(inner)).encode()
    if re.fullmatch(r"u?int(8|16|32)totext", kind):
        number = int.from_bytes(inner, "big", signed=kind[0] == "i")
        return str(number).encode() if inner else b""
    raise Unknown(kind)


def sent_for(kind: str, value: bytes) -> bytes | None:
    """What a call has to be given so that it has a value; None where that is not known."""
    if kind in ("lcase", "ucase"):
        return value
    if kind == "hexstring":
        digits = re.sub(rb"[^0-9a-fA-F]", b"", value)
        return bytes.fromhex(digits.decode()) if digits and len(digits) % 2 == 0 else None
    if kind == "addrtotext":
        with suppress(ValueError):
            return ipaddress.ip_address(value.decode()).packed
    match = re.fullmatch(r"(u?)int(8|16|32)totext", kind)
    with suppress(OverflowError):
        if match and re.fullmatch(rb"-?[0-9]{1,10}", value):
            return int(value).to_bytes(int(match[2]) // 8, "big", signed=not match[1])
    return None


def constant(text: Node) -> bytes | None:
    """The bytes of a text that is the same for all packets; None for another."""
    if text.kind == "integer":
        try:
            return int(text.word).to_bytes(4, "big", signed=text.word[0] == "-")
        except OverflowError:
            raise Unknown(text.word) from None
    if text.kind == "concat":
        values = [constant(part) for part in text.parts]
        return None if None in values else b"".join(filter(None, values))
    return _word(text.word) if text.kind == "constant" else None


def _word(word: str) -> bytes | None:
    if word.startswith("'"):
        return octets(word[1:-1])
    if word[:2].lower() == "0x":
        return bytes.fromhex(word[2:].zfill(len(word[2:]) + len(word[2:]) % 2))
    try:
        return ipaddress.ip_address(word).packed
    except ValueError:
        return None


def part_of(value: bytes, start: int, length: str) -> bytes:
    """What a substring has of a value."""
    begin = start if start >= 0 else len(value) + start
    if not 0 <= begin < len(value):
        return b""
    if length == "all":
        return value[begin:]
    stop = begin + int(length)
    return value[max(0, min(begin, stop)) : max(begin, stop)]
