"""The charts of a whole sweep: its runs, loss and latency by load."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from leaselab.report.facts import confirming
from leaselab.report.listing import sentence
from leaselab.report.site.vega import (
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    PURPLE,
    RED,
    WIDTH,
    ZOOM,
    Spec,
    chart,
    dashed,
    dots,
    layer,
    lines,
    looks,
    number,
    told,
    whole,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from leaselab.model.procedure import Procedure
    from leaselab.model.record import Metric, Record
    from leaselab.model.trial import Trial

_PERCENTILES = {"p50": BLUE, "p90": GREEN, "p99": ORANGE, "p99.9": PURPLE, "max": GREY}
_AXIS = 75
"""Width of a panel's vertical axis with the gap before it (px)."""
_LOSSES = [0, 1, 2.5, 5, 10, 25, 50, 100]
_VERDICTS = {
    "passed": (GREEN, "circle"),
    "counted": (GREEN, "circle"),
    "failed": (ORANGE, "triangle-up"),
    "not valid": (GREY, "cross"),
    "confirmation": (PURPLE, "diamond"),
}
"""What came of a trial, or what it was for: colour and shape of its mark."""


def verdict_of(trial: Trial, procedure: Procedure) -> str:
    """What came of a trial: passed or failed, or counted where nothing was asked of it."""
    if not trial.valid:
        return "not valid"
    if procedure.loss_goal is None:
        return "counted"
    return "passed" if procedure.counts(trial) else "failed"


def rate_unit(record: Record) -> str:
    """The unit of loads."""
    return f"{record.scenario.transaction.plural}/s"


def runs_chart(record: Record) -> Spec | None:
    """Each run's figure, with the bracket that proves it if it has one; None without any."""
    figure = record.figure
    values = [
        {
            "run": one.index,
            "value": value,
            "lower": one.bracket.lower if one.bracket else None,
            "upper": one.bracket.upper if one.bracket else None,
            "dropped": "dropped" if place in figure.dropped else "counted",
        }
        for place, one in enumerate(record.rounds)
        if (value := one.metrics.get(figure.name)) is not None
    ]
    if not values:
        return None
    bracketed = [value for value in values if value["lower"] is not None]
    x = {"field": "run", "type": "ordinal", "title": "run", "axis": {"labelAngle": 0}}
    place = {"x": x, "color": looks("dropped", {"counted": BLUE, "dropped": GREY})}
    proofs = [("lower", "passed at", ".0f"), ("upper", "failed at", ".0f")]
    tooltip = told(
        ("run", "run", ""),
        ("value", f"{figure.title} ({figure.unit})", ".6~g"),
        *(proofs if bracketed else ()),
        ("dropped", "", ""),
    )
    proof = {"y": number("lower", figure.unit), "y2": {"field": "upper"}}
    own = {"y": number("value", figure.unit), "tooltip": tooltip}
    layers = [
        *_mean(figure),
        layer(bracketed, lines(6, opacity=0.35), {**place, **proof}),
        layer(values, dots(60), {**place, **own}),
    ]
    name = f"{sentence(figure.title)} of each run" + (" with its bracket" if bracketed else "")
    return chart(layers, height=220, name=name)


def _mean(figure: Metric) -> Iterator[Spec]:
    """The figure over all runs, with its interval."""
    if figure.ci95 is not None:
        yield layer(
            [{"low": figure.ci95[0], "high": figure.ci95[1]}],
            {"type": "rect", "opacity": 0.15, "color": BLUE, "aria": False},
            {"y": number("low", None), "y2": {"field": "high"}},
        )
    if figure.value is not None:
        yield layer([{"mean": figure.value}], dashed(BLUE), {"y": number("mean", None)})


def loss_chart(record: Record) -> Spec | None:
    """Loss against offered load, every trial; None without trials that have a load.

    But for the one that offers far more than the server can do: it would leave a corner
    to all others.
    """
    procedure, goal = record.procedure, record.procedure.loss_goal
    values = [
        _loss(trial, name, verdict_of(trial, procedure)) for trial, name in _named(record)
    ]
    values += [
        _loss(
            trial,
            f"confirmation, trial {place}",
            "confirmation" if trial.valid else verdict_of(trial, procedure),
        )
        for place, trial in enumerate(confirming(record), start=1)
    ]
    if not values:
        return None
    verdicts = [one for one in _VERDICTS if any(one == value["verdict"] for value in values)]
    # a root, so that 2.5 % and 90 % both have room
    scale = {"type": "pow", "exponent": 0.5, "domain": [0, 100]}
    loss = number("loss", "loss (%)", scale=scale, axis={"values": _LOSSES, "format": ".3~g"})
    load = f"offered load ({rate_unit(record)})"
    encoding = {
        "x": number("rate", load, axis={"tickCount": 10}),
        "y": loss,
        "color": looks("verdict", {one: _VERDICTS[one][0] for one in verdicts}),
        "shape": looks("verdict", {one: _VERDICTS[one][1] for one in verdicts}),
        "tooltip": told(
            ("run", "", ""),
            ("rate", "offered (1/s)", ".0f"),
            ("seconds", "for (s)", "~g"),
            ("loss", "loss (%)", ".2f"),
            ("verdict", "", ""),
        ),
    }
    asked = [] if goal is None else [{"goal": 100 * goal}]
    layers = [
        layer(asked, dashed(RED), {"y": {**loss, "field": "goal"}}),
        layer(values, dots(42, opacity=0.75), encoding, params=[ZOOM]),
    ]
    name = "Loss by offered load, every trial"
    if goal is not None:
        name += f"; the goal is at most {100 * goal:g} %"
    return chart(layers, height=240, name=name)


def latency_chart(record: Record) -> Spec | None:
    """Latency percentiles by offered load, a panel for each stage; None without any.

    Trials that were not valid say nothing and are left out.
    """
    stages = dict.fromkeys(stage for trial in record.trials for stage in trial.latency_s)
    found = {stage: list(_latencies(record, stage)) for stage in stages}
    seen = {label: values for label, values in found.items() if values}
    # side by side, each after the first with an axis of its own
    width = (WIDTH - _AXIS * (len(seen) - 1)) // (len(seen) or 1)
    log = {"type": "log", "nice": False}
    encoding = {
        "x": number("rate", f"offered load ({rate_unit(record)})", axis={"tickCount": 6}),
        "y": number("ms", "latency (ms)", scale=log, axis={"format": ".3~g", "tickCount": 6}),
        "color": looks("percentile", _PERCENTILES),
        "tooltip": told(
            ("run", "", ""),
            ("percentile", "", ""),
            ("rate", "offered (1/s)", ".0f"),
            ("ms", "latency (ms)", ".2f"),
        ),
    }
    heading = {"fontSize": 12, "fontWeight": "normal", "limit": width}
    panels = [
        layer(
            values,
            dots(26, opacity=0.7),
            encoding,
            title={"text": label, **heading},
            width=width,
            height=220,
        )
        for label, values in seen.items()
    ]
    return whole({"hconcat": panels}, "Latency percentiles by offered load") if panels else None


def _latencies(record: Record, stage: str) -> Iterator[dict[str, Any]]:
    for trial, name in _named(record):
        seen = trial.latency_s.get(stage)
        if not trial.valid or seen is None:
            continue
        for percentile in _PERCENTILES:
            value: float = getattr(seen, percentile.replace(".", ""))
            if value > 0:
                yield {
                    "rate": round(trial.offered_rate),
                    "ms": round(1000 * value, 4),
                    "percentile": percentile,
                    "run": name,
                }


def _named(record: Record) -> Iterator[tuple[Trial, str]]:
    """Every trial of the runs that had a load, and what it is called.

    Clients that begin at once are asked for no rate.
    """
    for one in record.rounds:
        for place, trial in enumerate(one.trials, start=1):
            if not trial.at_once:
                yield trial, f"run {one.index}, trial {place}"


def _loss(trial: Trial, name: str, verdict: str) -> dict[str, Any]:
    return {
        "rate": round(trial.offered_rate),
        "loss": 100 * trial.loss_ratio,
        "run": name,
        "seconds": trial.duration_s,
        "verdict": verdict,
    }
