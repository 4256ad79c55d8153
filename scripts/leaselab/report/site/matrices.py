"""The tables of the overview: the newest results of one kind of server by their factors."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING

from leaselab.analysis.matrix import Cell, Column, Row, columns_of, rows_of
from leaselab.report.matrix import apart_words, column_words, conditions

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence


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
    rows: Sequence[Row]
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

    def gain(self, row: Row, column: Column) -> str:
        """What a column makes of the figure: the ratio and what that is in percent."""
        gain = row.gain(column)
        if gain is not None:
            return f"{1 + gain:.2f} ({100 * gain:+.0f} %){apart_words(row, column)}"
        return "no difference seen" if row.compared(column) else "-"


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
