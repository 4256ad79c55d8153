"""The page of a capacity: what clients ask for, and which configurations carry it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from leaselab.report.capacity import (
    capacity_document,
    demand_words,
    headings,
    loads,
    notes,
    rate_words,
    texts,
)
from leaselab.report.site.colours import ASIDE, MEASURED
from leaselab.report.site.figure import Figure, figure
from leaselab.report.site.pages import Pages, sweep_page
from leaselab.report.site.review import REVIEW
from leaselab.report.site.site import BENCHES, CAPACITY, NAV
from leaselab.report.site.vega import Spec, chart, dashed, dots, layer, names, told
from leaselab.report.site.vega import number as position

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from leaselab.analysis.capacity import Configuration
    from leaselab.analysis.demand import Demand

_VERDICTS = {"yes": "good", "no": "refused", "perhaps": "doubt"}
"""How the page shows each word."""


def write_capacity(folder: Path, demand: Demand, found: Sequence[Configuration]) -> Path:
    """Write the page beside what else the report has; return it.

    It leads to the pages that are there.  `write_site` keeps it, and links it from then on.
    """
    nav = [one for one in (*NAV, REVIEW, BENCHES) if (folder / f"{one[0]}.html").exists()]
    pages = Pages(folder, (*nav, CAPACITY))
    pages.keep(lambda _: True)
    links = [
        f"{page}.html" if pages.has(page := sweep_page(one.cell.id)) else "" for one in found
    ]
    source = [capacity_document(demand, found), links]
    pages.write(CAPACITY[0], "capacity.html", source, lambda: _context(demand, found, links))
    pages.finish()
    return folder / f"{CAPACITY[0]}.html"


def _context(
    demand: Demand, found: Sequence[Configuration], links: Sequence[str]
) -> tuple[dict[str, Any], list[Figure | None]]:
    drawn = figure(
        "head-room",
        "Head room of each configuration",
        _chart(found),
        note="At 1 it just carries the load; the axis is logarithmic.",
    )
    return {
        "words": demand_words(demand),
        "loads": loads(demand),
        "headings": headings(found) if found else [],
        "rows": [
            {
                "texts": texts(one),
                "href": href,
                "verdict": _VERDICTS.get(one.carries.value, ""),
            }
            for one, href in zip(found, links, strict=True)
        ],
        "notes": list(notes(demand, found)),
        "figure": drawn,
    }, [drawn]


def _chart(found: Sequence[Configuration]) -> Spec | None:
    """The head room of each configuration that has one; None where none has."""
    values = [
        {
            "label": ", ".join(filter(None, (cell.scenario, cell.server, cell.durability))),
            "room": one.head_room,
            "rate": rate_words(one),
        }
        for one in found
        if (cell := one.cell) and one.head_room
    ]
    if not values:
        return None
    scale = {"type": "log", "padding": 20}
    x = position("room", "head room", scale=scale, axis={"tickCount": 6})
    tooltip = told(("label", "", ""), ("room", "head room", ".3~g"), ("rate", "max rate", ""))
    layers = [
        layer([{"one": 1}], dashed(ASIDE), {"x": position("one", None, scale=scale)}),
        layer(
            values,
            dots(70, color=MEASURED),
            {"x": x, "y": names("label", 320), "tooltip": tooltip},
        ),
    ]
    return chart(layers, height=max(50, 34 * len(values)), name="Head room", width=560)
