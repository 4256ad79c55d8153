"""The clients that a dnsmasq.conf is made for: ranges, classes, reservations."""

from __future__ import annotations

import ipaddress
import math
import re
from typing import NamedTuple

from leaselab.lab.own_kinds import Kinds, relay_in
from leaselab.model.pool import POOL_USE_LIMIT

from .lines import range_of, tag_of

MOST_KINDS = 4096
_LEASE_MAX = 1000
"""Leases that dnsmasq holds where its file does not say how many."""
_TEXTS = {
    "dhcp-vendorclass": {4: ("options", 60), 6: ("options", 16)},
    "dhcp-userclass": {4: ("options", 77), 6: ("options", 15)},
    "dhcp-circuitid": {4: ("agent", 1), 6: ("agent", 18)},
    "dhcp-remoteid": {4: ("agent", 2), 6: ("agent", 37)},
    "dhcp-subscrid": {4: ("agent", 6), 6: ("agent", 38)},
}
"""Where what a class tests is, by the family."""
_OF_HOST = ("set:", "net:")
"""What a tag has before it that a dhcp-host sets."""
_UNWORKED = ("dhcp-match", "dhcp-name-match")
_ARCHITECTURE = 93
_MATCHED = {"client-arch": _ARCHITECTURE, "vendor-class": 60, "user-class": 77, "hostname": 12}
_MAC = re.compile(r"(?:[0-9a-f]{1,2}-)?((?:[0-9a-f]{1,2}:){5}[0-9a-f]{1,2})", re.IGNORECASE)
_PATTERN = re.compile(
    r"(?:[0-9a-f]{1,2}-)?((?:(?:[0-9a-f]{1,2}|\*):){5}(?:[0-9a-f]{1,2}|\*))", re.IGNORECASE
)
_LIFETIME = re.compile(r"[0-9]+[smhdw]?|infinite", re.IGNORECASE)


class Class(NamedTuple):
    """What sets a tag: a field of a client's message and its value."""

    tag: str
    where: tuple[str, int]
    """``options`` or ``agent`` and a code; ``macs`` and 0."""
    value: bytes | str
    name: str
    more: tuple[str, ...] = ()
    """Other tags that come with it."""

    def holds(self, packet):
        """Whether a packet has it: a vendor's or user's class is a part of an option."""
        value = packet.get(self.where)
        if value is None or self.where[0] == "macs":
            return value == self.value
        is_part = self.name.startswith(("dhcp-vendorclass", "dhcp-userclass"))
        return self.value in value if is_part else value == self.value


class Place:
    """A range with its subnet, and a relay in it."""

    def __init__(self, held, routers):
        self.held, self.prefix = held, held.prefix
        self.relay = relay_in(held.prefix, routers)


class Clients(Kinds):
    """Kinds of clients that dnsmasq answers, and clients that it would not answer."""

    def __init__(self, lines, hosts, family, most):
        """At most `most` clients take half of the addresses, by the sizes of ranges."""
        super().__init__(family)
        routers = [
            word
            for line in lines
            if line.name in ("dhcp-option", "dhcp-option-force")
            and {"3", "option:router"}.intersection(line.words)
            for word in line.words
        ]
        ranges = [range_of(line) for line in lines if line.name == "dhcp-range"]
        self._places = [Place(held, routers) for held in ranges]
        self._rules = [
            (_tags(line.words[1:]), line.words[0].removeprefix("set:"))
            for line in lines
            if line.name == "tag-if" and line.words
        ]
        self._ignored = [_tags(line.words) for line in lines if line.name == "dhcp-ignore"]
        self._classes = [made for line in lines for made in self._class(line)]
        self._classes += [made for line in hosts for made in _of_makers(line)]
        self._used = 0
        open_ = [place for place in self._places if place.held.size]
        wanted = sum(place.held.size for place in open_)
        held = min(wanted, self._lease_max(lines))
        share = min(POOL_USE_LIMIT * held, most) / wanted if wanted else 0
        for place in self._places:
            self._of_range(place, share)
        for line in hosts:
            self._of_host(line)
        self.add_reserved()
        self.size = self.addresses(held)

    def _lease_max(self, lines):
        given = [line.value for line in lines if line.name == "dhcp-lease-max"]
        return int(given[-1]) if given and re.fullmatch("[0-9]{1,9}", given[-1]) else _LEASE_MAX

    def _of_range(self, place, share):
        """Half of a range's clients are in no class, unless it wants one."""
        held = place.held
        clients = (math.floor(held.size * share) or 1) if held.size else 0
        if not clients:
            if not held.is_static:
                self.say(f"{held.line.where}: {held.prefix}: it gives no addresses")
            return
        plain = self._is_served(place, {})
        ways = [one for one in self._next() if self._is_served(place, _packet(one))]
        if not (plain or ways):
            needed = " and ".join(held.filter) or "a tag that is not ignored"
            self.say(f"{held.line.where}: {held.prefix}: a client of it needs {needed}")
            return
        alone = clients if not ways else (clients + 1) // 2 if plain else 0
        if alone:
            self.add(place, {"clients": alone})
        ways = ways[: clients - alone]
        for number, one in enumerate(ways):
            each = (clients - alone) // len(ways) + (number < (clients - alone) % len(ways))
            self.add(place, _own(one, each, self._used), one.tag)
            self._used += each

    def _next(self):
        """The classes that clients of a range may be in, fewer where there are many ranges."""
        return self._classes[: max(1, MOST_KINDS // max(1, len(self._places)))]

    def _is_served(self, place, packet, own=()):
        """Whether a client with such a message gets an address of a range.

        The tag that a range itself sets is not set yet when dnsmasq decides that.
        """
        held = [one for one in self._classes if one.holds(packet)]
        tags = {tag for one in held for tag in (one.tag, *one.more)} | set(own)
        for _ in self._rules:
            more = {tag for wanted, tag in self._rules if _match(wanted, tags)} - tags
            if not more:
                break
            tags |= more
        if any(_match(wanted, tags) for wanted in self._ignored):
            return False
        return _match(place.held.filter, tags)

    def _class(self, line):
        """Yield the class that a line defines; note one whose test is not worked out."""
        words = line.words
        tag = tag_of(words[0], ("set:",)) or words[0] if words else ""
        where, value = None, None
        if line.name in _TEXTS and len(words) > 1:
            where = _TEXTS[line.name][self.family]
            value = _value(line.name, words[1:], self.family)
        elif line.name == "dhcp-mac" and len(words) > 1 and _PATTERN.fullmatch(words[1]):
            value = _PATTERN.fullmatch(words[1])[1].lower()
            where = ("macs", 0) if self.family == 4 else None
        elif line.name == "dhcp-match" and self.family == 4 and len(words) > 1:
            code = words[1].removeprefix("option:")
            code = _MATCHED.get(code, int(code) if re.fullmatch("[0-9]{1,3}", code) else None)
            where, value = ("options", code), _matched(code, words[2:])
            where = where if code and code < 255 else None
        elif line.name not in (*_UNWORKED, "dhcp-mac", *_TEXTS):
            return
        if where is None or value is None:
            self.say(f"{line.where}: {line.name} {tag}: no client was worked out for its test")
            return
        yield Class(tag, where, value, f"{line.name} {tag}")

    def _of_host(self, line):
        """A client that has a reservation, through a relay of its address's subnet."""
        if any(_of_makers(line)):
            return
        tags, identity, addresses, names = ["known"], None, [], []
        for word in line.words:
            if tag := tag_of(word, _OF_HOST):
                tags.append(tag)
            elif word == "ignore":
                return
            elif tag_of(word):
                continue
            elif word.startswith("id:"):
                identity = identity or self._by_id(word.removeprefix("id:"))
            elif match := _MAC.fullmatch(word):
                mac = ":".join(part.zfill(2) for part in match[1].lower().split(":"))
                identity = identity or (("macs", mac) if self.family == 4 else None)
            else:
                try:
                    addresses.append(ipaddress.ip_address(word.strip("[]")))
                except ValueError:
                    names += [] if _LIFETIME.fullmatch(word) or "*" in word else [word]
        if identity is None and names and self.family == 4:
            identity = ("options", [12, _hex(names[0].encode())])
        mine = [one for one in addresses if one.version == self.family]
        if addresses and not mine:
            return
        places = [
            place
            for place in self._places
            if (mine[0] in place.prefix if mine else place.held.size)
            and self._is_served(place, {}, tags)
        ]
        if identity is None or not places:
            why = "no client is known to have it" if identity is None else "in no range"
            self.say(f"{line.where}: {line.name} {line.value[:60]}: {why}")
            return
        self.reserve(places[0], *identity, {})

    def _by_id(self, word):
        if word == "*":
            return None
        digits = _digits(word)
        if self.family == 6:
            return ("duids", digits.hex()) if digits else None
        return "options", [61, _hex(digits or word.encode())]


def _of_makers(line):
    """Yield the class of the clients of a dhcp-host by a pattern of hardware addresses."""
    tags = [tag for word in line.words if (tag := tag_of(word, _OF_HOST))]
    patterns = [word for word in line.words if "*" in word and _PATTERN.fullmatch(word)]
    others = len(line.words) - len(tags) - len(patterns)
    if len(patterns) == 1 and not others:
        value = _PATTERN.fullmatch(patterns[0])[1].lower()
        first, *more = [*tags, "known"]
        yield Class(first, ("macs", 0), value, line.name, tuple(more))


def _tags(words):
    return [tag_of(word, ("tag:", "net:")) or word for word in words if word]


def _match(wanted, tags):
    """Whether all wanted tags are there, and none that is not to be."""
    return all(
        (tag[1:] not in tags) if tag[:1] in ("!", "#") else tag in tags for tag in wanted
    )


def _packet(one):
    return {one.where: one.value}


def _own(one, clients, used):
    """What the clients of a class have."""
    kind, code = one.where
    if kind != "macs":
        return {"clients": clients, kind: [[code, _hex(one.value)]]}
    free = one.value.count("*")
    count = min(clients, 256**free)
    macs = []
    for number in range(used, used + count):
        digits = iter((number % 256**free).to_bytes(free, "big"))
        parts = one.value.split(":")
        macs.append(
            ":".join(f"{next(digits):02x}" if part == "*" else part.zfill(2) for part in parts)
        )
    return {"clients": count, "macs": macs}


def _value(name, words, family):
    """The bytes that a class tests; None where they are not worked out."""
    enterprise = 0
    if words[0].startswith("enterprise:"):
        number = words[0].removeprefix("enterprise:")
        enterprise = int(number) if re.fullmatch("[0-9]{1,9}", number) else 0
        words = words[1:]
    text = ",".join(words)
    is_text = name in ("dhcp-vendorclass", "dhcp-userclass")
    value = text.encode() if is_text else _digits(text) or text.encode()
    if not 0 < len(value) < 256:
        return None
    if family == 6 and is_text:
        value = len(value).to_bytes(2, "big") + value
    if family == 6 and name == "dhcp-vendorclass":
        value = enterprise.to_bytes(4, "big") + value
    if family == 6 and name == "dhcp-remoteid":
        value = enterprise.to_bytes(4, "big") + value
    return value


def _matched(code, words):
    """The bytes of an option that a dhcp-match tests; None where they are not worked out."""
    if not words or len(words) > 1:
        return b"leaselab" if not words and code != _ARCHITECTURE else None
    word = words[0]
    if code == _ARCHITECTURE:
        known = re.fullmatch("[0-9]{1,5}", word) and int(word) < 65536
        return int(word).to_bytes(2, "big") if known else None
    if ":" in word or "*" in word or word.isdecimal() or not word.isascii():
        return None
    return word.encode() or None


def _digits(word):
    """The bytes of hexadecimal digits, with colons or without; None for another word."""
    if not re.fullmatch("[0-9a-fA-F:]+", word):
        return None
    parts = word.split(":") if ":" in word else [word]
    try:
        return bytes.fromhex("".join(part.zfill(len(part) + len(part) % 2) for part in parts))
    except ValueError:
        return None


def _hex(value):
    return f"hex:{value.hex()}"
