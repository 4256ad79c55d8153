"""A user's own file of queries: a name and a type on each line, as dnsperf reads it.

Where all lines have a third word, ``@SECONDS``, it is when the query came.
"""

from __future__ import annotations

import codecs
import hashlib
import math
import re
from collections.abc import Callable, Iterable, Sequence
from itertools import takewhile
from pathlib import Path
from typing import NamedTuple

from leaselab.catalog.plain_file import given_content, unpacking
from leaselab.inputs.queries.names import above, labels_of, name_of, type_of, type_word
from leaselab.model.errors import usage_error

MOST_BYTES = 32 << 20
"""Size of a file of queries at the most: all of it lies in the generator's memory."""
_QUERY = "a name and a type on each line, such as www.example.com AAAA"
_COMMENTS = (";", "#")
_SECONDS = re.compile(r"@[0-9]+(?:\.[0-9]*)?")
_UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_CAPTURES = tuple(
    map(bytes.fromhex, ("d4c3b2a1", "a1b2c3d4", "4d3cb2a1", "a1b23c4d", "0a0d0d0a"))
)
"""How files of pcap and pcapng begin."""


class Queries(NamedTuple):
    """What a file of queries asks."""

    path: Path
    sha256: str
    """Of the file."""
    lines: list[str]
    """Name and type, as every generator reads them."""
    numbers: list[int]
    """In which line of the file each is."""
    times: list[float]
    """When each came (s), in order; empty where the file does not say."""

    @property
    def distinct(self) -> int:
        """How many of them differ."""
        return len(set(self.lines))

    @property
    def text(self) -> bytes:
        """The queries as a file."""
        return "".join(f"{line}\n" for line in self.lines).encode("ascii")

    @property
    def timed_text(self) -> bytes:
        """The same with their times."""
        pairs = zip(self.lines, self.times, strict=True)
        return "".join(f"{line} @{time:.6f}\n" for line, time in pairs).encode("ascii")

    @property
    def length_s(self) -> float:
        """From the first query until another would begin them again: a mean distance more."""
        return (self.times[-1] - self.times[0]) * len(self.times) / (len(self.times) - 1)


def about(lines: Sequence[str], sha256: str) -> dict[str, str | int]:
    r"""What a load says of queries: hash, how many, different ones, those with ``\DDD``."""
    return {
        "sha256": sha256,
        "queries": len(lines),
        "distinct": len(set(lines)),
        "escaped": sum("\\" in line for line in lines),
    }


def read_queries(path: Path) -> Queries:
    """Read a file of queries; a usage error that names the line for what is none."""
    data = given_content(path, MOST_BYTES)
    if data.startswith(_CAPTURES):
        raise usage_error(
            "a capture, and no file of queries",
            where=str(path),
            wanted=_QUERY,
            todo=f"leaselab queries {path} --times -o FILE, then --queries FILE",
        )
    if data.startswith(_UTF_16):
        raise usage_error("text in UTF-16", where=str(path), todo="save it as UTF-8")
    if todo := unpacking(path):
        raise usage_error("a packed file", where=str(path), wanted=_QUERY, todo=todo)
    lines, numbers, times = list[str](), list[int](), list[float]()
    text = data.removeprefix(codecs.BOM_UTF8).decode("latin-1")
    for number, line in enumerate(text.split("\n"), 1):
        words = list(takewhile(lambda word: not word.startswith(_COMMENTS), line.split()))
        if not words:
            continue
        try:
            if words[1:2] == ["UPDATE"]:
                raise ValueError("an update, which scenarios *-updates-* alone send")
            if len(words) == 3 and words[2].startswith("@") and len(times) == len(lines):
                times.append(_time(words.pop(), times))
            elif times:
                raise ValueError("no time, as other lines have")
            lines.append(_query(words))
        except ValueError as error:
            raise usage_error(
                f"not a query: {error}",
                where=f"{path}:{number}",
                found=repr(_shown(line.strip()))[:80],
                wanted=_QUERY,
            ) from error
        numbers.append(number)
    if not lines:
        raise usage_error("no query in it", where=str(path), wanted=_QUERY)
    return Queries(path, hashlib.sha256(data).hexdigest(), lines, numbers, times)


def _shown(line: str) -> str:
    """A line that was read byte by byte, as its author sees it."""
    data = line.encode("latin-1")
    try:
        return data.decode()
    except UnicodeDecodeError:
        return line


def _query(words: list[str]) -> str:
    if [word.upper() for word in words[1:-1]] == ["IN"]:
        del words[1]
    if len(words) != 2:
        raise ValueError(f"{len(words)} words")
    name, word = words
    if word.isdecimal():
        raise ValueError(f"a type by its number is TYPE{word[:5]}")
    return f"{name_of(labels_of(name))} {type_word(type_of(word))}"


def _time(word: str, before: list[float]) -> float:
    time = float(word[1:]) if _SECONDS.fullmatch(word) else math.nan
    if not (before[-1] if before else 0.0) <= time < math.inf:
        raise ValueError("its time is before that of the line before, or none")
    return time


def check_inside(queries: Queries, served: Callable[[frozenset[str]], Iterable[str]]) -> None:
    """Refuse queries for names outside the zones that a server has.

    `served` returns which of some names are zones of it.  The usage error says how many lines
    there are, and which is the first.
    """
    names = {line.split()[0] for line in queries.lines}
    zones = frozenset(served(frozenset(each for name in names for each in above(name))))
    outside = {name for name in names if zones.isdisjoint(above(name))}
    if not outside:
        return
    places = [place for place, line in enumerate(queries.lines) if line.split()[0] in outside]
    raise usage_error(
        "the server has no zone for names of the queries",
        where=f"{queries.path}:{queries.numbers[places[0]]}",
        found=f"{queries.lines[places[0]]}; {len(places)} of {len(queries.lines)} queries are "
        "outside its zones",
        wanted="names in its zones",
        todo="bring the zones along (--zone FILE), or leave these queries out",
    )
