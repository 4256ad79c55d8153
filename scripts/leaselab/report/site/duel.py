"""What the page of an experiment tells of a duel: the verdict, and the ratio of each round."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from leaselab.analysis.verdict import compare, one_duel
from leaselab.report.closing import closing
from leaselab.report.site.figure import Figure, figure
from leaselab.report.site.vega import BLUE, GREY, Spec, chart, dashed, dots, layer, number, told
from leaselab.report.verdict import conditions, figures

if TYPE_CHECKING:
    from collections.abc import Sequence

    from leaselab.analysis.verdict import Verdict
    from leaselab.model.record import Record

LETTERS = ("A", "B")
"""What the two points of a duel are called, in their order."""


def duel(records: Sequence[Record]) -> tuple[dict[str, Any] | None, Figure | None]:
    """The verdict for the template, and the chart of the rounds; None where it is no duel."""
    if len(records) != len(LETTERS) or not one_duel(*records):
        return None, None
    base, other = records
    found = compare(base, other)
    context = {
        "text": closing(found),
        "word": found.word,
        "lines": [*figures(found), *conditions(found)],
    }
    drawn = _chart(base, other, found.verdict) if found.verdict is not None else None
    note = (
        "The band is the 95 % interval of the ratio. Rounds in which neither server lost "
        "anything do not count, and the farthest ones at both ends are dropped."
    )
    return context, figure(
        "ratios", "Completed rate of B over that of A, by round", drawn, note=note
    )


def _chart(base: Record, other: Record, verdict: Verdict) -> Spec | None:
    """The ratio of each round, and what all of them come to; None without a round of both."""
    first = {one.index: one.metrics.get("completed_rate") for one in base.rounds}
    values = [
        {"round": one.index, "ratio": rate / start}
        for one in other.rounds
        if (rate := one.metrics.get("completed_rate")) and (start := first.get(one.index))
    ]
    if not values:
        return None
    low, high = verdict.ci95
    y = number("ratio", "ratio", scale={"padding": 12})
    x = number("round", "round", scale={"padding": 12}, axis={"tickMinStep": 1, "format": "d"})
    band = [{"low": low, "high": high}]
    return chart(
        [
            layer(
                band,
                {"type": "rect", "color": BLUE, "opacity": 0.15, "aria": False},
                {"y": number("low", "ratio"), "y2": {"field": "high"}},
            ),
            layer([{"ratio": 1.0}], dashed(GREY), {"y": y}),
            layer(
                values,
                dots(60, color=BLUE),
                {
                    "x": x,
                    "y": y,
                    "tooltip": told(("round", "round", "d"), ("ratio", "ratio", ".4f")),
                },
            ),
        ],
        height=220,
        name="Completed rate of B over that of A, by round",
    )
