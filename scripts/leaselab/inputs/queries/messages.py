"""DNS queries, as far as a load asks them again (RFC 1035, 6891).  Pure."""

from __future__ import annotations

from typing import NamedTuple

from leaselab.inputs.queries.names import check_labels, type_word

MALFORMED = "malformed"
ANSWER = "answers"
OTHER = "other messages of these ports"
_INTERNET, _OPT = 1, 41
_ANSWER_BIT, _OPCODE = 0x80, 0x78
_HEADER = 12


class Query(NamedTuple):
    """What one query asks."""

    labels: tuple[bytes, ...]
    type_word: str
    edns: bool
    dnssec_ok: bool
    recursion: bool
    """Whether it asks for recursion (RD)."""


def query_of(data: bytes) -> Query | str:
    """The query in a message, or why it is none that a load asks."""
    try:
        return _query(data)
    except (IndexError, ValueError):
        return MALFORMED


def _query(data: bytes) -> Query | str:
    if data[2] & _ANSWER_BIT:
        return ANSWER
    counts = [_two(data, place) for place in range(4, _HEADER, 2)]
    if data[2] & _OPCODE or counts[:2] != [1, 0]:
        return OTHER
    labels, place = _labels(data, _HEADER)
    word = type_word(_two(data, place))
    if word is None or _two(data, place + 2) != _INTERNET:
        return OTHER
    # EDNS is the first of the records behind the question, where it is there.
    place += 4
    edns = counts[3] > 0 and data[place] == 0 and _two(data, place + 1) == _OPT
    dnssec_ok = edns and bool(data[place + 7] & 0x80)
    return Query(labels, word, edns, dnssec_ok, bool(data[2] & 1))


def answered(data: bytes) -> tuple[tuple[bytes, ...], str, bool] | None:
    """Name and type that an answer is for, and whether it offers recursion (RA); else None."""
    try:
        labels, place = _labels(data, _HEADER)
        return labels, type_word(_two(data, place)) or "", bool(data[3] & 0x80)
    except (IndexError, ValueError):
        return None


def _labels(data: bytes, place: int) -> tuple[tuple[bytes, ...], int]:
    """The labels of the name at a place, and where it ends; a question has no pointer."""
    labels = []
    while size := data[place]:
        label = data[place + 1 : place + 1 + size]
        if len(label) < size:
            raise ValueError("a name that is cut short")
        labels.append(label)
        check_labels(labels)
        place += 1 + size
    return tuple(labels), place + 1


def _two(data: bytes, place: int) -> int:
    """A number of two bytes; raises IndexError where the message is too short."""
    return data[place] << 8 | data[place + 1]
