"""Charts of a release report: curves of two releases, and changes by release."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from leaselab.analysis.comparison.curve import Curve
from leaselab.report.listing import with_unit
from leaselab.report.site import vega

_LOGARITHMIC = 10
"""Highest over lowest value from which on an axis is logarithmic."""


def curves_chart(curves: Mapping[str, Curve], name: str) -> vega.Spec:
    """A figure along a factor, a line for each release, by its name; at least one."""
    first = next(iter(curves.values()))
    values = [
        {
            "release": release,
            "at": point.at,
            "value": point.value,
            "low": point.value - point.half_width if point.half_width is not None else None,
            "high": point.value + point.half_width if point.half_width is not None else None,
        }
        for release, curve in curves.items()
        for point in curve.points
        if point.value is not None
    ]
    axis = with_unit(first.title, first.unit)
    places = sorted({point.at for curve in curves.values() for point in curve.points})
    wide = places[0] > 0 and places[-1] / places[0] >= _LOGARITHMIC
    scale: vega.Spec = (
        {"type": "log", "nice": False, "padding": 20} if wide else {"padding": 20}
    )
    x = vega.number("at", first.factor, scale=scale, axis={"values": places, "format": ".9~g"})
    y = vega.number("value", axis, scale={"zero": True})
    tones = dict(
        zip(
            curves,
            (vega.MEASURED,) if len(curves) == 1 else (vega.ASIDE, vega.MEASURED),
            strict=True,
        )
    )
    marks = dict(zip(curves, ("circle", "diamond"), strict=False))
    known = [value for value in values if value["low"] is not None]
    ends = {"x": x, "y": vega.number("low", axis), "y2": {"field": "high"}}
    colour = vega.looks("release", tones)
    return vega.chart(
        [
            vega.layer(
                values, {"type": "line", "strokeWidth": 1}, {"x": x, "y": y, "color": colour}
            ),
            vega.layer(known, vega.lines(2), {**ends, "color": colour}),
            vega.layer(
                values,
                vega.dots(60),
                {"x": x, "y": y, "color": colour, "shape": vega.looks("release", marks)},
            ),
        ],
        height=240,
        name=name,
    )


def releases_chart(changes: Sequence[Mapping[str, Any]], name: str) -> vega.Spec | None:
    """Changes since one release, by release; None where there are fewer than two releases.

    `changes`: release, scenario, ratio and its interval, the releases in their order.
    """
    if len({change["release"] for change in changes}) < 2:
        return None
    values = [
        {
            "release": change["release"],
            "scenario": change["scenario"],
            "change": vega.in_percent(change["ratio"]),
            "low": vega.in_percent(change["ci95"][0]),
            "high": vega.in_percent(change["ci95"][1]),
        }
        for change in changes
    ]
    axis = "change (%)"
    scenarios = list(dict.fromkeys(value["scenario"] for value in values))
    place = {"field": "release", "type": "nominal", "sort": None, "title": None}
    x = {**place, "axis": {"labelAngle": 0}}
    colour = vega.colours("scenario", scenarios)
    shift = {"xOffset": {"field": "scenario", "type": "nominal", "sort": None}}
    y = vega.number("change", axis, scale={"zero": True})
    ends = {"x": x, "y": vega.number("low", axis), "y2": {"field": "high"}, "color": colour}
    return vega.chart(
        [
            vega.layer(
                [{"change": 0}], vega.dashed(vega.ASIDE), {"y": vega.number("change", axis)}
            ),
            vega.layer(values, vega.lines(2), {**ends, **shift}),
            vega.layer(values, vega.dots(60), {"x": x, "y": y, "color": colour, **shift}),
        ],
        height=220,
        name=name,
    )
