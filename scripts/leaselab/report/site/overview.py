"""The pages of the whole lab: the newest result of each scenario in tables, and the benches."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Any

from leaselab.analysis.matrix import Cell, Column, Row, cell_of, columns_of, rows_of
from leaselab.archive.bench_notes import CHECK, STATUS, noted_benches, read_note
from leaselab.report.listing import common_kind
from leaselab.report.matrix import apart_words, column_words, conditions, shown
from leaselab.report.site.families import COURSE, families
from leaselab.report.site.figure import Figure, figure
from leaselab.report.site.sweep_charts import runs_chart, runs_note
from leaselab.report.units import in_shown_units, rows_in_shown_units

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from leaselab.archive.store import Store
    from leaselab.model.record import Record

NEWEST = 50
"""Results that the list of the newest shows."""
MEANINGS = {
    "free": "nobody has it",
    "measuring": "a sweep has it",
    "held": "somebody has it for several commands",
    "maintenance": "its keeper has taken it out of use",
    "broken": "a host is not well, or the last check found errors",
    "unreachable": "no host answers",
    "down": "a lab of one machine that is not up",
}
"""What the states of benches mean."""
_VERDICTS = {
    **dict.fromkeys(("free", "measuring", "held"), "good"),
    **dict.fromkeys(("broken", "unreachable"), "refused"),
}


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
        return [one for one in self.columns if any(row.compared(one) for row in self.rows)]

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


def overview(
    records: Sequence[Record],
    rows: Sequence[Mapping[str, Any]],
    latest: Sequence[Mapping[str, Any]],
    outcomes: Mapping[str, int],
) -> tuple[dict[str, Any], list[Figure | None]]:
    """What the overview's template gets, and its chart where there is one result.

    `records` are the newest of their scenarios, `rows` those of the histories, oldest first in
    each, `latest` rows of the index, newest first, with the ratio to the anchor in words as
    `against`, `outcomes` how many of all results ended how.
    """
    latest = rows_in_shown_units(latest)
    judged = in_shown_units(records)
    cells = [cell_of(record) for record in judged]
    found = sum(outcomes.values())
    runs = None
    if found == 1 and judged:
        runs = figure("runs", "Runs", runs_chart(judged[0]), note=runs_note(judged[0]))
    matrices = list(_matrices(cells))
    return {
        "course": COURSE,
        "only": judged[0] if found == 1 and judged else None,
        "runs": runs,
        "families": families(matrices, rows_in_shown_units(rows)),
        "matrices": matrices,
        "newest": latest,
        "shown": shown,
        "kind": common_kind(latest),
        "results": found,
        "outcomes": outcomes,
        "words": {
            record.id: " ".join(reason.word for reason in record.reasons) for record in records
        },
    }, [runs]


def _matrices(cells: Sequence[Cell]) -> Iterable[Matrix]:
    """A table for each kind of server, metric and set of factors: others compare nothing."""

    def kind(cell: Cell) -> tuple[str, ...]:
        names = [name for name in cell.factors if name not in cell.across]
        server = cell.server.partition(" ")[0]
        return server, cell.title, cell.unit, *names, "", *cell.across

    for _, members in groupby(sorted(cells, key=kind, reverse=True), key=kind):
        found = list(members)
        rows, one = rows_of(found), found[0]
        yield Matrix(
            server=one.server.partition(" ")[0],
            title=one.title,
            unit=one.unit,
            names=list(rows[0].factors),
            across=one.across,
            columns=columns_of(rows),
            rows=rows,
            conditions=list(conditions(found)),
        )


def bench_rows(store: Store) -> list[dict[str, Any]]:
    """What the page of the benches shows of each that was ever asked, by name.

    Pages are not written again by themselves, so it has moments where a terminal has ages.
    """
    rows = []
    for name in noted_benches(store.root):
        seen = read_note(store.root, name, STATUS)
        if seen is None:
            continue
        results = rows_in_shown_units(store.index.rows(bench=name, limit=1))
        rows.append(
            {
                "bench": name,
                **seen,
                "verdict": _VERDICTS.get(seen["state"], "doubt"),
                "result": results[0] if results else None,
                "check": read_note(store.root, name, CHECK),
            }
        )
    return rows
