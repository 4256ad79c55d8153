"""The charts of a whole sweep: its runs, loss and latency by load."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from leaselab.report.confirmation import confirming
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
    number,
    rows,
    told,
    whole,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_PERCENTILES = {"p50": BLUE, "p90": GREEN, "p99": ORANGE, "p99.9": PURPLE, "max": GREY}
_AXIS = 75
"""Width of a panel's vertical axis with the gap before it (px)."""
_LOSSES = [0, 1, 2.5, 5, 10, 25, 50, 100]
_VERDICTS = {
    "passed": (GREEN, "circle"),
    "failed": (ORANGE, "triangle-up"),
    "not valid": (GREY, "cross"),
    "confirmation": (PURPLE, "diamond"),
}
"""What came of a trial, or what it was for: colour and shape of its mark."""


def runs_chart(document: Mapping[str, Any]) -> Spec | None:
    """Each run's max rate with the bracket that proves it; None without any."""
    found = [run for run in document["runs"] if run["max_rate"] is not None]
    if not found:
        return None
    values = [
        {
            "run": run["index"],
            "max_rate": run["max_rate"],
            "lower": run["lower_bound"],
            "upper": run["upper_bound"],
            "dropped": "dropped" if run["trimmed"] else "counted",
        }
        for run in found
    ]
    x = {"field": "run", "type": "ordinal", "title": "run", "axis": {"labelAngle": 0}}
    colour = {
        "field": "dropped",
        "type": "nominal",
        "scale": {"domain": ["counted", "dropped"], "range": [BLUE, GREY]},
    }
    layers: list[Spec] = []
    rate = document["summary"]["max_rate"]
    if rate is not None:
        if rate["ci95"] is not None:
            band = {"low": rate["ci95"][0], "high": rate["ci95"][1]}
            layers.append(
                {
                    "data": rows([band]),
                    "mark": {"type": "rect", "opacity": 0.15, "color": BLUE, "aria": False},
                    "encoding": {"y": number("low", None), "y2": {"field": "high"}},
                }
            )
        layers.append(
            {
                "data": rows([{"mean": rate["trimmed_mean"]}]),
                "mark": {"type": "rule", "color": BLUE, "strokeDash": [5, 3], "aria": False},
                "encoding": {"y": number("mean", None)},
            }
        )
    tooltip = told(
        ("run", "run", ""),
        ("max_rate", "max rate (1/s)", ".0f"),
        ("lower", "passed at", ".0f"),
        ("upper", "failed at", ".0f"),
        ("dropped", "", ""),
    )
    layers += [
        {
            "data": rows(values),
            "mark": {"type": "rule", "strokeWidth": 6, "opacity": 0.35, "aria": False},
            "encoding": {
                "x": x,
                "y": number("lower", "exchanges/s"),
                "y2": {"field": "upper"},
                "color": colour,
            },
        },
        {
            "data": rows(values),
            "mark": {"type": "point", "filled": True, "size": 60, "opacity": 1},
            "encoding": {
                "x": x,
                "y": number("max_rate", "exchanges/s"),
                "color": colour,
                "tooltip": tooltip,
            },
        },
    ]
    return chart(layers, height=220, name="Max rate of each run with its bracket")


def loss_chart(document: Mapping[str, Any]) -> Spec | None:
    """Loss against offered load, every trial; None without trials.

    But for the one that offers far more than the server can do: it would leave a corner
    to all others.
    """
    goal = document["goal"]
    values = [
        _loss(trial, f"run {run['index']}, trial {number_}", goal["loss_ratio"])
        for run in document["runs"]
        for number_, trial in enumerate(run["trials"], start=1)
    ]
    values += [
        _loss(trial, f"confirmation, trial {number_}", goal["loss_ratio"])
        | ({"verdict": "confirmation"} if trial["valid"] else {})
        for number_, trial in enumerate(confirming(document), start=1)
    ]
    if not values:
        return None
    verdicts = [one for one in _VERDICTS if any(one == value["verdict"] for value in values)]
    colours, shapes = zip(*(_VERDICTS[one] for one in verdicts), strict=True)
    percent = 100 * goal["loss_ratio"]
    # a root, so that 2.5 % and 90 % both have room
    scale = {"type": "pow", "exponent": 0.5, "domain": [0, 100]}
    loss = number("loss", "loss (%)", scale=scale, axis={"values": _LOSSES, "format": ".3~g"})
    layers: list[Spec] = [
        {
            "data": rows([{"goal": percent}]),
            "mark": {"type": "rule", "strokeDash": [5, 3], "color": RED, "aria": False},
            "encoding": {"y": {**loss, "field": "goal"}},
        },
        {
            "data": rows(values),
            "params": [ZOOM],
            "mark": {"type": "point", "filled": True, "size": 42, "opacity": 0.75},
            "encoding": {
                "x": number("rate", "offered load (exchanges/s)", axis={"tickCount": 10}),
                "y": loss,
                "color": {
                    "field": "verdict",
                    "type": "nominal",
                    "scale": {"domain": verdicts, "range": list(colours)},
                },
                "shape": {
                    "field": "verdict",
                    "type": "nominal",
                    "scale": {"domain": verdicts, "range": list(shapes)},
                },
                "tooltip": told(
                    ("run", "", ""),
                    ("rate", "offered (1/s)", ".0f"),
                    ("seconds", "for (s)", "~g"),
                    ("loss", "loss (%)", ".2f"),
                    ("verdict", "", ""),
                ),
            },
        },
    ]
    name = f"Loss by offered load, every trial; the goal is at most {percent:g} %"
    return chart(layers, height=240, name=name)


def latency_chart(document: Mapping[str, Any], stages: Mapping[str, str]) -> Spec | None:
    """Latency percentiles by offered load, a panel for each stage; None without any.

    `stages` are the stages' names by their field.  Trials that were not valid
    say nothing and are left out.
    """
    found = {label: list(_latencies(document, stage)) for stage, label in stages.items()}
    seen = {label: values for label, values in found.items() if values}
    panels = []
    for label, values in seen.items():
        # side by side, each after the first with an axis of its own
        width = (WIDTH - _AXIS * (len(seen) - 1)) // len(seen)
        scale = {"type": "log", "nice": False}
        y = number("ms", "latency (ms)", scale=scale, axis={"format": ".3~g", "tickCount": 6})
        panels.append(
            {
                "title": {"text": label, "fontSize": 12, "fontWeight": "normal"},
                "width": width,
                "height": 220,
                "data": rows(values),
                "mark": {"type": "point", "filled": True, "size": 26, "opacity": 0.7},
                "encoding": {
                    "x": number("rate", "offered load (exchanges/s)", axis={"tickCount": 6}),
                    "y": y,
                    "color": {
                        "field": "percentile",
                        "type": "nominal",
                        "scale": {
                            "domain": list(_PERCENTILES),
                            "range": list(_PERCENTILES.values()),
                        },
                    },
                    "tooltip": told(
                        ("run", "", ""),
                        ("percentile", "", ""),
                        ("rate", "offered (1/s)", ".0f"),
                        ("ms", "latency (ms)", ".2f"),
                    ),
                },
            }
        )
    return whole({"hconcat": panels}, "Latency percentiles by offered load") if panels else None


def _latencies(document: Mapping[str, Any], stage: str) -> Iterator[dict[str, Any]]:
    for run in document["runs"]:
        for number_, trial in enumerate(run["trials"], start=1):
            seen = trial["latency_s"].get(stage)
            if not trial["valid"] or seen is None:
                continue
            for percentile in _PERCENTILES:
                if seen[percentile] > 0:
                    yield {
                        "rate": trial["rate"],
                        "ms": round(1000 * seen[percentile], 4),
                        "percentile": percentile,
                        "run": f"run {run['index']}, trial {number_}",
                    }


def _loss(trial: Mapping[str, Any], name: str, loss_ratio: float) -> dict[str, Any]:
    return {
        "rate": trial["rate"],
        "loss": 100 * trial["loss_ratio"],
        "run": name,
        "seconds": trial["duration_s"],
        "verdict": _verdict(trial, loss_ratio),
    }


def _verdict(trial: Mapping[str, Any], loss_ratio: float) -> str:
    if not trial["valid"]:
        return "not valid"
    return "passed" if trial["loss_ratio"] <= loss_ratio else "failed"
