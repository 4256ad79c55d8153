"""The lines of a zone file in full: with those that it includes and generates."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from functools import partial
from itertools import takewhile
from pathlib import Path

from leaselab.catalog.plain_file import check_inside, content_of, text_of
from leaselab.inputs.queries.names import absolute, written
from leaselab.model.errors import LeaselabError, usage_error

_INCLUDE, _GENERATE, _ORIGIN = "$INCLUDE", "$GENERATE", "$ORIGIN"
_RANGE = re.compile(r"(\d{1,10})-(\d{1,10})(?:/(\d{1,10}))?")
_NUMBER = re.compile(r"\\\$|\$\$|\$(?:\{([-+]?\d{1,10})(?:,(\d{1,3})(?:,([doxXnN]))?)?\}|\{)?")
_WORD = re.compile(r'"[^"]*"|[^\s;"]+|\S')
_NAME = re.compile(r'"(?:\\.|[^"\\]++)*+"|(?:\\.|[^\s();"\\]++)++')
_PIECE = re.compile(r'"(?:\\.|[^"\\]++)*+"|\\.|;.*|[()]')
"""What may have a parenthesis that is none, or is one."""
_MOST = 1_000_000
"""Lines that one directive may generate."""
_DEEPEST = 10
MOST_BYTES = 256 << 20
"""Bytes of a zone file at the most: three million records."""


def lines_in_full(
    path: Path,
    origin: str = "",
    around: tuple[Path, ...] = (),
    within: tuple[Path, ...] = (),
) -> Iterator[tuple[int, str]]:
    """Yield the lines of a zone file, each with its number in it, or that of its directive.

    `origin` is the zone's name, empty where it is not known; `around` are the files that
    include this one.  A file that is included is also looked for in the folders above, as a
    copied folder has it; it must lie in a folder of `within`, or in that of the zone's file.
    A record without an owner behind a directive gets the owner before
    it, as servers have it.  Raises OSError, and a usage error for a directive that cannot be
    followed.
    """
    is_behind = False
    with text_of(path, MOST_BYTES) as lines, text_of(path, MOST_BYTES) as again:
        owners = _owners(again, origin)  # read only as far as is asked for
        for number, line in enumerate(lines, 1):
            words = _words(line) if line[:1] == "$" or is_behind else []
            word = words[0].upper() if line[:1] == "$" else ""
            try:
                if word == _GENERATE:
                    yield from ((number, made) for made in _generated(words[1:]))
                elif word == _INCLUDE:
                    files = (*around, path)
                    held = _included(files, words, origin, within or (files[0].parent,))
                    yield from ((number, line) for line in held)
                elif is_behind and words and not word and line[:1].isspace():
                    owner = next(owner for at, owner in owners if at == number)
                    yield number, f"{owner}{line}"
                else:
                    yield number, line
            except (ValueError, LookupError, PermissionError) as error:
                why = getattr(error, "strerror", None) or str(error)
                raise _not_followed(path, number, words, origin, why) from error
            if word == _ORIGIN and len(words) > 1:
                origin = absolute(written(words[1]), origin)
            if words:
                is_behind = word in (_GENERATE, _INCLUDE) or (is_behind and bool(word))


def _owners(lines: Iterable[str], origin: str) -> Iterator[tuple[int, str]]:
    """Yield the number of each line, and the owner of the last record before it, or "".

    It is in full, as the origin may be another there; without an origin, as it is written.
    """
    owner, depth = "", 0
    for number, line in enumerate(lines, 1):
        yield number, owner
        words = _words(line) if line[:1] == "$" else []
        name = None if depth else _NAME.match(line)
        if len(words) > 1 and words[0].upper() == _ORIGIN:
            origin = absolute(written(words[1]), origin)
        elif name and not words:
            owner = absolute(written(name[0]), origin) if origin else name[0]
        pieces = _PIECE.findall(line)
        depth += pieces.count("(") - pieces.count(")")


def _words(line: str) -> list[str]:
    """The words of a directive; what is in quotes is one, with them."""
    return list(takewhile(lambda word: word[0] != ";", _WORD.findall(line)))


def text_in_full(path: Path, origin: str, within: tuple[Path, ...] = ()) -> bytes:
    """Return the text of a zone file in full; as it is where it has no such directive."""
    content = content_of(path, MOST_BYTES)
    if not re.search(rb"^\$(?:INCLUDE|GENERATE)\b", content, re.MULTILINE | re.IGNORECASE):
        return content
    lines = (
        line if line[-1:] == "\n" else f"{line}\n"
        for _, line in lines_in_full(path, origin, within=within)
    )
    return "".join(lines).encode("latin-1")


def _included(
    around: tuple[Path, ...], words: list[str], origin: str, within: tuple[Path, ...]
) -> Iterator[str]:
    """The lines of an included file, between those that give and restore its origin."""
    path = around[-1]
    if len(around) > _DEEPEST:
        raise ValueError(f"more than {_DEEPEST} files in each other")
    name = words[1].strip('"')
    tried = [path.parent / name, *(folder / name.lstrip("/") for folder in path.parents)]
    held = next((file for file in tried if os.path.isfile(file)), None)  # noqa: PTH113  # no error
    if held is None:
        raise ValueError("the file is not here")
    if any(held.samefile(file) for file in around):
        raise ValueError("the file includes itself")
    check_inside(held, within)
    inner = absolute(written(words[2]), origin) if len(words) > 2 else origin
    yield f"{_ORIGIN} {inner}\n" if len(words) > 2 else "\n"
    yield from (line for _, line in lines_in_full(held, inner, around, within))
    yield f"\n{_ORIGIN} {origin}\n" if origin else "\n"


def _generated(words: list[str]) -> Iterator[str]:
    """The records of a directive, each with its number (BIND's `$GENERATE`)."""
    match = _RANGE.fullmatch(words[0])
    first, last, step = (int(part or 1) for part in match.groups()) if match else (1, 0, 1)
    if last < first or not step or (last - first) // step >= _MOST or len(words) < 4:
        raise ValueError(f"not a range of {_MOST} at the most, and a record")
    record = " ".join(words[1:])
    if record.endswith('"'):  # BIND reads the text in quotes as it stands
        begin, _, quoted = record[:-1].partition('"')
        record = begin + quoted
    for number in range(first, last + 1, step):
        yield _NUMBER.sub(partial(_written, number=number), record) + "\n"


def _written(match: re.Match[str], number: int) -> str:
    """What stands for a number: with an offset, a width and a base, or a dollar sign."""
    if match[0] in ("\\$", "$$"):
        return "\\$" if match[0] == "\\$" else "$"
    if match[0] == "${":
        raise ValueError("not ${OFFSET,WIDTH,BASE}")
    value, width, base = number + int(match[1] or 0), int(match[2] or 0), match[3] or "d"
    if base != "d":
        value &= 0xFFFFFFFF  # as BIND does with numbers below 0
    if base not in "nN":
        return format(value, f"0{width}{base}") if width else format(value, base)
    digits = format(value, "x" if base == "n" else "X")[::-1].ljust((width + 1) // 2, "0")
    dot = "." if 2 * len(digits) == width else ""  # of an even width BIND writes a last one
    return ".".join(digits) + dot


def _not_followed(
    path: Path, number: int, words: list[str], origin: str, why: str
) -> LeaselabError:
    return usage_error(
        f"{words[0].upper()} is not read: {why}",
        where=f"{path}:{number}",
        found=" ".join(words)[:80],
        wanted="a zone file",
        todo=f"write it in full: named-compilezone -o FILE {origin or 'ZONE'} {path}",
    )
