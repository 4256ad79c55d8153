"""One run second by second: a panel for each figure, below each other on one clock."""

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
    number,
    rows,
    stacked,
    told,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

_PANEL = 76
"""Height of one panel (px)."""


def seconds_chart(
    run: Mapping[str, Any], goal: Mapping[str, Any], other: str = ""
) -> Spec | None:
    """One run second by second: load, loss, latency, CPU, memory, leases, lost packets.

    `other` says what it is of, where that is no run.  None where nothing was seen by the
    second.
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
        "title": f"time since the start of the {other.lower() or 'run'} (s)",
        "axis": {"tickCount": 12},
    }
    return stacked(panels, name=f"{other or 'Run ' + str(run['index'])} second by second")


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
