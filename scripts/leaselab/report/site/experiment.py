"""The page of one experiment: its points by what they differ in, and all runs over time."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from leaselab.analysis.curve import Curve, Standing, best_of, curves_of, standing
from leaselab.analysis.latency import whole_latency
from leaselab.analysis.ratio import runs_of
from leaselab.analysis.verdict import one_duel
from leaselab.model.server import server_name
from leaselab.report.listing import sentence
from leaselab.report.site.duel import LETTERS, duel
from leaselab.report.site.figure import Figure, figure
from leaselab.report.site.profile import profile_parts
from leaselab.report.site.vega import (
    BLUE,
    GREEN,
    GREY,
    WIDTH,
    ZOOM,
    Spec,
    chart,
    colours,
    dots,
    layer,
    lines,
    looks,
    moments,
    names,
    number,
    told,
)
from leaselab.report.units import in_shown_units

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from leaselab.analysis.profile import Spent
    from leaselab.model.record import Record

_LOOKS = {
    Standing.BEST: (GREEN, "diamond"),
    Standing.ALIKE: (BLUE, "circle"),
    Standing.UNTOLD: (BLUE, "square"),
    Standing.OTHER: (GREY, "triangle-down"),
}
"""How a point stands to the best one: colour and shape of its mark."""
_LATENCIES = {"p50": "median latency", "p99": "p99 latency"}
"""Percentiles of the latency that stand beside a figure that is none, and their titles."""
_TICKS = 16
"""Values of a factor that stand on its axis; of more, some do."""
_LOGARITHMIC = 30
"""Highest over lowest value from which on an axis is logarithmic."""
_WORD, _WIDER = 36, 820
"""Room for the words of a value on an axis, and the width of a chart that has to make room for
them (px)."""
_LABEL_WIDTH = 300
"""Room for the label of a point (px): one that is cut may look like another."""
_SYMBOL_WIDTH, _LETTER_WIDTH = 40, 7
"""Room in a legend for the mark of a label, and for each of its letters (px)."""


@dataclass(frozen=True, slots=True)
class Shown:
    """One point as the page shows it."""

    record: Record
    label: str
    """What tells it from the others."""
    cells: tuple[str, ...]
    """Its values of what the points differ in, in the order of `varied`."""
    measured: bool
    """Whether it has a figure that is one."""
    standing: Standing | None
    """How it stands to the best point; None where one of the two has no figure."""
    latencies_ms: tuple[float | None, ...]
    """Of the whole transaction at the load that its runs stand for, by `_LATENCIES` (ms)."""


def experiment(
    records: Sequence[Record], profiles: Sequence[Sequence[Spent]] = ()
) -> tuple[dict[str, Any], list[Figure | None]]:
    """What the template gets, and the charts.

    `records` are the points that have a result, in the experiment's order, at least one;
    `profiles` are what each one's rounds were spent on, where any was sampled.
    """
    fought, drawn = duel(records)  # judged by figures as measured, not as shown
    records = in_shown_units(records)
    first = records[0]
    if first.experiment is None:
        raise ValueError(f"{first.id} is no point of an experiment")
    metric, known = first.figure, varied(records)
    curves = curves_of(records)
    points = _points(records, known, _standings(records, curves))
    axis = f"{metric.title} ({metric.unit})"
    labels = [point.label for point in points]
    sampled = profile_parts([*zip(records, labels, profiles, strict=False)])
    interleaved = first.experiment.interleaved
    charts = [
        *drawn,
        *(
            _curve_figure(place, curve, points, axis, interleaved=interleaved)
            for place, curve in enumerate(curves)
        ),
        *(
            []
            if curves or fought
            else [_dots_figure(points, axis, metric.title, interleaved=interleaved)]
        ),
        *(
            []
            if fought
            else [
                figure(
                    "rounds",
                    "Every run, in the order they were made",
                    _rounds_chart(points, axis),
                    note="Points that move together show drift of the machine.",
                )
            ]
        ),
    ]
    context = {
        "experiment": first.experiment,
        "duel": fought,
        "scenarios": list(dict.fromkeys(one.scenario.name for one in records)),
        "goal": "; ".join(dict.fromkeys(one.procedure.words for one in records)),
        "points": points,
        "missing": len(set(first.experiment.points) - {one.id for one in records}),
        "titles": list(known),
        "metrics": first.metrics,
        "latencies": () if _has_latency(first) else tuple(_LATENCIES.values()),
        "charts": charts,
        "profiles": sampled,
        "started_at": min(one.started_at for one in records),
        "finished_at": max(one.finished_at for one in records),
    }
    return context, [*charts, *(one.figure for one in sampled)]


def experiment_line(records: Sequence[Record]) -> dict[str, Any]:
    """What a list of experiments shows of one; at least one of its points."""
    first = records[0]
    return {
        "id": first.experiment.id if first.experiment else first.id,
        "points": len(records),
        "scenarios": list(dict.fromkeys(one.scenario.name for one in records)),
        "started_at": min(one.started_at for one in records),
    }


def varied(records: Sequence[Record]) -> dict[str, list[Any]]:
    """What points differ in, by its name, and each one's value of it.

    Factors, server and bench; the scenario where these do not tell all of them apart.
    """
    known: list[dict[str, Any]] = [
        {**one.scenario.factors, "server": server_name(one.server), "bench": one.bench.name}
        for one in records
    ]
    names = dict.fromkeys(name for values in known for name in values)
    found = {name: [values.get(name) for values in known] for name in names}
    found = {name: values for name, values in found.items() if len(set(values)) > 1}
    if len(records) == len(LETTERS) and one_duel(*records):
        return {"duel": list(LETTERS), **found}
    told_apart = {
        tuple(values[place] for values in found.values()) for place in range(len(known))
    }
    if len(told_apart) < len(records):
        found["scenario"] = [one.scenario.name for one in records]
    return found


def _standings(
    records: Sequence[Record], curves: Sequence[Curve]
) -> dict[str, Standing | None]:
    """How each point stands to the best of its curve, by the result's id.

    Without curves the best is one of those with the same kind of transaction, such as the
    clients of one protocol: others do other work.
    """
    if curves:
        return {point.id: point.standing for curve in curves for point in curve.points}
    kinds: dict[tuple[str, str], list[Record]] = {}
    for one in records:
        kinds.setdefault((one.scenario.transaction.name, one.figure.name), []).append(one)
    return {
        one.id: standing(one, best)
        for members in kinds.values()
        for best in [best_of(members)]
        for one in members
    }


def _points(
    records: Sequence[Record],
    known: Mapping[str, Sequence[Any]],
    standings: Mapping[str, Standing | None],
) -> list[Shown]:
    points: list[Shown] = []
    for place, one in enumerate(records):
        cells = tuple(
            "-" if each[place] is None else str(each[place]) for each in known.values()
        )
        label = _label(zip(known, cells, strict=True))
        if not label or any(point.label == label for point in points):
            label = f"{label} #{place + 1}".strip()
        measured, whole = runs_of(one) is not None, whole_latency(one)
        latency = tuple(1000 * whole[name] if whole else None for name in _LATENCIES)
        points.append(Shown(one, label, cells, measured, standings[one.id], latency))
    return points


def _has_latency(record: Record) -> bool:
    """Whether its procedure has latencies among its metrics."""
    return any(one.title in _LATENCIES.values() for one in record.metrics)


def _label(told: Iterable[tuple[str, str]]) -> str:
    """What tells points apart, in words: names, and values that speak for themselves."""
    return ", ".join(
        value if name in ("duel", "server", "bench", "scenario") else f"{name} {value}"
        for name, value in told
    )


def _curve_figure(
    place: int, curve: Curve, points: Sequence[Shown], axis: str, *, interleaved: bool
) -> Figure | None:
    """The chart of one curve."""
    at = {point.id: point.at for point in curve.points}
    marks = [
        _mark(one, at[one.record.id]) for one in points if one.measured and one.record.id in at
    ]
    title = f"{sentence(curve.title)} by {curve.factor}"
    if label := _label(curve.alike.items()):
        title += f", {label}"
    drawn = _curve_chart(marks, axis, title, curve.factor)
    name = f"points-{place + 1}" if place else "points"
    return figure(name, title, drawn, note=_note(marks, interleaved=interleaved))


def _dots_figure(
    points: Sequence[Shown], axis: str, title: str, *, interleaved: bool
) -> Figure | None:
    """The chart of points that are on no curve."""
    marks = [_mark(point, None) for point in points if point.measured]
    name = f"{sentence(title)} of each point"
    drawn = _dot_chart(marks, axis, name)
    return figure("points", name, drawn, note=_note(marks, interleaved=interleaved))


def _mark(point: Shown, at: float | None) -> dict[str, Any]:
    """A point in a chart; `at` is its place on the horizontal axis, if it has one."""
    metric = point.record.figure
    low, high = metric.ci95 or (None, None)
    return {
        "at": at,
        "label": point.label,
        "value": metric.value,
        "low": low,
        "high": high,
        "standing": point.standing or "measured",
        "href": f"../sweep/{point.record.id}.html",
    }


def _note(marks: Sequence[Mapping[str, Any]], *, interleaved: bool) -> str:
    standings = {mark["standing"] for mark in marks}
    told = []
    if any(mark["low"] is not None for mark in marks):
        told.append("The line through a point is its 95 % interval.")
    if Standing.BEST in standings:
        told.append("The diamond is the best point.")
    if Standing.ALIKE in standings:
        told.append("A circle may be as good: no difference was seen at 5 %.")
    if Standing.UNTOLD in standings:
        told.append(
            "A square has too few runs to tell whether it is as good: one run has no interval."
        )
    if interleaved and standings & {Standing.ALIKE, Standing.OTHER}:
        told.append(
            "Points are compared round by round, so that intervals may overlap although they "
            "differ."
        )
    return " ".join(told)


def _curve_chart(
    marks: Sequence[Mapping[str, Any]], axis: str, name: str, along: str
) -> Spec | None:
    """The figure along a numeric factor; None without a figure."""
    if not marks:
        return None
    places = [mark["at"] for mark in marks]
    wide = min(places) > 0 and max(places) / min(places) >= _LOGARITHMIC
    scale = {"type": "log", "nice": False, "padding": 20} if wide else {"padding": 20}
    ticks: Spec = {"format": ".9~g"}  # else 0.96 and 0.999 are both 1
    if len(set(places)) <= _TICKS:
        ticks["values"] = sorted(set(places))
    x, y = number("at", along, scale=scale, axis=ticks), number("value", axis)
    line = layer(
        marks,
        {"type": "line", "color": GREY, "strokeWidth": 1, "aria": False},
        {"x": x, "y": y},
    )
    interval = {"y": number("low", axis), "y2": {"field": "high"}}
    layers = _points_layers(marks, {"x": x}, interval, {"y": y}, axis)
    close = _closest(sorted(set(places)), logarithmic=wide) * WIDTH < _WORD
    return chart([line, *layers], height=300, name=name, width=_WIDER if close else WIDTH)


def _closest(places: Sequence[float], *, logarithmic: bool) -> float:
    """How far apart the two values stand that are closest, as a share of the axis."""
    at = [math.log(place) for place in places] if logarithmic else places
    gaps = [after - before for before, after in pairwise(at)]
    return min(gaps) / (at[-1] - at[0]) if gaps else 1.0


def _dot_chart(marks: Sequence[Mapping[str, Any]], axis: str, name: str) -> Spec | None:
    """The figure of each point, one below the other; None without a figure."""
    if not marks:
        return None
    x = number("value", axis, scale={"padding": 20}, axis={"tickCount": 8})
    interval = {"x": number("low", axis), "x2": {"field": "high"}}
    layers = _points_layers(
        marks, {"y": names("label", _LABEL_WIDTH)}, interval, {"x": x}, axis
    )
    return chart(layers, height=max(50, 34 * len(marks)), name=name, width=300)


def _points_layers(
    marks: Sequence[Mapping[str, Any]], place: Spec, interval: Spec, value: Spec, axis: str
) -> list[Spec]:
    """Intervals and points; `place`, `interval` and `value` say where they stand."""
    standings = [one for one in _LOOKS if any(mark["standing"] == one for mark in marks)]
    look: Spec = {"color": {"value": BLUE}}
    if standings:
        look = {
            channel: looks("standing", {one: _LOOKS[one][which] for one in standings})
            for which, channel in enumerate(("color", "shape"))
        }
    tooltip = told(
        ("label", "", ""),
        ("value", axis, ".6~g"),
        ("low", "from", ".6~g"),
        ("high", "to", ".6~g"),
        ("standing", "", ""),
    )
    links = {"href": {"field": "href"}, "description": {"field": "label"}, "tooltip": tooltip}
    known = [mark for mark in marks if mark["low"] is not None]
    return [
        layer(known, lines(2), {**place, **interval, "color": look["color"]}),
        layer(marks, dots(90), {**place, **value, **look, **links}, name="points"),
    ]


def _legend_columns(labels: Sequence[str]) -> int:
    """How many columns of a legend stand beside each other without being cut."""
    longest = max(map(len, labels), default=0)
    return max(1, min(4, WIDTH // (_SYMBOL_WIDTH + _LETTER_WIDTH * longest)))


def _rounds_chart(points: Sequence[Shown], axis: str) -> Spec | None:
    """The runs of all points on one clock; None without any that has a figure."""
    values = [
        {
            "at": one.started_at,
            "value": value,
            "label": point.label,
            "run": one.index,
            "dropped": place in point.record.figure.dropped,
        }
        for point in points
        for place, one in enumerate(point.record.rounds)
        if (value := one.metrics.get(point.record.figure.name)) is not None
    ]
    if not values:
        return None
    labels = [point.label for point in points]
    encoding = {
        "x": moments("at", "started (UTC)"),
        "y": number("value", axis),
        "color": colours(
            "label",
            labels,
            legend={"columns": _legend_columns(labels), "labelLimit": _LABEL_WIDTH},
        ),
        "opacity": {"condition": {"test": "datum.dropped", "value": 0.35}, "value": 1},
        "tooltip": told(
            ("label", "", ""), ("run", "run", ""), ("at", "at", ""), ("value", axis, ".6~g")
        ),
    }
    runs = layer(values, {"type": "point", "filled": True, "size": 45}, encoding, params=[ZOOM])
    return chart([runs], height=240, name=f"{sentence(axis)} of every run over time")
