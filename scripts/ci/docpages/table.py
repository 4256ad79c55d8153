"""Tables of Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table with its last newline; cells are taken as Markdown, on one line each."""
    lines = [headings, ["---"] * len(headings), *rows]
    return "".join("|" + "|".join(map(_cell, line)) + "|\n" for line in lines)


def _cell(text: str) -> str:
    """One cell: no line break, and no end of the cell in its text."""
    text = " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;")
    return text if text == "---" else f" {text} "
