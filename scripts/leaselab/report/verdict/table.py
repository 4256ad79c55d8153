"""Comparisons on a terminal: both results, figures, conditions and last the verdict."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from typing import TextIO

from msgspec.structs import replace

from leaselab.analysis.comparison.incompatibilities import also_changed, family_differences
from leaselab.analysis.comparison.matrix import cell_of
from leaselab.analysis.comparison.profile import ProfileDifference
from leaselab.analysis.comparison.ratio import Basis
from leaselab.analysis.comparison.verdict import Comparison, Limit, Verdict
from leaselab.analysis.duels.duel import DuelVerdict
from leaselab.analysis.duels.error_budget import ErrorBudget, minutes_of
from leaselab.analysis.figures.credibility import flags
from leaselab.model.procedure import COMPLETED
from leaselab.model.procedures.cost import Cost
from leaselab.model.record import Record
from leaselab.model.server import server_name
from leaselab.model.source import SHORT
from leaselab.model.text import printable
from leaselab.report.listing import heading, moment_words
from leaselab.report.matrix import shown
from leaselab.report.profile import print_profile
from leaselab.report.units import in_shown_units
from leaselab.report.verdict import cost as cost_report
from leaselab.report.verdict.rules import rule_lines
from leaselab.report.verdict.sentence import closing, closings, time_apart
from leaselab.report.verdict.words import (
    basis_words,
    change_word,
    metric_title,
    p_words,
    percent,
    ratio_words,
    said_words,
    sight_words,
    starts_words,
    worse,
)
from leaselab.report.width import write_lines, write_table

NAMES = 5
"""Columns of `rows` that are words."""
SCENARIO_HEADINGS = (
    *("scenario", "verdict", "figure", "A", "B"),
    *("ratio B to A", "95 % interval"),
)
SCENARIO_NAMES = 3
"""Columns of `scenario_rows` that are words."""
_BEGAN = {
    Basis.TURNS: ": their runs alternated",
    Basis.ANCHOR: ", {} later: the runs of each alternated with those of the anchor",
    Basis.SESSIONS: ", {} later: the drift of the machine in between is part of the ratio",
}
"""Words for the relation of two results' sessions, by the basis of their ratio."""
_ORDER = 0.02
"""Effect of a round's order on its ratio (0..1) from which it is reported."""
_SUBJECT = 50
"""Letters of a subject that a table shows."""


def print_comparison(
    comparison: Comparison,
    stream: TextIO | None = None,
    profiles: ProfileDifference | None = None,
) -> None:
    """Print both results, figures, conditions and last the verdict; stdout unless given.

    Functions of the two come before the verdict, where `profiles` has any.
    """
    stream = stream or sys.stdout
    write_table(stream, headings(comparison), rows(comparison), NAMES)
    lines = [
        *figures(comparison),
        *budget_line(comparison),
        *conditions(comparison),
        *doubts(comparison),
    ]
    write_lines(stream, ["", *lines])
    cost = comparison.verdict.cost if comparison.verdict is not None else None
    if cost is not None:
        stream.write("\n")
        write_table(stream, cost_report.HEADINGS, cost_report.rows(cost), cost_report.NAMES)
    if profiles:
        print_profile(profiles, stream)
    write_lines(stream, ["", *rule_lines([comparison]), closing(comparison, profiles)])


def print_comparisons(comparisons: Sequence[Comparison], stream: TextIO | None = None) -> None:
    """Print a table of all, and a sentence on each that needs one; stdout unless given."""
    stream = stream or sys.stdout
    write_table(stream, SCENARIO_HEADINGS, scenario_rows(comparisons), SCENARIO_NAMES)
    lines = [*closings(comparisons), *rule_lines(comparisons)]
    write_lines(stream, ["", *lines] if lines else [])


def headings(comparison: Comparison) -> list[str]:
    """Headings of `rows`."""
    figure = in_shown_units([record for _, record in _results(comparison)])[-1].figure
    return ["", "server", "commit", "subject", "result", heading(figure.title, figure.unit)]


def rows(comparison: Comparison) -> Iterator[list[str]]:
    """What stands under `headings`: A, where there is one, and B."""
    letters, records = zip(*_results(comparison), strict=True)
    for letter, record in zip(letters, in_shown_units(records), strict=True):
        server, source = record.server, record.source
        yield [
            letter,
            server_name(replace(server, commit=None)),
            (server.commit or "")[:SHORT] + "*" * bool(source and source.dirty),
            printable(source.subject if source else "")[:_SUBJECT],
            record.id,
            shown(cell_of(record)),
        ]


def scenario_rows(comparisons: Sequence[Comparison]) -> Iterator[list[str]]:
    """What stands under `SCENARIO_HEADINGS`, a row for each scenario."""
    for comparison in comparisons:
        records = in_shown_units([record for _, record in _results(comparison)])
        figure = records[-1].figure
        yield [
            printable(comparison.other.scenario.name),
            comparison.words,
            heading(figure.title, figure.unit),
            *["-"] * (comparison.base is None),
            *(shown(cell_of(record)) for record in records),
            *ratio_words(comparison.verdict),
        ]


def _results(comparison: Comparison) -> list[tuple[str, Record]]:
    """The results with their letters: A, where there is one, and B."""
    both = (("A", comparison.base), ("B", comparison.other))
    return [(letter, record) for letter, record in both if record is not None]


def figures(comparison: Comparison) -> Iterator[str]:
    """The figures of the verdict, a line each; nothing without one."""
    verdict = comparison.verdict
    if verdict is None or verdict.limit is Limit.NO_LOAD:
        return
    if verdict.cost is not None:
        yield cost_report.limits_words(verdict.cost)
        return
    if verdict.duel is not None:
        yield from _duel_figures(comparison, verdict, verdict.duel)
        return
    rests = basis_words(verdict)
    ratio, interval = ratio_words(verdict)
    of_both = f"ratio B to A {rests}: {ratio}, 95 % interval {interval}"
    if verdict.limit is Limit.NONE:
        yield f"{of_both} {_changes(verdict.ratio, verdict.ci95)}"
    else:
        faster = "A" if verdict.limit is Limit.AT_MOST else "B"
        yield f"{of_both}: {faster} passed all that its bench could offer"
    threshold = f"threshold: {verdict.threshold_percent:g} %"
    yield f"{verdict.test}, {rests}: {p_words(verdict.p)}; {threshold}"
    if verdict.limit is Limit.NONE:
        yield sight_words(verdict)


def _changes(ratio: float, ci95: tuple[float, float]) -> str:
    """A ratio and the ends of its interval as changes."""
    low, high = ci95
    return f"({percent(ratio)}, {percent(low)} to {percent(high)})"


def _duel_figures(comparison: Comparison, verdict: Verdict, duel: DuelVerdict) -> Iterator[str]:
    low, high = verdict.ci95
    yield (
        f"ratio B to A of the {metric_title(duel.metric, comparison.other)}: "
        f"{verdict.ratio:.3f}, 95 % interval {low:.3f} to {high:.3f} "
        f"{_changes(verdict.ratio, verdict.ci95)}"
    )
    yield (
        f"{verdict.test}: {p_words(verdict.p)}; {duel.rounds} rounds count"
        f"{_dropped(comparison) if duel.dropped else ''}"
    )
    if duel.capped:
        faster = "B" if duel.ratio > 1 else "A"
        yield (
            f"{faster} served nearly all that the generator could offer, so it is faster by at "
            "least so much"
        )
    for other in duel.others:
        low, high = other.ci95
        yield (
            f"{metric_title(other.name, comparison.other)}, B to A: {other.ratio:.3f}, "
            f"95 % interval {low:.3f} to {high:.3f} ({percent(other.ratio)}): "
            f"{said_words(other)}; a {change_word(other)} of {100 * other.least:g} % is looked "
            "for"
        )
    if abs(duel.order - 1) > _ORDER:
        yield (
            f"the order of a round, and the place of a server, make {percent(duel.order)} of "
            "its ratio, which is taken out"
        )
    yield (
        f"power: as many rounds with this scatter find a {worse(verdict)} of "
        f"{verdict.threshold_percent:g} % in {100 * duel.power:.0f} of 100 duels"
    )
    if duel.starts is not None:
        yield starts_words(duel.starts)
    if comparison.counted is not None:
        yield f"counted apart: {cost_report.limits_words(comparison.counted)}"


def _dropped(comparison: Comparison) -> str:
    """How many rounds of a duel were dropped, and why."""
    dropped = [
        one for _, record in _results(comparison) for one in record.rounds if one.is_dropped
    ]
    why = sorted({trial.reason for one in dropped for trial in one.trials})
    return f", {len({one.index for one in dropped})} were dropped: {', '.join(why)}"


def budget_line(comparison: Comparison) -> Iterator[str]:
    """The error rate of duel verdicts on this bench, in one line.

    Nothing for figures other than the completed rate.
    """
    duel = comparison.verdict.duel if comparison.verdict is not None else None
    if duel is not None and duel.metric == COMPLETED:
        yield budget_words(comparison.budget, comparison.other.scenario.name)


def budget_words(budget: ErrorBudget | None, scenario: str) -> str:
    """The error budget of a bench's duels, in one line; how to measure it if unknown."""
    if budget is None:
        return (
            "this bench has no error budget for such duels of this scenario: "
            f"leaselab calibrate --error-budget {scenario}"
        )
    parts = []
    if equal := budget.equal:
        parts.append(
            f"{equal.slower} of {equal.duels} duels of equal servers called slower, "
            f"{equal.minutes:.1f} min each"
        )
    if slowed := budget.slowed:
        parts.append(
            f"{slowed.slower} of {slowed.duels} duels with B slowed down by "
            f"{100 * budget.slowdown:g} % found, {slowed.minutes:.1f} min each"
        )
    smallest = (
        "none up to 50 %" if budget.smallest is None else f"{100 * budget.smallest:.1f} %"
    )
    parts.append(f"smallest drop found with 90 % power: {smallest}")
    if budget.wider > 1:
        parts.append(
            f"duels scatter {budget.wider:g} times as much as their rounds explain, so errors "
            "are taken as so much larger"
        )
    return f"error budget of this bench ({budget.until[:10]}): {'; '.join(parts)}"


def conditions(comparison: Comparison) -> Iterator[str]:
    """Under which conditions the two were measured, a line each."""
    base, other = comparison.base, comparison.other
    bench = other.bench
    name = other.scenario.name
    if base is not None and base.scenario.name != name:
        name = f"A is {base.scenario.name}, B is {name},"
    yield f"{name} on bench {bench.name}, environment {bench.environment or '-'}"
    differing = family_differences(base, other) if base is not None else []
    if differing:
        fields = [
            f"{difference.field} ({', '.join(difference.values)})" for difference in differing
        ]
        yield f"points of one family, which differ in {', '.join(fields)}"
    yield _of_both(base, other, lambda record: record.procedure.words)
    if comparison.verdict is not None and comparison.verdict.duel is not None:
        yield from _duel_conditions(comparison)
        return
    if not isinstance(other.procedure, Cost):
        yield f"± is half of a 95 % interval; {_of_both(base, other, _runs)}"
    began = f"B began {moment_words(other.started_at)}"
    if base is not None:
        began = f"A began {moment_words(base.started_at)}, {began}"
        if comparison.verdict is not None and comparison.verdict.cost is None:
            began += _BEGAN[comparison.verdict.basis].format(time_apart(base, other))
    yield began


def _duel_conditions(comparison: Comparison) -> Iterator[str]:
    """How a duel was made, and what else is not the same of both."""
    base, other = comparison.base, comparison.other
    if base is None or other.experiment is None:
        return
    how = (
        "both up at once at two addresses, which they changed from round to round"
        if other.experiment.both_up
        else "one started after the other, in an order that alternated"
    )
    yield f"{how}; {minutes_of(base, other):.1f} min from {moment_words(base.started_at)}"
    changed = also_changed(base, other)
    if changed:
        yield f"what else differs: {'; '.join(changed)}"


def doubts(comparison: Comparison) -> Iterator[str]:
    """Warnings, a line each."""
    for letter, record in _results(comparison):
        for flag in flags(record):
            if flag.level == "doubt":
                yield f"{letter}: {flag.word}: {flag.text}"


def _of_both(base: Record | None, other: Record, words: Callable[[Record], str]) -> str:
    """What is said of both results; once where it is the same."""
    of_other = words(other)
    if base is None or words(base) == of_other:
        return of_other
    return f"A: {words(base)}; B: {of_other}"


def _runs(record: Record) -> str:
    return f"{cell_of(record).rounds} runs, {record.procedure.trim} dropped at each end"
