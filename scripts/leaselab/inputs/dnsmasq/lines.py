"""The lines of a dnsmasq.conf, as dnsmasq reads them."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from leaselab.inputs.client_kinds import Prefix
from leaselab.model.errors import LeaselabError, usage_error
from leaselab.model.pool import Address

_MODES = ("ra-only", "slaac", "ra-names", "ra-advrouter", "ra-stateless", "off-link")
_CLASSES = ((8, 0), (16, 128), (24, 192))
"""Lengths of prefixes, and the first bytes from which on they hold."""
_DOTTED = re.compile(r"[0-9]+(?:\.[0-9]+){3}")
"""What is meant as an address, even if it is none."""
_QUOTED_OR_COMMENT = re.compile(r'"(?:\\["tnebr\\]|[^"])*+(")?|(?<!\S)#')
_SHORTEST = 64
"""Length of a prefix of DHCPv6 at the least."""
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}


class Line(NamedTuple):
    """An option and its value, empty where it has none."""

    name: str
    value: str
    where: str

    @property
    def words(self) -> list[str]:
        """The parts of its value between commas."""
        words, word = [], []
        for number, part in enumerate(self.value.split('"')):
            # Within quotes a comma is none.
            first, *others = [part] if number % 2 else part.split(",")
            word.append(first)
            for other in others:
                words.append("".join(word).strip())
                word = [other]
        return [*words, "".join(word).strip()] if self.value else []

    @property
    def text(self) -> str:
        """The line of a file."""
        return f"{self.name}={self.value}\n" if self.value else f"{self.name}\n"


def lines_of(text: str, path: str) -> Iterator[Line]:
    """Yield the lines of a text, without comments and empty ones."""
    for number, raw in enumerate(text.split("\n"), 1):
        where = f"{path}:{number}"
        name, _, value = _without_comment(raw, where).partition("=")
        if name.strip():
            yield Line(name.strip(), value.strip(), where)


def _without_comment(raw: str, where: str) -> str:
    """A line up to a # that begins it or follows a blank, outside quotes."""
    for match in _QUOTED_OR_COMMENT.finditer(raw):
        if match[0] == "#":
            return raw[: match.start()]
        if not match[1]:
            raise _wrong("a text in quotes without an end", where, raw)
    return raw


def tag_of(word: str, prefixes: Sequence[str] = ("tag:", "net:")) -> str:
    """The tag that a word names, empty where it names none."""
    return next((word.removeprefix(one) for one in prefixes if word.startswith(one)), "")


class Range:
    """A dhcp-range: the subnet of its clients, its addresses, and the tags that it wants."""

    def __init__(self, line: Line) -> None:
        """Raises ValueError and LookupError for what is none."""
        self.line = line
        self.filter: list[str] = []
        words = line.words
        others = 0
        while words and not is_address(words[0]):
            word = words.pop(0)
            if tag_of(word):
                self.filter.append(tag_of(word))
            else:
                others += 1
        if others > 1:  # it sets one tag
            raise ValueError("a range without an address")
        ends = [
            ipaddress.ip_address(word)
            for word in words[:2]
            if is_address(word) or _DOTTED.fullmatch(word)
        ]
        self.family = ends[0].version
        self.others = words[len(ends) :]
        self.constructor = next((word for word in words if word.startswith("constructor:")), "")
        self.modes = [word for word in words if word in _MODES]
        self.prefix = self._prefix(ends)
        if not all(end in self.prefix for end in ends):
            raise ValueError("a range beyond its subnet")
        low, high = self.ends = sorted(map(int, (ends[0], ends[-1])))
        self.is_static = "static" in words or (self.family == 6 and "deprecated" in words)
        has_none = self.family == 6 and (self.is_static or "ra-stateless" in words)
        self.size = high - low + 1 if len(ends) > 1 and not has_none else 0

    def _prefix(self, ends: Sequence[Address]) -> Prefix:
        """Its subnet: by its mask, or as dnsmasq guesses that of a relay's clients."""
        masks = [word for word in self.others if is_address(word)]
        if self.family == 4 and masks:
            return ipaddress.ip_network(f"{ends[0]}/{masks[0]}", strict=False)
        if self.family == 4:
            first = ends[0].packed[0]
            length = next(length for length, least in reversed(_CLASSES) if first >= least)
        else:
            lengths = [word for word in self.others if word.isdecimal() and int(word) <= 128]
            length = int(lengths[0]) if lengths else 64
            if length < _SHORTEST:
                raise ValueError("a prefix that is too short")
        return ipaddress.ip_network((ends[0], length), strict=False)

    @property
    def lease_s(self) -> int | None:
        """Lifetime of its leases (s); None where it says none."""
        last = self.others[-1].lower() if self.others else ""
        match = re.fullmatch(r"([0-9]{1,9})([smhdw]?)", last)
        if not match or (self.family == 6 and not match[2] and int(match[1]) <= 128):
            return None
        return max(120, int(match[1]) * _SECONDS[match[2] or "s"])


def range_of(line: Line) -> Range:
    """Return the range of a line; raises a usage error with it for what is none."""
    try:
        return Range(line)
    except (ValueError, LookupError) as error:
        raise _wrong("not a range as dnsmasq has them", line.where, line.value) from error


def _wrong(what: str, where: str, found: str) -> LeaselabError:
    return usage_error(
        what,
        where=where,
        found=re.sub(r"[^ -~]", "?", found)[:80],
        todo="have dnsmasq itself check the file: dnsmasq --test -C FILE",
    )


def is_address(word: str) -> bool:
    """Whether a word is an address of IPv4 or IPv6."""
    try:
        ipaddress.ip_address(word)
    except ValueError:
        return False
    return True
