"""The page that comes first: the newest result of each scenario, in ISC's shape."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from leaselab.analysis.matrix import Cell, Row, cell_of, rows_of
from leaselab.report.matrix import COLUMNS, conditions, gain_words, shown

NEWEST = 50
"""Results that the list of the newest shows."""


@dataclass(frozen=True, slots=True)
class Matrix:
    """One server's table: a row for each backend, a column for each way of running."""

    server: str
    columns: Sequence[tuple[str, tuple[bool, str]]]
    rows: Sequence[Row]
    conditions: Sequence[str]

    def gain(self, row: Row) -> str:
        """What threads bring, in words."""
        return gain_words(row)

    def shown(self, cell: Cell | None) -> str:
        """A cell's max rate with how well it is known, or why there is none."""
        return shown(cell)


def overview(
    documents: Sequence[Mapping[str, Any]],
    rows: Sequence[Mapping[str, Any]],
    outcomes: Mapping[str, int],
) -> dict[str, Any]:
    """What the overview's template gets: newest results by place, and the newest of all.

    `documents` are result documents, `rows` rows of the index, newest first,
    `outcomes` how many of all results ended how.
    """
    return {
        "matrices": list(_matrices([cell_of(document) for document in documents])),
        "newest": rows,
        "results": sum(outcomes.values()),
        "outcomes": outcomes,
        "words": {
            document["id"]: " ".join(reason["word"] for reason in document["reasons"])
            for document in documents
        },
    }


def _matrices(cells: Sequence[Cell]) -> list[Matrix]:
    """A table for each kind of server: tables of Kea and dnsmasq have nothing in common."""
    kinds = sorted(cells, key=lambda cell: cell.server.split(" ")[0], reverse=True)
    found = []
    for server, group in groupby(kinds, key=lambda cell: cell.server.split(" ")[0]):
        members = list(group)
        rows = rows_of(members)
        used = {place for row in rows for place in row.cells}
        columns = [(heading, place) for heading, place in COLUMNS if place in used]
        found.append(Matrix(server, columns, rows, list(conditions(members))))
    return found
