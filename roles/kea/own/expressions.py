"""Works out what a client sends so that it falls into a class, and which it falls into.

A packet is what is known of it: bytes by the names of fields, such as ``option[60]``, ``mac``
or ``agent[1]``.  What cannot be worked out raises `Unknown`, and is never guessed.
"""

from __future__ import annotations

import re
from functools import cache
from itertools import islice, product
from pathlib import Path

from leaselab.lab.roles import load_module

from .subnets import ASKED_FOR
from .texts import Unknown, constant, part_of, sent_for, worked_out
from .vendor import ANYBODY, field_of, with_vendor_options

ANY = "any"
"""Of a field that only has to be there."""
_ENTERPRISE = ANYBODY.to_bytes(4, "big")
_THERE = {
    4: {
        81: b"\0\0\0leaselab",
        119: b"\x08leaselab\0",
        124: _ENTERPRISE + b"\x08leaselab",
        125: _ENTERPRISE + b"\0",
    },
    6: {
        15: b"\0\x08leaselab",
        16: _ENTERPRISE + b"\0\x08leaselab",
        17: _ENTERPRISE,
        39: b"\0\x08leaselab\0",
    },
}
"""Values of options that have to be there, where Kea drops a message with one out of form."""
_EXCHANGE = {4: {50, 53, 54, 82, 118}, 6: {2, 4, 8, 9, 13}}
"""Options that are not a client's to choose: its exchange or its relay has them."""
_LENGTHS = {4: {124: (4, 1)}, 6: {15: (0, 2), 16: (4, 2)}}
"""Options with data of a length that is before them: its place and size."""
LLT = b"\0\1\0\1\x2c\0\0\0\2\0\0\0\0\0"
"""A DUID of link layer and time (RFC 8415, 11.2)."""
_ALTERNATIVES = 32
"""Ways to fall into a class that are tried."""
_NAMES = {
    4: {
        "host-name": 12, "vendor-encapsulated-options": 43, "dhcp-parameter-request-list": 55,
        "vendor-class-identifier": 60, "dhcp-client-identifier": 61, "user-class": 77,
        "dhcp-agent-options": 82, "client-system": 93, "client-ndi": 94, "uuid-guid": 97,
        "vivco-suboptions": 124, "vivso-suboptions": 125,
        "circuit-id": 1, "remote-id": 2, "subscriber-id": 6,
    },
    6: {
        "clientid": 1, "user-class": 15, "vendor-class": 16, "vendor-opts": 17,
        "interface-id": 18, "remote-id": 37, "subscriber-id": 38, "client-fqdn": 39,
        "client-arch-type": 61,
    },
}  # fmt: skip
_OF_KINDS = {"UNKNOWN": True, "KNOWN": False, "ALL": True}
"""Classes that Kea itself puts clients in: whether one without reservation is in them."""


def grammar():
    """The role's reader of Kea's expressions, which its advice uses as well."""
    path = Path(__file__).parents[1] / "filter_plugins" / "kea_advice.py"
    return load_module("leaselab_kea_advice", path)


class Classes:
    """The classes of a server, in their order."""

    def __init__(self, classes, family):
        self.family = family
        self.tests, self.unread, self._refused = {}, {}, {}
        for name, test in classes:
            try:
                self.tests[name] = grammar().kea_condition(test) if test else None
            except ValueError:
                self.unread[name] = test

    def of(self, packet, *, known=False, given=()):
        """Return the classes that a packet is in; `known`: its client has a reservation.

        Those whose test cannot be worked out are left out, and kept in `unread`.
        """
        found = {
            name for name, without in _OF_KINDS.items() if without != known or name == "ALL"
        }
        found |= set(given)
        if vendor := packet.get("option[60]"):
            found.add("VENDOR_CLASS_" + vendor.decode("latin-1"))
        for name, test in self.tests.items():
            try:
                if test is not None and self._holds(test, packet, found):
                    found.add(name)
            except Unknown:
                self.unread.setdefault(name, test)
        return found

    def way(self, names, place, fits):
        """Return the packet of a client at a place that is in all of some classes.

        With it comes what it was asked to send: pieces of fields, each its place, its bytes,
        and whether they are all of it.  `fits` says of a packet's classes whether they will do.
        Raises Unknown where no packet can be worked out.
        """
        every = [self._of_class(name, ()) for name in names]
        for parts in islice(product(*every), _ALTERNATIVES):
            try:
                asked = _joined(parts)
                packet = self.packet(asked, place)
                found = self.of(packet, known="KNOWN" in names)
                if set(names) <= found and fits(found):
                    return packet, asked
            except Unknown as why:
                self._refused[names[-1]] = str(why)
        raise Unknown(" and ".join(names))

    def sent(self, expression, value, place):
        """What a client at a place sends so that an expression has a value; None if unknown."""
        try:
            _, text, _ = grammar().kea_condition(f"{expression} == ''")
            asked = next(self._sent(text, value, ()), None)
            packet = None if asked is None else self.packet(asked, place)
            return packet and (packet if self._value(text, packet, ()) == value else None)
        except (ValueError, Unknown):
            return None

    def fields(self, expression):
        """The fields of a packet that an expression reads; none if it cannot be worked out."""
        try:
            return list(
                dict.fromkeys(self._fields(grammar().kea_condition(f"{expression} == ''")))
            )
        except (ValueError, Unknown):
            return []

    def _fields(self, node):
        if node[0] == "field":
            yield self._field(node[1])
            return
        for part in node[1:]:
            if isinstance(part, tuple | list):
                yield from self._fields(part)

    def why_not(self, name):
        """Why no client is known that would be in a class; empty where one is."""
        if name in self.tests and self.tests[name] is None:
            return "it has no test: a hook or a reservation sets it"
        try:
            self._of_class(name, ())
        except Unknown as why:
            return f"its test cannot be worked out: {why}"
        if name in self._refused:
            return f"its test cannot be worked out: {self._refused[name]}"
        return ""

    def packet(self, asked, place):
        """The packet of a client at a place that sends what is asked of it."""
        packet = dict(place)
        for field, parts in asked.items():
            if ANY in parts:
                packet.setdefault(field, _THERE[self.family].get(_code(field), b"leaselab"))
        for field, parts in asked.items():
            pieces = [part for part in parts if part != ANY]
            if pieces:
                usual = place.get(field) or _THERE[self.family].get(_code(field), b"")
                if any(whole for *_, whole in pieces):
                    usual = b""
                elif field == "duid" and any(at + len(value) > 10 for at, value, _ in pieces):
                    usual = LLT
                packet[field] = _filled(pieces, usual)
                if place_and_size := _LENGTHS[self.family].get(_code(field)):
                    packet[field] = _with_length(field, packet[field], pieces, *place_and_size)
        for field in ("relay", *ASKED_FOR["both"]):
            if packet.get(field) != place.get(field):
                raise Unknown(field)
        return with_vendor_options(packet, self.family)

    def _of_class(self, name, within):
        if name in within:
            raise Unknown(name)
        if name in _OF_KINDS:
            return [{}]
        if name.startswith("VENDOR_CLASS_"):
            return [{"option[60]": [(0, name.removeprefix("VENDOR_CLASS_").encode(), True)]}]
        test = self.tests.get(name)
        if test is None:
            raise Unknown(name)
        return list(islice(self._ways(test, True, (*within, name)), _ALTERNATIVES))

    def _ways(self, test, holds, within):
        """Yield what a client has to send for a condition to hold, or not to."""
        kind, *parts = test
        if kind == "not":
            yield from self._ways(parts[0], not holds, within)
        elif kind in ("and", "or"):
            if (kind == "and") == holds:
                every = [
                    list(islice(self._ways(part, holds, within), _ALTERNATIVES))
                    for part in parts
                ]
                for combined in product(*every):
                    yield _joined(combined)
            else:
                for part in parts:
                    yield from self._ways(part, holds, within)
        elif not holds:
            yield {}  # most clients do not send it; whether that is so is looked at then
        elif kind == "exists":
            yield {self._field(parts[0]): [ANY]}
        elif kind == "member":
            yield from self._of_class(parts[0], within)
        elif kind == "==":
            for one, other in (parts, parts[::-1]):
                value = constant(other)
                if value is not None:
                    yield from self._sent(one, value, within)

    def _sent(self, text, value, within):
        """Yield what a client sends so that a text has a value."""
        kind, *parts = text
        if constant(text) is not None:
            yield from [{}] if constant(text) == value else []
        elif kind == "field":
            yield {self._field(parts[0]): [(0, value, True)]}
        elif kind.endswith("ifelse"):
            for branch, holds in ((parts[1], True), (parts[2], False)):
                ways = list(islice(self._ways(parts[0], holds, within), _ALTERNATIVES))
                for both in product(self._sent(branch, value, within), ways):
                    yield _joined(both)
        elif kind == "concat":
            yield from self._sent_in_two(parts, value, within)
        elif kind == "split":
            between, number = self._value(parts[1], {}, ())[:1], int(parts[2][1])
            if between and between not in value and 0 < number <= _ALTERNATIVES:
                whole = between.join([*[b"x"] * (number - 1), value])
                yield from self._sent(parts[0], whole, within)
        elif kind == "substring":
            yield from self._sent_within(parts, value, within)
        elif (inner := sent_for(kind, value)) is not None:
            yield from self._sent(parts[0], inner, within)

    def _sent_in_two(self, parts, value, within):
        """As `_sent`, of two texts that are joined: each has a part of the value."""
        for at in range(1, len(value)):
            ways = (
                list(islice(self._sent(part, held, within), _ALTERNATIVES))
                for part, held in zip(parts, (value[:at], value[at:]), strict=True)
            )
            yield from (_joined(both) for both in product(*ways))

    def _sent_within(self, parts, value, within):
        """As `_sent`, of a substring."""
        start, length = int(parts[1][1]), parts[2][1]
        if start < 0:
            size = {"mac": 6, "pkt4.mac": 6}.get(parts[0][1], -start)
            start = max(0, size + start)
        if length != "all" and int(length) < len(value):
            return
        for asked in self._sent(parts[0], value, within):
            yield {
                name: [(at + start, piece, False) for at, piece, _ in pieces]
                for name, pieces in asked.items()
            }

    def _holds(self, test, packet, found):
        kind, *parts = test
        if kind == "not":
            return not self._holds(parts[0], packet, found)
        if kind in ("and", "or"):
            each = (self._holds(part, packet, found) for part in parts)
            return all(each) if kind == "and" else any(each)
        if kind == "member":
            return parts[0] in found
        if kind == "exists":
            return self._field(parts[0]) in packet
        if kind == "==":
            return self._value(parts[0], packet, found) == self._value(parts[1], packet, found)
        raise Unknown(kind)

    def _value(self, text, packet, found):
        kind, *parts = text
        if (value := constant(text)) is not None:
            return value
        if kind == "field":
            return packet.get(self._field(parts[0]), b"")
        if kind == "concat":
            return b"".join(self._value(part, packet, found) for part in parts)
        if kind.endswith("ifelse"):
            chosen = parts[1] if self._holds(parts[0], packet, found) else parts[2]
            return self._value(chosen, packet, found)
        inner = self._value(parts[0], packet, found)
        if kind == "substring":
            return part_of(inner, int(parts[1][1]), parts[2][1])
        between = self._value(parts[1], packet, found) if parts[1:] else b""
        return worked_out(kind, inner, between, *parts[2:])

    @cache  # noqa: B019  # as long as one file is read
    def _field(self, field):
        """The name of a field of a packet; raises Unknown for one that nothing is known of."""
        known = _NAMES[self.family]
        codes = []
        for step in field.split("."):
            name, _, index = step.partition("[")
            index = index.removesuffix("]")
            codes.append((name, known.get(index, index)))
        plain = ".".join(f"{name}[{code}]" if code != "" else name for name, code in codes)
        of_six = self.family == 6
        if match := re.fullmatch(r"(?:relay4|option\[82\]\.option)\[(\d+)\]", plain):
            return f"agent[{match[1]}]"
        if match := re.fullmatch(r"relay6\[0\]\.option\[(\d+)\]", plain):
            return f"agent[{match[1]}]"
        if plain == ("option[1]" if of_six else "pkt4.mac"):
            return "duid" if of_six else "mac"
        if plain in ("pkt4.giaddr", "relay6[0].linkaddr"):
            return "relay"
        if (code := _code(plain)) and code not in _EXCHANGE[self.family]:
            return plain
        return field_of(plain)


def _code(field):
    """The number of an option of a packet; 0 for another field."""
    match = re.fullmatch(r"option\[(\d+)\]", field)
    return int(match[1]) if match else 0


def _with_length(field, value, pieces, place, size):
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


def _joined(parts):
    joined = {}
    for part in parts:
        for field, pieces in part.items():
            joined.setdefault(field, []).extend(pieces)
    return joined


def _filled(pieces, usual):
    """Put pieces in their places over the usual bytes of a field."""
    size = max(at + len(value) for at, value, _ in pieces)
    if size > 1024:
        raise Unknown("a field that is too long")
    # Only what names a client has bytes of its own beside those.
    filled = bytearray(usual.ljust(size, b"\0"))
    for at, value, _ in pieces:
        filled[at : at + len(value)] = value
    return bytes(filled)
