"""The charts of a whole sweep: its runs, loss and latency by load."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from statistics import median
from typing import Any

from leaselab.analysis.figures.summary import PERCENTILES
from leaselab.model.procedure import Procedure
from leaselab.model.record import Metric, Record
from leaselab.model.trial import WHOLE, Trial
from leaselab.report.facts import confirming
from leaselab.report.listing import sentence, with_unit
from leaselab.report.site import vega

_PERCENTILES = dict(zip(PERCENTILES, vega.SERIES, strict=False))
_LOSSES = [0, 1, 2.5, 5, 10, 25, 50, 100]
_LEAST_LOSS = 5
"""Loss that the axis reaches at least (%)."""
_NEAR = 0.25
"""How far from the max rate a load may be that is drawn (0..)."""
_CLOSE = 0.02
"""How far apart loads may be that make one point (0..)."""


class Verdict(StrEnum):
    """What came of a trial, or what it was for."""

    PASSED = "passed"
    COUNTED = "counted"
    FAILED = "failed"
    NOT_VALID = "not valid"
    CONFIRMATION = "confirmation"


_VERDICTS = {
    Verdict.PASSED: (vega.BETTER, vega.Shape.CIRCLE),
    Verdict.COUNTED: (vega.BETTER, vega.Shape.CIRCLE),
    Verdict.FAILED: (vega.DOUBT, vega.Shape.UP),
    Verdict.NOT_VALID: (vega.ASIDE, vega.Shape.CROSS),
    Verdict.CONFIRMATION: (vega.SERIES[1], vega.Shape.DIAMOND),
}
"""Colour and shape of the mark of a trial."""


def verdict_marks(values: Sequence[Mapping[str, Any]]) -> vega.Spec:
    """Colour and shape of the marks of trials, by the verdicts that occur among `values`."""
    seen = {value["verdict"] for value in values}
    marks = {verdict: mark for verdict, mark in _VERDICTS.items() if verdict in seen}
    return {
        "color": vega.looks(
            "verdict", {verdict: colour for verdict, (colour, _) in marks.items()}
        ),
        "shape": vega.looks(
            "verdict", {verdict: shape for verdict, (_, shape) in marks.items()}
        ),
    }


def verdict_of(trial: Trial, procedure: Procedure) -> Verdict:
    """What came of a trial: passed or failed, or counted where nothing was asked of it."""
    if not trial.valid:
        return Verdict.NOT_VALID
    if procedure.loss_goal is None:
        return Verdict.COUNTED
    return Verdict.PASSED if procedure.counts(trial) else Verdict.FAILED


def rate_unit(record: Record) -> str:
    """The unit of loads."""
    return f"{record.scenario.transaction.plural}/s"


def runs_chart(record: Record) -> vega.Spec | None:
    """Each run's figure, with the bracket that proves it if it has one; None of one."""
    figure = record.figure
    values = [
        {
            "run": round_.index,
            "value": value,
            "lower": round_.bracket.lower if round_.bracket else None,
            "upper": round_.bracket.upper if round_.bracket else None,
            "dropped": "dropped" if place in figure.dropped else "counted",
        }
        for place, round_ in enumerate(record.rounds)
        if (value := round_.metrics.get(figure.name)) is not None
    ]
    if len(values) < 2:
        return None
    bracketed = [value for value in values if value["lower"] is not None]
    x = {"field": "run", "type": "ordinal", "title": "run", "axis": {"labelAngle": 0}}
    place = {
        "x": x,
        "color": vega.looks("dropped", {"counted": vega.MEASURED, "dropped": vega.ASIDE}),
    }
    proofs = [("lower", "passed at", ".0f"), ("upper", "failed at", ".0f")]
    tooltip = vega.tooltip_fields(
        ("run", "run", ""),
        ("value", with_unit(figure.title, figure.unit), ".6~g"),
        *(proofs if bracketed else ()),
        ("dropped", "", ""),
    )
    proof = {"y": vega.number("lower", figure.unit), "y2": {"field": "upper"}}
    own = {"y": vega.number("value", figure.unit), "tooltip": tooltip}
    layers = [
        *_mean(figure),
        vega.layer(bracketed, vega.lines(6, opacity=0.35), {**place, **proof}),
        vega.layer(values, vega.dots(60), {**place, **own}),
    ]
    name = f"{sentence(figure.title)} of each run" + (" with its bracket" if bracketed else "")
    return vega.chart(layers, height=220, name=name)


def searched(record: Record) -> bool:
    """Whether its figure is one that brackets prove."""
    return any(round_.bracket for round_ in record.rounds)


def runs_note(record: Record) -> str:
    """Note on how to read the chart of the runs."""
    figure = record.figure
    text = f"A dot is a run's {figure.title}"
    if searched(record):
        text += ", the bar its bracket: passed at the lower end, failed at the upper"
    interval = ", with its 95 % interval" if figure.ci95 or figure.value is None else ""
    return f"{text}. Dashed: the {figure.how}{interval}."


def _mean(figure: Metric) -> Iterator[vega.Spec]:
    """The figure over all runs, with its interval."""
    if figure.ci95 is not None:
        yield vega.layer(
            [{"low": figure.ci95[0], "high": figure.ci95[1]}],
            {"type": "rect", "opacity": 0.15, "color": vega.MEASURED, "aria": False},
            {"y": vega.number("low", None), "y2": {"field": "high"}},
        )
    if figure.value is not None:
        yield vega.layer(
            [{"mean": figure.value}],
            vega.dashed(vega.MEASURED),
            {"y": vega.number("mean", None)},
        )


def loss_chart(record: Record) -> vega.Spec | None:
    """Loss against offered load near the max rate; None of less than two loads.

    Trials far from it, with which a search begins, would leave a corner to all others: they
    are in the tables alone.
    """
    procedure, goal = record.procedure, record.procedure.loss_goal
    values = [
        _loss(trial, name, verdict_of(trial, procedure)) for trial, name in _named(record)
    ]
    values += [
        _loss(
            trial,
            f"confirmation, trial {place}",
            Verdict.CONFIRMATION if trial.valid else verdict_of(trial, procedure),
        )
        for place, trial in enumerate(confirming(record), start=1)
    ]
    values = [value for value in values if _near(record, value["rate"])]
    if not _compares(values):
        return None
    # a root, so that 2.5 % and 25 % both have room
    highest = max(_LEAST_LOSS, 100 * (goal or 0.0), *(value["loss"] for value in values))
    most = next(loss for loss in _LOSSES if loss >= highest)
    scale = {"type": "pow", "exponent": 0.5, "domain": [0, most]}
    loss = vega.number(
        "loss", "loss (%)", scale=scale, axis={"values": _LOSSES, "format": ".3~g"}
    )
    load = f"offered load ({rate_unit(record)})"
    encoding = {
        "x": vega.number("rate", load, axis={"tickCount": 6}),
        "y": loss,
        **verdict_marks(values),
        "tooltip": vega.tooltip_fields(
            ("run", "", ""),
            ("rate", "offered (1/s)", ".0f"),
            ("seconds", "for (s)", "~g"),
            ("loss", "loss (%)", ".2f"),
            ("verdict", "", ""),
        ),
    }
    asked = [] if goal is None else [{"goal": 100 * goal}]
    layers = [
        vega.layer(asked, vega.dashed(vega.ASIDE), {"y": {**loss, "field": "goal"}}),
        vega.layer(values, vega.dots(42, opacity=0.75), encoding, params=[vega.ZOOM]),
    ]
    name = "Loss by offered load"
    if goal is not None:
        name += f"; the goal is at most {100 * goal:g} %"
    return vega.chart(layers, height=240, name=name)


def _compares(values: Sequence[Mapping[str, Any]]) -> bool:
    """Whether there are several loads: one makes a column of marks, which answers nothing."""
    return len({value["rate"] for value in values}) > 1


def _near(record: Record, rate: float) -> bool:
    """Whether a load is near what the server can do, as far as that is known."""
    max_rate = record.figure.value if searched(record) else None
    return not max_rate or abs(rate / max_rate - 1) <= _NEAR


def far_loads(record: Record) -> int:
    """How many trials the chart of losses leaves out."""
    return sum(not _near(record, trial.rate) for trial, _ in _named(record))


def latency_chart(record: Record) -> vega.Spec | None:
    """Latency percentiles of the whole transaction by offered load, as lines; None of one load.

    Loads that are close to each other make one point, the median of their trials.  Trials that
    were not valid say nothing and are left out.
    """
    values = [latency for stage in _stages(record)[:1] for latency in _latencies(record, stage)]
    if not _compares(values):
        return None
    name = "Latency percentiles by offered load"
    return vega.whole(
        {**_percentile_lines(record, values, "latency (ms)"), "height": 240}, name
    )


def stages_chart(record: Record) -> vega.Spec | None:
    """The same of the stages of a transaction, below each other; None of one load."""
    by_stage = {stage: list(_latencies(record, stage)) for stage in _stages(record)[1:]}
    panels = [
        {**_percentile_lines(record, values, f"{stage} (ms)"), "height": 160}
        for stage, values in by_stage.items()
        if _compares(values)
    ]
    name = "Latency percentiles of each stage by offered load"
    return vega.stacked(panels, name=name) if panels else None


def _stages(record: Record) -> list[str]:
    """The stages of which there are latencies, the whole transaction first."""
    stages = dict.fromkeys(stage for trial in record.trials for stage in trial.latency_s)
    return sorted(stages, key=lambda stage: stage != WHOLE)


def _percentile_lines(
    record: Record, values: Sequence[Mapping[str, Any]], title: str
) -> vega.Spec:
    log = {"type": "log", "nice": False}
    x = f"offered load ({rate_unit(record)})"
    encoding = {
        "x": vega.number("rate", x, axis={"tickCount": 6}),
        "y": vega.number("ms", title, scale=log, axis={"format": ".3~g", "tickCount": 6}),
        "color": vega.looks("percentile", _PERCENTILES),
        "tooltip": vega.tooltip_fields(
            ("percentile", "", ""),
            ("rate", "offered (1/s)", ".0f"),
            ("ms", "latency (ms), median", ".2f"),
            ("trials", "trials", ".0f"),
        ),
    }
    return {
        "width": vega.WIDTH,
        "data": vega.rows(values),
        "layer": [
            {"mark": {"type": "line", "strokeWidth": 2, "aria": False}, "encoding": encoding},
            {"mark": vega.dots(22), "encoding": encoding},
        ],
    }


def _latencies(record: Record, stage: str) -> Iterator[dict[str, Any]]:
    """The points of the lines of one stage."""
    made = [trial for trial, _ in _named(record)]
    valid = [trial for trial in made if trial.valid and trial.latency_s.get(stage)]
    near = [trial for trial in valid if _near(record, trial.rate)]
    for trials in _alike(near):
        for percentile in _PERCENTILES:
            field = percentile.replace(".", "")
            value = median(getattr(trial.latency_s[stage], field) for trial in trials)
            if value > 0:
                yield {
                    "rate": round(median(trial.rate for trial in trials)),
                    "ms": float(f"{1000 * value:.4g}"),
                    "percentile": percentile,
                    "trials": len(trials),
                }


def _alike(trials: Sequence[Trial]) -> Iterator[list[Trial]]:
    """Trials of loads that are close to each other, in the order of their loads."""
    group: list[Trial] = []
    for trial in sorted(trials, key=lambda trial: trial.rate):
        if group and trial.rate > (1 + _CLOSE) * group[0].rate:
            yield group
            group = []
        group.append(trial)
    if group:
        yield group


def _named(record: Record) -> Iterator[tuple[Trial, str]]:
    """Every trial of the runs that had a load, and what it is called.

    Clients that begin at once are asked for no rate.
    """
    for round_ in record.rounds:
        for place, trial in enumerate(round_.trials, start=1):
            if not trial.at_once:
                yield trial, f"run {round_.index}, trial {place}"


def _loss(trial: Trial, name: str, verdict: str) -> dict[str, Any]:
    return {
        "rate": trial.rate,
        "loss": 100 * trial.loss_ratio,
        "run": name,
        "seconds": trial.duration_s,
        "verdict": verdict,
    }
