"""Expressions of a dhcpd.conf (dhcp-eval(5)): their value for a client, and clients for it.

A packet is what is known of a client's message: bytes by fields, such as ``("options", 60)``,
``("agent", 1)`` or `HARDWARE`.  What cannot be worked out raises `Unknown`.  A value that dhcpd
does not have, such as that of an option that is not sent, is None.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import chain, islice, product

from leaselab.inputs.client_kinds import Unknown, joined
from leaselab.inputs.dhcpd.patterns import ALTERNATIVES, samples
from leaselab.inputs.dhcpd.reader import ANY, CALLS, HARDWARE, Anything, Field, Node, Piece

_PLAIN_PATTERN = re.compile(rb"(?:[\w :/.*+?^$|()\[\]-]|\\\.)*")
"""Regular expressions of POSIX that are the same to Python."""
_FORMATS = {2: "b", 8: "o", 10: "d", 16: "x"}
_WIDTHS = (8, 16, 32)
_DATA_LAST = ("binary-to-ascii", "reverse")
_FILLERS = 8
"""Numbers of a text that may come before those that are asked for."""
_MOST_JOINED = 16
"""Parts of values that are joined, of which a client is worked out."""
_GIADDR, _CHADDR, _MAC_SIZE = 24, 28, 6
"""Where the addresses of the relay and the hardware are in a message, and the size of the last
(bytes)."""
Packet = Mapping[Field, bytes]
"""What is known of a client's message."""
Pieces = Mapping[Field, list[Piece]]
"""What a client has to send."""


def holds(node: Node, packet: Packet) -> bool:
    """Whether a condition holds for a packet; raises Unknown where that is not known."""
    possible = _answers(node, packet)
    if True in possible and len(possible) > 1:
        raise Unknown(node.kind)
    return True in possible


def _answers(node: Node, packet: Packet) -> set[bool | None]:
    """The answers that dhcpd may find to a condition; None for none, which is not the other."""
    kind, parts = node.kind, node.parts
    if kind in ("and", "or"):
        found, *others = (_answers(part, packet) for part in parts)
        for more in others:
            found = {_both(kind, one, other) for one in found for other in more}
        return found
    if kind == "unless":
        return {one is not True for one in _answers(parts[0], packet)}
    if kind == "not":
        return {None if one is None else not one for one in _answers(parts[0], packet)}
    try:
        return {_answer(node, packet)}
    except Unknown:
        return {True, False, None}


def needed(node: Node) -> list[tuple[Node, bytes]] | None:
    """Values of expressions of which a condition needs one; None where that is not known."""
    kind, parts = node.kind, node.parts
    if kind == "=":
        for one, other in (parts, parts[::-1]):
            if other.kind == "value" and one.kind != "value":
                return [(one, other.data)]
    every = [needed(part) for part in parts] if kind in ("and", "or") else []
    known = [pairs for pairs in every if pairs is not None]
    if kind == "or":
        return [pair for pairs in known for pair in pairs] if len(known) == len(every) else None
    return min(known, key=len) if known else None


def _both(kind: str, one: bool | None, other: bool | None) -> bool | None:
    """The answer for two parts, as dhcpd has it: it has none where the first of `and` fails."""
    if kind == "and":
        return other if one else None
    return bool(one or other) if (one, other) != (None, None) else None


def _answer(node: Node, packet: Packet) -> bool | None:
    kind, parts = node.kind, node.parts
    if kind == "exists":
        return value(Node("option", field=node.field), packet) is not None
    if kind in ("=", "!="):
        return (_comparable(parts[0], packet) == _comparable(parts[1], packet)) == (kind == "=")
    if kind in ("~=", "~~"):
        return _matches(value(parts[0], packet), value(parts[1], packet), kind)
    raise Unknown(kind)


def _comparable(node: Node, packet: Packet) -> int | bytes | None:
    return node.number if node.kind == "number" else value(node, packet)


def _matches(data: bytes | None, pattern: bytes | None, kind: str) -> bool | None:
    """Whether data match a regular expression."""
    if data is None or pattern is None:
        return None
    if not _PLAIN_PATTERN.fullmatch(pattern):
        raise Unknown(kind)
    try:
        return bool(re.search(pattern, data, re.IGNORECASE if kind == "~~" else 0))
    except re.error as error:
        raise Unknown(kind) from error


def value(node: Node, packet: Packet) -> bytes | None:
    """The bytes of an expression for a packet; None for none."""
    kind, parts = node.kind, node.parts
    if kind == "value":
        return node.data
    if kind == "option" and node.field != ANY:
        return packet.get(node.field) if node.field else None
    if kind in ("pick-first-value", "concat"):
        values = [value(part, packet) for part in parts]
        if kind == "concat":
            return None if None in values else b"".join(filter(None, values))
        return next((held for held in values if held is not None), None)
    if kind == "packet":
        return value(_of_packet(parts), packet)
    if kind in CALLS:
        data = value(parts[-1] if kind in _DATA_LAST else parts[0], packet)
        return None if data is None else _made(kind, data, parts)
    raise Unknown(kind)


def _made(kind: str, data: bytes, parts: Sequence[Node]) -> bytes:
    """What a call makes of its data."""
    if kind in ("lcase", "ucase"):
        return data.lower() if kind == "lcase" else data.upper()
    numbers = _numbers(parts)
    if kind == "substring" and len(numbers) == len(parts) - 1 == 2:
        return data[numbers[0] :][: numbers[1]]
    if kind == "suffix" and len(numbers) == len(parts) - 1 == 1:
        return data[max(0, len(data) - numbers[0]) :]
    if kind == "reverse" and len(numbers) == 1 and numbers[0] and not len(data) % numbers[0]:
        return b"".join(_cut(data, numbers[0])[::-1])
    if kind == "binary-to-ascii" and (written := _written(parts)):
        base, size, between = written
        words = (int.from_bytes(part) for part in _cut(data, size))
        return between.join(format(word, _FORMATS[base]).encode() for word in words)
    raise Unknown(kind)


def _cut(data: bytes, size: int) -> list[bytes]:
    """Data in parts of a size; raises Unknown where that is not possible."""
    if len(data) % size:
        raise Unknown(size)
    return [data[at : at + size] for at in range(0, len(data), size)]


def _of_packet(parts: Sequence[Node]) -> Node:
    """A part of the message as one of its hardware address; raises Unknown for others."""
    numbers = _numbers(parts)
    if len(numbers) != len(parts) or len(parts) != 2 or numbers[0] < _CHADDR:
        raise Unknown("packet")
    first, length = numbers
    if first + length > _CHADDR + _MAC_SIZE:
        raise Unknown("packet")
    begin = Node("number", number=first - _CHADDR + 1)
    return Node("substring", (Node("option", field=HARDWARE), begin, parts[1]))


def _numbers(parts: Sequence[Node]) -> list[int]:
    """The numbers that a call is given."""
    return [part.number for part in parts if part.kind == "number"]


def _written(parts: Sequence[Node]) -> tuple[int, int, bytes] | None:
    """How bytes are written: the base of each, and what is between two; None for another."""
    if len(parts) != 4:
        return None
    base, width, between, _ = parts
    is_known = base.number in _FORMATS and width.number in _WIDTHS and between.kind == "value"
    return (base.number, width.number // 8, between.data) if is_known else None


def _words(parts: Sequence[Node], text: bytes) -> list[bytes]:
    """The words of a text that are each a number, as dhcpd writes them."""
    *_, between = _written(parts) or (b"",)
    return text.split(between) if between else [text]


def _size(node: Node) -> int | None:
    """The size of an expression's value where that is always the same; None for others."""
    kind, parts = node.kind, node.parts
    if kind == "option" and node.field == HARDWARE:
        return _MAC_SIZE + 1
    numbers = _numbers(parts)
    if kind in ("substring", "suffix", "lcase", "ucase") and parts:
        size = _size(parts[0])
        if size is None or kind in ("lcase", "ucase"):
            return size
        if kind == "substring" and len(numbers) == 2:
            return max(0, min(numbers[1], size - numbers[0]))
        return min(numbers[0], size) if len(numbers) == 1 else None
    return None


def ways(node: Node, is_to_hold: bool = True) -> Iterator[Pieces]:
    """Yield what a client sends so that a condition holds, or does not: fields, their pieces.

    A piece is a place in the field, bytes, and whether these are all of it; or `ANY`.  Whether
    the condition holds then is to be looked at: another part of it may be in the way.
    """
    kind, parts = node.kind, node.parts
    if kind in ("not", "unless"):
        yield from ways(parts[0], not is_to_hold)
    elif kind in ("and", "or") and (kind == "and") == is_to_hold:
        every = [list(islice(ways(part, is_to_hold), ALTERNATIVES)) for part in parts]
        yield from (joined(both) for both in product(*every))
    elif kind in ("and", "or"):
        for part in parts:
            yield from ways(part, is_to_hold)
    elif kind in ("=", "!=") and is_to_hold == (kind == "="):
        for one, other in (parts, parts[::-1]):
            if other.kind == "value":
                yield from sent(one, other.data)
    elif not is_to_hold or kind == "!=":
        yield {}  # most clients do not send it
    elif kind == "exists" and isinstance(node.field, tuple):
        yield {node.field: [ANY]}
    elif kind in ("~=", "~~") and parts[1].kind == "value":
        for text, is_first, is_last in samples(parts[1].data):
            yield from sent(parts[0], text, 0 if is_first or not is_last else None, is_last)


def sent(
    node: Node, wanted: bytes, first: int | None = 0, is_last: bool = True
) -> Iterator[Pieces]:
    """Yield what a client sends so that an expression has some bytes, as `ways`.

    They are at a place in its value, None for the end of it; `is_last` says whether the value
    ends with them.
    """
    kind, parts = node.kind, node.parts
    if first is None and (size := _size(node)) is not None:
        first = max(0, size - len(wanted))
    if kind == "option" and isinstance(node.field, tuple):
        # An option of which only the end is asked for is all of it.
        yield {node.field: [(first or 0, wanted, is_last)]}
    elif kind == "packet":
        with contextlib.suppress(Unknown):
            yield from sent(_of_packet(parts), wanted, first, is_last)
    elif kind in ("substring", "suffix", "reverse"):
        yield from _sent_in_part(kind, parts, wanted, first, is_last)
    elif kind in ("lcase", "ucase") and parts:
        yield from sent(parts[0], wanted, first, is_last)
    elif kind == "binary-to-ascii" and first is not None:
        for data in _written_as(parts, wanted, first, is_last):
            yield from sent(parts[-1], data, 0, is_last)
    elif kind == "pick-first-value":
        for part in reversed(parts):  # a client without an identifier is one by its address
            yield from sent(part, wanted, first, is_last)
    elif kind == "concat" and not first and is_last:
        yield from _sent_joined(parts, wanted)


def _sent_joined(parts: Sequence[Node], wanted: bytes) -> Sequence[Pieces]:
    """Return as `sent` for values that are joined: each has a part of the bytes."""

    @cache
    def ways_of(number: int, start: int) -> list[Pieces]:
        """Ways for the parts from a number on to have the bytes from a place on."""
        one, is_last = parts[number], number == len(parts) - 1
        if one.kind == "value":
            end = start + len(one.data)
            if wanted[start:end] != one.data:
                return []
            return ways_of(number + 1, end) if not is_last else [{}] * (end == len(wanted))
        if is_last:
            return list(islice(sent(one, wanted[start:]), ALTERNATIVES))
        both = (
            product(
                islice(sent(one, wanted[start:end]), ALTERNATIVES), ways_of(number + 1, end)
            )
            for end in range(start + 1, len(wanted) + 1)
        )
        return list(islice(map(joined, chain.from_iterable(both)), ALTERNATIVES))

    return ways_of(0, 0) if 0 < len(parts) <= _MOST_JOINED else []


def _sent_in_part(
    kind: str, parts: Sequence[Node], wanted: bytes, first: int | None, is_last: bool
) -> Iterator[Pieces]:
    """Yield as `sent` for a call that has a part of its data, or them reversed."""
    numbers, at = _numbers(parts), first or 0
    if kind == "substring" and len(numbers) == 2:
        begin, length = numbers
        end = at + len(wanted)
        if end <= length:
            yield from sent(parts[0], wanted, begin + at, is_last and end < length)
    elif kind == "suffix" and len(numbers) == 1:
        size = _size(parts[0])
        if size is not None:
            yield from sent(parts[0], wanted, max(0, size - numbers[0]) + at, is_last)
        elif not first:
            yield from sent(parts[0], wanted, None, is_last)
    elif kind == "reverse" and len(numbers) == 1 and (size := _size(parts[-1])) is not None:
        begin = size - at - len(wanted)
        if begin >= 0 and numbers[0] and not (begin % numbers[0] or len(wanted) % numbers[0]):
            data = b"".join(_cut(wanted, numbers[0])[::-1])
            yield from sent(parts[-1], data, begin, begin + len(data) == size)


def _written_as(
    parts: Sequence[Node], wanted: bytes, first: int, is_last: bool
) -> Iterator[bytes]:
    """Yield bytes whose text has some characters at a place: what comes before is 1 and 10.

    The first number of a hardware address is 1, for Ethernet.
    """
    if not (written := _written(parts)):
        return
    base, size, between = written
    for number in range(1 << min(_FILLERS, first)) if first else (0,):
        text = b""
        for bit in range(_FILLERS):
            if len(text) >= first:
                break
            text += (b"10" if number >> bit & 1 else b"1") + between
        if len(text) != first:
            continue
        words = (text + wanted).split(between) if between else [text + wanted]
        if not words[-1] and between and not is_last:
            words.pop()
        if between == b"" and not first:
            # Numbers without anything between them have two digits each.
            words = [wanted[at : at + 2] for at in range(0, len(wanted), 2)]
        try:
            numbers = [int(word, base) for word in words]
            yield b"".join(one.to_bytes(size) for one in numbers)
        except (ValueError, OverflowError):
            continue


def fields_of(node: Node) -> Iterator[Field | Anything | None]:
    """Yield the fields that an expression reads."""
    kind, parts = node.kind, node.parts
    if kind in ("option", "exists"):
        yield node.field
    for part in parts:
        yield from fields_of(part)


def asks_relay(node: Node) -> bool:
    """Whether an expression reads the address of the relay from the message."""
    kind, parts = node.kind, node.parts
    numbers = _numbers(parts) if kind == "packet" else []
    if len(numbers) == len(parts) == 2:
        return numbers[0] < _GIADDR + 4 and sum(numbers) > _GIADDR
    return any(map(asks_relay, parts))


def is_padded(node: Node) -> bool:
    """Whether a condition compares with a text that dhcpd writes without leading zeros."""
    kind, parts = node.kind, node.parts
    texts = [part.data for part in parts if kind == "=" and part.kind == "value"]
    calls = [part for part in parts if kind == "=" and part.kind != "value"]
    while calls and calls[0].kind in ("substring", "suffix", "lcase", "ucase"):
        calls = list(calls[0].parts[:1])
    if texts and calls and calls[0].kind == "binary-to-ascii":
        words = _words(calls[0].parts, texts[0])
        return any(len(word) > 1 and word.startswith(b"0") for word in words)
    return kind in ("and", "or", "not") and any(map(is_padded, parts))
