"""Reads JSON with comments, included files and commas too many, as Kea's servers do.

A reader of our own, because no library fits: an ``<?include "file"?>`` may stand for a value,
for some members of an object or for some elements of a list, so it has to be followed between
two tokens; readers of JSON with comments know neither that nor comments that begin with ``#``,
and most of them forget on which line a value stood.
"""

from __future__ import annotations

import json
import math
import re
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

from leaselab.inputs.json_tokens import Places, Source, Spot, Tokens, Unread, in_place, no_json
from leaselab.model.errors import LeaselabError, usage_error

_ESCAPE = re.compile(r"\\(?:(u(?!00))|u00(?=[89A-Fa-f])|.)")
"""An escape of a string; one of a character that Kea refuses is a group."""
_WORDS = {"true": True, "false": False, "null": None}
_KINDS = {
    "string": "a string",
    "number": "a number",
    "word": "a word",
    "end": "the end of the file",
    "unread": "an included file that cannot be read",
}
_ANY = frozenset({"user-context", "parameters"})
"""Members whose objects may have any members, of two of one name the last: as Kea has them."""
_DEEPEST = 100
"""Levels of objects and lists; a configuration has about ten."""
_MOST = 2_000_000
"""Values: those of some 150 000 reservations as a server prints them."""


class Object(dict[str, Any]):
    """A JSON object that knows where the values of its members stand."""

    __slots__ = ("spots", "unread")

    def __init__(self) -> None:
        """Begin an empty one."""
        super().__init__()
        self.spots: dict[str, Spot] = {}
        self.unread: frozenset[str] = frozenset()
        """Names whose value is in a file that was not read; "" if there may be any more."""


class Array(list[Any]):
    """A JSON array that knows where its elements stand."""

    __slots__ = ("spots",)

    def __init__(self, elements: Iterable[Any] = ()) -> None:
        """Begin with elements whose places are not known."""
        super().__init__(elements)
        self.spots: list[Spot] = []


class Document(NamedTuple):
    """What a file says."""

    top: Any
    """Its value, of any type.  Members and elements of files that were not read are missing."""
    spot: Spot
    """Where it stands."""
    unread: tuple[Unread, ...]


def read_commented_json(path: Path, places: Places = in_place) -> Document:
    """Read a file whose content is one JSON value; ``-`` is standard input.

    Comments begin with ``#`` or ``//`` or stand in ``/* */``; any number of commas may follow
    a member or element.  Included files are looked for by `places`.  Only plain files are read,
    64 MiB in all.  Raises a usage error with line and column for a file that cannot be read or
    is no such JSON, and for a member that comes twice, as Kea does.
    """
    return _Parser(Tokens(path, places)).document()


def as_document(value: Any, name: str) -> Document:  # noqa: ANN401  # any JSON value
    """Make a document of a plain value; all of it stands at the beginning of `name`."""
    spot = Spot(Source(name, Path(), ""), 0)
    return Document(_placed(value, spot), spot, ())


def _placed(value: Any, spot: Spot) -> Any:  # noqa: ANN401  # as above
    if isinstance(value, dict):
        placed = Object()
        placed.update({key: _placed(inner, spot) for key, inner in value.items()})
        placed.spots = dict.fromkeys(value, spot)
        return placed
    if isinstance(value, list):
        elements = Array(_placed(inner, spot) for inner in value)
        elements.spots = [spot] * len(value)
        return elements
    return value


class _Parser:
    """Reads one document; holds the next token and what could not be included."""

    def __init__(self, tokens: Tokens) -> None:
        self._unread, self._tokens = tokens.unread, iter(tokens)
        self._left = _MOST
        self._any = 0
        self._advance()

    def document(self) -> Document:
        spot = self._spot()
        top = self._value(0)
        if self._kind != "end":
            raise self._unexpected("the end of the file")
        return Document(top, spot, tuple(self._unread.values()))

    def _advance(self) -> None:
        self._token = next(self._tokens)
        self._kind = self._token[0]

    def _spot(self) -> Spot:
        return Spot(self._token[2], self._token[3])

    def _object(self, depth: int) -> Object:
        read = Object()
        self._advance()
        while not self._closed("}"):
            if self._kind == "unread":
                read.unread |= {""}
                self._advance()
                continue
            if self._kind != "string":
                raise self._unexpected('the name of a member in ", or }')
            name = sys.intern(self._string())  # there are few, each many times
            if name in read.spots and not self._any:
                raise usage_error(
                    "a member that comes twice in its object",
                    where=str(self._spot()),
                    found=name,
                    wanted=f"each once; the first is at {read.spots[name]}",
                )
            self._advance()
            if self._kind != ":":
                raise self._unexpected("a colon")
            self._advance()
            if self._kind == "unread":
                read.unread |= {name}
                self._advance()
            else:
                read.spots[name] = self._spot()
                self._any += name in _ANY
                read[name] = self._value(depth)
                self._any -= name in _ANY
            self._after_one("}")
        return read

    def _array(self, depth: int) -> Array:
        read = Array()
        self._advance()
        while not self._closed("]"):
            if self._kind == "unread":
                self._advance()
                continue
            read.spots.append(self._spot())
            read.append(self._value(depth))
            self._after_one("]")
        return read

    def _closed(self, mark: str) -> bool:
        """Whether the object or list ends here; its mark is taken then, as are lone commas.

        Commas are alone where an included file before them could not be read.
        """
        if self._kind == "," and self._unread:
            self._after_one(mark)
        if self._kind == ",":
            raise self._unexpected(f"a value or {mark}")
        if self._kind != mark:
            return False
        self._advance()
        return True

    def _after_one(self, mark: str) -> None:
        """Take the comma after a member or element, and any more, as Kea does."""
        if self._kind not in (",", mark, "unread"):
            raise self._unexpected(f"a comma or {mark}")
        while self._kind == ",":
            self._advance()

    def _value(self, depth: int) -> Any:  # noqa: ANN401  # any JSON value
        kind, text = self._token[:2]
        self._left -= 1
        if not self._left:
            raise self._too_much("too large", f"{_MOST} values")
        if kind in "{[":
            if depth >= _DEEPEST:
                raise self._too_much("nested too deeply", f"{_DEEPEST} levels")
            return self._object(depth + 1) if kind == "{" else self._array(depth + 1)
        if kind == "string":
            value: Any = self._string()
        elif kind == "number":
            value = _number(text)
            if value is None:
                raise usage_error(
                    "a number that is too large",
                    where=str(self._spot()),
                    wanted="one of 64 bits",
                )
        elif kind == "word" and text in _WORDS:
            value = _WORDS[text]
        else:
            raise self._unexpected("a value" if depth else "an object: {")
        self._advance()
        return value

    def _string(self) -> str:
        quoted = self._token[1]
        if "\\" not in quoted:
            return quoted[1:-1]
        if any(match[1] for match in _ESCAPE.finditer(quoted)):
            found = "an escape of a character beyond \\u00ff"
            raise no_json(self._spot(), found, "the character itself, in UTF-8")
        # Those of \\u0080 to \\u00ff are a byte each to Kea.
        return str(
            json.loads(_ESCAPE.sub(lambda escape: escape[0].replace("u00", "udc"), quoted))
        )

    def _too_much(self, what: str, wanted: str) -> LeaselabError:
        return usage_error(what, where=str(self._spot()), wanted=f"{wanted} at most")

    def _unexpected(self, wanted: str) -> LeaselabError:
        return no_json(self._spot(), _KINDS.get(self._kind, repr(self._kind)), wanted)


def _number(text: str) -> int | float | None:
    """The number; None where Kea has no room for it."""
    if not text.lstrip("+-").isdigit():
        real = float(text)
        return real if math.isfinite(real) else None
    digits = text.lstrip("+-").lstrip("0") or "0"
    number = int(digits) * (-1 if text[0] == "-" else 1) if len(digits) < 20 else 2**63
    return number if -(2**63) <= number < 2**63 else None
