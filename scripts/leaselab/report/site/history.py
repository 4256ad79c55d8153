"""The page of one scenario over time and over commits."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from leaselab.model.errors import BELIEVED
from leaselab.model.server import server_name
from leaselab.model.source import SHORT
from leaselab.report.site.figure import Figure, figure
from leaselab.report.site.history_chart import Mark, Point, history_chart

_DRAWN = 200
"""Newest results of a drawing; over time, a browser that runs scripts shows all."""
_LISTED = 200
"""Newest results of the table."""
_NONE = "-"


def history(
    scenario: str, rows: Sequence[Mapping[str, Any]], href: Callable[[Mapping[str, Any]], str]
) -> tuple[dict[str, Any], list[Figure | None]]:
    """What the template gets, and the charts.

    `rows` are the index's, oldest first; `href` says where a result is shown.
    """
    marks = _changes(rows)
    points = [_point(row, row["started_at"], href(row)) for row in rows]
    drawn = points[-_DRAWN:]
    since = [mark for mark in marks if mark.at >= drawn[0].at]
    title = f"{scenario} over time"
    over_time = figure(
        "time",
        title,
        history_chart(points, marks, name=title, by_commit=False),
        drawn=history_chart(drawn, since, name=title, by_commit=False),
        note=_note(len(points)),
    )
    by_commit = _by_commit(scenario, rows, href)
    context = {
        "scenario": scenario,
        "time": over_time,
        "commits": by_commit,
        "rows": [
            {
                **row,
                "server_words": server_name(row),
                "href": href(row),
                "half_width": None
                if row["ci_high"] is None
                else (row["ci_high"] - row["ci_low"]) / 2,
            }
            for row in reversed(rows[-_LISTED:])
        ],
        "older": max(0, len(rows) - _LISTED),
        "marks": marks,
    }
    return context, [over_time, by_commit]


def scenario_line(scenario: str, rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """What a list of scenarios shows of one; `rows` are its results, oldest first."""
    last = rows[-1]
    return {
        "scenario": scenario,
        "results": len(rows),
        "first": rows[0]["started_at"],
        "newest": last["started_at"],
        **{name: last[name] for name in ("outcome", "reasons", "trimmed_mean")},
    }


def _by_commit(
    scenario: str, rows: Sequence[Mapping[str, Any]], href: Callable[[Mapping[str, Any]], str]
) -> Figure | None:
    """The results of commits in the order in which they were written; None without two."""
    built = sorted(
        (row for row in rows if row["commit"] and row["author_date"]),
        key=lambda row: (row["author_date"], row["started_at"]),
    )
    count = len(built)
    built = built[-_DRAWN:]
    if len({row["commit"] for row in built}) < 2:
        return None
    points = [
        _point(row, row["commit"][:SHORT] + ("*" if row["dirty"] else ""), href(row))
        for row in built
    ]
    title = f"{scenario} by commit, oldest first"
    return figure(
        "commits",
        title,
        history_chart(points, [], name=title, by_commit=True),
        note="Commits stand in the order of their author dates, not of their measurement"
        + (f"; the newest {_DRAWN} results of {count} are shown." if count > _DRAWN else "."),
    )


def _point(row: Mapping[str, Any], at: str, href: str) -> Point:
    believed = row["outcome"] in BELIEVED
    label = server_name(row)
    if row["subject"]:
        label += f": {row['subject']}"
    return Point(
        at=at,
        label=label,
        mean=row["trimmed_mean"] if believed else None,
        ci95=None if row["ci_low"] is None else (row["ci_low"], row["ci_high"]),
        runs=[(rate, dropped) for rate, dropped in json.loads(row["runs"] or "[]") if rate]
        if believed
        else [],
        href=href,
    )


def _changes(rows: Sequence[Mapping[str, Any]]) -> list[Mark]:
    """A mark where bench, its environment or the goal is not that of the result before."""
    marks: list[Mark] = []

    def add(row: Mapping[str, Any], kind: str, label: str) -> None:
        marks.append(Mark(len(marks) + 1, row["started_at"], kind, label))

    before: Mapping[str, Any] | None = None
    for row in rows:
        if row["trimmed_mean"] is None:
            continue
        if before is not None:
            if (row["bench"], row["environment"]) != (before["bench"], before["environment"]):
                words = f"{row['bench']} {row['environment'] or _NONE}"
                add(row, "environment", words)
            if row["goal"] != before["goal"]:
                add(row, "goal", _goal_change(before, row))
        before = row
    return marks


def _goal_change(before: Mapping[str, Any], row: Mapping[str, Any]) -> str:
    old, new = json.loads(before["goal"]), json.loads(row["goal"])
    return ", ".join(
        f"{name} {old.get(name)} to {value}"
        for name, value in new.items()
        if old.get(name) != value
    )


def _note(count: int) -> str:
    told = (
        "A small dot is a run, a pale grey one was dropped; a large dot is the trimmed mean, "
        "the line through it its 95 % interval. A dashed line is a change of the lab, told "
        "below by its number."
    )
    if count > _DRAWN:
        told += f" The newest {_DRAWN} of {count} are drawn; with scripts allowed, all are."
    return told
