"""Works out what a client sends so that it falls into a class, and which it falls into.

A packet is what is known of it: bytes by the names of fields, such as ``option[60]``, ``mac``
or ``agent[1]``.  What cannot be worked out raises `Unknown`, and is never guessed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from functools import cache, cached_property
from itertools import chain, islice, product
from typing import Any, NamedTuple

from leaselab.inputs.client_kinds import Unknown, joined
from leaselab.inputs.json_tokens import decoded, octets
from leaselab.inputs.kea import grammar
from leaselab.inputs.kea.grammar import Node
from leaselab.inputs.kea.options import Options, code_of
from leaselab.inputs.kea.packets import packet_of
from leaselab.inputs.kea.subnets import BY_MAC, HEAD4, Way
from leaselab.inputs.kea.texts import (
    ANY,
    Packet,
    Pieces,
    constant,
    part_of,
    sent_for,
    worked_out,
)
from leaselab.inputs.kea.vendor import field_of, vendor_class, vendor_class_field

_EXCHANGE: Mapping[int, set[int]] = {
    4: {50, 52, 53, 54, 80, 82, 118, 146, 212, 255},
    6: {2, 4, 5, 8, 9, 13, 14, 26, 44, 47, 48, 74},
}
"""Options that are not a client's to choose: its exchange, its relay or servers have them."""
_DEEPEST = 32
"""Classes that ask for each other, one for the next, of which a client is worked out."""
_ALTERNATIVES = 32
"""Ways to fall into a class that are tried."""
_SPARED = 4
"""Ways to be spared from class DROP that are tried."""
_OF_RELAY = re.compile(
    r"(?:relay4|option\[82\]\.option|relay6\[(?:0|-1)\]\.option(?!\[9\]))\[(\d+)\]"
)
_AGENT, _CIRCUIT = "agent", "agent[1]"
"""Option 82 of DHCPv4, and the part of it that clients have where it only has to be there."""
_VENDOR_CLASS = "VENDOR_CLASS_"
_BY_LOOKUP = {"KNOWN", "UNKNOWN"}
"""Classes that Kea itself puts clients in when it has looked for their reservation."""


_Names = tuple[str, ...]
_Fits = Callable[[Packet, set[str], set[str]], bool]


class Reserved(NamedTuple):
    """What Kea knows of a client by its reservation before it chooses a pool."""

    classes: frozenset[str] = frozenset()
    early: bool = False
    """Whether it knows that before it chooses the subnet, too."""


class Classes:
    """The classes of a server, in their order."""

    def __init__(
        self,
        classes: Iterable[tuple[str, str]],
        family: int,
        given: Iterable[str] = (),
        defined: Iterable[Mapping[str, Any]] = (),
    ) -> None:
        """`given` are names of those that reservations give, `defined` options of the file."""
        self.family, self._given = family, set(given)
        self._options = Options(family, defined)
        self.tests: dict[str, Node | None] = {}
        self.unread: dict[str, None] = {}
        self._refused: dict[str, str] = {}
        self.late: set[str] = set()
        """Those by whose tests a client is known only after its reservation is looked up."""
        self._naming: dict[Node, set[bytes]] = {}
        self._equal: dict[Node, dict[bytes, list[str]]] = {}
        self._others: list[str] = []
        for name, test in classes:
            try:
                self.tests[name] = grammar.kea_condition(test) if test else None
            except ValueError:
                self.unread[name] = None
                continue
            read = self.tests[name]
            for text, value in self._naming_below(read) if read else ():
                self._naming.setdefault(text, set()).add(value)
            if not {*_members(self.tests[name])}.isdisjoint(_BY_LOOKUP | self.late):
                self.late.add(name)
            self._index(name, self.tests[name])

    def _index(self, name: str, test: Node | None) -> None:
        """Note a class by the value with which its test compares a text, which others share."""
        sides = test.parts if test and test.kind == "==" else ()
        for text, other in (sides, sides[::-1]) if sides else ():
            with suppress(Unknown):
                value = constant(other)
                if value is not None and not any(_members(text)):
                    self._equal.setdefault(text, {}).setdefault(value, []).append(name)
                    return
        if test is not None:
            self._others.append(name)

    def of(self, packet: Packet, reserved: Reserved | None = None) -> set[str]:
        """Return the classes by which Kea chooses a pool for a packet.

        `reserved` is what it knows by a reservation, None without one.  Classes whose test
        cannot be worked out are left out, and kept in `unread`.
        """
        if reserved is None:
            return self._found(packet, {"ALL", "UNKNOWN"}, ())
        return self._found(packet, {"ALL", "KNOWN", *reserved.classes}, ())

    def before(self, packet: Packet, reserved: Reserved | None = None) -> set[str]:
        """Those by which it chooses the subnet: most reservations are looked up afterwards."""
        if reserved is not None and reserved.early:
            return self.of(packet, reserved)
        return self._found(packet, {"ALL"}, self.late)

    def _found(self, packet: Packet, found: set[str], without: Collection[str]) -> set[str]:
        if vendor := vendor_class(packet, self.family):
            found.add(_VENDOR_CLASS + decoded(vendor))
        # There may be thousands that compare one text with a value each.
        for text, by_value in self._equal.items():
            try:
                found.update(by_value.get(self._value(text, packet, ()), ()))
            except Unknown:
                self.unread |= dict.fromkeys(chain(*by_value.values()))
        for name in self._others:
            try:
                test = None if name in without else self.tests[name]
                if test is not None and self._holds(test, packet, found):
                    found.add(name)
            except Unknown:
                self.unread.setdefault(name)
        return found

    def ways(
        self, names: _Names, place: Packet, fits: _Fits, reserved: Reserved | None = None
    ) -> Iterator[Way]:
        """Yield what clients at a place send that are in all of some classes.

        `fits` says of a packet, and of its classes
        before and after the lookup, whether they will do.  Raises Unknown where there is no
        packet.
        """
        given = reserved.classes if reserved else ()
        every = [self._of_class(name, ()) for name in names if name not in given]
        every.append([{}, *self._spared])
        held: set[frozenset[str]] = set()
        for parts in islice(product(*every), _ALTERNATIVES):
            try:
                asked = joined(parts)
                packet = packet_of(asked, place, self._options)
                found = self.of(packet, reserved)
                before = self.before(packet, reserved)
                if set(names) <= found and fits(packet, before, found):
                    # Of packets for which the same comparisons hold, one is enough.
                    holding = frozenset(self._holding(names, packet, found, ()))
                    if holding not in held:
                        held.add(holding)
                        yield Way(packet, asked, found)
            except Unknown as why:
                self._refused[names[-1]] = str(why)
        if not held:
            raise Unknown(" and ".join(names))

    def _holding(
        self, names: _Names, packet: Packet, found: Collection[str], within: _Names
    ) -> Iterator[str]:
        """Yield the comparisons of some classes that hold for a packet."""
        if len(within) > _DEEPEST:
            return
        nodes = [self.tests.get(name) for name in names if name not in within]
        for node in filter(None, nodes):
            yield from self._holding_below(node, packet, found, (*within, *names))

    def _holding_below(
        self, node: Node, packet: Packet, found: Collection[str], within: _Names
    ) -> Iterator[str]:
        if node.kind in ("not", "and", "or"):
            for part in node.parts:
                yield from self._holding_below(part, packet, found, within)
        elif node.kind == "member":
            yield from self._holding((node.word,), packet, found, within)
        else:
            with suppress(Unknown):
                if self._holds(node, packet, found):
                    yield repr(node)

    def sent(self, expression: str, value: bytes, place: Packet) -> Packet | None:
        """What a client at a place sends so that an expression has a value; None if unknown."""
        try:
            text = grammar.kea_condition(f"{expression} == ''").parts[0]
            asked = next(self._sent(text, value, ()), None)
            packet = None if asked is None else packet_of(asked, place, self._options)
            is_sent = packet is not None and self._value(text, packet, ()) == value
            return packet if is_sent else None
        except (ValueError, Unknown):
            return None

    def fields(self, expression: str) -> list[str]:
        """The fields of a packet that an expression reads; none if it cannot be worked out."""
        try:
            return list(
                dict.fromkeys(self._fields(grammar.kea_condition(f"{expression} == ''")))
            )
        except (ValueError, Unknown):
            return []

    def _fields(self, node: Node) -> Iterator[str]:
        if node.kind == "field":
            yield self._field(node.word)
        for part in node.parts:
            yield from self._fields(part)

    def seen(self, own: Packet) -> tuple[bytes | None, ...]:
        """What tests compare of that by which a client names itself, whatever else it sends."""
        texts = self._naming.items() if own else ()
        values = ((self._value(text, own, ()), known) for text, known in texts)
        return tuple(value if value in known else None for value, known in values)

    def _naming_below(self, node: Node) -> Iterator[tuple[Node, bytes]]:
        """Yield texts that are of a client's name alone, with what a test compares them."""
        if node.kind == "==":
            for text, other in (node.parts, node.parts[::-1]):
                with suppress(Unknown):
                    fields, compared = {*self._fields(text)}, constant(other)
                    if len(fields) == 1 and fields <= {"mac", "duid"} and compared:
                        self._value(text, dict.fromkeys(fields, b""), ())
                        yield text, compared
            return
        for part in node.parts:
            yield from self._naming_below(part)

    def why_not(self, name: str) -> str:
        """Why no client is known that would be in a class; empty where one is."""
        if name not in self.tests:
            return "its test is not an expression"
        if self.tests[name] is None:
            return "it has no test: a hook or a reservation sets it"
        try:
            self._of_class(name, ())
        except Unknown as why:
            return f"its test cannot be worked out: {why}"
        if name in self._refused:
            return f"its test cannot be worked out: {self._refused[name]}"
        return ""

    def _of_class(self, name: str, within: _Names) -> list[Pieces]:
        if name in within or len(within) == _DEEPEST:
            raise Unknown(name)
        if name in _BY_LOOKUP | {"ALL"}:
            return [{}]
        if name.startswith(_VENDOR_CLASS):
            value = octets(name.removeprefix(_VENDOR_CLASS))
            return [{vendor_class_field(self.family): [(0, value, True)]}]
        test = self.tests.get(name)
        if test is None and name in self._given:
            return [{}]  # whether its reservation gives it is looked at then
        if test is None:
            raise Unknown(name)
        return list(islice(self._ways(test, True, (*within, name)), _ALTERNATIVES))

    @cached_property
    def _spared(self) -> list[Pieces]:
        """What clients send that are not dropped, where most are."""
        dropping = self.tests.get("DROP")
        ways = self._ways(dropping, False, ()) if dropping else iter(())
        try:
            return list(islice(filter(None, ways), _SPARED))
        except Unknown:
            return []

    def _ways(self, test: Node, holds: bool, within: _Names) -> Iterator[Pieces]:
        """Yield what a client has to send for a condition to hold, or not to."""
        kind, parts = test.kind, test.parts
        if kind == "not":
            yield from self._ways(parts[0], not holds, within)
        elif kind in ("and", "or"):
            if (kind == "and") == holds:
                every = [
                    list(islice(self._ways(part, holds, within), _ALTERNATIVES))
                    for part in parts
                ]
                for combined in product(*every):
                    yield joined(combined)
            else:
                yield from _each(self._ways(part, holds, within) for part in parts)
        elif not holds:
            yield {}  # most clients do not send it; whether that is so is looked at then
        elif kind == "exists":
            field = self._field(test.word)
            yield {_CIRCUIT if field == _AGENT else field: [ANY]}
        elif kind == "member":
            yield from self._of_class(test.word, within)
        elif kind == "==":
            sides = ((one, constant(other)) for one, other in (parts, parts[::-1]))
            known = [
                self._sent(one, value, within) for one, value in sides if value is not None
            ]
            ways = chain.from_iterable(known)
            yield next(ways, {})  # without any it may be of what all clients send
            yield from ways
        else:
            raise Unknown(kind)

    def _sent(self, text: Node, value: bytes, within: _Names) -> Iterator[Pieces]:
        """Yield what a client sends so that a text has a value."""
        kind, parts = text.kind, text.parts
        if constant(text) is not None:
            if constant(text) == value:
                yield {}
        elif kind == "field":
            self._check_text(text)
            if self._field(text.word) == _AGENT:
                raise Unknown(text.word)
            yield {self._field(text.word): [(0, value, True)]}
        elif kind.endswith("ifelse"):
            branches = ((True, parts[1]), (False, parts[2]))
            yield from _each(self._sent_if(parts[0], *each, value, within) for each in branches)
        elif kind == "concat":
            yield from self._sent_in_two(parts, value, within)
        elif kind == "split":
            between, number = self._value(parts[1], {}, ())[:1], int(parts[2].word)
            if between and between not in value and 0 < number <= _ALTERNATIVES:
                whole = between.join([*[b"x"] * (number - 1), value])
                yield from self._sent(parts[0], whole, within)
        elif kind == "substring":
            yield from self._sent_within(parts, value, within)
        elif (inner := sent_for(kind, value)) is not None:
            yield from self._sent(parts[0], inner, within)

    def _sent_if(
        self, test: Node, holds: bool, branch: Node, value: bytes, within: _Names
    ) -> Iterator[Pieces]:
        """As `_sent`, of a text that is what it is where a condition holds, or does not."""
        ways = list(islice(self._ways(test, holds, within), _ALTERNATIVES))
        yield from (joined(both) for both in product(self._sent(branch, value, within), ways))

    def _sent_in_two(
        self, parts: tuple[Node, ...], value: bytes, within: _Names
    ) -> Iterator[Pieces]:
        """As `_sent`, of two texts that are joined: each has a part of the value."""
        for at in range(1, len(value)):
            ways = (
                list(islice(self._sent(part, held, within), _ALTERNATIVES))
                for part, held in zip(parts, (value[:at], value[at:]), strict=True)
            )
            yield from (joined(both) for both in product(*ways))

    def _sent_within(
        self, parts: tuple[Node, ...], value: bytes, within: _Names
    ) -> Iterator[Pieces]:
        """As `_sent`, of a substring."""
        start, length = int(parts[1].word), parts[2].word
        if start < 0:
            field = self._field(parts[0].word) if parts[0].kind == "field" else ""
            size = {"mac": 6, "duid": len(BY_MAC) + 6}.get(field, -start)
            start = max(0, size + start)
        if length != "all" and int(length) < len(value):
            return
        for asked in self._sent(parts[0], value, within):
            yield {
                name: [(piece[0] + start, piece[1], False) for piece in pieces if piece != ANY]
                for name, pieces in asked.items()
            }

    def _holds(self, test: Node, packet: Packet, found: Collection[str]) -> bool:
        kind, parts = test.kind, test.parts
        if kind == "not":
            return not self._holds(parts[0], packet, found)
        if kind in ("and", "or"):
            return self._holds_joined(parts, kind == "or", packet, found)
        if kind == "member":
            return test.word in found
        if kind == "exists":
            field = self._read(test.word)
            return field in packet or (field == _AGENT and any(map(_is_of_agent, packet)))
        if kind == "==":
            return self._value(parts[0], packet, found) == self._value(parts[1], packet, found)
        raise Unknown(kind)

    def _holds_joined(
        self, parts: Iterable[Node], decides: bool, packet: Packet, found: Collection[str]
    ) -> bool:
        """Whether conditions hold of which one that `decides` is enough, whatever others do."""
        unknown = None
        for part in parts:
            try:
                if self._holds(part, packet, found) is decides:
                    return decides
            except Unknown as why:
                unknown = why
        if unknown is not None:
            raise unknown
        return not decides

    def _value(self, text: Node, packet: Packet, found: Collection[str]) -> bytes:
        kind, parts = text.kind, text.parts
        if (value := constant(text)) is not None:
            return value
        if kind == "field":
            field = self._read(text.word)
            if field == _AGENT and any(map(_is_of_agent, packet)):
                raise Unknown(text.word)
            value = packet.get(field, b"")
            if value:
                self._check_text(text)
            return value
        if kind == "concat":
            return b"".join(self._value(part, packet, found) for part in parts)
        if kind.endswith("ifelse"):
            chosen = parts[1] if self._holds(parts[0], packet, found) else parts[2]
            return self._value(chosen, packet, found)
        inner = self._value(parts[0], packet, found)
        if kind == "substring":
            return part_of(inner, int(parts[1].word), parts[2].word)
        between = self._value(parts[1], packet, found) if parts[1:] else b""
        return worked_out(kind, inner, between, int(parts[2].word) if parts[2:] else 0)

    def _check_text(self, text: Node) -> None:
        """Raise Unknown where a test reads how Kea's log shows an option that is no text."""
        if text.is_text and self._field(text.word) not in self._options.texts:
            raise Unknown(f"{text.word}.text")

    def _read(self, field: str) -> str:
        """As `_field`; empty for one that no packet has."""
        return "" if self._options.lacks(self._plain(field)) else self._field(field)

    @cache  # noqa: B019  # as long as one file is read
    def _plain(self, field: str) -> str:
        """A field with codes for the names of options."""
        codes = []
        for step in field.split("."):
            name, _, index = step.partition("[")
            index = index.removesuffix("]")
            codes.append((name, self._options.codes.get(index, index)))
        return ".".join(f"{name}[{code}]" if code != "" else name for name, code in codes)

    @cache  # noqa: B019  # as long as one file is read
    def _field(self, field: str) -> str:
        """The name of a field of a packet; raises Unknown for one that nothing is known of."""
        plain = self._plain(field)
        of_six = self.family == 6
        if match := _OF_RELAY.fullmatch(plain):
            return f"agent[{match[1]}]"
        if plain == "option[82]" and not of_six:
            return _AGENT
        if plain == ("option[1]" if of_six else "pkt4.mac"):
            return "duid" if of_six else "mac"
        if plain in ("pkt4.giaddr", "relay6[0].linkaddr", "relay6[-1].linkaddr"):
            return "relay"
        code = code_of(plain)
        if (code and code not in _EXCHANGE[self.family]) or (plain in HEAD4 and not of_six):
            return plain
        return field_of(plain, self.family)


def _each(alternatives: Iterable[Iterator[Pieces]]) -> Iterator[Pieces]:
    """Yield those of all alternatives; raises Unknown where none of them is known."""
    unknown, is_known = None, False
    for ways in alternatives:
        try:
            for way in ways:
                is_known = True
                yield way
        except Unknown as why:
            unknown = why
    if unknown is not None and not is_known:
        raise unknown


def _is_of_agent(field: str) -> bool:
    return field.startswith(f"{_AGENT}[")


def _members(node: Node | None) -> Iterator[str]:
    """Yield the classes that a test names."""
    if node and node.kind == "member":
        yield node.word
    for part in node.parts if node else ():
        yield from _members(part)
