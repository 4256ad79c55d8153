"""Texts of expressions: constants, and what calls make of a value."""

from __future__ import annotations

import ipaddress
import re


class Unknown(Exception):  # noqa: N818  # it is no error: the value is not in the file
    """The value that a class tests cannot be worked out."""


def worked_out(kind, inner, between, number=()):
    """The value of a call for the value that it is given."""
    if kind == "split":
        pieces = re.split(b"[" + re.escape(between) + b"]", inner) if between else [inner]
        return pieces[int(number[1]) - 1] if 0 < int(number[1]) <= len(pieces) else b""
    if kind in ("lcase", "ucase"):
        return inner.lower() if kind == "lcase" else inner.upper()
    if kind == "hexstring":
        return between.join(b"%02x" % byte for byte in inner)
    if kind == "addrtotext" and len(inner) in (4, 16):
        return str(ipaddress.ip_address(inner)).encode()
    if re.fullmatch(r"uint(8|16|32)totext", kind):
        return str(int.from_bytes(inner, "big")).encode() if inner else b""
    raise Unknown(kind)


def sent_for(kind, value):
    """What a call has to be given so that it has a value; None where that is not known."""
    if kind in ("lcase", "ucase"):
        return value
    if kind == "hexstring":
        digits = re.sub(rb"[^0-9a-fA-F]", b"", value)
        return bytes.fromhex(digits.decode()) if digits and len(digits) % 2 == 0 else None
    if kind == "addrtotext":
        try:
            return ipaddress.ip_address(value.decode()).packed
        except ValueError:
            return None
    if (match := re.fullmatch(r"uint(8|16|32)totext", kind)) and value.isdigit():
        size = int(match[1]) // 8
        return int(value).to_bytes(size, "big") if int(value) < 256**size else None
    return None


def constant(text):
    """The bytes of a text that is the same for all packets; None for another."""
    kind, *parts = text
    if kind == "integer":
        return int(parts[0]).to_bytes(4, "big", signed=int(parts[0]) < 0)
    if kind == "concat":
        values = [constant(part) for part in parts]
        return None if None in values else b"".join(values)
    return _word(parts[0]) if kind == "constant" else None


def _word(word):
    if word.startswith("'"):
        return word[1:-1].encode()
    if word[:2].lower() == "0x":
        return bytes.fromhex(word[2:].zfill(len(word[2:]) + len(word[2:]) % 2))
    try:
        return ipaddress.ip_address(word).packed
    except ValueError:
        return None


def part_of(value, start, length):
    """What a substring has of a value."""
    begin = start if start >= 0 else len(value) + start
    if not 0 <= begin < len(value):
        return b""
    if length == "all":
        return value[begin:]
    stop = begin + int(length)
    return value[max(0, min(begin, stop)) : max(begin, stop)]
