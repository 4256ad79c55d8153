"""The page of a capacity: what clients ask for, and which configurations carry it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from leaselab.analysis.demand.capacity import Carries, Configuration
from leaselab.analysis.demand.demand import Asked, Demand
from leaselab.report.capacity import (
    asked_words,
    capacity_document,
    demand_words,
    headings,
    loads,
    notes,
    texts,
)
from leaselab.report.site.families import Axis
from leaselab.report.site.pages import Pages, sweep_page
from leaselab.report.site.review import REVIEW
from leaselab.report.site.site import BENCHES, CAPACITY, NAV

_VERDICTS = {
    Carries.YES: "good",
    Carries.NO: "refused",
    Carries.PERHAPS: "doubt",
    Carries.UNKNOWN: "",
}
"""How the page shows each word."""


def write_capacity(
    folder: Path, demand: Demand | Asked, configurations: Sequence[Configuration]
) -> Path:
    """Write the page beside what else the report has; return it.

    It leads to the pages that are there.  `write_site` keeps it, and links it from then on.
    """
    nav = [page for page in (*NAV, REVIEW, BENCHES) if (folder / f"{page[0]}.html").exists()]
    pages = Pages(folder, (*nav, CAPACITY))
    pages.keep(lambda _: True)
    links = [
        f"{page}.html" if pages.has(page := sweep_page(configuration.cell.id)) else ""
        for configuration in configurations
    ]
    source = [capacity_document(demand, configurations), links]
    pages.write(
        CAPACITY[0], "capacity.html", source, lambda: _context(demand, configurations, links)
    )
    pages.finish()
    return folder / f"{CAPACITY[0]}.html"


def _context(
    demand: Demand | Asked, configurations: Sequence[Configuration], links: Sequence[str]
) -> tuple[dict[str, Any], tuple[()]]:
    """Values for the template; head rooms are on one logarithmic axis, as shares of it."""
    rooms = [
        configuration.head_room for configuration in configurations if configuration.head_room
    ]
    axis = Axis(min(1.0, *rooms), max(1.0, *rooms), logarithmic=True) if rooms else None
    carry = sum(configuration.carries is Carries.YES for configuration in configurations)
    return {
        "words": demand_words(demand),
        "loads": loads(demand),
        "headings": headings(configurations) if configurations else [],
        "rows": [
            {
                "texts": texts(configuration),
                "href": href,
                "at": axis.at(configuration.head_room)
                if axis and configuration.head_room
                else None,
                "verdict": _VERDICTS[configuration.carries],
            }
            for configuration, href in zip(configurations, links, strict=True)
        ],
        "notes": list(notes(demand, configurations)),
        "just": axis.at(1.0) if axis else 0.0,
        "carry": carry,
        "asked": asked_words(demand),
    }, ()
