"""The page that sets results side by side: ratios with their intervals, and what differs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from leaselab.analysis.differences import Difference, config_differences, differences
from leaselab.analysis.hindrances import hindrances
from leaselab.analysis.matrix import cell_of
from leaselab.analysis.ratio import Ratio, ratio, runs_of
from leaselab.model.errors import BELIEVED
from leaselab.model.server import server_name
from leaselab.report.config import config_text
from leaselab.report.matrix import shown
from leaselab.report.site.compare_chart import compare_chart
from leaselab.report.site.figure import Figure, figure

MOST = 4
"""Results side by side: more columns are not read."""


@dataclass(frozen=True, slots=True)
class Column:
    """One of the results that stand side by side."""

    id: str
    label: str
    """What tells it from the others: server and version, or scenario."""
    started_at: str
    rate: str
    cpu_us: float | None
    ratio: Ratio | None
    """To the first; None for itself, and where there is nothing to divide."""
    hindrances: Sequence[str]
    """Why it is not compared as like with like; empty when it is."""


@dataclass(frozen=True, slots=True)
class Group:
    """Results that are compared with the first of them."""

    name: str
    columns: Sequence[Column]
    figure: Figure | None
    differences: Sequence[Difference]
    configuration: Sequence[Difference]


def choose(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Choose which results of one scenario to set side by side, oldest first; ids.

    The newest of each server that was measured, or, where there is one server
    only, the newest two.  Empty where there is nothing to compare.
    """
    believed = [
        row for row in rows if row["trimmed_mean"] is not None and row["outcome"] in BELIEVED
    ]
    newest: dict[tuple[str, str], str] = {}
    for row in believed:
        key = (server_name(row), row["release"] or "")
        newest.pop(key, None)
        newest[key] = row["id"]
    chosen = list(newest.values())[-MOST:]
    if len(chosen) == 1:
        chosen = [row["id"] for row in believed[-2:]]
    return chosen if len(chosen) > 1 else []


def group(name: str, results: Sequence[tuple[Mapping[str, Any], Path]]) -> Group:
    """Compare results (documents and their directories) with the first of them."""
    documents = [document for document, _ in results]
    several = len({document["scenario"]["name"] for document in documents}) > 1
    columns = [_column(documents[0], document, several=several) for document in documents]
    bars = [
        (f"{number}. {column.label}", column.ratio)
        for number, column in enumerate(columns, start=1)
        if column.ratio is not None
    ]
    place = "".join(letter if letter.isalnum() else "-" for letter in name)
    return Group(
        name=name,
        columns=columns,
        figure=figure(
            f"ratio-{place}",
            f"Max rate over that of {columns[0].label}",
            compare_chart(bars, name=f"Ratios to {columns[0].label}")
            if len(bars) > 1
            else None,
            note="1 is no difference; the line is the 95 % interval of the ratio.",
        ),
        differences=differences(documents),
        configuration=config_differences([_config(*result) for result in results]),
    )


def _column(base: Mapping[str, Any], document: Mapping[str, Any], *, several: bool) -> Column:
    cell = cell_of(document)
    first, runs = runs_of(base), runs_of(document)
    compared = None
    if document is not base and first is not None and runs is not None:
        compared = ratio(first, runs)
    release = document["bench"]["hosts"].get("server", {}).get("os") or ""
    label = ", ".join(filter(None, (cell.server, release)))
    return Column(
        id=document["id"],
        label=f"{cell.scenario}, {label}" if several else label,
        started_at=document["started_at"],
        rate=shown(cell),
        cpu_us=document["summary"]["cpu_us_per_exchange"],
        ratio=compared,
        hindrances=list(
            dict.fromkeys(f"another {one.what}" for one in hindrances(base, document))
        ),
    )


def _config(document: Mapping[str, Any], directory: Path) -> str | None:
    return config_text(document, directory, "server")
