"""What duels over several layouts have told: sentences, and JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from leaselab.report.listing import sentence

if TYPE_CHECKING:
    from collections.abc import Iterator

    from leaselab.analysis.layouts import OverLayouts


def cost_words(layouts: int, duel_min: float, build_min: float | None) -> str:
    """What is to be built and measured; times of a duel at most, and of a build (min)."""
    each = "" if build_min is None else f" of about {build_min:.1f} min each if not kept"
    return (
        f"{layouts} layouts: {2 * layouts} builds{each}, and {layouts} duels of at most "
        f"{duel_min:.0f} min each"
    )


def layouts_words(found: OverLayouts) -> Iterator[str]:
    """A line for each layout, and what they say together."""
    for one in found.layouts:
        yield f"layout {one.seed}: {one.answer.value}, {100 * (one.ratio - 1):+.1f} %"
    yield f"{sentence(found.cause.value)}.{_mean(found)}"


def _mean(found: OverLayouts) -> str:
    ci95, scatter = found.ci95, found.scatter
    if ci95 is None or scatter is None:
        return ""
    low, high = (100 * (end - 1) for end in ci95)
    return (
        f" Over {len(found.layouts)} layouts {100 * (found.ratio - 1):+.1f} % (95 % interval "
        f"{low:+.1f} to {high:+.1f} %); builds scatter by {100 * scatter:.1f} %."
    )


def layouts_document(found: OverLayouts) -> dict[str, Any]:
    """All of it for ``--json``; ratios are B to A."""
    return {
        "cause": found.cause.name.lower(),
        "text": " ".join(layouts_words(found)),
        "ratio": found.ratio,
        "ci95": list(found.ci95) if found.ci95 else None,
        "build_scatter": found.scatter,
        "layouts": [
            {"seed": one.seed, "answer": one.answer.value, "ratio": one.ratio}
            for one in found.layouts
        ],
    }
