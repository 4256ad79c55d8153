"""The chart of changes: a dot with its interval for each, around 0."""

from __future__ import annotations

from collections.abc import Sequence

from leaselab.report.site.vega import (
    ASIDE,
    LOOKS,
    OWN_COLOUR,
    Look,
    Spec,
    dashed,
    dots,
    in_percent,
    layer,
    lines,
    named,
    number,
    tooltip_fields,
)

Change = tuple[str, float, tuple[float, float] | None, Look]
"""Label, ratio, its 95 % interval, and the look of the change."""


def changes_chart(
    changes: Sequence[Change], name: str, *, axis: str = "change (%)"
) -> Spec | None:
    """Changes in percent around 0, a line each; None without any."""
    if not changes:
        return None
    values = [
        {
            "label": label,
            "change": in_percent(ratio),
            "low": in_percent(ci95[0]) if ci95 else None,
            "high": in_percent(ci95[1]) if ci95 else None,
            "colour": LOOKS[look],
        }
        for label, ratio, ci95, look in changes
    ]
    x = number("change", axis, scale={"zero": True, "padding": 16}, axis={"tickCount": 5})
    ends = {"x": number("low", axis), "x2": {"field": "high"}, "color": OWN_COLOUR}
    tooltip = tooltip_fields(
        ("label", "", ""),
        ("change", axis, "+.2f"),
        ("low", "from", "+.2f"),
        ("high", "to", "+.2f"),
    )
    known = [value for value in values if value["low"] is not None]
    return named(
        values,
        [
            layer([{"change": 0}], dashed(ASIDE), {"x": number("change", axis)}),
            layer(known, lines(2.5), ends),
            layer(values, dots(60), {"x": x, "color": OWN_COLOUR, "tooltip": tooltip}),
        ],
        name=name,
    )
