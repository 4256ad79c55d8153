"""What of a client's options says what kind it is, and what says who it is.

Pure.  Identities are dropped as messages are read; a value of another option is kept only
where several clients share it, or where it can say nothing of anybody.
"""

from __future__ import annotations

from typing import NamedTuple

from leaselab.inputs.clients.messages import Message

LONGEST = {4: 240, 6: 512}
"""Values that are longer are left out (bytes); leaseload takes no longer ones of DHCPv4."""

_MOST_BYTES = 1200
"""Bytes of the options of a message that are kept: what a packet has room for."""
_MOST_AGENT = 16
"""Options of a relay that are kept."""
_WRITTEN = {
    4: {0, 50, 52, 53, 54, 80, 82, 255},
    6: {1, 2, 3, 4, 5, 7, 8, 9, 10, 13, 14, 18, 19, 20, 25, 26, 37, 38, 79},
}
"""Options that leaseload writes itself, or that only servers and relays send."""
_ADDRESSES = {
    4: {15, 40, 64, 66, 67, 86, 87, 88, 97, 99, 118, 119, 120, 123, 137, 144, 145},
    6: {11, 21, 22, 23, 24, 29, 30, 33, 36, 51, 57, 58, 59, 63, 65, 74},
}
"""Options that hold an address, a domain, a server, a place or an identity, for which no other
can stand: however many share them, they say whose network it is."""
_NAMES = {
    4: {12: "text:client-{client}", 61: "text:\0client-{client}"},
    6: {39: "hex:0006636c69656e74"},
}
"""What stands for an identity: the same option with a made-up value."""
_FQDN4 = 81
_FLAGS_OF_FQDN4 = 0x0B
"""All but the one that has the name encoded as in DNS."""
_REQUESTED = {4: 55, 6: 6}
_ASKED_BY_ALL = {4: {1, 3, 6}, 6: {23, 24}}
"""Mask, routers and name servers; name servers and domains."""
_SMALL = {4: {57: 9216, 93: 64, 116: 1}, 6: {61: 64, 108: 64}}
"""Numbers of two bytes that a standard lists, or a size, with their largest."""
_TEXTS = {4: {43, 60, 77, 124, 125}, 6: {15, 16, 17}}
"""Options whose value is replaced by another of its size where it is not kept."""
AGENT = {
    4: {1: "circuit", 2: "remote", 6: "subscriber"},
    6: {18: "circuit", 37: "remote", 38: "subscriber"},
}
"""Options of relays that are sent with made-up values; others are left out."""


class Features(NamedTuple):
    """Properties that separate a kind of clients from others; identities are not in it."""

    options: tuple[tuple[int, bytes], ...]
    agent: tuple[int, ...]
    """Codes of what the relay adds."""
    want: str
    hardware: int
    vendor: bytes


def features_of(message: Message, *, vendors: bool) -> Features:
    """What a message says of the kind of its client."""
    family = message.family
    apart = _WRITTEN[family] | _ADDRESSES[family]
    named = _NAMES[family]
    kept, size = [], 0
    for code, value in message.options:
        if code in apart or len(value) > LONGEST[family] or size + len(value) > _MOST_BYTES:
            continue
        size += len(value) + 4
        if code == _FQDN4 and family == 4:
            kept.append((code, bytes([value[0] & _FLAGS_OF_FQDN4 if value else 0])))
        else:
            kept.append((code, b"" if code in named else value))
    return Features(
        options=tuple(kept),
        agent=tuple(code for code, _ in message.agent[:_MOST_AGENT]),
        want=message.want,
        hardware=message.hardware,
        vendor=message.vendor if vendors else b"",
    )


def written(family: int, code: int, value: bytes, *, is_shared: bool) -> str:
    """An option's value for leaseload, `text:…` or `hex:…`; empty where it is left out."""
    if code in _NAMES[family]:
        return _NAMES[family][code]
    if code == _FQDN4 and family == 4:
        return f"text:{chr(value[0])}\0\0client-{{client}}"
    if is_shared or _is_list(family, code, value) or _is_small(family, code, value):
        return f"hex:{value.hex()}"
    other = _stand_in(family, code, len(value))
    return f"hex:{other.hex()}" if other else ""


def coarse(family: int, features: Features) -> Features:
    """The same without what may be of one client alone: fewer kinds, for a full table."""
    options = []
    for code, value in features.options:
        lists = _is_list(family, code, value) or _is_small(family, code, value)
        options.append((code, value if lists else _stand_in(family, code, len(value))))
    return features._replace(options=tuple(options), vendor=b"")


def agent_value(family: int, code: int, *, relay: int, is_shared: bool) -> str:
    """A made-up value of an option of a relay; empty where that is left out."""
    word = AGENT[family].get(code)
    if word is None:
        return ""
    # A remote id of DHCPv6 begins with a number of an enterprise.
    number = "\0\0\0\0" if (family, code) == (6, 37) else ""
    return f"text:{number}{word}-{relay}" + ("" if is_shared else "-{client}")


def _is_list(family: int, code: int, value: bytes) -> bool:
    """Whether a value is a list of codes that clients ask for: it identifies no client."""
    if code != _REQUESTED[family]:
        return False
    asked = list(value)
    if family == 6:
        asked = [int.from_bytes(value[at : at + 2], "big") for at in range(0, len(value), 2)]
    is_whole = family == 4 or len(value) % 2 == 0
    fits = is_whole and len(set(asked)) == len(asked) and max(asked, default=0) < 256
    return fits and bool(_ASKED_BY_ALL[family] & set(asked))


def _is_small(family: int, code: int, value: bytes) -> bool:
    most = _SMALL[family].get(code)
    return most is not None and len(value) <= 2 and int.from_bytes(value, "big") <= most


def _stand_in(family: int, code: int, size: int) -> bytes:
    """A value of the same size and form that says nothing; empty for what has no form."""
    if code not in _TEXTS[family]:
        return b""
    head = b""
    if family == 4 and code in (124, 125):
        head = bytes(4) + bytes([max(0, size - 5)])
    elif family == 6 and code == 15:
        head = max(0, size - 2).to_bytes(2, "big")
    elif family == 6 and code == 16:
        head = bytes(4) + max(0, size - 6).to_bytes(2, "big")
    elif family == 6 and code == 17:
        head = bytes(5) + b"\1" + max(0, size - 8).to_bytes(2, "big")
    return head + b"x" * (size - len(head)) if size >= len(head) else b""
