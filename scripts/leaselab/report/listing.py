"""Formatting of figures, times and untrusted texts, and tables as lines of text.

Plain formatting, not a table of rich: a list of 100 000 results has to be printed without
delay, in a pipe as on a terminal.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from leaselab.model.errors import BELIEVED
from leaselab.model.server import server_name
from leaselab.model.source import SHORT, Commit
from leaselab.model.text import printable
from leaselab.report.units import rows_in_shown_units

_NONE = "-"
_RATE = "/s"
"""How the unit of a rate ends."""
_COUNTED = re.compile(r"[a-z]{2}s\Z")
"""A unit that is the plural of what is counted, and no unit of time."""
_SPECIAL = re.compile(r"([\\`*_{}\[\]<>|&@~#!]|:(?=//)|(?<=www)\.)", re.IGNORECASE)
"""Characters that Markdown or a code host's dialect interprets, also in bare addresses."""


SPARE = ("durability", "server", "commit")
"""Columns of a list that a narrow terminal may lack."""


def listing(rows: Sequence[Mapping[str, Any]]) -> tuple[list[str], list[list[str]]]:
    """Headings and cells of results; rows are the index's.

    The id contains time and scenario, so they have no separate columns.  Figures of several
    kinds are shown with their units; a result that is not to be believed has its outcome there.
    """
    rows = rows_in_shown_units(rows)
    kind = common_kind(rows)
    title = heading(*kind) if kind else "figure"
    return ["id", "procedure", *SPARE, title], [
        [
            row["id"],
            row["procedure"] or _NONE,
            row["durability"] or _NONE,
            server_name({**row, "commit": None}),
            (row["commit"] or "")[:SHORT],
            _listed(row, "" if kind else f" {row['unit']}"),
        ]
        for row in rows
    ]


def _listed(row: Mapping[str, Any], unit: str) -> str:
    if row["outcome"] not in BELIEVED:
        return str(row["outcome"])
    return number(row["value"], row["unit"]) + unit * (row["value"] is not None)


def common_kind(rows: Iterable[Mapping[str, Any]]) -> tuple[str, str] | None:
    """Words and unit of the figures of rows of the index; None where units are several."""
    kinds = {(row["metric"].replace("_", " "), row["unit"]) for row in rows if row["metric"]}
    if len({unit for _, unit in kinds}) != 1:
        return None
    return kinds.pop() if len(kinds) == 1 else ("figure", kinds.pop()[1])


def aligned(
    headings: Sequence[str], body: Iterable[Sequence[str]], names: int
) -> Iterator[str]:
    """Lines of a table; its first `names` columns are words, the others figures."""
    rows = [[printable(text) for text in row] for row in (headings, *body)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = [
            text.ljust(width) if number < names else text.rjust(width)
            for number, (text, width) in enumerate(zip(row, widths, strict=True))
        ]
        yield "  ".join(cells).rstrip() + "\n"


def markdown_table(
    headings: Sequence[str], body: Iterable[Sequence[str]], names: int
) -> Iterator[str]:
    """Lines of the same table in Markdown, with nothing in it taken for markup."""
    yield f"| {' | '.join(map(escaped, headings))} |\n"
    yield "|" + "".join("---|" if n < names else "---:|" for n in range(len(headings))) + "\n"
    for row in body:
        yield f"| {' | '.join(map(escaped, row))} |\n"


def commit_lines(commits: Sequence[Commit]) -> Iterator[str]:
    """One line a commit: short hash and tag, day, subject."""
    width = max((len(commit.name) for commit in commits), default=0)
    for commit in commits:
        changed = " (with uncommitted changes)" if commit.dirty else ""
        name = printable(commit.name).ljust(width)
        yield f"{name}  {commit.day}  {printable(commit.subject)}{changed}"


def number(value: float | None, unit: str | None = None, like: float | None = None) -> str:
    """A figure for display: rates are whole, counts where they are, others have three digits.

    It has the decimals of `like`, such as the figure whose interval it is an end of.
    """
    if value is None:
        return _NONE
    size = abs(value if like is None else like)
    if unit and _COUNTED.search(unit) and size.is_integer() and float(value).is_integer():
        return f"{value:.0f}"
    digits = 0 if unit and unit.endswith(_RATE) else 1
    if 0 < size < 10:
        digits = 2 - math.floor(math.log10(size))
    return f"{value:.{digits}f}"


def amount(value: float) -> str:
    """A count, or a time of a function: whole from 1000 on, in groups of three digits."""
    text = f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.2f}"
    return text.replace(",", " ")


def signed_amount(value: float) -> str:
    """The same with its sign, as far as it has one: what is shown as 0 has none."""
    text = amount(abs(value))
    return f"{'+' if value > 0 else '-'}{text}" if text.strip("0.") else text


def measured(value: float | None, unit: str, half_width: float | None) -> str:
    """A figure with half of its interval, where it has one: ``7301 ± 12``."""
    text = number(value, unit)
    return text if half_width is None else f"{text} ± {number(half_width, unit, value)}"


def heading(metric: str, unit: str) -> str:
    """Heading of a column of figures, by name or title of the metric: ``max rate/s``."""
    words = metric.replace("_", " ")
    return f"{words}{_RATE}" if unit.endswith(_RATE) else with_unit(words, unit)


def with_unit(title: str, unit: str) -> str:
    """A metric with its unit; the unit alone where that says both: instructions per query."""
    return unit if names(unit, title) else f"{title} ({unit})"


def names(unit: str, title: str) -> bool:
    """Whether a unit says what its metric is: that of instructions, instructions per query."""
    return unit.startswith(title)


def short(unit: str) -> str:
    """A unit behind its figure where space is short: that of a rate is ``/s`` alone."""
    return _RATE if unit.endswith(_RATE) else f" {unit}"


def span(seconds: float) -> str:
    """A length of time in words: ``6 min 41 s``, ``40 s``."""
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"


def moment_words(text: str) -> str:
    """Return a moment of ISO 8601 as ``2026-11-21 16:01:03 UTC``."""
    return f"{datetime.fromisoformat(text):%Y-%m-%d %H:%M:%S} UTC"


def sentence(text: str) -> str:
    """A text that begins with a capital letter."""
    return text[:1].upper() + text[1:]


def escaped(text: str) -> str:
    """The text in one line, with Markdown, HTML and control characters escaped."""
    return _SPECIAL.sub(r"\\\1", printable(" ".join(text.split())))
