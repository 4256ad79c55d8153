"""The page of one scenario's figure over time and over commits."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from leaselab.analysis.comparison.basis import base_of, to_anchor
from leaselab.analysis.history.changes import belongs
from leaselab.analysis.history.series import Change, Series
from leaselab.model.server import server_name
from leaselab.report.listing import common_kind
from leaselab.report.review.words import build_name, title_words
from leaselab.report.site.figure import Figure
from leaselab.report.site.history_panels import Drawing, Line, titles_of
from leaselab.report.site.news import change_words, news_of

Row = Mapping[str, Any]

_LISTED = 200
"""Newest results of the table."""
_PANELS = 6
"""Benches and their environments that are drawn, those with the newest results."""


def history(
    line: Line,
    series: Sequence[Series],
    href: Callable[[Row], str],
    others: Sequence[Line] = (),
    has_page: Callable[[str], bool] = lambda _: False,
) -> tuple[dict[str, Any], list[Figure | None]]:
    """What the template gets, and the charts.

    `series` are those of the figure and of counts, `href` says where a result is shown,
    `others` are the scenario's figures on other pages, `has_page` says which page there is.
    """
    counts = next((other for other in others if other.counted), None)
    drawing = Drawing(line, series, href, counts)
    places = dict.fromkeys((row["bench"], row["environment"]) for row in reversed(line.rows))
    panels = [drawing.panel(number, *at) for number, at in enumerate([*places][:_PANELS])]
    listed = line.rows[-_LISTED:]
    beside = {
        metric: (title, metrics[metric][3])
        for row in listed
        for metrics in (json.loads(row["metrics"] or "{}"),)
        for metric, title in titles_of(row).items()
        if metric != line.metric and metrics[metric][0] is not None
    }
    rows = [
        _listed(row, beside, href(row), anchor_words(row, drawing.known))
        for row in reversed(listed)
    ]
    context = {
        "line": line,
        "panels": [panel for panel in panels if panel.charts],
        "news": [
            news_of(each, change, {}, has_page) for each in series for change in each.changes
        ],
        "undrawn": max(0, len(places) - _PANELS),
        "others": others,
        "beside": beside,
        "rows": rows,
        "intervals": any(row["half_width"] is not None for row in rows),
        "anchored": any(row["against"] for row in rows),
        "places": len(places) > 1,
        "systems": len({row["release"] for row in listed}) > 1,
        "older": max(0, len(line.rows) - _LISTED),
    }
    return context, [chart for panel in panels for chart in panel.charts]


def history_list(
    lines: Sequence[Line], changes: Sequence[tuple[Series, Change]]
) -> dict[str, Any]:
    """What the template of the list gets; `changes` are those that no duel refuted."""
    listed = [_list_line(line, _last(line, changes)) for line in lines]
    count, changed = len(listed), sum(one["change"] is not None for one in listed)
    figures = "figure" if count == 1 else "figures"
    title = f"The level of {changed} of {count} {figures} changed"
    if changed == 1 and len(changes) == 1:
        title = title_words(changes)
    if not changed:
        title = f"No change of level in {count} {figures}"
    return {"title": title, "lines": listed, "kind": common_kind(listed)}


def _last(line: Line, changes: Sequence[tuple[Series, Change]]) -> Change | None:
    """The newest change of a figure."""
    own = [
        change
        for series, change in changes
        if belongs(series, line.scenario, line.metric, line.unit)
    ]
    return max(own, key=lambda change: change.detected_at, default=None)


def _list_line(line: Line, change: Change | None) -> dict[str, Any]:
    last = line.rows[-1]
    return {
        "change": change and change_words(change, line.unit),
        "since": change and build_name(change.first_after),
        "name": line.name,
        "page": line.page,
        "results": len(line.rows),
        "first": line.rows[0]["started_at"],
        "newest": last["started_at"],
        **{name: last[name] for name in ("outcome", "reasons", "metric", "value", "unit")},
    }


def _listed(row: Row, beside: Mapping[str, object], href: str, against: str) -> dict[str, Any]:
    """A row of the table, with its other metrics as value and unit."""
    metrics = json.loads(row["metrics"] or "{}")
    low, high = row["ci_low"], row["ci_high"]
    return {
        **row,
        "server_words": server_name(row),
        "href": href,
        "against": against,
        "half_width": None if high is None else (high - low) / 2,
        "beside": [(one[0], one[3]) if (one := metrics.get(name)) else None for name in beside],
    }


def anchor_words(row: Row, known: Mapping[str, Row]) -> str:
    """The ratio of a result to its anchor, with its 95 % interval; empty without one."""
    base = base_of(row, known)
    if base is not None and base["id"] == row["id"]:
        return "the anchor"
    ratio = to_anchor(base, row) if base else None
    if ratio is None:
        return ""
    ends = f" ({ratio.ci95[0]:.3f} to {ratio.ci95[1]:.3f})" if ratio.ci95 else ""
    return f"{ratio.value:.3f}{ends}"
