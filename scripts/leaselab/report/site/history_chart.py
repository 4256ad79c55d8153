"""The chart of one scenario's results: a dot for each run, figure, interval, marks."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from leaselab.analysis.comparison.cost import LEAST_RATIO
from leaselab.report.site import vega

_DOTTED = 100
"""Newest results whose single runs are drawn: more are a smear, and a slow page."""


@dataclass(frozen=True, slots=True)
class Step:
    """A commit from which on figures are at another level."""

    at: str
    """The commit, as in its points."""
    words: str
    colour: str


_STATES = {
    vega.MEASURED: "measured",
    vega.DOUBT: "since a suspected change",
    vega.WORSE: "since a confirmed change for the worse",
    vega.BETTER: "since a confirmed change for the better",
    vega.ASIDE: "anchor",
}
"""What the colours of figures mean."""
_HEIGHT, _LOW = 260, 180
"""Of a chart, and of one of two below each other (px)."""
_LABELS = 12
"""Most commits that an axis names."""


def _sequence(places: Mapping[str, int]) -> vega.Spec:
    """The axis of commits, each at its place among the others."""
    step = -(-len(places) // _LABELS)
    axis = {
        "values": [*range(0, len(places), step)],
        "labelExpr": f"{json.dumps([*places])}[datum.value]",
        "labelAngle": -40,
        "labelOverlap": False,
        "grid": False,
    }
    scale = {"padding": 12, "nice": False}
    return vega.number("place", "commits, oldest first", axis=axis, scale=scale)


@dataclass(frozen=True, slots=True)
class Mark:
    """A moment from which on results have another goal."""

    number: int
    """By which its line is found in the table."""
    at: str
    label: str


@dataclass(frozen=True, slots=True)
class Course:
    """Figures of one kind, build after build."""

    points: Sequence[vega.Spec]
    """Each has `at` (its moment, or the commit), `label`, `href`, `mean`, `low` and `high` of
    its interval, `colour`, `runs` (value of each, and whether it was dropped), and `alike`:
    a line joins those that agree in it."""
    axis: str
    """What the figures are."""
    steps: Sequence[Step] = ()
    """Which commits changed them."""
    exact: bool = False
    """Whether they were counted: then a line leads from each to the next, in steps."""


def history_chart(
    courses: Sequence[Course],
    marks: Sequence[Mark],
    *,
    name: str,
    commits: Sequence[str] = (),
) -> vega.Spec | None:
    """Draw figures below each other: over time, or by these `commits`, in their order.

    None where no result has one.
    """
    places = {at: place for place, at in enumerate(commits)}
    shown = [
        course
        for course in courses
        if any(point["mean"] is not None for point in course.points)
    ]
    if not shown:
        return None
    x = _sequence(places) if places else vega.moments("at", "started (UTC)")
    *upper, last = shown
    bare = {**x, "title": None, "axis": {"labels": False, "ticks": False, "grid": False}}
    panels = [_layers(course, marks, places, bare) for course in upper]
    panels.append(_layers(last, marks, places, x))
    if not upper:
        return vega.chart(panels[0], height=_HEIGHT, name=name)
    return vega.stacked([vega.panel(each, height=_LOW) for each in panels], name=name)


def _layers(
    course: Course, marks: Sequence[Mark], places: Mapping[str, int], x: vega.Spec
) -> list[vega.Spec]:
    axis = course.axis
    y = partial(vega.number, title=axis, scale=_scale(course))
    means = [_mean(point, places) for point in course.points if point["mean"] is not None]
    dropped = {"test": "datum.dropped", "value": vega.ASIDE}
    ends = [
        {name: mean[name] for name in ("at", "place", "low", "high", "colour")}
        for mean in means
        if mean["low"] is not None
    ]
    stairs = {"type": "line", "interpolate": "step-after", "strokeWidth": 1.5, "aria": False}
    return [
        vega.layer(
            means if course.exact else [],
            {**stairs, "color": vega.MEASURED},
            {"x": x, "y": y("mean"), "detail": {"field": "alike"}},
        ),
        vega.layer(
            list(_dots(course.points[-_DOTTED:], places)),
            {"type": "circle", "size": 18, "opacity": 0.5, "aria": False},
            {
                "x": x,
                "y": y("value"),
                "color": {"condition": dropped, "value": vega.MEASURED},
            },
        ),
        vega.layer(
            ends,
            vega.lines(2),
            {
                "x": x,
                "y": y("low"),
                "y2": {"field": "high"},
                "color": vega.OWN_COLOUR,
            },
        ),
        vega.layer(
            means,
            vega.dots(55),
            {
                "x": x,
                "y": y("mean"),
                "color": {"value": vega.MEASURED}
                if course.exact
                else vega.looks("state", _legend(means)),
                "href": {"field": "href"},
                "description": {"field": "label"},
                "tooltip": vega.tooltip_fields(
                    ("at", "at", ""),
                    ("label", "server", ""),
                    ("mean", axis, ".6~g"),
                    ("low", "from", ".6~g"),
                    ("high", "to", ".6~g"),
                ),
            },
            name="counts" if course.exact else "means",
            params=[] if places else [vega.ZOOM],
        ),
        *_marks(marks, x),
        *_steps(course.steps, places, x),
    ]


def _scale(course: Course) -> vega.Spec:
    """The scale of figures: of counts, one that does not draw the scatter as a change.

    It spans ten times the least change of instructions that counts, or more.
    """
    if not course.exact:
        return {}
    values = [point["mean"] for point in course.points if point["mean"] is not None]
    low, high = min(values), max(values)
    room = (10 * LEAST_RATIO * high - (high - low)) / 2
    return {"domainMin": low - room, "domainMax": high + room} if room > 0 else {}


def _legend(means: Sequence[vega.Spec]) -> dict[str, str]:
    """What is shown, with its colour."""
    shown = {mean["colour"] for mean in means}
    return {word: colour for colour, word in _STATES.items() if colour in shown}


def _steps(
    steps: Sequence[Step], places: Mapping[str, int], x: vega.Spec
) -> Iterator[vega.Spec]:
    """Dashed lines at the commits from which on figures are at another level."""
    values = [
        {"place": places[step.at], "at": step.at, "words": step.words, "colour": step.colour}
        for step in steps
        if step.at in places
    ]
    if values:
        yield vega.layer(
            values,
            {"type": "rule", "strokeDash": [4, 3], "strokeWidth": 1.5},
            {
                "x": x,
                "color": vega.OWN_COLOUR,
                "tooltip": vega.tooltip_fields(("at", "commit", ""), ("words", "change", "")),
            },
        )


def _dots(points: Iterable[vega.Spec], places: Mapping[str, int]) -> Iterator[vega.Spec]:
    for point in points:
        place = {"at": point["at"], "place": places.get(point["at"])}
        for value, dropped in point["runs"]:
            yield {**place, "value": in_six_digits(value), "dropped": dropped}


def _mean(point: vega.Spec, places: Mapping[str, int]) -> vega.Spec:
    plain = {name: point[name] for name in ("at", "colour", "label", "href", "alike")}
    figures = {name: in_six_digits(point[name]) for name in ("mean", "low", "high")}
    state = _STATES[point["colour"]]
    return {**plain, **figures, "place": places.get(point["at"]), "state": state}


def in_six_digits(value: float | None) -> float | None:
    """In six digits, as there are thousands of them in a page."""
    return None if value is None else float(f"{value:.6g}")


def _marks(marks: Sequence[Mark], x: vega.Spec) -> Iterator[vega.Spec]:
    """Dashed lines with their numbers; what each is stands in a table."""
    if not marks:
        return
    values = [
        {"at": mark.at, "number": str(mark.number), "label": mark.label} for mark in marks
    ]
    colour = {"value": vega.DOUBT}
    tooltip = vega.tooltip_fields(("label", "goal", ""), ("at", "from", ""))
    yield vega.layer(
        values,
        {"type": "rule", "strokeDash": [4, 3], "strokeWidth": 1.5},
        {"x": x, "color": colour, "tooltip": tooltip},
    )
    yield vega.layer(
        values,
        {"type": "text", "align": "left", "dx": 3, "y": 6},
        {"x": x, "text": {"field": "number"}, "color": colour},
    )
