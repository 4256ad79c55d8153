"""Figures and lengths of time as words, and lists as lines of text.

Plain formatting, not a table of rich: a list of 100 000 results has to come at
once, in a pipe as on a terminal.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from leaselab.model.server import server_name
from leaselab.model.source import SHORT
from leaselab.report.markup import printable

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from leaselab.model.source import Commit

_NONE = "-"
_RATE = "/s"
"""How the unit of a rate ends."""


def listing(rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """One line a result, below a line of headings; rows are the index's.

    The id tells time and scenario, so they have no columns of their own.  Figures of several
    kinds have their units with them.
    """
    if not rows:
        yield "no results"
        return
    kinds = {(row["metric"], row["unit"]) for row in rows if row["metric"]}
    alike = len(kinds) == 1
    title = heading(*kinds.pop()) if alike else "figure"
    figures = [number(row["value"], row["unit"]) for row in rows]
    if not alike:
        figures = [
            text if row["value"] is None else f"{text} {row['unit']}"
            for text, row in zip(figures, rows, strict=True)
        ]
    width = max(len(row["id"]) for row in rows)
    wide = max(len(title), *map(len, figures))
    yield f"{'id':{width}}  {'outcome':12}  {title:>{wide}}  {'durability':10}  server"
    for row, figure in zip(rows, figures, strict=True):
        yield (
            f"{row['id']:{width}}  {row['outcome']:12}  {figure:>{wide}}  "
            f"{row['durability'] or _NONE:10}  {server_name(row)}"
        )


def commit_lines(commits: Sequence[Commit]) -> Iterator[str]:
    """One line a commit: short hash, day, subject."""
    for commit in commits:
        changed = " (with uncommitted changes)" if commit.dirty else ""
        day = commit.author_date[:10]
        yield f"{commit.hash[:SHORT]}  {day}  {printable(commit.subject)}{changed}"


def number(value: float | None, unit: str | None = None, like: float | None = None) -> str:
    """A figure as people read it: rates are whole, others have three digits or more.

    It has the decimals of `like`, such as the figure whose interval it is an end of.
    """
    if value is None:
        return _NONE
    size = abs(value if like is None else like)
    digits = 0 if unit and unit.endswith(_RATE) else 1
    if 0 < size < 10:
        digits = 2 - math.floor(math.log10(size))
    return f"{value:.{digits}f}"


def heading(metric: str, unit: str) -> str:
    """Heading of a column of figures, by name or title of the metric: ``max rate/s``."""
    words = metric.replace("_", " ")
    return f"{words}{_RATE}" if unit.endswith(_RATE) else f"{words} ({unit})"


def short(unit: str) -> str:
    """A unit behind its figure where space is short: that of a rate is ``/s`` alone."""
    return _RATE if unit.endswith(_RATE) else f" {unit}"


def span(seconds: float) -> str:
    """A length of time in words: ``6 min 41 s``, ``40 s``."""
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"
