"""Results of duels over several layouts: sentences and JSON."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from leaselab.report.listing import sentence

if TYPE_CHECKING:
    from leaselab.analysis.layouts import OverLayouts


def cost_words(layouts: int, duel_min: float, build_min: float | None) -> str:
    """The builds and duels to make; longest time of a duel, time of a build (min)."""
    each = "" if build_min is None else f" of about {build_min:.1f} min each if not kept"
    return (
        f"{layouts} layouts: {2 * layouts} builds{each}, and {layouts} duels of at most "
        f"{duel_min:.0f} min each"
    )


def layouts_words(layouts: OverLayouts) -> Iterator[str]:
    """A line for each layout, and their combined result."""
    for layout in layouts.layouts:
        yield f"layout {layout.seed}: {layout.answer.value}, {100 * (layout.ratio - 1):+.1f} %"
    yield f"{sentence(layouts.cause.value)}.{_mean(layouts)}"


def _mean(layouts: OverLayouts) -> str:
    ci95, scatter = layouts.ci95, layouts.scatter
    if ci95 is None or scatter is None:
        return ""
    low, high = (100 * (end - 1) for end in ci95)
    return (
        f" Over {len(layouts.layouts)} layouts {100 * (layouts.ratio - 1):+.1f} % (95 % "
        f"interval {low:+.1f} to {high:+.1f} %); builds scatter by {100 * scatter:.1f} %."
    )


def layouts_document(layouts: OverLayouts) -> dict[str, Any]:
    """All of it for ``--json``; ratios are B to A."""
    return {
        "cause": layouts.cause.name.lower(),
        "text": " ".join(layouts_words(layouts)),
        "ratio": layouts.ratio,
        "ci95": list(layouts.ci95) if layouts.ci95 else None,
        "build_scatter": layouts.scatter,
        "layouts": [
            {"seed": layout.seed, "answer": layout.answer.value, "ratio": layout.ratio}
            for layout in layouts.layouts
        ],
    }
