"""Reads JSON with comments, included files and commas too many, as Kea's servers do.

A reader of our own, because no library fits: an ``<?include "file"?>`` may stand for a value,
for some members of an object or for some elements of a list, so it has to be followed between
two tokens; readers of JSON with comments know neither that nor comments that begin with ``#``,
and most of them forget on which line a value stood.

What a file holds may be secret.  So errors say the kind of what was found, never its text.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from leaselab.model.errors import LeaselabError, usage_error

if TYPE_CHECKING:
    from collections.abc import Iterator

_TOKEN = re.compile(
    r"""
    (?P<blank>   (?: [ \t\r\n]+ | \#[^\n]* | //[^\n]* | /\*.*?\*/ )+ )
  | (?P<string>  "(?:[^"\\\x00-\x1f] | \\(?:["\\/bfnrt] | u[0-9A-Fa-f]{4}))*" )
  | (?P<number>  -?[0-9]+(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)? )
  | (?P<word>    [A-Za-z_][A-Za-z0-9_-]* )
  | (?P<mark>    [][{}:,] )
  | (?P<include> <\?[ \t\r\n]*include[ \t\r\n]*"(?P<file>[^"\n]+)"[ \t\r\n]*\?> )
    """,
    re.VERBOSE | re.DOTALL,
)
_WORDS = {"true": True, "false": False, "null": None}
_KINDS = {"string": "a string", "number": "a number", "word": "a word", "include": "an include"}
_UNFINISHED = {
    '"': "a string that does not end, or holds a letter or an escape that JSON has not",
    "/": "a comment that does not end, or a single stroke",
    "<": "a directive",
}
_DEEPEST = 100
"""Levels of objects and lists; a configuration has about ten."""
_INCLUDED = 10
"""Levels of included files: as many as Kea follows."""


class Spot(NamedTuple):
    """A place in a file; its line is computed when somebody asks."""

    source: Source
    offset: int

    @property
    def line(self) -> int:
        """Line, from 1."""
        return bisect_right(self.source.line_starts, self.offset)

    @property
    def column(self) -> int:
        """Column, from 1."""
        return self.offset - self.source.line_starts[self.line - 1] + 1

    def __str__(self) -> str:
        """``file:line:column``."""
        return f"{self.source.name}:{self.line}:{self.column}"


class Object(dict[str, Any]):
    """A JSON object that knows where its members stand."""

    def __init__(self) -> None:
        """Begin an empty one."""
        super().__init__()
        self.spots: dict[str, Spot] = {}


class Array(list[Any]):
    """A JSON array that knows where its elements stand."""

    def __init__(self) -> None:
        """Begin an empty one."""
        super().__init__()
        self.spots: list[Spot] = []


@dataclass(frozen=True, slots=True)
class Document:
    """What a file says."""

    top: Object
    """Its object.  Members and elements of included files that cannot be read are missing."""
    unread: tuple[str, ...]
    """Those files, as the directives name them."""


@dataclass(eq=False, slots=True)
class Source:
    """The text of one file."""

    name: str
    """As it was named."""
    folder: Path
    """In which relative names of included files are looked for."""
    text: str
    line_starts: list[int] = field(init=False)

    def __post_init__(self) -> None:
        """Find the lines."""
        self.line_starts = [0, *(match.end() for match in re.finditer("\n", self.text))]


class _Token(NamedTuple):
    kind: str
    """string, number, word, a mark itself, ``unread`` for an include that is not there, end."""
    text: str
    spot: Spot


def read_commented_json(path: Path) -> Document:
    """Read a file whose content is one JSON object.

    Comments begin with ``#`` or ``//`` or stand in ``/* */``; a comma may follow the last
    member or element; of two members of one name the last counts.  Names of included files
    are those of the system, relative ones are looked for beside the file that includes them.
    Raises a usage error with line and column for a file that cannot be read or is no such JSON.
    """
    return _Parser(_source(str(path), path)).document()


def _source(name: str, path: Path) -> Source:
    try:
        content = path.read_bytes()
    except OSError as error:
        raise usage_error(
            f"cannot be read: {error.strerror or error}",
            where=name,
            todo="name a file that exists and that you may read",
        ) from error
    try:
        return Source(name, path.parent, content.decode())
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise usage_error(
            "not text", where=f"{name}:{line}", found="bytes that are no UTF-8", wanted="UTF-8"
        ) from error


class _Parser:
    """Reads one document; holds the tokens that are left and what could not be included."""

    def __init__(self, source: Source) -> None:
        self._unread: list[str] = []
        self._tokens = self._read_tokens(source, 0)
        self._token = _Token("end", "", Spot(source, 0))
        self._advance()

    def document(self) -> Document:
        if self._token.kind != "{":
            raise self._unexpected("an object: {")
        top = self._object(1)
        if self._token.kind != "end":
            raise self._unexpected("the end of the file")
        return Document(top, tuple(dict.fromkeys(self._unread)))

    def _advance(self) -> _Token:
        """Return the token, and take the next."""
        token = self._token
        self._token = next(self._tokens, token)
        return token

    def _object(self, depth: int) -> Object:
        found = Object()
        self._advance()
        while not self._closed("}"):
            key = self._advance()
            if key.kind == "unread":
                continue
            if key.kind != "string":
                raise self._unexpected('the name of a member in ", or }', key)
            if self._token.kind != ":":
                raise self._unexpected("a colon")
            self._advance()
            if self._token.kind == "unread":
                self._advance()
            else:
                name = _text(key.text)
                found[name] = self._value(depth)
                found.spots[name] = key.spot
            self._after_one("}")
        return found

    def _array(self, depth: int) -> Array:
        found = Array()
        self._advance()
        while not self._closed("]"):
            spot = self._token.spot
            if self._token.kind == "unread":
                self._advance()
                continue
            found.append(self._value(depth))
            found.spots.append(spot)
            self._after_one("]")
        return found

    def _closed(self, mark: str) -> bool:
        """Whether the object or list ends here; its mark is taken then, as are lone commas.

        A comma is alone where an included file before it could not be read.
        """
        while self._token.kind == ",":
            if not self._unread:
                raise self._unexpected(f"a value or {mark}")
            self._advance()
        if self._token.kind == mark:
            self._advance()
            return True
        return False

    def _after_one(self, mark: str) -> None:
        """Take the comma between two; one before the end is too many, which Kea takes, too."""
        if self._token.kind == ",":
            self._advance()
        elif self._token.kind not in (mark, "unread"):
            raise self._unexpected(f"a comma or {mark}")

    def _value(self, depth: int) -> Any:  # noqa: ANN401  # whatever the file holds
        token = self._token
        if token.kind in "{[" and depth >= _DEEPEST:
            raise usage_error(
                "nested too deeply", where=str(token.spot), wanted=f"{_DEEPEST} levels at most"
            )
        if token.kind == "{":
            return self._object(depth + 1)
        if token.kind == "[":
            return self._array(depth + 1)
        if token.kind == "word" and token.text in _WORDS:
            self._advance()
            return _WORDS[token.text]
        if token.kind not in ("string", "number"):
            raise self._unexpected("a value")
        try:
            value = _text(token.text) if token.kind == "string" else _number(token.text)
        except ValueError as error:
            raise usage_error("a number of too many digits", where=str(token.spot)) from error
        self._advance()
        return value

    def _unexpected(self, wanted: str, token: _Token | None = None) -> LeaselabError:
        token = token or self._token
        found = _KINDS.get(token.kind, repr(token.kind))
        if token.kind == "end":
            found = "the end of the file"
        elif token.kind == "unread":
            found = "an included file that cannot be read"
        return _no_json(token.spot, found, wanted)

    def _read_tokens(self, source: Source, depth: int) -> Iterator[_Token]:
        """The tokens of a file and of those that it includes."""
        offset, text = 0, source.text
        while offset < len(text):
            match, spot = _TOKEN.match(text, offset), Spot(source, offset)
            if match is None:
                found = _UNFINISHED.get(text[offset], "a letter that JSON has not")
                raise _no_json(spot, found, "JSON, or a comment")
            offset, kind = match.end(), str(match.lastgroup)
            if match["include"] is not None:
                yield from self._included(match["file"], spot, depth + 1)
            elif kind != "blank":
                yield _Token(match[0] if kind == "mark" else kind, match[0], spot)
        if not depth:
            yield _Token("end", "", Spot(source, len(text)))

    def _included(self, name: str, spot: Spot, depth: int) -> Iterator[_Token]:
        if depth > _INCLUDED:
            raise usage_error(
                "files include each other too deeply",
                where=str(spot),
                wanted=f"{_INCLUDED} levels at most",
            )
        try:
            source = _source(name, spot.source.folder / name)
        except LeaselabError:
            self._unread.append(name)
            yield _Token("unread", "", spot)
            return
        yield from self._read_tokens(source, depth)


def _text(quoted: str) -> str:
    return str(json.loads(quoted)) if "\\" in quoted else quoted[1:-1]


def _number(text: str) -> int | float:
    return float(text) if re.search("[.eE]", text) else int(text)


def _no_json(spot: Spot, found: str, wanted: str) -> LeaselabError:
    return usage_error(
        "not JSON, with or without comments",
        where=str(spot),
        found=found,
        wanted=wanted,
        todo="have the server itself check the file",
    )
