"""Figures of benchmarks as text and JSON: ceilings of generators; figures beside the truth."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any, TextIO

from leaselab.analysis.figures.truth import LONGEST_STALL, Judged
from leaselab.model.record import Record
from leaselab.model.text import printable
from leaselab.report.listing import aligned, markdown_table

HEADINGS = (
    *("scenario", "generator", "figure", "true", "measured"),
    *("error", "allowed", "within"),
)
NAMES = 3
"""Columns that are words."""
_NOTHING = "-"


def print_truth(rows: Sequence[Judged], stream: TextIO | None = None) -> None:
    """Print a table of all, and why a figure is missing; stdout unless given.

    What is allowed is the tolerance of a rate, and the interval of a share.
    """
    stream = stream or sys.stdout
    stream.writelines(aligned(HEADINGS, map(_cells, rows), NAMES))
    stream.writelines(_reasons(rows))


def truth_markdown(rows: Sequence[Judged], runs: int) -> str:
    """Return the same as a document for people who do not have this bench.

    `runs`: of which each figure is made.
    """
    return "".join(
        [
            "# Figures of servers whose capacity is set\n\n",
            f"Made by `leaselab dev bench truth`, {runs} runs for each figure. What is allowed "
            "is the largest error of a rate, and the 99 % interval of a share.\n\n",
            *markdown_table(HEADINGS, map(_cells, rows), NAMES),
            *(f"\n{line}" for line in _reasons(rows)),
        ]
    )


def truth_document(rows: Sequence[Judged], *, kept: bool) -> dict[str, Any]:
    """The same for ``--json``; shares and errors are ratios.

    `kept`: whether the figures of the project's own generator are near enough.
    """
    return {
        "benchmark": "truth",
        "rows": [asdict(row) | {"error": row.error} for row in rows],
        "kept": kept,
    }


def _reasons(rows: Sequence[Judged]) -> Iterator[str]:
    for row in rows:
        if row.why:
            yield f"{row.scenario}, {row.generator}, {row.figure}: {printable(row.why)}\n"


def _cells(row: Judged) -> list[str]:
    allowed = _NOTHING
    if row.tolerance is not None:
        allowed = f"±{100 * row.tolerance:g} %"
    elif row.interval is not None:
        low, high = row.interval
        allowed = f"{100 * low:.3f} to {100 * high:.3f} %"
    return [
        row.scenario,
        row.generator,
        row.figure,
        _figure(row.true, row),
        _figure(row.measured, row),
        _NOTHING if row.error is None else f"{100 * row.error:+.2f} %",
        allowed,
        "yes" if row.within else _NOTHING if row.why else "no",
    ]


def _figure(value: float | None, row: Judged) -> str:
    """A figure of a row in its unit."""
    if value is None:
        return _NOTHING
    if row.figure == LONGEST_STALL:
        return f"{value:.3f} s"
    return f"{100 * value:.3f} %" if row.tolerance is None else f"{value:.0f}/s"


HEADINGS_CEILINGS = ("scenario", "generator", "metric", "value", "spread", "runs")
"""Headings of the table of ceilings."""


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
    return iter(aligned(HEADINGS_CEILINGS, map(_cells_ceilings, rows), NAMES))


def _cells_ceilings(row: dict[str, Any]) -> list[str]:
    spread = "-" if row["spread"] is None else f"{100 * row['spread']:.1f} %"
    value = "-"
    if row["value"] is not None:
        value = f"{row['value']:{'.0f' if row['value'] >= 1000 else '.4g'}} {row['unit']}"
    return [row["scenario"], row["generator"], row["metric"], value, spread, str(row["runs"])]
