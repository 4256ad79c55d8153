"""Ceilings of generators, and how two generators agree: on a terminal, and as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from leaselab.model.record import Record
from leaselab.report.listing import aligned

HEADINGS = ("scenario", "generator", "metric", "value", "spread", "runs")
NAMES = 3
"""Columns that are words."""


def rows_of(records: Sequence[Record]) -> list[dict[str, Any]]:
    """Return the figures of results, for ``--json``; spreads are ratios."""
    return [
        {
            "scenario": record.scenario.name,
            "generator": record.generator.name,
            "metric": record.figure.name,
            "value": record.figure.value,
            "unit": record.figure.unit,
            "spread": record.figure.spread,
            "runs": record.figure.n,
            "traffic_share": record.traffic_share,
            "wall_s": record.wall_s,
            "id": record.id,
        }
        for record in records
    ]


def table(rows: Sequence[dict[str, Any]]) -> Iterator[str]:
    """Yield the lines of a table of them."""
    return iter(aligned(HEADINGS, map(_cells, rows), NAMES))


def _cells(row: dict[str, Any]) -> list[str]:
    spread = "-" if row["spread"] is None else f"{100 * row['spread']:.1f} %"
    value = "-"
    if row["value"] is not None:
        value = f"{row['value']:{'.0f' if row['value'] >= 1000 else '.4g'}} {row['unit']}"
    return [row["scenario"], row["generator"], row["metric"], value, spread, str(row["runs"])]
