"""The chart of changes: a dot with its interval for each, around 0."""

from __future__ import annotations

from collections.abc import Sequence

from leaselab.report.site import vega

Change = tuple[str, float, tuple[float, float] | None, vega.Look]
"""Label, ratio, its 95 % interval, and the look of the change."""


def changes_chart(
    changes: Sequence[Change], name: str, *, axis: str = "change (%)"
) -> vega.Spec | None:
    """Changes in percent around 0, a line each; None without any."""
    if not changes:
        return None
    values = [
        {
            "label": label,
            "change": vega.in_percent(ratio),
            "low": vega.in_percent(ci95[0]) if ci95 else None,
            "high": vega.in_percent(ci95[1]) if ci95 else None,
            "colour": vega.LOOKS[look],
        }
        for label, ratio, ci95, look in changes
    ]
    x = vega.number("change", axis, scale={"zero": True, "padding": 16}, axis={"tickCount": 5})
    ends = {"x": vega.number("low", axis), "x2": {"field": "high"}, "color": vega.OWN_COLOUR}
    tooltip = vega.tooltip_fields(
        ("label", "", ""),
        ("change", axis, "+.2f"),
        ("low", "from", "+.2f"),
        ("high", "to", "+.2f"),
    )
    known = [value for value in values if value["low"] is not None]
    return vega.named(
        values,
        [
            vega.layer(
                [{"change": 0}], vega.dashed(vega.ASIDE), {"x": vega.number("change", axis)}
            ),
            vega.layer(known, vega.lines(2.5), ends),
            vega.layer(
                values, vega.dots(60), {"x": x, "color": vega.OWN_COLOUR, "tooltip": tooltip}
            ),
        ],
        name=name,
    )
