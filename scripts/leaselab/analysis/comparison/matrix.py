"""Results of several points in a table: a row for each place, a column for each way of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from leaselab.analysis.comparison.verdict import Comparison, Limit, compare
from leaselab.model.record import Record
from leaselab.model.server import server_name

Factor = str | int | float | bool
Column = tuple[Factor | None, ...]
"""Values of the factors that go across, in their order; None for one that a result lacks."""
Known = tuple[float, float, float]
"""A figure between the least and the most that it may be."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One result, as far as a table shows it."""

    scenario: str
    id: str
    factors: Mapping[str, Factor]
    across: tuple[str, ...]
    """Names of the factors that a table shows as columns; the others make its rows."""
    durability: str
    outcome: str
    title: str
    """The figure's, such as max rate."""
    how: str
    """How it was got of the rounds' values, such as trimmed mean."""
    unit: str
    """Of the figure, such as exchanges/s."""
    value: float | None
    """The figure; None where there is none."""
    half_width: float | None
    """Half of its 95 % interval; None where the rounds are too few for one."""
    extent: tuple[float, float] | None
    """The lowest and the highest of all rounds; None where there is but one."""
    rounds: int
    """Number of rounds that the value is computed from; the planned number without a value."""
    server: str
    """Server and its version."""
    procedure: str
    """What was asked of a trial, in words."""
    bench: str
    environment: str
    started_at: str
    finished_at: str
    record: Record
    """What it is of, to be compared with another."""

    @property
    def known(self) -> Known | None:
        """The figure between the least and the most it may be.

        By its interval, else by all rounds; None without a figure.
        """
        if not self.value:
            return None
        if self.half_width is not None:
            return self.value - self.half_width, self.value, self.value + self.half_width
        low, high = self.extent or (self.value, self.value)
        return low, self.value, high

    @property
    def column(self) -> Column:
        """Where it stands across."""
        return tuple(self.factors.get(name) for name in self.across)


@dataclass(frozen=True)
class Row:
    """The cells of one place at one durability, by column."""

    factors: Mapping[str, Factor]
    """The place: the factors that do not go across."""
    across: tuple[str, ...]
    durability: str
    cells: Mapping[Column, Cell]
    base: Column
    """The column that others are compared with: the first value of each factor."""
    _compared: dict[Column, Comparison | None] = field(
        default_factory=dict, compare=False, repr=False
    )

    def compared(self, column: Column) -> Comparison | None:
        """A column that differs in the first factor alone against `base`, of one server.

        None for another column, and where there is no verdict on the two.
        """
        if column not in self._compared:
            self._compared[column] = self._compare(column)
        return self._compared[column]

    def _compare(self, column: Column) -> Comparison | None:
        base, other = self.cells.get(self.base), self.cells.get(column)
        if column[1:] != self.base[1:] or base is other or base is None or other is None:
            return None
        if base.server != other.server:
            return None
        found = compare(base.record, other.record)
        measured = found.verdict is not None and found.verdict.limit is Limit.NONE
        return found if measured else None


def cell_of(record: Record) -> Cell:
    """The cell of a record."""
    figure = record.figure
    low, high = figure.lowest, figure.highest
    return Cell(
        scenario=record.scenario.name,
        id=record.id,
        factors=record.scenario.factors,
        across=record.scenario.across,
        durability=record.server.durability or "",
        outcome=record.outcome,
        title=figure.title,
        how=figure.how,
        unit=figure.unit,
        value=figure.value,
        half_width=figure.half_width,
        extent=None if figure.n < 2 or low is None or high is None else (low, high),
        rounds=figure.n or record.procedure.rounds,
        server=server_name(record.server),
        procedure=record.procedure.words,
        bench=record.bench.name,
        environment=record.bench.environment or "",
        started_at=record.started_at,
        finished_at=record.finished_at,
        record=record,
    )


def by_figure(cells: Iterable[Cell]) -> list[list[Cell]]:
    """Cells by what their figures are, in the order in which these come first."""
    found: dict[tuple[str, str], list[Cell]] = {}
    for cell in cells:
        found.setdefault((cell.title, cell.unit), []).append(cell)
    return list(found.values())


def rows_of(cells: Iterable[Cell]) -> list[Row]:
    """The rows of a table, ordered by their factors' values and durability.

    Of two cells for one place and column, the later started counts.  Rows whose factors have
    the same names, and the same ones across, follow each other: they have columns in common.
    """
    kinds: dict[Any, dict[Any, dict[Column, Cell]]] = {}
    for cell in sorted(cells, key=lambda cell: cell.started_at):
        place = {name: cell.factors[name] for name in cell.factors if name not in cell.across}
        kind = kinds.setdefault((tuple(place), cell.across), {})
        kind.setdefault((tuple(place.values()), cell.durability), {})[cell.column] = cell
    rows = []
    for names, across in sorted(kinds):
        places = kinds[names, across]
        order = _orders(cell for row in places.values() for cell in row.values())
        base = tuple(values[0] for values in order)
        for values, durability in sorted(places, key=_place_order):
            found = places[values, durability]
            factors = dict(zip(names, values, strict=True))
            rows.append(Row(factors, across, durability, found, base))
    return rows


def columns_of(rows: Sequence[Row]) -> list[Column]:
    """The columns that rows with the same factors across use, in order.

    The first factor changes fastest.  Its values, and those of each other, are in the order of
    `rows_of`.
    """
    cells = [cell for row in rows for cell in row.cells.values()]
    order = _orders(cells)
    return sorted(
        {cell.column for cell in cells},
        key=lambda column: [
            values.index(value) for values, value in zip(order, column, strict=True)
        ][::-1],
    )


def _orders(cells: Iterable[Cell]) -> list[list[Factor | None]]:
    """Values of each factor across: numbers ascending, words as they come by scenario.

    What a scenario's name adds to that of another departs from it, so the shorter name is the
    plainer way; which result is older says nothing.
    """
    plain = sorted(cells, key=lambda cell: (len(cell.scenario), cell.scenario))
    found = [
        list(dict.fromkeys(values))
        for values in zip(*(one.column for one in plain), strict=True)
    ]
    return [sorted(values, key=_number_first) for values in found]


def _number_first(value: Factor | None) -> tuple[bool, float]:
    """Key that orders numbers, and leaves words in their order behind them."""
    return (False, value) if isinstance(value, int | float) else (True, 0.0)


def _place_order(place: tuple[tuple[Factor, ...], str]) -> tuple[object, ...]:
    values, durability = place
    return [(*_number_first(value), str(value)) for value in values], durability
