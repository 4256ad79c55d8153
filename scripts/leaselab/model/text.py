"""Sanitizing of untrusted texts for display: they are shown and have no effect."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from unicodedata import category

_SPACE = "Zs"
"""Unicode's category of spaces, such as one that does not break."""
_FORMULA = re.compile(r"[=+\-@\uff1d\uff0b\uff0d\uff20]")
"""First characters of a cell that spreadsheets take as a formula, in either width."""
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)


def printable(text: str) -> str:
    """Return a text in one line, without control and bidirectional characters."""
    return _replaced(text, _printable)


def printable_lines(text: str) -> str:
    """Return the same for a text of several lines, which may have tabs."""
    return _replaced(text, _printable, "\n\t")


def escaped_json(document: str) -> str:
    """Return a JSON document of the same values with only printable letters and line feeds."""
    return _replaced(document, lambda letter: json.dumps(letter)[1:-1], "\n")


def _replaced(text: str, instead: Callable[[str], str], kept: str = "") -> str:
    """Return a text without letters that are not printable; pages have megabytes of it."""
    if text.isprintable():
        return text
    odd = [letter for letter in {*text} - {*kept} if not letter.isprintable()]
    return text.translate({ord(letter): instead(letter) for letter in odd}) if odd else text


def _printable(letter: str) -> str:
    return " " if category(letter) == _SPACE else "\N{REPLACEMENT CHARACTER}"


def bounded(text: str, letters: int) -> str:
    """Return a text in one line, cut to a number of characters with an ellipsis."""
    return printable(text if len(text) <= letters else f"{text[: letters - 1]}…")


def some_of(names: Sequence[str], most: int) -> str:
    """List names in one line, the first `most` of them, and how many more there are."""
    more = len(names) - most
    return ", ".join(names[:most]) + (f" and {more} more" if more > 0 else "")


def last_line(text: str) -> str:
    """Return the last line of a program's output, which has its reason."""
    return (text.strip().splitlines() or ["no reason given"])[-1]


def cell(text: str) -> str:
    """Return a text as a cell of a table that no spreadsheet takes as a formula.

    A text that begins as a formula gets an apostrophe before it; numbers are unchanged.
    """
    shown = printable(text)
    begins = shown.lstrip()
    return f"'{shown}" if _FORMULA.match(begins) and not _NUMBER.fullmatch(begins) else shown


class Control(str):
    """A text of Leaselab with terminal control codes."""

    __slots__ = ()


CLEAR = Control("\r\x1b[K")
"""Clears the present line of a screen."""
