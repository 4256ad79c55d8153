"""One run second by second: a panel for each figure, below each other on one clock."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import cycle, groupby
from statistics import fmean
from typing import Any, NamedTuple

from leaselab.analysis.figures.seconds import Point, server_points, traffic_points
from leaselab.model.record import SERVER, Round
from leaselab.report.site import vega

_PANEL = 84
"""Height of one panel (px)."""
_POINTS = 300
"""Most points of a line: of a longer run each stands for several seconds, as there are fewer
pixels, and an hour of seconds makes a page of megabytes."""
_ROOM = 1.06
"""Top of a panel over its highest value: a line at the top would be cut."""
_WORST = ("loss", "p50_ms", "p99_ms", "drops")
"""Figures of which a point of several seconds has the worst; of others it has the mean."""
_OF_ROLES = vega.SERIES[1:4]
"""Colours of the servers beside the one under test."""
_BESIDE = vega.SERIES[1:5]
"""Colours of companion services."""
_OF_COUNTERS = vega.SERIES
"""Colours of a server's own counters."""


class _Line(NamedTuple):
    name: str
    points: Sequence[Point]
    field: str
    colour: str


def seconds_chart(
    round_: Round,
    *,
    plural: str,
    holds: str,
    loss_goal: float | None,
    offered: bool = False,
    other: str = "",
) -> vega.Spec | None:
    """One run second by second: load, loss, latency, CPU, memory, what is held, lost packets.

    `plural` is that of transactions, `holds` the word for what servers hold, `loss_goal` the
    loss ratio that a trial may have, if any.  `offered`: the rate asked for changes on
    purpose, so it has a line.  `other` says what it is of, where that is no run.
    None where nothing was seen by the second.
    """
    panels: list[vega.Spec] = []
    step = _step(round_)
    for title, series in _lines(round_, plural, holds, offered=offered).items():
        values = [
            value for line in series for value in _with_ends(list(_values(line, step)), step)
        ]
        if not values:
            continue
        shown = {value["n"] for value in values}
        named = [(line.name, line.colour) for line in series if line.name in shown]
        goal = loss_goal if title.startswith("loss") else None
        panels.append(panel(title, values, named, goal, len(panels)))
    if not panels:
        return None
    panels[-1]["layer"][0]["encoding"]["x"] |= {
        "title": f"time since the start of the {other.lower() or 'run'} (s)"
        + (f", a point for {step} s" if step > 1 else ""),
        "axis": {
            "tickCount": 12,
            "grid": False,
            "labelOverlap": "greedy",
            "labelSeparation": 6,
        },
    }
    return vega.stacked(panels, name=f"{other or f'Run {round_.index}'} second by second")


def seconds_note(round_: Round) -> str:
    """Note on how to read the chart."""
    text = "All panels share one time axis. Gaps are between trials."
    if (step := _step(round_)) > 1:
        text += (
            f" A point stands for {step} s: of loss, latency and drops it is the worst second, "
            "of the rest the mean."
        )
    return text


def _step(round_: Round) -> int:
    """Seconds that a point stands for: more than one in a long run."""
    return max(1, math.ceil(sum(trial.duration_s for trial in round_.trials) / _POINTS))


def _values(line: _Line, step: int) -> Iterator[dict[str, Any]]:
    """The points of a line, each of `step` seconds of one trial."""
    known = [point for point in line.points if point.get(line.field) is not None]
    for (trial, _), part in groupby(
        known, key=lambda point: (point["trial"], point["s"] // step)
    ):
        members = list(part)
        values = [float(point[line.field]) for point in members]
        value = max(values) if line.field in _WORST else fmean(values)
        at = round(members[0]["s"], 2)
        yield {"s": at, "v": float(f"{value:.5g}"), "n": line.name, "t": trial}


def _with_ends(values: list[dict[str, Any]], step: int) -> list[dict[str, Any]]:
    """End a value that is alone in its trial `step` later: a line of one point is no line."""
    counts = Counter(value["t"] for value in values)
    return values + [
        {**value, "s": value["s"] + step} for value in values if counts[value["t"]] == 1
    ]


def panel(
    title: str,
    values: Sequence[Mapping[str, Any]],
    series: Sequence[tuple[str, str]],
    goal: float | None,
    place: int,
) -> vega.Spec:
    """Return a panel of lines on the common clock.

    `values` have the time `s`, the value `v` (None interrupts the line), the line's name `n`
    and the trial `t`; `series` are names and colours, `place` is its number.
    """
    known = [float(value["v"]) for value in values if value["v"] is not None]
    known += [] if goal is None else [100 * goal]
    scale = {"domain": [min(0.0, *known), _ROOM * max(known) or 1.0], "nice": False}
    shown = {
        "type": "line",
        "strokeWidth": 2,
        "strokeCap": "round",
        "point": {"size": 9, "aria": False},
        "interpolate": "linear",
    }
    encoding = {
        "x": vega.number("s", None, axis={"labels": False, "ticks": False, "grid": False}),
        "y": vega.number("v", title, scale=scale, axis={"tickCount": 3}),
        "color": {**vega.looks("n", dict(series)), "legend": {"orient": "right"}},
        "detail": {"field": "t"},
        "tooltip": vega.tooltip_fields(
            ("n", "", ""), ("t", "trial", ""), ("s", "at (s)", ".1f"), ("v", title, "~g")
        ),
    }
    zoom = {**vega.ZOOM, "name": f"zoom{place}"}
    layers = [{**vega.layer([], shown, encoding, params=[zoom]), "data": vega.table(values)}]
    if goal is not None:
        y = vega.number("goal", title, scale=scale)
        layers.append(vega.layer([{"goal": 100 * goal}], vega.dashed(vega.ASIDE), {"y": y}))
    return vega.panel(layers, height=_PANEL)


def _lines(round_: Round, plural: str, holds: str, *, offered: bool) -> dict[str, list[_Line]]:
    """The lines of each panel, by its title."""
    traffic = [
        {**point, "loss": None if point["loss"] is None else 100 * point["loss"]}
        for point in traffic_points(round_)
    ]
    servers = _servers(round_)
    by_role = {
        title: [_Line(role, points, field, colour) for role, points, colour in servers]
        for title, field in (
            ("CPUs busy", "cpu"),
            ("memory (MB)", "rss_mb"),
            *([(f"{holds} held", "held")] if holds else []),
            ("dropped (1/s)", "drops"),
        )
    }
    looks = cycle(_BESIDE)
    by_role["CPUs busy"] = [
        line
        for own in by_role["CPUs busy"]
        for line in (own, *_beside(own.name, own.points, looks))
    ]
    return {
        f"{plural}/s": [
            *([_Line("offered", traffic, "offered", vega.SERIES[1])] if offered else []),
            _Line("started", traffic, "attempted", vega.ASIDE),
            _Line("completed", traffic, "completed", vega.MEASURED),
        ],
        "loss (%)": [_Line("loss", traffic, "loss", vega.MEASURED)],
        "latency (ms)": [
            _Line("median", traffic, "p50_ms", vega.MEASURED),
            _Line("99 %", traffic, "p99_ms", vega.SERIES[1]),
        ],
        **by_role,
        "counters (1/s)": list(_counters(servers[0][1])),
    }


def _servers(round_: Round) -> list[tuple[str, Sequence[Point], str]]:
    """Each server of the round: its role, its points and its colour."""
    roles = dict.fromkeys(
        [SERVER, *(role for trial in round_.trials for role in trial.samples)]
    )
    looks = (vega.MEASURED, *_OF_ROLES)
    return [
        (role, list(server_points(round_, role)), looks[place % len(looks)])
        for place, role in enumerate(roles)
    ]


def _counters(points: Sequence[Point]) -> Iterator[_Line]:
    """What the server under test counted itself, as far as it counted anything."""
    names = dict.fromkeys(name for point in points for name in point["counted"])
    for name, colour in zip(names, cycle(_OF_COUNTERS), strict=False):
        gained = [{**point, "gained": point["counted"].get(name)} for point in points]
        if any(point["gained"] for point in gained):
            yield _Line(name, gained, "gained", colour)


def _beside(role: str, points: Sequence[Point], looks: Iterator[str]) -> Iterator[_Line]:
    """CPU time of companion services, by server and name."""
    for name in dict.fromkeys(name for point in points for name in point["beside"]):
        whose = "its" if role == SERVER else f"{role}'s"
        spent = [{**point, "beside": point["beside"].get(name)} for point in points]
        yield _Line(f"{whose} {name}", spent, "beside", next(looks))
