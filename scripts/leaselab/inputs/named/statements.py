"""The statements of a named.conf, as named reads them, and their text again."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple, TypeAlias

from leaselab.model.errors import LeaselabError, usage_error

_TOKEN = re.compile(
    r'/\*(?:.*?\*/|.*)|(?:#|//)[^\n]*|"[^"\\]*+(?:\\.[^"\\]*+)*+"?|[{};]|'
    r'(?:[^\s{};"#/]++|/(?![/*]))++|\S',
    re.DOTALL,
)
_DEEPEST = 50
_OPEN = re.compile(r'/\*(?!.*\*/)|"[^"\\]*+(?:\\.[^"\\]*+)*+\Z', re.DOTALL)
"""A comment or a text without an end, as the expression above has it."""
_ENDS_WITH_BRACES = {
    *("acl", "controls", "http", "key", "logging", "options", "server", "tls", "view", "zone"),
    *("statistics-channels", "listen-on", "listen-on-v6", "allow-query", "allow-query-on"),
    *("blackhole", "sortlist", "match-clients", "match-destinations", "trust-anchors"),
    *("managed-keys", "trusted-keys"),
}
"""Statements of which nothing follows their braces: they are read here, or left out."""


Word: TypeAlias = "str | tuple[Statement, ...]"
"""A word, or what is in braces."""


class Statement(NamedTuple):
    """Words and, in braces, tuples of statements, up to a semicolon."""

    words: tuple[Word, ...]
    spot: str

    @property
    def name(self) -> str:
        """Its first word, empty where it begins with braces."""
        first = self.words[0]
        return first.lower() if isinstance(first, str) else ""

    @property
    def value(self) -> str:
        """Its second word without quotes, empty where there is none."""
        return plain(self.words[1]) if len(self.words) > 1 else ""

    @property
    def inner(self) -> tuple[Statement, ...] | None:
        """The statements in its first braces, None without."""
        return next((word for word in self.words if isinstance(word, tuple)), None)

    def having(self, inner: Iterable[Statement]) -> Statement:
        """The same with others in its first braces."""
        at = next(at for at, word in enumerate(self.words) if isinstance(word, tuple))
        return self._replace(words=(*self.words[:at], tuple(inner), *self.words[at + 1 :]))

    def check_single(self) -> None:
        """Raise a usage error where it has more than a name and a value."""
        if len(self.words) > 2:
            raise _unended(self.words[2], self.spot)


def plain(word: Word) -> str:
    """A word without its quotes, empty for braces."""
    return word.strip('"') if isinstance(word, str) else ""


def parsed(text: str, path: str) -> tuple[Statement, ...]:
    """Return the statements of a text; raises a usage error with the line where it has none."""
    pieces: list[tuple[str, str]] = []
    line, at = 1, 0
    for match in _TOKEN.finditer(text):
        line += text.count("\n", at, match.start())
        at = match.start()
        if _OPEN.match(match.group()):
            what = "comment" if match.group()[0] == "/" else "text in quotes"
            raise _wrong(f"a {what} without an end", f"{path}:{line}")
        if not match.group().startswith(("#", "//", "/*")):
            pieces.append((match.group(), f"{path}:{line}"))
    pieces.reverse()
    return _statements(pieces, f"{path}:{line}", 0)


def _statements(pieces: list[tuple[str, str]], last: str, depth: int) -> tuple[Statement, ...]:
    """Read statements up to a closing brace, or to the end of the file at depth 0."""
    made: list[Statement] = []
    words: list[Word] = []
    begun = last
    while pieces:
        piece, spot = pieces.pop()
        begun = begun if words else spot
        if depth > _DEEPEST:
            raise _wrong("braces are too deep", spot)
        if piece == ";" and words:
            made.append(Statement(tuple(words), begun))
            words = []
        elif piece not in ("{", "}", ";") and _is_ended(words):
            raise _unended(piece, spot)
        elif piece == "{":
            words.append(_statements(pieces, spot, depth + 1))
        elif piece == "}" and depth and not words:
            return tuple(made)
        elif piece == "}" and words:
            raise _unended(piece, spot)
        elif piece in (";", "}"):
            raise _wrong(f"a {piece} that belongs to no statement", spot)
        else:
            words.append(piece)
    if words or depth:
        raise _wrong("the file ends within a statement", begun)
    return tuple(made)


def _is_ended(words: Sequence[Word]) -> bool:
    """Whether words are a statement to which no other belongs."""
    if not words or not isinstance(words[-1], tuple) or not isinstance(words[0], str):
        return False
    # In the list of catalog zones more follows the hosts of each.
    is_listed = any(isinstance(word, str) and word[:8] == "default-" for word in words)
    return words[0].lower() in _ENDS_WITH_BRACES and not is_listed


def _unended(word: Word, spot: str) -> LeaselabError:
    shown = plain(word)[:40] or "{"
    return _wrong(f"a ; is missing before {' '.join(shown.split())}", spot)


def _wrong(what: str, spot: str) -> LeaselabError:
    return usage_error(
        f"not a named.conf: {what}",
        where=spot,
        todo="have named-checkconf itself check the file",
    )


def every(statements: Sequence[Statement]) -> Iterator[Statement]:
    """Yield statements, the last first, and those in their braces."""
    for one in reversed(statements):
        yield one
        for word in one.words:
            if isinstance(word, tuple):
                yield from every(word)


def text_of(statements: Iterable[Statement], indent: str = "") -> str:
    """Return statements as the text of a file."""
    lines = []
    for statement in statements:
        words = [
            word if isinstance(word, str) else f"{{\n{text_of(word, indent + '  ')}{indent}}}"
            for word in statement.words
        ]
        lines.append(f"{indent}{' '.join(words)};\n")
    return "".join(lines)
