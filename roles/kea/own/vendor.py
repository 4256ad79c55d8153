"""Vendor options as expressions name them: their numbers and parts, in options of a packet."""

from __future__ import annotations

import re

from .texts import Unknown

_CODES = {
    ("vendor", 4): 125,
    ("vendor", 6): 17,
    ("vendor-class", 4): 124,
    ("vendor-class", 6): 16,
}
_FIELD = re.compile(
    r"vendor(?:\.enterprise|\[(?:\d{1,9}|\*)\]|\[\d{1,9}\]\.option\[\d{1,5}\])"
    r"|vendor-class(?:\.enterprise|\[(?:\d{1,9}|\*)\]|\[\d{1,9}\]\.data(?:\[0\])?)"
)
ANYBODY = 32473
"""Number of an enterprise in examples (RFC 5612)."""


def field_of(name):
    """The name of a part of a vendor option in a packet; raises Unknown for what is none."""
    if not _FIELD.fullmatch(name):
        raise Unknown(name)
    return name.removesuffix("[0]")


def with_vendor_options(packet, family):
    """Return a packet with the vendor options of which it has parts.

    Raises Unknown for parts that cannot be those of one option.
    """
    made = dict(packet)
    for (name, of), code in _CODES.items():
        own = [field for field in packet if re.match(rf"{name}[.[]", field)]
        if of == family and own:
            try:
                made |= _option(packet, own, name, family, code)
            except (ValueError, OverflowError):
                raise Unknown(f"{name} of two enterprises, or too long") from None
    return made


def _option(packet, own, name, family, code):
    number, parts = _parts(packet, own, name)
    body = (_body if name == "vendor" else _data)(parts, family)
    enterprise = number.to_bytes(4, "big")
    length = len(body).to_bytes(1, "big") if family == 4 else b""
    return {
        f"option[{code}]": enterprise + length + body,
        f"{name}.enterprise": enterprise,
        f"{name}[{number}]": body,
        f"{name}[*]": body,
    }


def _parts(packet, own, name):
    """The one enterprise of a vendor option, and the values of its parts by their codes."""
    numbers, parts = set(), {}
    for field in own:
        number, *code = re.findall(r"\d+", field) or [""]
        if field == f"{name}.enterprise":
            numbers.add(int.from_bytes(packet[field], "big"))
        elif number:
            numbers.add(int(number))
        if code or not field.endswith(("]", "enterprise")):
            parts[int(code[0]) if code else 0] = packet[field]
    [number] = numbers or {ANYBODY}
    return number, parts


def _body(parts, family):
    size = 1 if family == 4 else 2
    return b"".join(
        code.to_bytes(size, "big") + len(value).to_bytes(size, "big") + value
        for code, value in sorted(parts.items())
    )


def _data(parts, family):
    data = parts.get(0, b"leaselab")
    return data if family == 4 else len(data).to_bytes(2, "big") + data
