"""Comparisons of two servers by several scenarios, or in several layouts: text and JSON."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, TextIO

from leaselab.analysis.comparison.matrix import cell_of
from leaselab.analysis.comparison.verdict import Comparison
from leaselab.analysis.duels.duel import Answer
from leaselab.analysis.duels.layouts import OverLayouts
from leaselab.model.errors import Outcome
from leaselab.model.text import printable
from leaselab.report.closing import closing, ratio_words
from leaselab.report.listing import heading, sentence
from leaselab.report.matrix import shown
from leaselab.report.units import in_shown_units
from leaselab.report.verdict import comparison_document
from leaselab.report.width import write_lines, write_table

HEADINGS = ("scenario", "verdict", "figure", "A", "B", "ratio B to A", "95 % interval")
NAMES = 3
"""Columns of `rows` that are words."""
_NOTHING = "-"


def print_comparisons(comparisons: Sequence[Comparison], stream: TextIO | None = None) -> None:
    """Print a table of all, and a sentence on each that needs one; stdout unless given."""
    stream = stream or sys.stdout
    write_table(stream, HEADINGS, rows(comparisons), NAMES)
    lines = [*closings(comparisons)]
    write_lines(stream, ["", *lines] if lines else [])


def comparisons_document(comparisons: Sequence[Comparison]) -> dict[str, Any]:
    """All comparisons for ``--json``, each as `comparison_document` has one."""
    return {
        "outcome": outcome(comparisons).label,
        "comparisons": [comparison_document(comparison) for comparison in comparisons],
    }


def outcome(comparisons: Sequence[Comparison]) -> Outcome:
    """A regression where there is one, else the first outcome that is not well."""
    outcomes = [comparison.outcome for comparison in comparisons]
    if Outcome.REGRESSION in outcomes:
        return Outcome.REGRESSION
    return next((outcome for outcome in outcomes if outcome is not Outcome.OK), Outcome.OK)


def rows(comparisons: Sequence[Comparison]) -> Iterator[list[str]]:
    """What stands under `HEADINGS`, a row for each scenario."""
    for comparison in comparisons:
        both = [record for record in (comparison.base, comparison.other) if record is not None]
        records = in_shown_units(both)
        figure = records[-1].figure
        figures = [shown(cell_of(record)) for record in records]
        yield [
            printable(comparison.other.scenario.name),
            comparison.words,
            heading(figure.title, figure.unit),
            *([_NOTHING] * (comparison.base is None)),
            *figures,
            *(ratio_words(comparison.verdict) if comparison.verdict else (_NOTHING, _NOTHING)),
        ]


def closings(comparisons: Sequence[Comparison]) -> Iterator[str]:
    """A sentence on each comparison that found a change, or no verdict, and on each duel.

    A duel says how large a change it does not exclude.
    """
    for comparison in comparisons:
        verdict = comparison.verdict
        if verdict is None or verdict.duel is not None or verdict.answer is not Answer.SAME:
            yield f"{comparison.other.scenario.name}: {closing(comparison)}"


def counted(comparisons: Sequence[Comparison]) -> str:
    """How many there are of each word: ``1 slower, 0 faster, 41 equal, 2 invalid``."""
    counts = dict.fromkeys(("slower", "faster", "equal"), 0) | Counter(
        sorted(comparison.word for comparison in comparisons)
    )
    return ", ".join(f"{count} {word}" for word, count in counts.items())


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
        "pooled_of": len(layouts.layouts),
        "build_scatter": layouts.scatter,
        "layouts": [
            {"seed": layout.seed, "word": layout.answer.value, "ratio": layout.ratio}
            for layout in layouts.layouts
        ],
    }
