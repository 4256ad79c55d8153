"""Sanitizing of untrusted texts for display: they are shown and have no effect."""

from __future__ import annotations

import json
import re
from unicodedata import category

_SPACE = "Zs"
"""Unicode's category of spaces, such as one that does not break."""
_FORMULA = re.compile(r"[=+\-@\uff1d\uff0b\uff0d\uff20]")
"""First characters of a cell that spreadsheets take as a formula, in either width."""
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)


def printable(text: str) -> str:
    """Return a text in one line, without control and bidirectional characters."""
    return text if text.isprintable() else "".join(map(_printable, text))


def _printable(letter: str) -> str:
    if letter.isprintable():
        return letter
    return " " if category(letter) == _SPACE else "\N{REPLACEMENT CHARACTER}"


def printable_lines(text: str) -> str:
    """Return the same for a text of several lines, which may have tabs."""
    if text.isprintable():
        return text
    return "".join(letter if letter in "\n\t" else _printable(letter) for letter in text)


def escaped_json(document: str) -> str:
    """Return a JSON document of the same values with only printable letters and line feeds."""
    if document.isprintable():
        return document
    return "".join(
        letter if letter.isprintable() or letter == "\n" else json.dumps(letter)[1:-1]
        for letter in document
    )


def bounded(text: str, letters: int) -> str:
    """Return a text in one line, cut to a number of characters with an ellipsis."""
    return printable(text if len(text) <= letters else f"{text[: letters - 1]}…")


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
