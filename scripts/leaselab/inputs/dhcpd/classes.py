"""The classes of a dhcpd.conf: which clients are in them, and what clients send to be so."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice, product
from typing import NamedTuple

from leaselab.inputs.client_kinds import (
    Having,
    Listed,
    Sent,
    Unknown,
    Value,
    joined,
    listing,
    numbered,
)
from leaselab.inputs.dhcpd.conditions import Condition
from leaselab.inputs.dhcpd.expressions import (
    Packet,
    Pieces,
    asks_relay,
    fields_of,
    holds,
    is_padded,
    needed,
    sent,
    value,
    ways,
)
from leaselab.inputs.dhcpd.patterns import ALTERNATIVES
from leaselab.inputs.dhcpd.reader import ANY, HARDWARE, Field, Node, Piece, Reader
from leaselab.inputs.dhcpd.statements import Statement, bytes_of, every, number_of

_CLIENT_ID: Field = ("options", 61)
_MAC_BYTES = 6
_ETHERNET = b"\1"
_DUID: Field = ("options", 1)
_OF_LINK = bytes.fromhex("00030001")
"""How a DUID of type LL begins, before the hardware address."""
_LONGEST_DUID = 128
FIRST_MAC = 0x000C01020304
"""Address of the first client that leaseload gives one itself."""
_USUAL_MAC = bytes([2, 0, 0, 0, 0, 0])
"""Where a class tests a part of the address, the others begin with this."""
LISTED: Mapping[int, Listed] = {4: "macs", 6: "duids"}
"""What clients of a kind have that are listed one by one, by the family."""
_BASES: Mapping[Listed, bytes] = {"macs": _USUAL_MAC, "duids": _OF_LINK + _USUAL_MAC}
_KIND = "{kind}"
"""In a text, what tells clients of a kind from those of others."""
_FAR = 999_998
"""A number that no client has."""
_MOST_SPAWNED, _MOST_PLACES, _LONGEST = 4096, 3, 64
"""Values of a spawned class that clients have, places of a field in which they differ, and
bytes of a field that are looked at."""
SENT: tuple[Sent, ...] = ("options", "agent")
"""What a form has of what clients and their relays send."""
_IF = re.compile(r"if(?![\w-])", re.IGNORECASE)
_SPAWN = ("spawn", "with")
REFUSE = ("deny", "ignore")


def is_ignored(statement: Statement) -> bool:
    """Whether messages of what a statement is about are not answered."""
    rules = booting(statement.inner)
    return bool(rules) and rules[-1].name in REFUSE


def booting(statements: Iterable[Statement] | None) -> list[Statement]:
    """The rules on whether messages are answered; the last one holds."""
    return [
        one
        for one in statements or ()
        if one.name in ("allow", *REFUSE) and one.words[1:2] == ("booting",)
    ]


def packet_of(own: Having, family: int, number: int = 0, listed: str | None = None) -> Packet:
    """The message of a client of a kind: its number, and its address or DUID if listed."""
    data = (FIRST_MAC + number).to_bytes(_MAC_BYTES)
    if listed:
        data = bytes.fromhex(listed.replace(":", ""))
    if family == 6 and (not listed or ":" in listed):
        data = _OF_LINK + data
    packet = {_DUID: data} if family == 6 else {HARDWARE: _ETHERNET + data}
    for kind in SENT:
        for code, given in own.get(kind, ()):
            form, _, text = given.partition(":")
            packet[kind, code] = (
                text.replace("{client}", str(number)).encode()
                if form == "text"
                else bytes.fromhex(text)
            )
    return packet


class Class:
    """A class: its statement, its test, and the values of its subclasses."""

    def __init__(
        self,
        statement: Statement,
        reader: Reader,
        test: Node | None = None,
        *,
        is_of_unknown: bool = False,
    ) -> None:
        self.statement, self._reader = statement, reader
        self.test, self.is_of_unknown = test, is_of_unknown
        self.field: Node | None = None
        # In DHCPv6 dhcpd looks neither at rules on booting nor at limits.
        self._has_rules = reader.family == 4
        self.is_ignored, self._spawns = self._has_rules and is_ignored(statement), False
        self._values: dict[bytes, bool] = {}
        self._limits: dict[bytes, int] = {}
        for one in statement.inner or ():
            text = " ".join(one.words[1:])
            if one.name == "match" and (condition := _IF.match(text)):
                self.test = reader.read(text[condition.end() :])
            elif one.name == "match":
                self.field = reader.read(text)
            elif one.words[:2] == _SPAWN:
                self.field, self._spawns = reader.read(" ".join(one.words[2:])), True
        self.limit = self._limit(statement)

    def add(self, statement: Statement) -> None:
        """Note a subclass, by the value that clients have."""
        data = bytes_of(statement.words[2]) if statement.words[2:] else None
        if data is not None:
            self._values[data] = self._has_rules and is_ignored(statement)
            limit = self._limit(statement)
            if limit is not None:
                self._limits[data] = limit

    def _limit(self, statement: Statement) -> int | None:
        """How many leases a class or subclass has, by its own statements; None for any."""
        limits = [one.words[-1] for one in statement.inner or () if one.name == "lease"]
        return number_of(limits[-1]) if self._has_rules and limits else None

    @property
    def is_limited(self) -> bool:
        """Whether its clients share some leases, or those of a subclass."""
        return self.limit is not None or bool(self._limits)

    def limit_of(self, data: bytes) -> int | None:
        """How many leases clients share that have a value of the class; None for any."""
        return self._limits.get(data, self.limit)

    def own_value(self, packet: Packet) -> bytes:
        """What tells the subclass of a packet, each with a limit of its own; empty for none."""
        return b"" if self.field is None else value(self.field, packet) or b""

    def needed(self) -> list[tuple[Node, bytes]] | None:
        """Values of expressions of which one is there in a packet of it; None if not known."""
        if self.test is None and self.field is None:
            return []
        found = None if self.test is None else needed(self.test)
        if found is None and self.field is not None and not self._spawns:
            return [(self.field, data) for data in self._values]
        return found

    def within(self, packet: Packet) -> tuple[bool, bool]:
        """Whether a packet is in the class, and whether its client is ignored.

        Raises Unknown where that is not known.
        """
        is_none = self.test is None and self.field is None
        if is_none or (self.test is not None and not holds(self.test, packet)):
            return False, False
        if self.field is None:
            return True, self.is_ignored
        data = self.own_value(packet)
        is_in = data in self._values or (self._spawns and bool(data))
        return is_in, is_in and (self.is_ignored or self._values.get(data, False))

    def forms(self) -> Iterator[Form]:
        """Yield what clients in the class have, as `form_of`: of each subclass one."""
        if self.is_ignored:
            return
        family = self._reader.family
        nothing: list[Pieces] = [{}]
        tests = nothing
        if self.test is not None:
            tests = list(islice(ways(self.test), ALTERNATIVES))
        fields = iter([nothing]) if self.field is None else self._of_fields(self.field)
        for every_way in fields:
            asked = map(joined, product(tests, every_way))
            made = ((form, pieces) for pieces in asked if (form := form_of(pieces, family)))
            usable = (each_of(*pair) for pair in made if self._is_in(pair[0]))
            yield from chain.from_iterable(islice(usable, 1))

    def _of_fields(self, expression: Node) -> Iterator[list[Pieces]]:
        """Yield for each subclass the ways to be in it, and for those that are spawned."""
        for data, has_ignored in self._values.items():
            if not has_ignored:
                yield list(islice(sent(expression, data), ALTERNATIVES))
        if self._spawns:
            yield from self._of_spawned(expression)

    def _of_spawned(self, expression: Node) -> Iterator[list[Pieces]]:
        """Yield ways to have a subclass spawned: one for all clients, if their values differ.

        Otherwise one for each value, of which some clients share the leases.
        """
        read = [field for field in fields_of(expression) if isinstance(field, tuple)]
        every_field: dict[Field, list[Piece]] = {
            field: [ANY] for field in read if field != HARDWARE
        }
        form = form_of(every_field, self._reader.family)
        if self.limit is None or (form is not None and self._differ(form)):
            yield [every_field]
            return
        for field in read:
            places = self._places(expression, field)
            for number in range(min(256 ** len(places), _MOST_SPAWNED)):
                data = number.to_bytes(len(places))
                pieces: list[Piece] = [
                    (at, bytes([one]), False) for at, one in zip(places, data, strict=True)
                ]
                yield [every_field | {field: pieces}]

    def _differ(self, form: Form) -> bool:
        """Whether clients with a form have values of their own, however many they are."""
        own = members(form, 1, _FAR)
        packets = [packet_of(own, self._reader.family, _FAR + one) for one in (0, 1)]
        try:
            one, other = map(self.own_value, packets)
        except Unknown:
            return False
        return bool(one) and one != other

    def _places(self, expression: Node, field: Field) -> list[int]:
        """The last places in a field that decide on the value; none where it has no such."""
        plain = {
            one: b"a" * _LONGEST for one in fields_of(expression) if isinstance(one, tuple)
        }
        plain |= {HARDWARE: _ETHERNET + _USUAL_MAC}
        places = []
        for at in range(int(field == HARDWARE), len(plain[field])):
            other = bytearray(plain[field])
            other[at] ^= 2
            try:
                if self.own_value(plain) != self.own_value({**plain, field: bytes(other)}):
                    places.append(at)
            except Unknown:
                return []
        return places[-_MOST_PLACES:]

    def forms_outside(self) -> Iterator[Form]:
        """Yield what clients may have that are not in the class, as `form_of`."""
        for asked in islice(ways(self.test, False), ALTERNATIVES) if self.test else ():
            if asked and (form := form_of(asked, self._reader.family)):
                yield form

    def _is_in(self, form: Form) -> bool:
        try:
            own = members(form, 1, 0)
            listed = next(iter(own.get(form.listed, ())), None)
            return self.within(packet_of(own, self._reader.family, 0, listed))[0]
        except Unknown:
            return False

    @property
    def has_ignored(self) -> bool:
        """Whether its clients are ignored, or some of them."""
        return self.is_ignored or any(self._values.values())

    @property
    def is_padded(self) -> bool:
        """Whether its test is of a text that dhcpd writes in another form."""
        return self.test is not None and is_padded(self.test)

    @property
    def asks_relay(self) -> bool:
        """Whether its condition is on the address of the relay."""
        return self.test is not None and asks_relay(self.test)


class Classes(dict[str, Class]):
    """The classes of a file by their names, and which of them a packet may be in."""

    def __init__(
        self,
        statements: Sequence[Statement],
        reader: Reader,
        conditions: Iterable[Condition] = (),
    ) -> None:
        super().__init__()
        for statement, test, of_unknown in conditions:
            self[statement.words[0]] = Class(statement, reader, test, is_of_unknown=of_unknown)
        for one in every(statements):
            name = one.words[1].strip('"') if len(one.words) > 1 else ""
            if one.name == "class":
                self.setdefault(name, Class(one, reader))
            elif one.name == "subclass" and name in self:
                self[name].add(one)
        self._always: list[tuple[int, str]] = []
        self._by_value: dict[Node, dict[bytes, list[tuple[int, str]]]] = {}
        for at, (name, held) in enumerate(self.items()):
            pairs = held.needed()
            if pairs is None:
                self._always.append((at, name))
            for expression, data in pairs or ():
                of_value = self._by_value.setdefault(expression, {})
                of_value.setdefault(data, []).append((at, name))

    def of(self, packet: Packet) -> list[str]:
        """The names of the classes that a packet may be in, in the order of the file."""
        names = set(self._always)
        for expression, of_value in self._by_value.items():
            try:
                data = value(expression, packet)
                names.update(of_value.get(data, ()) if data is not None else ())
            except Unknown:
                names.update(chain.from_iterable(of_value.values()))
        return [name for _, name in sorted(names)]


def reader_of(statements: Sequence[Statement], family: int) -> Reader:
    """What reads the expressions of a file."""
    return Reader(_defined(statements, "" if family == 4 else "dhcp6"), family)


def _defined(statements: Iterable[Statement], space: str) -> Iterator[tuple[str, int]]:
    """Yield the options of a space that a file defines: their names, and their codes."""
    for one in every(statements):
        first, name, code, number, *_ = (*one.words, "", "", "", "")
        is_one = first == "option" and code == "code" and name.rpartition(".")[0] == space
        if is_one and (known := number_of(number)) is not None:
            yield name.lower(), known


class Form(NamedTuple):
    """What a client has."""

    listed: Listed
    sent: Mapping[Sent, list[Value]]
    """Options, and those of its relay."""
    address: Mapping[int, int] | None
    """Bytes of what is listed by their places; None where any will do."""
    size: int | None
    """Of what is listed; None for the usual one."""
    identity: str = ""
    """That which makes it one client alone, empty for none."""


def form_of(asked: Pieces, family: int) -> Form | None:
    """What a client has that sends what is asked; None where there is none such.

    A field that tells clients apart has the client's number, unless all of it is asked for.
    """
    values: dict[Sent, list[Value]] = {}
    address: dict[int, int] | None = None
    of_listed: int | None = None
    for field, pieces in asked.items():
        kind, code = field
        known = [piece for piece in pieces if isinstance(piece, tuple)]
        size = max((at + len(data) for at, data, _ in known), default=0)
        if kind == "hardware":
            held = {
                at + one - 1: byte for at, data, _ in known for one, byte in enumerate(data)
            }
            if size > _MAC_BYTES + 1 or held.pop(-1, 1) != _ETHERNET[0]:
                return None
            address = held
            continue
        if field == _DUID and family == 6:
            held = {at + one: byte for at, data, _ in known for one, byte in enumerate(data)}
            whole = any(whole for *_, whole in known)
            if size > _LONGEST_DUID:
                return None
            address, of_listed = held, size if whole else max(size, len(_BASES["duids"]))
            continue
        if known and not 0 < size < 200:
            return None
        filled = bytearray(b"." * size if known else b"leaselab")
        for at, data, _ in known:
            filled[at : at + len(data)] = data
        is_own = kind == "agent" or (field == _CLIENT_ID and family == 4)
        is_whole = any(whole for *_, whole in known)
        if is_own and not is_whole and filled.isascii():
            dash = "" if known else "-"
            text = f"text:{filled.decode()}{dash}{_KIND}{{client}}"
        else:
            text = f"hex:{filled.hex()}"
        values.setdefault(kind, []).append((code, text))
    form = Form(LISTED[family], values, address, of_listed)
    return form._replace(identity=_identity_of(form, family))


def each_of(form: Form, asked: Pieces) -> Iterator[Form]:
    """Yield a form, or several where each client has an identifier that is no text."""
    pieces = asked.get(_CLIENT_ID, ())
    whole = any(isinstance(piece, tuple) and piece[2] for piece in pieces)
    if whole or not form.identity.startswith("hex:"):
        yield form
        return
    for number in range(_MOST_SPAWNED):
        own = f"{form.identity}{number:06x}"
        given = dict(form.sent["options"]) | {_CLIENT_ID[1]: own}
        every_one = {**form.sent, "options": list(given.items())}
        yield form._replace(sent=every_one, identity=own)


def _identity_of(form: Form, family: int) -> str:
    """The identifier or address of the one client that has a form; empty where many have."""
    for code, text in form.sent.get("options", ()) if family == 4 else ():
        if ("options", code) == _CLIENT_ID and text.startswith("hex:"):
            return text
    size = _MAC_BYTES if form.size is None else form.size
    return next(_listed(form, 1, 0)) if len(form.address or {}) >= size else ""


def members(form: Form, clients: int, used: int) -> Having:
    """The keys of a kind of so many clients with a form; `used` were made before."""
    mark = f"{used:x}-" if used else ""
    own: Having = {"clients": clients}
    for key, values in form.sent.items():
        own[key] = [(code, text.replace(_KIND, mark)) for code, text in values]
    if form.address is None:
        return own
    return listing(own, form.listed, list(_listed(form, clients, used)))


def _listed(form: Form, clients: int, used: int) -> Iterator[str]:
    """Yield addresses or DUIDs that have the bytes of a form, as many as there are."""
    known, base = form.address, _BASES[form.listed]
    if known is None:
        return
    size, first = len(base) if form.size is None else form.size, len(base) - _MAC_BYTES + 1
    free = [at for at in reversed(range(first, size)) if at not in known][:4]
    usual = base[:size].ljust(size, b"\0")
    filled = bytes(known.get(at, byte) for at, byte in enumerate(usual))
    for one in numbered(filled, free, range(used, used + min(clients, 256 ** len(free)))):
        yield one.hex(":") if form.listed == "macs" else one.hex()
