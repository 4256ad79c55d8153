"""The charts of an experiment: its points along a factor or one by one, and every run."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from leaselab.analysis.comparison.curve import Standing
from leaselab.model.record import Record
from leaselab.report.listing import sentence
from leaselab.report.site import vega

_LOOKS = {
    Standing.BEST: (vega.BETTER, vega.Shape.DIAMOND),
    Standing.ALIKE: (vega.MEASURED, vega.Shape.CIRCLE),
    Standing.UNCLEAR: (vega.MEASURED, vega.Shape.SQUARE),
    Standing.OTHER: (vega.ASIDE, vega.Shape.DOWN),
}
"""How a point stands to the best one: colour and shape of its mark."""
_TICKS = 16
"""Most values of a factor that are ticks on its axis."""
_LOGARITHMIC = 30
"""Highest over lowest value from which on an axis is logarithmic."""
_WORD, _WIDER = 36, 820
"""Room for the words of a value on an axis, and the width of a chart that has to make room for
them (px)."""


@dataclass(frozen=True, slots=True)
class Shown:
    """One point as the page shows it."""

    record: Record
    label: str
    """Its distinguishing label."""
    cells: tuple[str, ...]
    """Its values of what the points differ in, in the order of `experiment.varied`."""
    measured: bool
    """Whether it has a figure that is one."""
    standing: Standing | None
    """How it stands to the best point; None where one of the two has no figure."""
    latencies_ms: tuple[float | None, ...]
    """Of the whole transaction at the load that its runs stand for, by
    `experiment.LATENCIES` (ms)."""


def curve_chart(
    marks: Sequence[Mapping[str, Any]], axis: str, name: str, along: str
) -> vega.Spec | None:
    """The figure along a numeric factor; None without a figure."""
    if not marks:
        return None
    places = [mark["at"] for mark in marks]
    wide = min(places) > 0 and max(places) / min(places) >= _LOGARITHMIC
    scale = {"type": "log", "nice": False, "padding": 20} if wide else {"padding": 20}
    ticks: vega.Spec = {"format": ".9~g"}  # else 0.96 and 0.999 are both 1
    if len(set(places)) <= _TICKS:
        ticks["values"] = sorted(set(places))
    x, y = vega.number("at", along, scale=scale, axis=ticks), vega.number("value", axis)
    line = vega.layer(
        marks,
        {"type": "line", "color": vega.ASIDE, "strokeWidth": 1, "aria": False},
        {"x": x, "y": y},
    )
    interval = {"y": vega.number("low", axis), "y2": {"field": "high"}}
    layers = _points_layers(marks, {"x": x}, interval, {"y": y}, axis)
    close = _closest(sorted(set(places)), logarithmic=wide) * vega.WIDTH < _WORD
    return vega.chart(
        [line, *layers], height=300, name=name, width=_WIDER if close else vega.WIDTH
    )


def _closest(places: Sequence[float], *, logarithmic: bool) -> float:
    """How far apart the two values stand that are closest, as a share of the axis."""
    at = [math.log(place) for place in places] if logarithmic else places
    gaps = [after - before for before, after in pairwise(at)]
    return min(gaps) / (at[-1] - at[0]) if gaps else 1.0


def dot_chart(marks: Sequence[Mapping[str, Any]], axis: str, name: str) -> vega.Spec | None:
    """The figure of each point, one below the other; None without a figure."""
    if not marks:
        return None
    x = vega.number("value", axis, scale={"padding": 20}, axis={"tickCount": 8})
    interval = {"x": vega.number("low", axis), "x2": {"field": "high"}}
    return vega.named(marks, _points_layers(marks, {}, interval, {"x": x}, axis), name=name)


def _points_layers(
    marks: Sequence[Mapping[str, Any]],
    place: vega.Spec,
    interval: vega.Spec,
    value: vega.Spec,
    axis: str,
) -> list[vega.Spec]:
    """Intervals and points; `place`, `interval` and `value` say where they stand."""
    standings = [
        standing for standing in _LOOKS if any(mark["standing"] == standing for mark in marks)
    ]
    look: vega.Spec = {"color": {"value": vega.MEASURED}}
    if standings:
        look = {
            channel: vega.looks(
                "standing", {standing: _LOOKS[standing][which] for standing in standings}
            )
            for which, channel in enumerate(("color", "shape"))
        }
    tooltip = vega.tooltip_fields(
        ("label", "", ""),
        ("value", axis, ".6~g"),
        ("low", "from", ".6~g"),
        ("high", "to", ".6~g"),
        ("standing", "", ""),
    )
    links = {"href": {"field": "href"}, "description": {"field": "label"}, "tooltip": tooltip}
    known = [mark for mark in marks if mark["low"] is not None]
    return [
        vega.layer(known, vega.lines(2), {**place, **interval, "color": look["color"]}),
        vega.layer(marks, vega.dots(90), {**place, **value, **look, **links}, name="points"),
    ]


def rounds_chart(points: Sequence[Shown], axis: str) -> vega.Spec | None:
    """The runs of all points on one clock; None without any that has a figure."""
    values = [
        {
            "at": round_.started_at,
            "value": value,
            "label": point.label,
            "run": round_.index,
            "dropped": place in point.record.figure.dropped,
        }
        for point in points
        for place, round_ in enumerate(point.record.rounds)
        if (value := round_.metrics.get(point.record.figure.name)) is not None
    ]
    if not values:
        return None
    labels = [point.label for point in points]
    encoding = {
        "x": vega.moments("at", "started (UTC)"),
        "y": vega.number("value", axis),
        "color": vega.colours("label", labels),
        "opacity": {"condition": {"test": "datum.dropped", "value": 0.35}, "value": 1},
        "tooltip": vega.tooltip_fields(
            ("label", "", ""), ("run", "run", ""), ("at", "at", ""), ("value", axis, ".6~g")
        ),
    }
    runs = vega.layer(
        values, {"type": "point", "filled": True, "size": 45}, encoding, params=[vega.ZOOM]
    )
    return vega.chart([runs], height=240, name=f"{sentence(axis)} of every run over time")
