"""The picture of a search under way: the loads that it tried, and how its bracket closes."""

from __future__ import annotations

from collections.abc import Sequence

from leaselab.model.procedure import Procedure
from leaselab.report.live import Tried
from leaselab.report.site import vega
from leaselab.report.site.sweep_charts import verdict_marks, verdict_of


def bracket_chart(tried: Sequence[Tried], procedure: Procedure, unit: str) -> vega.Spec | None:
    """Each trial of a run at its load, with the bracket after it; None before the first."""
    values = [
        {
            "trial": place,
            "rate": round(each.trial.rate),
            "verdict": verdict_of(each.trial, procedure),
            "lower": each.lower,
            "upper": each.upper,
        }
        for place, each in enumerate(tried, start=1)
    ]
    if not values:
        return None
    x = {"field": "trial", "type": "ordinal", "title": "trial", "axis": {"labelAngle": 0}}
    # each load stands to the next as a ratio, and a search begins far away
    scale = {"type": "log", "nice": False, "padding": 8}
    axis = {"format": ".10~g", "tickCount": 5}
    y = vega.number("rate", f"offered load ({unit})", scale=scale, axis=axis)
    closing = [value for value in values if value["lower"] and value["upper"]]
    layers = [
        vega.layer(
            closing,
            vega.lines(6, opacity=0.35, color=vega.MEASURED),
            {"x": x, "y": {**y, "field": "lower"}, "y2": {"field": "upper"}},
        ),
        vega.layer(
            values,
            vega.dots(60),
            {
                "x": x,
                "y": y,
                **verdict_marks(values),
                "tooltip": vega.tooltip_fields(
                    ("trial", "trial", ""),
                    ("rate", f"offered ({unit})", ""),
                    ("verdict", "", ""),
                ),
            },
        ),
    ]
    return vega.chart(layers, height=180, name="Loads that this run tried, and its bracket")
