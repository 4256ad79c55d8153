"""The chart of ratios with their intervals."""

from __future__ import annotations

from collections.abc import Sequence

from leaselab.analysis.ratio import Ratio
from leaselab.report.site.vega import BLUE, RED, Spec, chart, number, rows, told


def compare_chart(bars: Sequence[tuple[str, Ratio]], *, name: str, axis: str) -> Spec:
    """Draw ratios, a line each: what it is of, and the ratio; `axis` says of which figure."""
    values = [
        {
            "label": label,
            "ratio": one.value,
            "low": one.ci95[0] if one.ci95 else None,
            "high": one.ci95[1] if one.ci95 else None,
        }
        for label, one in bars
    ]
    y = {
        "field": "label",
        "type": "nominal",
        "title": None,
        "sort": None,
        "axis": {"labelLimit": 320},
    }
    x = number("ratio", axis, scale={"padding": 20}, axis={"tickCount": 8})
    return chart(
        [
            {
                "data": rows([{"one": 1}]),
                "mark": {"type": "rule", "strokeDash": [5, 3], "color": RED, "aria": False},
                "encoding": {"x": number("one", None)},
            },
            {
                "data": rows([value for value in values if value["low"] is not None]),
                "mark": {"type": "rule", "strokeWidth": 2, "color": BLUE, "aria": False},
                "encoding": {
                    "x": number("low", axis),
                    "x2": {"field": "high"},
                    "y": y,
                },
            },
            {
                "data": rows(values),
                "mark": {
                    "type": "point",
                    "filled": True,
                    "size": 70,
                    "color": BLUE,
                    "opacity": 1,
                },
                "encoding": {
                    "x": x,
                    "y": y,
                    "tooltip": told(
                        ("label", "", ""),
                        ("ratio", "ratio", ".3f"),
                        ("low", "from", ".3f"),
                        ("high", "to", ".3f"),
                    ),
                },
            },
        ],
        height=max(50, 34 * len(values)),
        name=name,
        width=560,
    )
