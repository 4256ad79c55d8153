"""Families of the overview: a line for each scenario of a file, with its change and course.

Positions are shares of the width or height of a cell, so that a page draws them without a
script and without a size of its own.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from statistics import median
from typing import Any

from leaselab.analysis.comparison.basis import anchor_of, to_anchor
from leaselab.analysis.comparison.matrix import Cell
from leaselab.analysis.comparison.verdict import ratio_word
from leaselab.report.site.vega import Look, look_of
from leaselab.report.verdict.words import interval_words, percent

Row = Mapping[str, Any]

COURSE = 30
"""Newest results of a sparkline."""
_LOGARITHMIC = 8
"""Highest over lowest figure from which on the axis of a family is logarithmic."""
_MARGIN = 4.0
"""Share of the width that stays free at each end (%)."""
_APART = 55
"""How far apart the ticks of an axis stand at least (% of the width): their words stand in a
narrow column."""
_STEPS = (5, 2, 1)
_COURSE_WIDTH, _COURSE_HEIGHT = 96, 18
"""Size of a sparkline (px)."""
REACH = 0.1
"""Distance from the median to each edge of a sparkline (ratio): the same in all of them."""


@dataclass(frozen=True, slots=True)
class Axis:
    """Where figures stand in the cells of a family."""

    low: float
    high: float
    logarithmic: bool

    def at(self, value: float) -> float:
        """The place of a figure (% of the width)."""
        low, high, value = (
            math.log(figure) if self.logarithmic else figure
            for figure in (self.low, self.high, value)
        )
        share = (value - low) / (high - low) if high > low else 0.5
        return round(_MARGIN + (100 - 2 * _MARGIN) * share, 2)

    @property
    def ticks(self) -> list[tuple[float, str]]:
        """Two round figures on it, with their places: as round as leaves room for both.

        There is one alone where the axis is of one figure.
        """
        # An interval may reach below 0, where the axis is not logarithmic.
        size = math.ceil(math.log10(self.high - self.low)) if self.high > self.low else 0
        steps = [step * 10.0**power for power in range(size, size - 5, -1) for step in _STEPS]
        choices = [
            (math.ceil(self.low / step) * step, math.floor(self.high / step) * step)
            for step in steps
        ]
        if self.logarithmic:
            within = [step for step in steps if self.low <= step <= self.high]
            choices.insert(0, (min(within), max(within)))
        for ends in choices:
            if ends[1] > ends[0] and self.at(ends[1]) - self.at(ends[0]) >= _APART:
                return [(self.at(end), f"{end:.10g}") for end in ends]
        words = f"{self.low:.0f}" if self.low >= 1000 else f"{self.low:.4g}"
        return [(self.at(self.low), words)]


@dataclass(frozen=True, slots=True)
class Line:
    """One scenario of a family."""

    cell: Cell
    label: str
    at: tuple[float, float, float] | None
    """Places of the least, the figure and the most (% of the width); None without a figure."""
    course: tuple[str, ...]
    """Its newest results from left to right, as the points of lines (px); a result without a
    figure parts two lines."""
    last: tuple[float, float] | None
    """Place of the newest of them (px)."""
    change: str
    """Change since the anchor, in words; empty without one."""
    interval: str
    look: str
    """What that is: worse, better, same, or unknown."""
    word: str
    """The word for it; empty without a change."""


@dataclass(frozen=True, slots=True)
class Family:
    """Scenarios of one file, by one figure."""

    name: str
    """The file's; the server's kind where no file has them."""
    cells: Sequence[Cell]
    axis: Axis | None
    """The same for all families of one figure and unit."""
    lines: Sequence[Line]


def families(
    cells: Sequence[Cell], rows: Sequence[Row], files: Mapping[str, str]
) -> list[Family]:
    """The families of the overview, the largest first.

    `rows` are those of the index of which the sparklines are, oldest first, in shown units.
    `files` has the name of the file of each scenario, in the catalogue's order.
    """
    known = {row["id"]: row for row in rows}
    by_place: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        by_place.setdefault(_place(row), []).append(row)
    order = {scenario: place for place, scenario in enumerate(files)}
    groups: dict[tuple[str, str, str], list[Cell]] = {}
    for cell in sorted(
        cells, key=lambda cell: (order.get(cell.scenario, len(order)), cell.scenario)
    ):
        name = files.get(cell.scenario, cell.server.partition(" ")[0])
        groups.setdefault((cell.title, cell.unit, name), []).append(cell)
    axes = {
        kind: _axis(cell for cell in cells if (cell.title, cell.unit) == kind)
        for kind in {kind[:2] for kind in groups}
    }
    made = [
        Family(name, own, axes[title, unit], [*_lines(own, axes[title, unit], known, by_place)])
        for (title, unit, name), own in groups.items()
    ]
    return sorted(made, key=lambda family: -len(family.lines))


def _lines(
    cells: Sequence[Cell],
    axis: Axis | None,
    known: Mapping[str, Row],
    by_place: Mapping[tuple[Any, ...], Sequence[Row]],
) -> Iterator[Line]:
    names = [cell.scenario for cell in cells]
    for cell in cells:
        own = known.get(cell.id)
        course, last = _course(by_place.get(_place(own), ()) if own else (), known)
        look, change, interval, word = _change(own, known)
        several = names.count(cell.scenario) > 1
        yield Line(
            cell=cell,
            label=f"{cell.scenario}, {cell.durability}" if several else cell.scenario,
            at=_at(axis, cell),
            course=course,
            last=last,
            change=change,
            interval=interval,
            look=look,
            word=word,
        )


def _axis(cells: Iterable[Cell]) -> Axis | None:
    ends = [end for cell in cells if cell.known for end in cell.known]
    if not ends:
        return None
    low, high = min(ends), max(ends)
    logarithmic = low > 0 and high / low >= _LOGARITHMIC
    return Axis(low, high, logarithmic)


def _at(axis: Axis | None, cell: Cell) -> tuple[float, float, float] | None:
    if axis is None or cell.known is None:
        return None
    low, value, high = map(axis.at, cell.known)
    return low, value, high


def _place(row: Row) -> tuple[Any, ...]:
    """What results of one course have in common: a package is no build of a commit."""
    names = ("scenario", "procedure", "metric", "bench", "environment", "release", "durability")
    return (*(row[name] for name in names), bool(row["commit"]))


def _change(row: Row | None, known: Mapping[str, Row]) -> tuple[str, str, str, str]:
    """The change of a result since its anchor: its look, the change, its interval, the word."""
    base = anchor_of(row, known) if row else None
    ratio = to_anchor(base, row) if row and base else None
    if row is None or ratio is None:
        return Look.UNKNOWN, "", "", ""
    word = ratio_word(ratio, row["metric"], row["better"])
    return look_of(word), percent(ratio.value), interval_words(ratio.ci95), word


def _course(
    rows: Sequence[Row], known: Mapping[str, Row]
) -> tuple[tuple[str, ...], tuple[float, float] | None]:
    """The lines of a sparkline and its last point.

    It is of ratios to the anchor where the newest result has one, and else of figures.
    """
    anchored = bool(rows) and anchor_of(rows[-1], known) is not None
    chosen = [row for row in rows if (anchor_of(row, known) is not None) == anchored]
    values = [_value(row, known) for row in chosen[-COURSE:]]
    figures = [value for value in values if value is not None]
    if len(figures) < 2:
        return (), None
    middle = median(figures)
    points = [
        None if value is None else _point(place / (len(values) - 1), value / middle)
        for place, value in enumerate(values)
    ]
    lines = tuple(
        " ".join(f"{x:g},{y:g}" for x, y in line) for line in _parts(points) if len(line) > 1
    )
    return lines, next(point for point in reversed(points) if point is not None)


def _value(row: Row, known: Mapping[str, Row]) -> float | None:
    base = anchor_of(row, known)
    ratio = to_anchor(base, row) if base else None
    return ratio.value if ratio else row["value"]


def _point(share: float, ratio: float) -> tuple[float, float]:
    height = min(1.0, max(0.0, 0.5 - (ratio - 1) / (2 * REACH)))
    return (
        round(3 + (_COURSE_WIDTH - 6) * share, 1),
        round(3 + (_COURSE_HEIGHT - 6) * height, 1),
    )


def _parts(
    points: Sequence[tuple[float, float] | None],
) -> Iterator[list[tuple[float, float]]]:
    for there, part in groupby(points, key=lambda point: point is not None):
        if there:
            yield [point for point in part if point is not None]
