"""The chart of `leaselab dev bench week`: from a push to its verdict, by benches."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks._week_figures import Figures
from leaselab.analysis.workload import WEEK_H, Lab
from leaselab.report.site.figure import svg
from leaselab.report.site.vega import SERIES, Spec, number, rows, whole

_TICKS_H = [0.5, 1, 2, 4, 8, 16, 24, 48, 96, 168]


def draw(cells: Sequence[tuple[Lab, Figures]]) -> str:
    """Draw medians and 95th percentiles as SVG; times over a week have no point."""
    values = [
        {
            "benches": lab.benches,
            "nightly": f"{lab.nightly} scenarios a night",
            "kind": kind,
            "h": hours,
        }
        for lab, figures in cells
        for kind, hours in (("median", figures.delay.median), ("95 %", figures.delay.p95))
        if hours <= WEEK_H
    ]
    nights = list(dict.fromkeys(f"{lab.nightly} scenarios a night" for lab, _ in cells))
    across = sorted({lab.benches for lab, _ in cells})
    encoding: Spec = {
        "x": number(
            "benches",
            "benches",
            scale={"nice": False, "padding": 16},
            axis={"values": across, "format": "d"},
        ),
        "y": number(
            "h",
            "from a push to its last verdict (h)",
            scale={"type": "log", "domainMax": WEEK_H, "nice": False},
            axis={"values": _TICKS_H, "format": "~g"},
        ),
        "color": {
            "field": "nightly",
            "type": "nominal",
            "scale": {"domain": nights, "range": SERIES[: len(nights)]},
        },
        "strokeDash": {
            "field": "kind",
            "type": "nominal",
            "scale": {"domain": ["median", "95 %"], "range": [[1, 0], [5, 4]]},
        },
    }
    marks: list[Spec] = [
        {"mark": {"type": "line"}, "encoding": encoding},
        {
            "mark": {"type": "point", "filled": True, "size": 50, "opacity": 1},
            "encoding": {name: encoding[name] for name in ("x", "y", "color")},
        },
    ]
    chart = whole(
        {"width": 640, "height": 320, "data": rows(values), "layer": marks},
        "Hours from a push to its last verdict by number of benches, a line for each "
        "number of scenarios a night: median and 95th percentile, up to a week",
    )
    # the page may have a dark background, and no style sheet for the chart
    chart["config"] = {**chart["config"], "background": "white", "padding": 12}
    return str(svg(chart))
