"""The charts of one sweep: its runs, loss and latency by load, and second by second."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from leaselab.analysis.seconds import server_points, traffic_points
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
    stacked,
    told,
    whole,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

_PANEL = 76
"""Height of one panel of the seconds (px)."""
_PERCENTILES = {"p50": BLUE, "p90": GREEN, "p99": ORANGE, "p99.9": PURPLE, "max": GREY}
_LOSSES = [0, 1, 2.5, 5, 10, 25, 50, 100]
_VERDICTS = {"passed": GREEN, "failed": ORANGE, "not valid": GREY}


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
    """Loss against offered load, every trial; None without trials."""
    goal = document["goal"]
    values = [
        {
            "rate": trial["rate"],
            "loss": 100 * trial["loss_ratio"],
            "run": f"run {run['index']}, trial {number_}",
            "seconds": trial["duration_s"],
            "verdict": _verdict(trial, goal["loss_ratio"]),
        }
        for run in document["runs"]
        for number_, trial in enumerate(run["trials"], start=1)
    ]
    if not values:
        return None
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
                    "scale": {"domain": list(_VERDICTS), "range": list(_VERDICTS.values())},
                },
                "shape": {
                    "field": "verdict",
                    "type": "nominal",
                    "scale": {
                        "domain": list(_VERDICTS),
                        "range": ["circle", "triangle-up", "cross"],
                    },
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
    panels = []
    for stage, label in stages.items():
        values = list(_latencies(document, stage))
        if not values:
            continue
        width = (WIDTH - 90) // 2
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


def seconds_chart(run: Mapping[str, Any], goal: Mapping[str, Any]) -> Spec | None:
    """One run second by second: load, loss, latency, CPU, memory, leases, lost packets.

    None where nothing was seen by the second.
    """
    traffic = list(traffic_points(run))
    server = list(server_points(run))
    partner = list(server_points(run, "partner_samples"))
    if not traffic and not server:
        return None
    lines = _lines(traffic, server, partner)
    panels: list[Spec] = []
    for title, series in lines.items():
        values = [
            value
            for name, points, field, _ in series
            for value in _with_twins(list(_values(points, field, name)))
        ]
        if not values:
            continue
        told_of = {value["n"] for value in values}
        named = [(name, colour) for name, _, _, colour in series if name in told_of]
        panels.append(_panel(title, values, named, goal, len(panels)))
    if not panels:
        return None
    panels[-1]["layer"][0]["encoding"]["x"] |= {
        "title": "time since the run's start (s)",
        "axis": {"tickCount": 12},
    }
    return stacked(panels, name=f"Run {run['index']} second by second")


def _values(
    points: Sequence[Mapping[str, Any]], field: str, name: str
) -> Iterator[dict[str, Any]]:
    for point in points:
        if point[field] is not None:
            value = float(f"{point[field]:.5g}")
            yield {"s": round(point["s"], 2), "v": value, "n": name, "t": point["trial"]}


def _with_twins(values: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Repeat a value that is alone in its trial: a line of one point shows nothing."""
    counts = Counter(value["t"] for value in values)
    return values + [value for value in values if counts[value["t"]] == 1]


def _panel(
    title: str,
    values: Sequence[Mapping[str, Any]],
    series: Sequence[tuple[str, str]],
    goal: Mapping[str, Any],
    place: int,
) -> Spec:
    colour = {
        "field": "n",
        "type": "nominal",
        "scale": {"domain": [name for name, _ in series], "range": [one for _, one in series]},
        "legend": {"orient": "right"},
    }
    scale = {"zero": True, "nice": True}
    layers: list[Spec] = [
        {
            "data": rows(values),
            "params": [{**ZOOM, "name": f"zoom{place}"}],
            "mark": {
                "type": "line",
                "strokeWidth": 2,
                "strokeCap": "round",
                "point": {"size": 9, "aria": False},
                "interpolate": "linear",
            },
            "encoding": {
                "x": number("s", None, axis={"labels": False, "ticks": False, "tickCount": 12}),
                "y": number("v", title, scale=scale, axis={"tickCount": 3, "titleLimit": 90}),
                "color": colour,
                "detail": {"field": "t"},
                "tooltip": told(
                    ("n", "", ""),
                    ("t", "trial", ""),
                    ("s", "at (s)", ".1f"),
                    ("v", title, "~g"),
                ),
            },
        }
    ]
    if title.startswith("loss"):
        layers.append(
            {
                "data": rows([{"goal": 100 * goal["loss_ratio"]}]),
                "mark": {"type": "rule", "strokeDash": [5, 3], "color": GREY, "aria": False},
                "encoding": {"y": number("goal", title, scale=scale)},
            }
        )
    return {"width": WIDTH - 190, "height": _PANEL, "layer": layers}


def _lines(
    traffic: Sequence[Mapping[str, Any]],
    server: Sequence[Mapping[str, Any]],
    partner: Sequence[Mapping[str, Any]],
) -> dict[str, list[tuple[str, Sequence[Mapping[str, Any]], str, str]]]:
    """Panels by title: name, points, field and colour of each line."""
    in_percent = [
        {**point, "loss": None if point["loss"] is None else 100 * point["loss"]}
        for point in traffic
    ]
    return {
        "exchanges/s": [
            ("started", traffic, "started", GREY),
            ("completed", traffic, "completed", BLUE),
        ],
        "loss (%)": [("loss", in_percent, "loss", RED)],
        "latency (ms)": [
            ("median", traffic, "p50_ms", BLUE),
            ("99 %", traffic, "p99_ms", ORANGE),
        ],
        "CPUs busy": [
            ("server", server, "cpu", BLUE),
            ("its database", server, "database_cpu", GREEN),
            ("partner", partner, "cpu", PURPLE),
        ],
        "memory (MB)": [
            ("server", server, "rss_mb", BLUE),
            ("partner", partner, "rss_mb", PURPLE),
        ],
        "leases held": [
            ("server", server, "leases", BLUE),
            ("partner", partner, "leases", PURPLE),
        ],
        "dropped (1/s)": [
            ("server", server, "drops", RED),
            ("partner", partner, "drops", PURPLE),
        ],
    }


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


def _verdict(trial: Mapping[str, Any], loss_ratio: float) -> str:
    if not trial["valid"]:
        return "not valid"
    return "passed" if trial["loss_ratio"] <= loss_ratio else "failed"
