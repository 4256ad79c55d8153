"""A chart as a page shows it: drawn, and described for a browser to draw it anew."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from leaselab.report.site.drawing import svg
from leaselab.report.site.vega import still

if TYPE_CHECKING:
    from markupsafe import Markup

    from leaselab.report.site.vega import Spec


@dataclass(frozen=True, slots=True)
class Figure:
    """One chart of a page."""

    id: str
    """Name within its page: letters, digits and hyphens."""
    title: str
    drawing: Markup
    spec: Spec
    """What a browser draws it from, where scripts run."""
    note: str = ""
    """What has to be known to read it."""


def figure(
    name: str,
    title: str,
    spec: Spec | None,
    *,
    note: str = "",
    drawn: Spec | None = None,
) -> Figure | None:
    """Draw a chart; None where there is nothing to draw.

    `drawn` is a smaller one for the drawing, where a browser can show more.
    """
    if spec is None:
        return None
    return Figure(name, title, svg(still(drawn or spec)), spec, note)
