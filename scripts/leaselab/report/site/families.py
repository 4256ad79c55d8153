"""Tables and families of the overview: a line for each scenario of a family, with its change.

Positions are shares of the width or height of a cell, so that a page draws them without a
script and without a size of its own.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from typing import Any

from leaselab.analysis.basis import anchor_of, to_anchor
from leaselab.analysis.matrix import Cell, Column, columns_of, rows_of
from leaselab.analysis.matrix import Row as Place
from leaselab.analysis.verdict import ratio_word
from leaselab.report.matrix import column_words, conditions, gain_words
from leaselab.report.review import interval_words, percent
from leaselab.report.site.vega import Look, look_of

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Matrix:
    """One table of one kind of server and one metric: rows and columns by factors."""

    server: str
    title: str
    unit: str
    names: Sequence[str]
    """Factors that name a row."""
    across: Sequence[str]
    """Factors that make the columns."""
    columns: Sequence[Column]
    rows: Sequence[Place]
    conditions: Sequence[str]

    @property
    def gains(self) -> Sequence[Column]:
        """The columns that are set against another one."""
        return [
            column for column in self.columns if any(row.compared(column) for row in self.rows)
        ]

    @property
    def values(self) -> Mapping[str, Sequence[str]]:
        """What each factor across may be, in the order of the columns."""
        values = zip(*self.columns, strict=True)
        return {
            name: [str(value) for value in dict.fromkeys(each) if value is not None]
            for name, each in zip(self.across, values, strict=True)
        }

    def heading(self, column: Column) -> str:
        """A column in words."""
        return column_words(column, self.across) or self.title

    def gain_heading(self, column: Column) -> str:
        """What is set against what."""
        return f"{self.heading(column)} / {self.heading(self.rows[0].base)}"

    def gain(self, row: Place, column: Column) -> str:
        """What a column makes of the figure: the ratio and what that is in percent."""
        return gain_words(row, column)


def matrices_of(cells: Sequence[Cell]) -> Iterable[Matrix]:
    """A table for each kind of server, metric and set of factors: others compare nothing."""

    def kind(cell: Cell) -> tuple[str, ...]:
        names = [name for name in cell.factors if name not in cell.across]
        server = cell.server.partition(" ")[0]
        return server, cell.title, cell.unit, *names, "", *cell.across

    for _, members in groupby(sorted(cells, key=kind, reverse=True), key=kind):
        group = list(members)
        rows, first = rows_of(group), group[0]
        yield Matrix(
            server=first.server.partition(" ")[0],
            title=first.title,
            unit=first.unit,
            names=list(rows[0].factors),
            across=first.across,
            columns=columns_of(rows),
            rows=rows,
            conditions=list(conditions(group)),
        )


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
        return [(self.at(self.low), f"{self.low:.4g}")]


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
    """Scenarios that have the same kind of server, figure and factors."""

    matrix: Matrix
    title: str
    axis: Axis | None
    lines: Sequence[Line]


def families(matrices: Sequence[Matrix], rows: Sequence[Row]) -> list[Family]:
    """The matrices of the overview, one for each value of the first factor, the largest first.

    `rows` are those of the index of which the sparklines are, oldest first, in shown units.
    """
    known = {row["id"]: row for row in rows}
    by_place: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        by_place.setdefault(_place(row), []).append(row)
    made = [
        _family(matrix, first, list(places), known, by_place)
        for matrix in matrices
        for first, places in groupby(matrix.rows, key=partial(_first, matrix))
    ]
    return sorted(made, key=lambda family: -len(family.lines))


def _first(matrix: Matrix, row: Place) -> str:
    """The value that distinguishes the families of a matrix; empty for a single family."""
    return str(row.factors[matrix.names[0]]) if len(matrix.names) > 1 else ""


def _family(
    matrix: Matrix,
    first: str,
    places: Sequence[Place],
    known: Mapping[str, Row],
    by_place: Mapping[tuple[Any, ...], Sequence[Row]],
) -> Family:
    cells = [(row, column, cell) for row in places for column, cell in row.cells.items()]
    axis = _axis(cell for _, _, cell in cells)
    rest = [
        name
        for name in matrix.names
        if len(places) == 1 or len({row.factors[name] for row in places}) > 1
    ]
    lines = []
    for row, column, cell in cells:
        own = known.get(cell.id)
        course = by_place.get(_place(own), ()) if own else ()
        drawn = _course(course, known)
        look, change, interval, word = _change(own, known)
        lines.append(
            Line(
                cell=cell,
                label=(len(cells) > 1 and _label(row, column, rest)) or cell.scenario,
                at=_at(axis, cell),
                course=drawn[0],
                last=drawn[1],
                change=change,
                interval=interval,
                look=look,
                word=word,
            )
        )
    varied = ", ".join([*rest, *matrix.across]) if len(cells) > 1 else ""
    title = " ".join(filter(None, (matrix.server, first)))
    return Family(matrix, title + (f" by {varied}" if varied else ""), axis, lines)


def _label(row: Place, column: Column, names: Sequence[str]) -> str:
    """Label that distinguishes a line in its family."""
    values = [row.factors[name] for name in names]
    words = [
        str(value) if isinstance(value, str) else f"{name} {value}"
        for name, value in zip(names, values, strict=True)
    ]
    return ", ".join(filter(None, [*words, column_words(column, row.across)]))


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
    """What results of one course have in common."""
    names = ("scenario", "procedure", "metric", "bench", "environment", "release")
    return tuple(row[name] for name in names)


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
    low, high = min(figures), max(figures)
    points = [
        None if value is None else _point(place / (len(values) - 1), value, low, high)
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


def _point(share: float, value: float, low: float, high: float) -> tuple[float, float]:
    height = (high - value) / (high - low) if high > low else 0.5
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
