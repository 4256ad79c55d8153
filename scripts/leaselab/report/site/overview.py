"""The page that comes first: the newest result of each scenario, in ISC's shape."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from leaselab.analysis.matrix import (
    HOT_STANDBY,
    LOAD_BALANCING,
    ONE,
    Cell,
    Row,
    cell_of,
    rows_of,
)
from leaselab.report.matrix import COLUMNS, conditions, shown

NEWEST = 50
"""Results that the list of the newest shows."""


_WAYS = {
    (False, ONE): "single-threaded",
    (True, ONE): "multi-threaded",
    (False, HOT_STANDBY): "hot standby, single-threaded",
    (True, HOT_STANDBY): "hot standby, multi-threaded",
    (False, LOAD_BALANCING): "load balancing, single-threaded",
    (True, LOAD_BALANCING): "load balancing, multi-threaded",
}
"""Ways of running, in words."""


@dataclass(frozen=True, slots=True)
class Matrix:
    """One server's table: a row for each backend, a column for each way of running."""

    server: str
    columns: Sequence[tuple[str, tuple[bool, str]]]
    rows: Sequence[Row]
    conditions: Sequence[str]

    def heading(self, place: tuple[bool, str]) -> str:
        """A way of running, in words."""
        return _WAYS[place]

    @property
    def has_gain(self) -> bool:
        """Whether a server alone was measured with one thread and with several."""
        return any({(False, ONE), (True, ONE)} <= row.cells.keys() for row in self.rows)

    @property
    def has_pairs(self) -> bool:
        """Whether a pair was measured."""
        return any(mode != ONE for _, (_, mode) in self.columns)

    def gain(self, row: Row) -> str:
        """What threads make of the rate: their ratio and what that is in percent."""
        if row.gain is not None:
            return f"{1 + row.gain:.2f} ({100 * row.gain:+.0f} %)"
        return "no difference seen" if row.compared else "-"

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
