"""The classes of a dnsmasq.conf: what a client's message has for a tag to be set."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Generic, NamedTuple, TypeVar

from leaselab.inputs.client_kinds import Sent
from leaselab.inputs.dnsmasq.lines import Line, tag_of

T = TypeVar("T")
Where = tuple[Sent, int]
"""Where an option is, and its code."""

_TEXTS: Mapping[str, Mapping[int, Where]] = {
    "dhcp-vendorclass": {4: ("options", 60), 6: ("options", 16)},
    "dhcp-userclass": {4: ("options", 77), 6: ("options", 15)},
    "dhcp-circuitid": {4: ("agent", 1)},
    "dhcp-remoteid": {4: ("agent", 2)},
    "dhcp-subscrid": {4: ("agent", 6)},
}
"""Where what a class tests is, by the family: of relays of DHCPv6 dnsmasq sets no tag."""
_NAME: Mapping[int, Where] = {4: ("options", 12), 6: ("options", 39)}
MAC6: Where = ("agent", 79)
"""Where a relay of DHCPv6 says a client's hardware address (RFC 6939)."""
_VENDOR_IDENT, _SIX = 124, "option6:"
_NUMBERS = {4: 93, 6: 61}
"""Architectures: numbers of two bytes."""
_EXCHANGE: Mapping[int, set[int]] = {4: {50, 51, 53, 54, 61, 82}, 6: {1, 2, 3, 4, 8, 14, 25}}
"""Options that no class decides."""
_MATCHED: Mapping[int, Mapping[str, int]] = {
    4: {
        "hostname": 12, "vendor-class": 60, "user-class": 77, "fqdn": 81, "client-arch": 93,
        "client-interface-id": 94, "client-machine-id": 97,
    },
    6: {"user-class": 15, "vendor-class": 16, "vendor-opts": 17, "fqdn": 39},
}  # fmt: skip
_PATTERN = re.compile(
    r"(?:0?1-)?((?:(?:[0-9a-f]{1,2}|\*):){5}(?:[0-9a-f]{1,2}|\*))", re.IGNORECASE
)
"""A hardware address, of which octets may be ``*``."""
ANY = "*:*:*:*:*:*"


class Packet(NamedTuple):
    """What a client sends: its hardware address, or a pattern of it, and options."""

    mac: str = ANY
    sent: Mapping[Where, bytes] = {}


class Class(NamedTuple):
    """What sets a tag: a field of a client's message and its value."""

    tag: str
    name: str
    mac: str = ANY
    """The pattern of hardware addresses; or any, where an option is tested."""
    where: Where | None = None
    value: bytes = b""

    @property
    def is_part(self) -> bool:
        """Whether a packet has it whose option has its value anywhere."""
        return self.name.startswith(("dhcp-vendorclass", "dhcp-userclass", "dhcp-match"))

    @property
    def packet(self) -> Packet:
        """What a client sends that has it."""
        return Packet(self.mac, {self.where: self.value} if self.where else {})


class Patterns(Generic[T]):
    """Things by patterns of hardware addresses, of which an address has several."""

    def __init__(self) -> None:
        self._by_shape: dict[tuple[int, ...], dict[tuple[str, ...], list[T]]] = {}

    def add(self, pattern: str, held: T) -> None:
        """Add a thing."""
        parts = pattern.split(":")
        shape = tuple(at for at, part in enumerate(parts) if part != "*")
        key = tuple(parts[at] for at in shape)
        self._by_shape.setdefault(shape, {}).setdefault(key, []).append(held)

    def of(self, mac: str) -> Iterator[T]:
        """Yield what was added with patterns that an address has, or another pattern."""
        parts = mac.split(":")
        for shape, held in self._by_shape.items():
            yield from held.get(tuple(parts[at] for at in shape), ())


def covers(pattern: str, mac: str) -> bool:
    """Whether a pattern has all hardware addresses of another."""
    parts = zip(pattern.split(":"), mac.split(":"), strict=True)
    return all(part in ("*", other) for part, other in parts)


def pattern_of(word: str) -> str:
    """The pattern of hardware addresses that a word is, in one form; empty for another."""
    match = _PATTERN.fullmatch(word)
    parts = match[1].lower().split(":") if match else []
    return ":".join(part if part == "*" else part.zfill(2) for part in parts)


def tags_of(words: Iterable[str]) -> list[str]:
    """The tags that a rule wants."""
    return [tag_of(word, ("tag:", "net:")) or word for word in words if word]


def match(wanted: Iterable[str], tags: Collection[str]) -> bool:
    """Whether all wanted tags are there, and none that is not to be."""
    return all(
        (tag[1:] not in tags) if tag[:1] in ("!", "#") else tag in tags for tag in wanted
    )


def class_of(line: Line, family: int) -> Class | str | None:
    """Return the class that a line defines, or its tag where its test is not worked out.

    None for a line that defines none.
    """
    words = line.words
    tag = tag_of(words[0], ("set:",)) or words[0] if words else ""
    name, where, value = f"{line.name} {tag}", None, None
    if line.name in _TEXTS and len(words) > 1:
        where = _TEXTS[line.name].get(family)
        value = _value(line.name, words[1:], family)
    elif line.name == "dhcp-mac" and len(words) > 1:
        mac = pattern_of(words[1])
        if mac and family == 4:
            return Class(tag, name, mac)
        where, value = MAC6, said_mac(mac) if mac else None
    elif line.name == "dhcp-match" and len(words) > 1:
        if words[1].startswith(_SIX) is not (family == 6):  # it is of the other family
            return tag if words[1].startswith("vi-encap:") else None
        where, value = _matched(words[1], words[2:], family)
    elif line.name == "dhcp-name-match" and len(words) > 1:
        where, value = named(words[1].rstrip("*"), family)
    elif line.name not in ("dhcp-match", "dhcp-name-match", "dhcp-mac", *_TEXTS):
        return None
    if where is None or value is None:
        return tag
    return Class(tag, name, where=where, value=value)


def _value(name: str, words: Sequence[str], family: int) -> bytes | None:
    """The bytes that a class tests; None where they are not worked out."""
    enterprise = 0
    if words[0].startswith("enterprise:"):
        number = words[0].removeprefix("enterprise:")
        enterprise = int(number) if re.fullmatch("[0-9]{1,9}", number) else 0
        words = words[1:]
    text = ",".join(words)
    is_text = name in ("dhcp-vendorclass", "dhcp-userclass")
    value = text.encode() if is_text else digits_of(text) or text.encode()
    if not 0 < len(value) < 256:
        return None
    if family == 6 and is_text:
        value = len(value).to_bytes(2, "big") + value
    if family == 6 and name == "dhcp-vendorclass":
        value = enterprise.to_bytes(4, "big") + value
    return value


def named(name: str, family: int) -> tuple[Where, bytes]:
    """The option in which a client says its name, and its bytes."""
    data = name.encode()
    return _NAME[family], data if family == 4 else bytes([0, len(data) % 64]) + data + b"\0"


def said_mac(pattern: str) -> bytes:
    """What a relay says of a hardware address of a pattern."""
    return b"\0\1" + bytes.fromhex(pattern.replace("*", "00").replace(":", ""))


def _matched(
    option: str, words: Sequence[str], family: int
) -> tuple[Where | None, bytes | None]:
    """The option that a dhcp-match tests, and its bytes; None where not worked out."""
    if option.startswith("vi-encap:"):
        number = option.removeprefix("vi-encap:")
        data = _tested(words)
        if data is None or not re.fullmatch("[0-9]{1,9}", number):
            return None, None
        sizes = bytes([len(data) + 1, len(data)])  # of all data, and of the first
        return ("options", _VENDOR_IDENT), int(number).to_bytes(4, "big") + sizes + data
    name = option.removeprefix(_SIX).removeprefix("option:").lower()
    code = _MATCHED[family].get(name, int(name) if re.fullmatch("[0-9]{1,3}", name) else 0)
    is_number = code == _NUMBERS[family]
    if not 0 < code < 255 or code in _EXCHANGE[family] or (is_number and not words):
        return None, None
    if is_number and re.fullmatch("[0-9]{1,5}", words[0]):
        return ("options", code), (int(words[0]) % 65536).to_bytes(2, "big")
    value = _tested(words)
    if value is not None and family == 6 and code in (15, 16) and ":" not in "".join(words):
        value = bytes(4 * (code == 16)) + len(value).to_bytes(2, "big") + value
    return ("options", code), value


def _tested(words: Sequence[str]) -> bytes | None:
    """The bytes of a value: hexadecimal digits, of which some do not matter, or a text."""
    if len(words) > 1:
        return None
    word = words[0] if words else "leaselab"
    if re.fullmatch(r"([0-9a-f]{1,2}|\*)(:([0-9a-f]{1,2}|\*))+", word, re.IGNORECASE):
        return bytes(int(part.replace("*", "0"), 16) for part in word.split(":"))
    if re.fullmatch("[0-9.]*", word) or not word.isascii() or len(word) > 200:
        return None  # a number or an address
    return word.encode()


def digits_of(word: str) -> bytes | None:
    """The bytes of hexadecimal digits with colons; None for another word, which is a text."""
    if ":" not in word or not re.fullmatch("[0-9a-fA-F:]+", word):
        return None
    parts = word.split(":")
    try:
        return bytes.fromhex("".join(part.zfill(len(part) + len(part) % 2) for part in parts))
    except ValueError:
        return None
