"""Vendor options as expressions name them: their numbers and parts, in options of a packet."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from leaselab.inputs.client_kinds import Unknown
from leaselab.inputs.kea.texts import Packet

_CODES = {
    ("vendor", 4): 125,
    ("vendor", 6): 17,
    ("vendor-class", 4): 124,
    ("vendor-class", 6): 16,
}
_FIELD = re.compile(
    r"vendor(?:\.enterprise|\[(?:\d{1,9}|\*)\](?:\.option\[\d{1,5}\])?)"
    r"|vendor-class(?:\.enterprise|\[(?:\d{1,9}|\*)\](?:\.data(?:\[0\])?)?)"
)
ANYBODY = 32473
"""Number of an enterprise in examples (RFC 5612)."""


def field_of(name: str, family: int) -> str:
    """The name of a part of a vendor option in a packet; raises Unknown for what is none."""
    # By the option's own number Kea finds the parts of any enterprise, too.
    name = re.sub(rf"^option\[{_CODES['vendor', family]}\](?=\.option)", "vendor[*]", name)
    if not _FIELD.fullmatch(name):
        raise Unknown(name)
    # Without an index data are the first; enterprise 0 is any, as * is.
    first = re.sub(r"\.data\[0\]$", ".data", name)
    return re.sub(r"^(vendor|vendor-class)\[0\]", r"\1[*]", first)


def vendor_class(packet: Packet, family: int) -> bytes:
    """The value by which Kea makes a class ``VENDOR_CLASS_...``; empty without one.

    It is the first data of DHCPv6's vendor class.
    """
    if family == 4:
        return packet.get("option[60]", b"")
    value = packet.get("option[16]", b"")
    return value[6 : 6 + int.from_bytes(value[4:6], "big")]


def vendor_class_field(family: int) -> str:
    """The field that is such a value."""
    return "option[60]" if family == 4 else "vendor-class[*].data"


def with_vendor_options(packet: Packet, family: int) -> Packet:
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


def _option(packet: Packet, own: Iterable[str], name: str, family: int, code: int) -> Packet:
    number, parts = _parts(packet, own, name)
    body = (_body if name == "vendor" else _data)(parts, family)
    enterprise = number.to_bytes(4, "big")
    length = len(body).to_bytes(1, "big") if family == 4 else b""
    made = {f"option[{code}]": enterprise + length + body, f"{name}.enterprise": enterprise}
    for of in (f"{name}[{number}]", f"{name}[*]"):
        made[of] = body
        for part, value in parts.items():
            made[of + (".data" if name == "vendor-class" else f".option[{part}]")] = value
    return made


def _parts(packet: Packet, own: Iterable[str], name: str) -> tuple[int, dict[int, bytes]]:
    """The one enterprise of a vendor option, and the values of its parts by their codes."""
    numbers: set[int] = set()
    parts: dict[int, bytes] = {}
    for field in own:
        number = re.match(rf"{name}\[(\d+)\]", field)
        code = re.search(r"\.option\[(\d+)\]$", field)
        if field == f"{name}.enterprise":
            numbers.add(int.from_bytes(packet[field], "big"))
        elif number:
            numbers.add(int(number[1]))
        if code or field.endswith(".data"):
            parts[int(code[1]) if code else 0] = packet[field]
    [enterprise] = numbers or {ANYBODY}
    return enterprise, parts


def _body(parts: Mapping[int, bytes], family: int) -> bytes:
    size = 1 if family == 4 else 2
    return b"".join(
        code.to_bytes(size, "big") + len(value).to_bytes(size, "big") + value
        for code, value in sorted(parts.items())
    )


def _data(parts: Mapping[int, bytes], family: int) -> bytes:
    data = parts.get(0, b"leaselab")
    return data if family == 4 else len(data).to_bytes(2, "big") + data
