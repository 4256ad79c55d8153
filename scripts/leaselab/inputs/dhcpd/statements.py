"""The statements of a dhcpd.conf, as dhcpd reads them, and their text again."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from leaselab.model.errors import LeaselabError, usage_error

_TOKEN = re.compile(r'#[^\n]*|"[^"\\]*+(?:\\.[^"\\]*+)*+"|[{};,]|[^\s{};,"#]+|\S')
_QUAD = re.compile(r"[0-9]{1,9}(?:\.[0-9]{1,9}){3}")
_DIGITS = re.compile(r"[0-9a-fA-F]{1,2}(?::[0-9a-fA-F]{1,2})*")
_ESCAPE = re.compile(r"(\\(?:[0-3][0-7]{2}|x[0-9a-fA-F]{2}|.))", re.DOTALL)
_CONTROLS = {"t": b"\t", "r": b"\r", "n": b"\n", "b": b"\b", "0": b"\0"}
_DEEPEST = 100
_MOST_DIGITS = 10
_VALUE = ("=", "of")
"""Words after which braces are those of a value, such as of an option's definition."""


class Statement(NamedTuple):
    """A statement: its words, and those in its braces, None where it has none."""

    words: tuple[str, ...]
    line: int
    inner: tuple[Statement, ...] | None = None
    path: str = ""

    @property
    def spot(self) -> str:
        """Its place: file and line."""
        return f"{self.path}:{self.line}"

    @property
    def name(self) -> str:
        """Its first word; of a call that without its parenthesis."""
        return self.words[0].lower().partition("(")[0]


Statements = Sequence[Statement]


def parsed(text: str, where: str) -> tuple[Statement, ...]:
    """Return the statements of a text; raises a usage error with the line where it has none."""
    pieces: list[tuple[str, int]] = []
    line, at = 1, 0
    for match in _TOKEN.finditer(text):
        line += text.count("\n", at, match.start())
        at = match.start()
        if match.group() == '"':
            raise _wrong("a text in quotes without an end", where, line)
        if not match.group().startswith("#"):
            pieces.append((_decimal(match.group()), line))
    pieces.reverse()
    return _statements(pieces, where, 0)


def _decimal(piece: str) -> str:
    """An address without zeros before its numbers, which are decimal to dhcpd."""
    if not _QUAD.fullmatch(piece):
        return piece
    return ".".join(number.lstrip("0") or "0" for number in piece.split("."))


def _statements(pieces: list[tuple[str, int]], where: str, depth: int) -> tuple[Statement, ...]:
    """Read statements up to a closing brace, or to the end of the file at depth 0."""
    if depth > _DEEPEST:
        raise _wrong("braces are too deep", where, pieces[-1][1])
    made: list[Statement] = []
    words: list[str] = []
    begun = 0
    while pieces:
        piece, line = pieces.pop()
        begun = begun if words else line
        if piece == ";":
            if words:
                made.append(Statement(tuple(words), begun, None, where))
            words = []
        elif piece == "{" and words and words[-1] in _VALUE:
            words += ["{", *_value(pieces, where, line)]
        elif piece == "{" and words:
            inner = _statements(pieces, where, depth + 1)
            made.append(Statement(tuple(words), begun, inner, where))
            words = []
        elif piece == "}" and depth and not words:
            return tuple(made)
        elif piece in "{}":
            raise _wrong(f"a {piece} that belongs to no statement", where, line)
        else:
            words.append(piece)
    if words or depth:
        raise _wrong("the file ends within a statement", where, begun)
    return tuple(made)


def _value(pieces: list[tuple[str, int]], where: str, line: int) -> list[str]:
    """Return the words of a value up to its closing brace, with that."""
    words: list[str] = []
    while pieces:
        piece, _ = pieces.pop()
        words.append(piece)
        if piece == "}":
            return words
    raise _wrong("the file ends within a value", where, line)


def _wrong(what: str, where: str, line: int) -> LeaselabError:
    return wrong(f"not a dhcpd.conf: {what}", f"{where}:{line}")


def wrong(what: str, spot: str, found: str = "") -> LeaselabError:
    """Make the usage error for what dhcpd does not take at a place."""
    todo = "have dhcpd itself check the file: dhcpd -t -cf FILE"
    return usage_error(what, where=spot, found=found[:80], todo=todo)


def text_of(statements: Iterable[Statement], indent: str = "") -> str:
    """Return statements as the text of a file."""
    lines = []
    for statement in statements:
        words = " ".join(statement.words)
        if statement.inner is None:
            lines.append(f"{indent}{words};\n")
        else:
            lines.append(
                f"{indent}{words} {{\n{text_of(statement.inner, indent + '  ')}{indent}}}\n"
            )
    return "".join(lines)


def number_of(word: str) -> int | None:
    """The number that a word is; None for another, and for what dhcpd has no number for."""
    is_one = word.isascii() and word.isdecimal() and len(word) <= _MOST_DIGITS
    return int(word) if is_one else None


def bytes_of(word: str) -> bytes | None:
    """The bytes of text in quotes, or of hexadecimal digits with colons; None for none."""
    if len(word) > 1 and word[0] == word[-1] == '"':
        return b"".join(map(_unescaped, _ESCAPE.split(word[1:-1])))
    if not _DIGITS.fullmatch(word):
        return None
    return bytes.fromhex("".join(part.zfill(2) for part in word.split(":")))


def _unescaped(part: str) -> bytes:
    """The bytes of an escape of a text, or of what is between two."""
    if not part.startswith("\\"):
        return part.encode()
    if part[1:2] == "x" and part[2:]:
        return bytes.fromhex(part[2:])
    if part[1].isdecimal() and part[2:]:
        return bytes([int(part[1:], 8)])
    return _CONTROLS.get(part[1], part[1].encode())


def every(statements: Iterable[Statement]) -> Iterator[Statement]:
    """Yield all statements, each before those in its braces."""
    for statement in statements:
        yield statement
        yield from every(statement.inner or ())
