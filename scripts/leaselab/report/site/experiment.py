"""The page of one experiment: its points by what they differ in, and all runs over time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from leaselab.analysis.comparison.curve import Curve, Standing, best_of, curves_of, standing
from leaselab.analysis.comparison.profile import Spent
from leaselab.analysis.comparison.ratio import runs_of
from leaselab.analysis.figures.summary import whole_latency
from leaselab.model.record import Metric, Record
from leaselab.model.server import server_name
from leaselab.report.facts import about, factor_words
from leaselab.report.listing import measured as figure_words
from leaselab.report.listing import sentence, with_unit
from leaselab.report.site.duel import LETTERS, contest_among, duel
from leaselab.report.site.experiment_charts import Shown, curve_chart, dot_chart, rounds_chart
from leaselab.report.site.figure import Figure, figure
from leaselab.report.site.profile import profile_parts
from leaselab.report.units import in_shown_units

LATENCIES = {"p50": "median latency", "p99": "p99 latency"}
"""Percentiles of the latency that stand beside a figure that is none, and their titles."""


def experiment(
    records: Sequence[Record], profiles: Sequence[Sequence[Spent]] = ()
) -> tuple[dict[str, Any], list[Figure | None]]:
    """What the template gets, and the charts.

    `records` are the points that have a result, in the experiment's order, at least one;
    `profiles` are what each one's rounds were spent on, where any was sampled.
    """
    measured = records
    fought, drawn = duel(measured)  # judged by figures as measured, not as shown
    records = in_shown_units(measured)
    first = records[0]
    if first.experiment is None:
        raise ValueError(f"{first.id} is no point of an experiment")
    metric, known = first.figure, varied(records)
    scenarios = list(dict.fromkeys(record.scenario.name for record in records))
    curves = curves_of(records)
    points = _points(records, known, _standings(records, curves))
    axis = with_unit(metric.title, metric.unit)
    labels = [point.label for point in points]
    sampled = profile_parts([*zip(measured, labels, profiles, strict=False)])
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
                    rounds_chart(points, axis),
                    note="Points that move together show drift of the machine.",
                )
            ]
        ),
    ]
    context = {
        "experiment": first.experiment,
        "answer": _answer(points, metric.title),
        "about": "" if scenarios[1:] else about(first.scenario),
        "duel": fought,
        "scenarios": scenarios,
        "goal": "; ".join(dict.fromkeys(record.procedure.words for record in records)),
        "points": points,
        "missing": len(set(first.experiment.points) - {record.id for record in records}),
        "titles": list(known),
        "metrics": [metric, *_known(first.figures[1:], records)],
        # as far as its procedure has none among its metrics
        "latencies": ()
        if any(other.title in LATENCIES.values() for other in first.figures)
        or not any(value for point in points for value in point.latencies_ms)
        else tuple(LATENCIES.values()),
        "charts": charts,
        "profiles": sampled,
        "started_at": min(record.started_at for record in records),
        "finished_at": max(record.finished_at for record in records),
    }
    return context, [*charts, *(part.figure for part in sampled)]


def _answer(points: Sequence[Shown], title: str) -> str:
    """Which point is the best, and its figure; empty without exactly one."""
    best = [point for point in points if point.standing == Standing.BEST]
    if len(best) != 1 or len(points) < 2:
        return ""
    others = [point.standing for point in points if point.standing != Standing.BEST]
    if all(other == Standing.ALIKE for other in others):
        compared = " and ".join(point.label for point in points)
        return f"no difference in {title} seen between {compared}"
    figure = best[0].record.figure
    value = figure_words(figure.value, figure.unit, figure.half_width)
    return f"best {title}: {best[0].label}, {value} {figure.unit}"


def _known(metrics: Iterable[Metric], records: Sequence[Record]) -> Iterator[Metric]:
    """The metrics of which a point has a figure."""
    for metric in metrics:
        own = [record.metric(metric.name) for record in records]
        if any(
            point_metric is not None and point_metric.value is not None for point_metric in own
        ):
            yield metric


def experiment_line(records: Sequence[Record]) -> dict[str, Any]:
    """What a list of experiments shows of one; at least one of its points."""
    first = records[0]
    return {
        "id": first.experiment.id if first.experiment else first.id,
        "points": len(records),
        "scenarios": list(dict.fromkeys(record.scenario.name for record in records)),
        "started_at": min(record.started_at for record in records),
    }


def varied(records: Sequence[Record]) -> dict[str, list[Any]]:
    """What points differ in, by its name, and each one's value of it.

    Factors, server and bench; also the scenario where these do not distinguish all.
    """
    known: list[dict[str, Any]] = [
        {
            **record.scenario.factors,
            "server": server_name(record.server),
            "bench": record.bench.name,
        }
        for record in records
    ]
    names = dict.fromkeys(name for values in known for name in values)
    varying = {name: [values.get(name) for values in known] for name in names}
    varying = {name: values for name, values in varying.items() if len(set(values)) > 1}
    if contest_among(records):
        return {"duel": list(LETTERS), **varying}
    combinations = {
        tuple(values[place] for values in varying.values()) for place in range(len(known))
    }
    if len(combinations) < len(records):
        varying["scenario"] = [record.scenario.name for record in records]
    return varying


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
    for record in records:
        kinds.setdefault((record.scenario.transaction.name, record.figure.name), []).append(
            record
        )
    return {
        member.id: standing(member, best)
        for members in kinds.values()
        for best in [best_of(members)]
        for member in members
    }


def _points(
    records: Sequence[Record],
    known: Mapping[str, Sequence[Any]],
    standings: Mapping[str, Standing | None],
) -> list[Shown]:
    points: list[Shown] = []
    for place, record in enumerate(records):
        cells = tuple(
            "-" if each[place] is None else str(each[place]) for each in known.values()
        )
        label = _label(zip(known, cells, strict=True))
        if not label or any(point.label == label for point in points):
            label = f"{label} #{place + 1}".strip()
        measured, whole = runs_of(record) is not None, whole_latency(record)
        latency = tuple(1000 * whole[name] if whole else None for name in LATENCIES)
        points.append(Shown(record, label, cells, measured, standings[record.id], latency))
    return points


def _label(values: Iterable[tuple[str, str]]) -> str:
    """Words that distinguish points: names with values, or values alone."""
    return ", ".join(
        value if name in ("duel", "server", "bench", "scenario") else factor_words(name, value)
        for name, value in values
    )


def _curve_figure(
    place: int, curve: Curve, points: Sequence[Shown], axis: str, *, interleaved: bool
) -> Figure | None:
    """The chart of one curve."""
    at = {point.id: point.at for point in curve.points}
    marks = [
        _mark(point, at[point.record.id])
        for point in points
        if point.measured and point.record.id in at
    ]
    title = f"{sentence(curve.title)} by {curve.factor}"
    if label := _label(curve.alike.items()):
        title += f", {label}"
    drawn = curve_chart(marks, axis, title, curve.factor)
    name = f"points-{place + 1}" if place else "points"
    return figure(name, title, drawn, note=_note(marks, interleaved=interleaved))


def _dots_figure(
    points: Sequence[Shown], axis: str, title: str, *, interleaved: bool
) -> Figure | None:
    """The chart of points that are on no curve."""
    marks = [_mark(point, None) for point in points if point.measured]
    name = f"{sentence(title)} of each point"
    drawn = dot_chart(marks, axis, name)
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
    sentences = []
    if any(mark["low"] is not None for mark in marks):
        sentences.append("The line through a point is its 95 % interval.")
    if Standing.BEST in standings:
        sentences.append("The diamond is the best point.")
    if Standing.ALIKE in standings:
        sentences.append("A circle may be as good: no difference was seen at 5 %.")
    if Standing.UNCLEAR in standings:
        sentences.append(
            "A square has too few runs to tell whether it is as good: one run has no interval."
        )
    if interleaved and standings & {Standing.ALIKE, Standing.OTHER}:
        sentences.append(
            "Points are compared round by round, so that intervals may overlap although they "
            "differ."
        )
    return " ".join(sentences)
