"""The results of one scenario that are about the same metric: what a history is of."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from leaselab.report.units import rows_in_shown_units

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Line:
    """Results of one scenario that are about the same metric."""

    scenario: str
    metric: str
    name: str
    """The scenario; with the metric's words where it was first measured for another one."""
    page: str
    """The same as the name of a file."""
    rows: Sequence[Row]
    """The index's, oldest first; at least one."""

    @property
    def title(self) -> str:
        """The metric in words."""
        return titles_of(self.rows[-1]).get(self.metric, self.metric)

    @property
    def unit(self) -> str:
        """The metric's unit."""
        return str(self.rows[-1]["unit"])


def lines_of(scenario: str, rows: Sequence[Row]) -> list[Line]:
    """The results of one scenario by metric; `rows` are the index's, oldest first."""
    by_metric: dict[str, list[Row]] = {}
    for row in rows:
        by_metric.setdefault(row["metric"], []).append(row)
    lines = []
    for place, (metric, members) in enumerate(by_metric.items()):
        line = Line(scenario, metric, scenario, scenario, rows_in_shown_units(members))
        if place:
            line = replace(line, name=f"{scenario}, {line.title}", page=f"{scenario}.{metric}")
        lines.append(line)
    return lines


def titles_of(row: Row) -> dict[str, str]:
    """The metrics of a result in words, by their names."""
    titles: dict[str, str] = json.loads(row["titles"] or "{}")
    return titles
