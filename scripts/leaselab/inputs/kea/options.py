"""What Kea knows of options: codes by names, which are texts, and the forms of others."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from leaselab.inputs.kea.vendor import ANYBODY

_NAMES: Mapping[int, Mapping[str, int]] = {
    4: {
        "host-name": 12, "vendor-encapsulated-options": 43, "dhcp-parameter-request-list": 55,
        "dhcp-max-message-size": 57, "vendor-class-identifier": 60,
        "dhcp-client-identifier": 61, "user-class": 77, "fqdn": 81, "dhcp-agent-options": 82,
        "client-system": 93, "client-ndi": 94, "uuid-guid": 97, "v6-only-preferred": 108,
        "vivco-suboptions": 124, "vivso-suboptions": 125,
    },
    6: {
        "clientid": 1, "ia-na": 3, "oro": 6, "rapid-commit": 14, "user-class": 15,
        "vendor-class": 16, "vendor-opts": 17, "interface-id": 18, "ia-pd": 25,
        "remote-id": 37, "subscriber-id": 38, "client-fqdn": 39, "client-arch-type": 61,
        "nii": 62, "client-linklayer-addr": 79,
    },
}  # fmt: skip
_TEXTS: Mapping[int, set[int]] = {
    4: {12, 14, 15, 17, 18, 40, 47, 56, 60, 62, 64, 66, 67, 86, 87, 98, 100, 101, 113, 114},
    6: {41, 42, 59, 103},
}
"""Options that are texts to Kea."""
_TEXTS_OF_OTHERS: Mapping[int, set[str]] = {
    4: {"agent[6]"},
    6: {f"vendor[4491].option[{code}]" for code in (2, 10, 33)},
}
"""The same of relays, and of makers (CableLabs)."""
_PART = re.compile(r"option\[(\d+)\](?:\.option\[\d+\])+")
_WITH_PARTS: Mapping[int, set[int]] = {
    4: {82, 125},
    6: {3, 4, 5, 9, 17, 25, 26, *range(89, 98)},
}
"""Options in which Kea finds others before it works out classes."""
_LATE = 224
"""From which code on options of DHCPv4 have a type only after the classes (RFC 3942)."""
_ENTERPRISE = ANYBODY.to_bytes(4, "big")
_USUAL = b"leaselab"
_NAME = b"\x0eleaselab-value\0"
"""A name as DNS has them, of 16 bytes: options of names and of addresses of IPv6 take it."""
_THERE: Mapping[int, Mapping[int, bytes]] = {
    4: {
        **dict.fromkeys((88, 137, 141, 213), _NAME),
        55: bytes([1, 3, 6, 15, 28, 42]),
        79: b"\0leaselab",
        81: b"\0\0\0leaselab",
        119: b"\x08leaselab\0",
        121: b"\0\x0a\0\0\1",
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
_LENGTHS: Mapping[int, Mapping[str, tuple[int, int]]] = {
    4: {"option[124]": (4, 1)},
    6: {"option[15]": (0, 2), "option[16]": (4, 2)},
}
"""Options with data of a length that is before them: its place and size."""
_NUMBERS: Mapping[int, Mapping[str, int]] = {
    4: {"option[57]": 2, "option[93]": 2, "option[94]": 3, "vendor[4491].option[2]": 4},
    6: {
        **dict.fromkeys(("option[61]", "vendor[4491].option[1]"), 2),
        "option[62]": 3,
        **{f"vendor[4491].option[{code}]": 16 for code in (32, 34, 37)},
        "vendor[4491].option[38]": 4,
    },
}
"""Options of numbers or addresses: the bytes of each. Kea drops what lacks some of them."""
_SIZES = {
    **dict.fromkeys(("uint8", "int8", "boolean"), 1),
    **dict.fromkeys(("uint16", "int16"), 2),
    **dict.fromkeys(("uint32", "int32", "ipv4-address"), 4),
    **dict.fromkeys(("ipv6-address", "ipv6-prefix"), 16),
}
"""The same of types that a file gives to options of its own."""
_SINGLE: Mapping[int, set[str]] = {4: {"option[57]"}, 6: {"vendor[4491].option[38]"}}
"""Options of one number."""
_LEAST: Mapping[int, Mapping[str, int]] = {4: {"option[61]": 2}, 6: {"option[37]": 4}}
"""Bytes that an option has at least; Kea drops a message where it has fewer."""


class Form(NamedTuple):
    """What Kea takes of a field; it drops a message with another."""

    there: bytes
    """The value of one that only has to be there."""
    usual: bytes
    """What is around the pieces that a class asks for."""
    length: tuple[int, int] | None
    """Place and size of the length of its data, which is before them."""
    size: int
    """Bytes of each of its numbers."""
    most: int | None
    """Bytes that Kea reads; None for all."""
    least: int


class Options:
    """The options of a family, and those that a file defines."""

    def __init__(self, family: int, defined: Iterable[Mapping[str, Any]]) -> None:
        """`defined` are what the file says of its own (``option-def``)."""
        self.family, space = family, f"dhcp{family}"
        own = [one for one in defined if one.get("space", space) == space]
        own = [one for one in own if {"name", "code"} <= one.keys()]
        self.codes = {**{one["name"]: one["code"] for one in own}, **_NAMES[family]}
        types: dict[int, str] = {one["code"]: one.get("type", "") for one in own}
        early = {code: of for code, of in types.items() if family == 6 or code < _LATE}
        texts = _TEXTS[family] | {code for code, of in early.items() if of == "string"}
        self.texts = _TEXTS_OF_OTHERS[family] | {f"option[{code}]" for code in texts}
        """Fields that are texts to Kea; what it makes of others is how its log shows them."""
        self._lengths = _LENGTHS[family]
        sizes = {f"option[{code}]": _SIZES[of] for code, of in early.items() if of in _SIZES}
        self._sizes = {**sizes, **_NUMBERS[family]}
        alone = {f"option[{one['code']}]" for one in own if not one.get("array")}
        self._single = _SINGLE[family] | (alone & sizes.keys())
        names = {code: _NAME for code, of in early.items() if of == "fqdn"}
        there = {**names, **_THERE[family]}
        self._there = {f"option[{code}]": value for code, value in there.items()}
        self._with_parts = _WITH_PARTS[family] | {
            one["code"] for one in own if one.get("encapsulate") and one["code"] in early
        }

    def lacks(self, field: str) -> bool:
        """Whether a field is a part of an option of which Kea reads none before classes."""
        match = _PART.fullmatch(field)
        return match is not None and int(match[1]) not in self._with_parts

    def form(self, field: str) -> Form:
        """What Kea takes of a field."""
        # The options of a relay of DHCPv6 are as those of clients.
        of = f"option{field.removeprefix('agent')}" if self._is_relays(field) else field
        size = self._sizes.get(of, 1)
        usual = self._there.get(of, b"")
        there = usual or (_NAME if size > len(_USUAL) else _USUAL)
        most = size if of in self._single else None
        least = _LEAST[self.family].get(of, int(field in self.texts))
        return Form(there, usual, self._lengths.get(of), size, most, least)

    def _is_relays(self, field: str) -> bool:
        return self.family == 6 and field.startswith("agent[")


def code_of(field: str) -> int:
    """The number of an option of a packet; 0 for another field."""
    match = re.fullmatch(r"option\[(\d+)\]", field)
    return int(match[1]) if match else 0
