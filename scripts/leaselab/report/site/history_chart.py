"""The chart of one scenario's results: a dot for each run, figure, interval, marks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from leaselab.report.site.vega import (
    BLUE,
    GREY,
    ORANGE,
    PURPLE,
    RED,
    ZOOM,
    Spec,
    chart,
    moments,
    number,
    rows,
    told,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

_COLOURS = {"environment": PURPLE, "change point": RED, "goal": ORANGE}
_NAMED = 40
"""Commits whose names stand below them."""
_DOTTED = 100
"""Newest results whose single runs are drawn: more are a smear, and a slow page."""


@dataclass(frozen=True, slots=True)
class Point:
    """One result in a history."""

    at: str
    """Its moment (ISO 8601), or its place in a row of commits."""
    label: str
    """What it is called: server, version, commit."""
    mean: float | None
    ci95: tuple[float, float] | None
    runs: Sequence[tuple[float, bool]]
    """The figure of each run, and whether it was dropped."""
    href: str
    worse: bool = False
    """Whether its interval lies wholly on the wrong side of that of the result before."""


@dataclass(frozen=True, slots=True)
class Mark:
    """A moment from which on results differ for a reason that is known."""

    number: int
    """By which its line is found in the table."""
    at: str
    kind: str
    """Such as ``environment``; a change point is one more."""
    label: str


def history_chart(
    points: Sequence[Point],
    marks: Sequence[Mark],
    *,
    name: str,
    title: str,
    unit: str,
    by_commit: bool,
) -> Spec | None:
    """Draw the points over time, or side by side in the order of their commits.

    `title` and `unit` are those of the metric.  None where no result has a figure.
    """
    places = {at: place for place, at in enumerate(dict.fromkeys(one.at for one in points))}
    x = _sequence(places) if by_commit else moments("at", "started (UTC)")
    means = [_mean(point, places) for point in points if point.mean is not None]
    if not means:
        return None
    axis = f"{title} ({unit})"
    colour = {"condition": {"test": "datum.worse", "value": RED}, "value": BLUE}
    dropped = {"test": "datum.dropped", "value": GREY}
    layers: list[Spec] = [
        {
            "data": rows(list(_dots(points[-_DOTTED:], places))),
            "mark": {"type": "circle", "size": 18, "opacity": 0.5, "aria": False},
            "encoding": {
                "x": x,
                "y": number("value", axis),
                "color": {"condition": dropped, "value": BLUE},
            },
        },
        {
            "data": rows(list(_intervals(means))),
            "mark": {"type": "rule", "strokeWidth": 2, "aria": False},
            "encoding": {
                "x": x,
                "y": number("low", axis),
                "y2": {"field": "high"},
                "color": colour,
            },
        },
        {
            "name": "means",
            "data": rows(means),
            "params": [] if by_commit else [ZOOM],
            "mark": {"type": "point", "filled": True, "size": 55, "opacity": 1},
            "encoding": {
                "x": x,
                "y": number("mean", axis),
                "color": colour,
                "href": {"field": "href"},
                "description": {"field": "label"},
                "tooltip": told(
                    ("label", "server", ""),
                    ("at", "at", ""),
                    ("mean", axis, ".6~g"),
                    ("low", "from", ".6~g"),
                    ("high", "to", ".6~g"),
                ),
            },
        },
        *_marks(marks, x),
    ]
    return chart(layers, height=300, name=name)


def _sequence(places: Mapping[str, int]) -> Spec:
    """Commits side by side: by name as long as the names can be read."""
    if len(places) > _NAMED:
        return number("place", "commits, oldest first", axis={"labels": False, "ticks": False})
    axis = {"labelAngle": -45, "labelLimit": 110}
    return {"field": "at", "type": "ordinal", "sort": list(places), "title": None, "axis": axis}


def _dots(points: Iterable[Point], places: Mapping[str, int]) -> Iterable[dict[str, Any]]:
    for point in points:
        for value, dropped in point.runs:
            yield {
                "at": point.at,
                "place": places[point.at],
                "value": _short(value),
                "dropped": dropped,
            }


def _mean(point: Point, places: Mapping[str, int]) -> dict[str, Any]:
    low, high = point.ci95 or (None, None)
    return {
        "at": point.at,
        "place": places[point.at],
        "mean": _short(point.mean),
        "low": _short(low),
        "high": _short(high),
        "worse": point.worse,
        "label": point.label,
        "href": point.href,
    }


def _intervals(means: Iterable[Mapping[str, Any]]) -> Iterable[dict[str, Any]]:
    """The ends of the intervals and where they stand: less than a mean's row, and many."""
    for mean in means:
        if mean["low"] is not None:
            yield {name: mean[name] for name in ("at", "place", "low", "high", "worse")}


def _short(value: float | None) -> float | None:
    """In six digits, as there are thousands of them in a page."""
    return None if value is None else float(f"{value:.6g}")


def _marks(marks: Sequence[Mark], x: Spec) -> Iterator[Spec]:
    """Dashed lines with their numbers; what each is stands in a table."""
    if not marks:
        return
    values = [
        {
            "at": mark.at,
            "number": str(mark.number),
            "label": mark.label,
            "kind": mark.kind,
            "colour": _COLOURS.get(mark.kind, RED),
        }
        for mark in marks
    ]
    colour = {"field": "colour", "type": "nominal", "scale": None}
    yield {
        "data": rows(values),
        "mark": {"type": "rule", "strokeDash": [4, 3], "strokeWidth": 1.5},
        "encoding": {
            "x": x,
            "color": colour,
            "tooltip": told(("kind", "change", ""), ("label", "to", ""), ("at", "from", "")),
        },
    }
    yield {
        "data": rows(values),
        "mark": {"type": "text", "align": "left", "dx": 3, "y": 6, "fontSize": 11},
        "encoding": {"x": x, "text": {"field": "number"}, "color": colour},
    }
