"""Tokens of JSON with comments and included files, as Kea's lexers have them.

The tokens are those of all releases together: numbers such as ``.25``, any byte in a comment,
any from 0x20 in a string.  An ``<?include "file"?>`` is followed between two tokens.  What a
file holds may be secret, so errors say the kind of what was read, never its text.
"""

from __future__ import annotations

import os
import re
import unicodedata
from bisect import bisect_right
from collections.abc import Callable, Iterator
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from leaselab.catalog.plain_file import content_of, stdin_of
from leaselab.model.errors import LeaselabError, usage_error

# Possessive, so that the size of a token costs no memory, and what does not end no time.
_TOKEN = re.compile(
    r"""
    (?: [ \t\r\n]++ | \#[^\n]*+ | //[^\n]*+ | /\*(?:[^*]++|\*(?!/))*+\*/ )*+
    (?:
        (?P<string>  "(?: [^"\\\x00-\x1f]++ | \\(?:["\\/bfnrt] | u[0-9A-Fa-f]{4}) )*+" )
      | (?P<mark>    ,[, \t\r\n]*+ | [][{}:] )
      | (?P<number>  [-+]?(?: [0-9]++\.?[0-9]*+ | \.[0-9]++ )(?: [eE][-+]?[0-9]++ )?+ )
      | (?P<word>    [A-Za-z_][A-Za-z0-9_-]*+ )
      | (?P<include> <\?[ \t\r\n]*+include[ \t\r\n]*+"([^"\n]++)"[ \t\r\n]*+\?> )
      | (?P<end>     \Z )
      | (?P<bad>     . )
    )
    """,
    re.VERBOSE | re.DOTALL,
)
_IN_STRING = re.compile(r'(?:[^"\\\x00-\x1f]++|\\(?:["\\/bfnrt]|u[0-9A-Fa-f]{4}))*+')
_QUOTE = re.compile("[\u201c-\u201f\udc84\udc93\udc94]")
"""Typographic quotation marks, also those of Windows in what is no UTF-8."""
_UNFINISHED = {"/": "a comment that does not end, or a single slash", "<": "a directive"}
_LOOK_ALIKE = {"Cc", "Cf", "Pd", "Pe", "Pf", "Pi", "Po", "Ps", "Zl", "Zp", "Zs"}
"""Categories of Unicode with letters that look like nothing, a space, a quote or a sign."""
_NO_NAME = {"\0": "NUL character", "\ufeff": "byte-order mark"}
_INCLUDED = 11
"""Levels of included files: as many as Kea follows."""
_FILES = 10_000
"""Files that are included in all."""
_LARGEST = 64 * 2**20
"""Bytes of a file with all that it includes: 150 000 reservations as a server prints them."""
_TOO_LARGE = "more than 64 MiB in all"


class Spot(NamedTuple):
    """A place in a file; its line is computed when it is read."""

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


class Source:
    """The text of one file."""

    def __init__(self, name: str, folder: Path, text: str) -> None:
        """Keep the text; relative names of included files are looked for in `folder`."""
        self.name, self.folder, self.text = name, folder, text

    @cached_property
    def line_starts(self) -> list[int]:
        """Offsets of the lines."""
        return [0, *(match.end() for match in re.finditer("\n", self.text))]


Token = tuple[str, str, Source, int]
"""Kind (string, number, word, a mark itself, end, ``unread`` for a file that was not read),
text, and where it begins.  Commas that follow each other are one mark."""


class Unread(NamedTuple):
    """A file that is included and was not read."""

    name: str
    """As the directive names it."""
    why: str
    spot: Spot
    """Of the first directive that names it."""


Places = Callable[[str, Path], Path]
"""The path of an included file by its name and the folder of the file that includes it; raises
OSError for one that is not to be read."""


def in_place(name: str, folder: Path) -> Path:
    """Look for files where their names say."""
    return folder / name


def below(root: Path) -> Places:
    """Look for files with absolute names below a folder that stands for the system's root."""
    return lambda name, folder: (
        root / os.path.normpath(name).lstrip("/") if name.startswith("/") else folder / name
    )


class Tokens:
    """The tokens of a file and of those that it includes, one after the other."""

    def __init__(self, path: Path, places: Places = in_place) -> None:
        """Read a file, or standard input for ``-``.  Raises a usage error if it cannot be read.

        Included files are looked for by `places`.
        """
        self.unread: dict[str, Unread] = {}
        self._places, self._left, self._files = places, _LARGEST, 0
        name = "standard input" if str(path) == "-" else plain(str(path))
        try:
            is_stdin = str(path) == "-"
            content = stdin_of(_LARGEST) if is_stdin else content_of(path, _LARGEST)
        except (OSError, ValueError) as error:
            raise usage_error(
                f"cannot be read: {_reason(error)}",
                where=name,
                todo="name a plain file that you may read, or - for standard input",
            ) from error
        self._left -= len(content)
        self.source = Source(name, path.parent, decoded(content))

    def __iter__(self) -> Iterator[Token]:
        """The tokens; the last is of kind end.  Raises a usage error where none begins."""
        yield from self._of(self.source, 0)
        yield "end", "", self.source, len(self.source.text)

    def _of(self, source: Source, depth: int) -> Iterator[Token]:
        next_token = _TOKEN.scanner(source.text).match  # type: ignore[attr-defined]  # not in typeshed
        for match in iter(next_token, None):
            kind = match.lastgroup
            if kind == "mark":
                mark = match["mark"]
                yield mark[0], mark, source, match.start(kind)
            elif kind == "end":
                return
            elif kind == "include":
                spot = Spot(source, match.start(kind))
                yield from self._included(match[6], spot, depth + 1)
            elif kind == "bad":
                raise _no_token(Spot(source, match.start(kind)))
            else:
                yield kind, match[kind], source, match.start(kind)

    def _included(self, name: str, spot: Spot, depth: int) -> Iterator[Token]:
        if depth > _INCLUDED:
            raise usage_error(
                "files include each other too deeply",
                where=str(spot),
                wanted=f"{_INCLUDED} levels at most",
            )
        self._files += 1
        try:
            path = self._places(name, spot.source.folder)
            if self._files > _FILES:
                raise OSError(f"more than {_FILES} files are included")
            content = content_of(path, _LARGEST)
            if len(content) > self._left:
                raise OSError(_TOO_LARGE)
        except (OSError, ValueError) as error:
            self.unread.setdefault(name, Unread(name, _reason(error), spot))
            yield "unread", "", *spot
            return
        self._left -= len(content)
        yield from self._of(Source(plain(name), path.parent, decoded(content)), depth)


def _reason(error: OSError | ValueError) -> str:
    return getattr(error, "strerror", None) or str(error)


def decoded(content: bytes) -> str:
    """The text; bytes that are no UTF-8 are kept, as Kea takes any in comments and strings."""
    return content.decode("utf-8", "surrogateescape")


def octets(text: str) -> bytes:
    """The bytes of a text, which it is to Kea."""
    return text.encode("utf-8", "surrogateescape")


def plain(text: str) -> str:
    """A text of a file, with a question mark for each letter that a terminal might obey."""
    return "".join(letter if letter.isprintable() else "?" for letter in text)


def no_json(spot: Spot, found: str, wanted: str) -> LeaselabError:
    """Make the usage error for a place at which the file is no JSON."""
    return usage_error(
        "not JSON, with or without comments",
        where=str(spot),
        found=found,
        wanted=wanted,
        todo="have the server itself check the file, such as kea-dhcp4 -t FILE",
    )


def _no_token(spot: Spot) -> LeaselabError:
    """Return why no token begins at a place."""
    text, letter = spot.source.text, spot.source.text[spot.offset]
    if text.startswith(("\udcff\udcfe", "\udcfe\udcff")):
        return no_json(spot, "UTF-16", "UTF-8")
    if letter == '"':
        return _no_string(spot)
    name = (
        _UNFINISHED.get(letter)
        or _look_alike(letter)
        or "a character that JSON does not allow here"
    )
    return no_json(spot, name, "JSON, or a comment")


def _no_string(spot: Spot) -> LeaselabError:
    """Return why a quote begins no string, and where."""
    text, begin = spot.source.text, spot.offset + 1
    end = _IN_STRING.match(text, begin).end()  # type: ignore[union-attr]  # matches nothing, too
    letter, at = text[end : end + 1], Spot(spot.source, end)
    if letter == "\\":
        return no_json(
            at, "a string with an escape that JSON does not allow", 'as \\n, \\" or \\u00e9'
        )
    if letter and letter not in "\r\n":
        return no_json(at, f"{_look_alike(letter)} in a string", "an escape, as \\t")
    quote = _QUOTE.search(text, begin, end)
    if quote is not None:
        mark = f"{_look_alike(quote[0])} in a string that does not end"
        return no_json(Spot(spot.source, quote.start()), mark, '"')
    return no_json(spot, "a string that does not end", '" on the same line')


def _as_windows(letter: str) -> str:
    """A letter; a byte that was no UTF-8 as Windows means it, which wrote most of them."""
    if "\udc80" <= letter <= "\udcff":
        return bytes([ord(letter) - 0xDC00]).decode("cp1252", "replace")
    return letter


def _look_alike(letter: str) -> str:
    """Name a letter that is easily taken for another; empty for one that cannot be."""
    letter = _as_windows(letter)
    odd = letter == "'" or letter < " " or letter > "~"
    if not odd or unicodedata.category(letter) not in _LOOK_ALIKE:
        return ""
    name = _NO_NAME.get(letter) or unicodedata.name(letter, "control character").lower()
    return f"{'an' if name[0] in 'aeiou' else 'a'} {name} (U+{ord(letter):04X})"
