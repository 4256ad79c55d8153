"""The seconds around an operation on a server: answers and latency, in hundredths."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean, median
from typing import Any

from leaselab.model.trial import Operation
from leaselab.report.site import vega
from leaselab.report.site.seconds_chart import panel

_TIME = "time since the begin of the operation (s)"
_HIGHEST = 3
"""Top of the panel of answers over what was answered before: what is above is cut off."""
_POINTS = 600
"""Most points of a line; of a longer time each stands for several steps."""


def operation_chart(operation: Operation, plural: str) -> vega.Spec | None:
    """Answers and latency around an operation; None where nothing was answered.

    `plural` is that of transactions.
    """
    step, around = _steps(operation), operation.around
    if not any(around.answered):
        return None
    lines: dict[str, Sequence[float | None]] = {
        f"{plural}/s answered": [
            fmean(part) / around.step_s for part in _parts(around.answered, step)
        ],
        "mean latency (ms)": [
            1000 * fmean(known) if (known := [one for one in part if one is not None]) else None
            for part in _parts(around.latency_s, step)
        ],
    }
    panels = [
        _panel(operation, place, title, lines[title]) for place, title in enumerate(lines)
    ]
    shown = panels[0]["layer"][0]
    before = [value for value in _parts(around.answered, step)[: _before(operation)] if value]
    most = _HIGHEST * median(fmean(part) for part in before) / around.step_s if before else 0
    if 0 < most < shown["encoding"]["y"]["scale"]["domain"][1]:
        shown["encoding"]["y"]["scale"]["domain"] = [0, most]
        shown["mark"]["clip"] = True
    for layer in panels[-1]["layer"]:
        layer["encoding"]["x"] |= {"title": _TIME, "axis": {"tickCount": 12, "grid": False}}
    return vega.stacked(panels, name=f"The seconds around {operation.name}")


def operation_note(operation: Operation) -> str:
    """Note on how to read the chart."""
    point_ms = 1000 * _steps(operation) * operation.around.step_s
    text = f"A point is the mean of {point_ms:.0f} ms; latency is by the time of the request. "
    text += "Answers far above those before, such as of all that waited, are cut off."
    if operation.effect_s is not None:
        text += f" The dashed line, at {operation.effect_s:.3g} s, is when it took effect."
    return text


def _before(operation: Operation) -> int:
    """Points before the operation."""
    around = operation.around
    return round(-around.from_s / around.step_s / _steps(operation))


def _steps(operation: Operation) -> int:
    """Steps that a point stands for."""
    return max(1, -(-len(operation.around.answered) // _POINTS))


def _parts(values: Sequence[Any], step: int) -> list[Sequence[Any]]:
    return [values[place : place + step] for place in range(0, len(values), step)]


def _panel(
    operation: Operation, place: int, title: str, values: Sequence[float | None]
) -> vega.Spec:
    around, step = operation.around, _steps(operation)
    points = [
        {
            "s": round(around.from_s + number * step * around.step_s, 3),
            "v": None if value is None else float(f"{value:.4g}"),
            "n": title,
            "t": 1,
        }
        for number, value in enumerate(values)
    ]
    made = panel(title, points, [(title, vega.MEASURED)], None, place)
    if operation.effect_s is not None:
        effect = [{"s": round(operation.effect_s, 3)}]
        x = {"x": vega.number("s", None)}
        made["layer"].append(vega.layer(effect, vega.dashed(vega.ASIDE), x))
    return made
