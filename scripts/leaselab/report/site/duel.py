"""Duel part of an experiment's page: the answer, the changes, and the rounds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from leaselab.analysis.comparison.verdict import Comparison, Verdict, compare, duel_of
from leaselab.analysis.duels.duel import Answer
from leaselab.model.contest import Contest
from leaselab.model.record import Record
from leaselab.model.server import server_name
from leaselab.report.listing import sentence
from leaselab.report.site import vega
from leaselab.report.site.changes_chart import changes_chart
from leaselab.report.site.figure import Figure, figure
from leaselab.report.verdict.sentence import closing, duel_title
from leaselab.report.verdict.table import conditions, figures
from leaselab.report.verdict.words import metric_title

_WIDEST = 1.0
"""Widest interval of another figure that is drawn (ratio): a wider one would hide the rest."""
LETTERS = ("A", "B")
"""What the two points of a duel are called, in their order."""


def contest_among(records: Sequence[Record]) -> Contest[Record] | None:
    """The duel that the points of an experiment are the two of; None for other points."""
    return duel_of(*records) if len(records) == len(LETTERS) else None


def said_of(records: Sequence[Record]) -> dict[str, str] | None:
    """The title of a duel and its answer in a sentence; None where it is none."""
    contest = contest_among(records)
    if contest is None:
        return None
    return _said(compare(contest.a, contest.b))


def _said(comparison: Comparison) -> dict[str, str]:
    return {"title": duel_title(comparison), "text": closing(comparison)}


def duel(records: Sequence[Record]) -> tuple[dict[str, Any] | None, list[Figure | None]]:
    """The verdict for the template, and its charts; None where it is no duel."""
    contest = contest_among(records)
    if contest is None:
        return None, []
    base, other, plan = contest.a, contest.b, contest.plan
    comparison = compare(base, other)
    context = {
        **_said(comparison),
        "sides": ", ".join(
            f"{letter}: {server_name(record.server)}"
            for letter, record in zip(LETTERS, records, strict=True)
        ),
        "word": comparison.word,
        "lines": [*figures(comparison), *conditions(comparison)],
    }
    drawn = _moved(comparison.verdict, other) if comparison.verdict is not None else None
    return context, [
        figure(
            "moved",
            "What changed from A to B",
            drawn,
            note="A dot is the change, the line its 95 % interval. Red got worse, green got "
            "better; blue did not change by as much as is looked for. A figure whose interval "
            "is wider than 100 % is not drawn; it is among the figures and conditions.",
        ),
        figure(
            "rounds",
            _rounds_title(other),
            _pairs(base, other, higher_is_better=plan.higher_is_better),
            note="A line joins the two of a round: red where B was worse. "
            + "Rounds in which neither server lost anything do not count. " * plan.at_limit
            + "The farthest rounds at both ends are dropped.",
        ),
    ]


def _moved(verdict: Verdict, other: Record) -> vega.Spec | None:
    """The change of each figure that the duel judged, in percent."""
    judged = verdict.duel
    if judged is None:
        return None
    seen = {Answer.SLOWER: vega.Look.WORSE, Answer.FASTER: vega.Look.BETTER}
    title = metric_title(judged.metric, other)
    changes = [(title, judged.ratio, judged.ci95, seen.get(judged.answer, vega.Look.SAME))]
    changes += [
        (
            metric_title(figure.name, other),
            figure.ratio,
            figure.ci95,
            vega.Look.WORSE if figure.worse else vega.Look.SAME,
        )
        for figure in judged.others
        if not figure.ci95 or figure.ci95[1] - figure.ci95[0] <= _WIDEST
    ]
    return changes_chart(
        changes, "Change of each figure from A to B", axis="change from A to B (%)"
    )


def _rounds_title(record: Record) -> str:
    title = sentence(metric_title(record.figure.name, record))
    return f"{title} of A and B in each round"


def _pairs(base: Record, other: Record, *, higher_is_better: bool) -> vega.Spec | None:
    """The figure of A and B in each round; None without a round of both."""
    name = other.figure.name
    first = {round_.index: round_.metrics.get(name) for round_ in base.rounds}
    values = [
        {
            "round": round_.index,
            "A": start,
            "B": value,
            "colour": vega.WORSE if (value < start) == higher_is_better else vega.BETTER,
        }
        for round_ in other.rounds
        if (value := round_.metrics.get(name)) and (start := first.get(round_.index))
    ]
    if not values:
        return None
    axis = f"{metric_title(name, other)} ({other.figure.unit})"
    x = vega.number(
        "round",
        "round",
        scale={"padding": 12, "nice": False},
        axis={"tickMinStep": 1, "format": "d"},
    )
    ends = [
        {"round": value["round"], "rate": value[letter], "server": letter}
        for value in values
        for letter in LETTERS
    ]
    tooltip = vega.tooltip_fields(
        ("server", "", ""), ("round", "round", "d"), ("rate", axis, ".6~g")
    )
    y = vega.number("rate", axis, scale={"padding": 12})
    shapes = vega.Shape.CIRCLE, vega.Shape.DIAMOND
    of = {
        "color": vega.looks(
            "server", dict(zip(LETTERS, (vega.ASIDE, vega.MEASURED), strict=True))
        ),
        "shape": vega.looks("server", dict(zip(LETTERS, shapes, strict=True))),
    }
    return vega.chart(
        [
            vega.layer(
                values,
                vega.lines(1.5),
                {
                    "x": x,
                    "y": vega.number("A", axis),
                    "y2": {"field": "B"},
                    "color": vega.OWN_COLOUR,
                },
            ),
            vega.layer(ends, vega.dots(50), {"x": x, "y": y, **of, "tooltip": tooltip}),
        ],
        height=240,
        name=_rounds_title(other),
    )
