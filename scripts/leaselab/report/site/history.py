"""The page of one scenario's figure over time and over commits."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from leaselab.model.errors import BELIEVED
from leaselab.model.server import server_name
from leaselab.model.source import SHORT
from leaselab.report.site.figure import Figure, figure
from leaselab.report.site.history_chart import Mark, history_chart
from leaselab.report.units import rows_in_shown_units

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    Row = Mapping[str, Any]

_DRAWN = 200
"""Newest results of a drawing; over time, a browser that runs scripts shows all."""
_LISTED = 200
"""Newest results of the table."""
_NONE = "-"
_CONDITIONS = ("bench", "environment", "durability", "ruler")
"""Columns of the index in which results agree that are set against each other."""


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
        return _titles(self.rows[-1]).get(self.metric, self.metric)

    @property
    def unit(self) -> str:
        """The metric's unit."""
        return str(self.rows[-1]["unit"])


def lines_of(scenario: str, rows: Sequence[Row]) -> list[Line]:
    """The results of one scenario by metric; `rows` are the index's, oldest first."""
    found: dict[str, list[Row]] = {}
    for row in rows:
        found.setdefault(row["metric"], []).append(row)
    lines = []
    for place, (metric, members) in enumerate(found.items()):
        line = Line(scenario, metric, scenario, scenario, rows_in_shown_units(members))
        if place:
            line = replace(line, name=f"{scenario}, {line.title}", page=f"{scenario}.{metric}")
        lines.append(line)
    return lines


def history(
    line: Line, href: Callable[[Row], str], others: Sequence[Line] = ()
) -> tuple[dict[str, Any], list[Figure | None]]:
    """What the template gets, and the charts.

    `href` says where a result is shown, `others` are the scenario's figures on other pages.
    """
    marks = _changes(line.rows)
    worse = _worse(line.rows)
    points = [
        {**_point(row, row["started_at"], href(row)), "worse": row["id"] in worse}
        for row in line.rows
    ]
    drawn = points[-_DRAWN:]
    since = [mark for mark in marks if mark.at >= drawn[0]["at"]]
    name = f"{line.name} over time"
    draw = partial(history_chart, name=name, title=line.title, unit=line.unit, by_commit=False)
    over_time = figure(
        "time",
        name,
        draw(points, marks),
        drawn=draw(drawn, since),
        note=_note(len(points), worse=bool(worse)),
    )
    by_commit = _by_commit(line, href)
    listed = line.rows[-_LISTED:]
    beside = {
        metric: (title, json.loads(row["metrics"])[metric][3])
        for row in listed
        for metric, title in _titles(row).items()
        if metric != line.metric
    }
    context = {
        "line": line,
        "time": over_time,
        "commits": by_commit,
        "others": others,
        "beside": beside,
        "rows": [_listed(row, beside, href(row)) for row in reversed(listed)],
        "older": max(0, len(line.rows) - _LISTED),
        "marks": marks,
    }
    return context, [over_time, by_commit]


def history_line(line: Line) -> dict[str, Any]:
    """What a list of histories shows of one."""
    last = line.rows[-1]
    return {
        "name": line.name,
        "page": line.page,
        "results": len(line.rows),
        "first": line.rows[0]["started_at"],
        "newest": last["started_at"],
        **{name: last[name] for name in ("outcome", "reasons", "metric", "value", "unit")},
    }


def _listed(row: Row, beside: Mapping[str, object], href: str) -> dict[str, Any]:
    """A row of the table, with its other metrics as value and unit."""
    metrics = json.loads(row["metrics"] or "{}")
    low, high = row["ci_low"], row["ci_high"]
    return {
        **row,
        "server_words": server_name(row),
        "href": href,
        "half_width": None if high is None else (high - low) / 2,
        "beside": [(one[0], one[3]) if (one := metrics.get(name)) else None for name in beside],
    }


def _titles(row: Row) -> dict[str, str]:
    titles: dict[str, str] = json.loads(row["titles"] or "{}")
    return titles


def _worse(rows: Sequence[Row]) -> set[str]:
    """The results whose interval lies wholly on the wrong side of that of the one before.

    Both measured alike; where neither direction is wrong there are none.
    """
    known = [row for row in rows if row["outcome"] in BELIEVED and row["ci_low"] is not None]
    return {
        row["id"]
        for before, row in pairwise(known)
        if all(row[name] == before[name] for name in _CONDITIONS)
        and (
            (row["better"] == "higher" and row["ci_high"] < before["ci_low"])
            or (row["better"] == "lower" and row["ci_low"] > before["ci_high"])
        )
    }


def _by_commit(line: Line, href: Callable[[Row], str]) -> Figure | None:
    """The results of commits in the order in which they were made; None without two."""
    built = sorted(
        (row for row in line.rows if row["commit"] and row["commit_date"]),
        key=lambda row: (datetime.fromisoformat(row["commit_date"]), row["started_at"]),
    )
    count = len(built)
    built = built[-_DRAWN:]
    if len({row["commit"] for row in built}) < 2:
        return None
    points = [
        _point(row, row["commit"][:SHORT] + ("*" if row["dirty"] else ""), href(row))
        for row in built
    ]
    name = f"{line.name} by commit, oldest first"
    return figure(
        "commits",
        name,
        history_chart(points, [], name=name, title=line.title, unit=line.unit, by_commit=True),
        note="Commits stand in the order of their commit dates, not of their measurement"
        + (f"; the newest {_DRAWN} results of {count} are shown." if count > _DRAWN else "."),
    )


def _point(row: Row, at: str, href: str) -> dict[str, Any]:
    """A point of the chart, see `history_chart`."""
    believed = row["outcome"] in BELIEVED
    runs = json.loads(row["rounds"] or "[]") if believed else []
    return {
        "at": at,
        "label": server_name(row) + (f": {row['subject']}" if row["subject"] else ""),
        "mean": row["value"] if believed else None,
        "low": row["ci_low"],
        "high": row["ci_high"],
        "runs": [(value, dropped) for value, dropped in runs if value is not None],
        "href": href,
        "worse": False,
    }


def _changes(rows: Sequence[Row]) -> list[Mark]:
    """A mark where bench, its environment or the goal is not that of the result before."""
    found: list[tuple[Row, str, str]] = []
    for before, row in pairwise(row for row in rows if row["value"] is not None):
        if (row["bench"], row["environment"]) != (before["bench"], before["environment"]):
            found.append((row, "environment", f"{row['bench']} {row['environment'] or _NONE}"))
        if row["ruler"] != before["ruler"]:
            found.append((row, "goal", _goal_change(before, row)))
    return [
        Mark(number, row["started_at"], kind, label)
        for number, (row, kind, label) in enumerate(found, start=1)
    ]


def _goal_change(before: Row, row: Row) -> str:
    old, new = json.loads(before["ruler"]), json.loads(row["ruler"])
    return ", ".join(
        f"{name} {old.get(name)} to {value}"
        for name, value in new.items()
        if old.get(name) != value
    )


def _note(count: int, *, worse: bool) -> str:
    told = (
        "A small dot is a run, a pale grey one was dropped; a large dot is the figure of "
        "a result, the line through it its 95 % interval. A dashed line is a change of the "
        "lab, told below by its number."
    )
    if worse:
        told += " Red: worse than the result before, and the two intervals do not overlap."
    if count > _DRAWN:
        told += f" The newest {_DRAWN} of {count} are drawn; with scripts allowed, all are."
    return told
