"""Verdicts in sentences: on a comparison, on several, over several layouts."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from msgspec.structs import replace

from leaselab.analysis.comparison.profile import ProfileDifference
from leaselab.analysis.comparison.ratio import Basis
from leaselab.analysis.comparison.verdict import Comparison, Limit, Verdict, answer_word
from leaselab.analysis.duels.duel import Answer, DuelVerdict, Judged, Said
from leaselab.analysis.duels.error_budget import minutes_of
from leaselab.analysis.duels.layouts import OverLayouts
from leaselab.analysis.figures.steadiness import UNSTEADY
from leaselab.model import moment
from leaselab.model.procedure import COMPLETED
from leaselab.model.record import Metric, Record
from leaselab.model.server import server_name
from leaselab.model.source import SHORT
from leaselab.model.text import printable
from leaselab.report.listing import sentence
from leaselab.report.units import scale_of
from leaselab.report.verdict.cost import closing_words, together_words
from leaselab.report.verdict.words import (
    change_words,
    metric_title,
    p_words,
    pace_words,
    percent,
    sight_words,
    worse,
)


def closing(comparison: Comparison, functions: ProfileDifference | None = None) -> str:
    """The verdict in one sentence that names the commit.

    Where a result's machine was unsteady, that comes first.  Of counts, it names the function
    that has changed most, where `functions` are given.
    """
    moving = [
        letter
        for letter, record in (("A", comparison.base), ("B", comparison.other))
        if comparison.verdict is not None
        and record is not None
        and any(reason.word == UNSTEADY for reason in record.reasons)
    ]
    if not moving:
        return _closing(comparison, functions)
    return (
        f"On a machine that was unsteady while {' and '.join(moving)} "
        f"{'was' if len(moving) == 1 else 'were'} measured: {_closing(comparison, functions)}"
    )


def _closing(comparison: Comparison, functions: ProfileDifference | None) -> str:
    other, base, verdict = comparison.other, comparison.base, comparison.verdict
    name = _server_words(other)
    if verdict is not None and verdict.cost is not None and base is not None:
        return closing_words(verdict.cost, *_apart_names(base, other), functions)
    if verdict is not None and verdict.duel is not None and base is not None:
        counted = comparison.counted
        both = f" {together_words(counted, verdict.duel)}" if counted is not None else ""
        return f"{_duel_closing(verdict, verdict.duel, base, other)}{both}"
    if comparison.error is not None:
        return f"No verdict on {name}: {comparison.error}"
    if verdict is None or base is None:
        return (
            f"Nothing to compare {name} with yet: the archive has no earlier result of "
            "another server with the same bench, environment, scenario and goal, and with a "
            "figure and an interval."
        )
    if verdict.limit is Limit.NO_LOAD:
        reason = other.reasons[0].text
        return (
            f"Slower: {name} sustains no load that it was tried with, unlike "
            f"{_server_words(base)}: {reason}."
        )
    name, before = _apart_names(base, other)
    words = _measured(verdict, other.figure)
    measured = f"{name} is {words} than {before}"
    if not other.is_by_procedure:
        title = metric_title(other.figure.name, other)
        measured = f"the {title} of {name} is {words} than that of {before}"
    return _judged(comparison.word, verdict, f"{measured}{_basis_words(verdict, base, other)}")


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


def _basis_words(verdict: Verdict, base: Record, other: Record) -> str:
    """Suffix with the basis of the ratio; empty where the two were measured in turn."""
    if verdict.basis is Basis.ANCHOR:
        return f" {Basis.ANCHOR.value} {verdict.anchor}"
    if verdict.basis is Basis.TURNS:
        return ""
    return (
        f" {Basis.SESSIONS.value} {time_apart(base, other)} apart, with the drift of the "
        "machine in it"
    )


def time_apart(base: Record, other: Record) -> str:
    """The time from the start of one to that of the other: ``60 min``, ``26 h``."""
    minutes = abs(moment.minutes(base.started_at, other.started_at))
    return f"{minutes:.0f} min" if minutes < 120 else f"{minutes / 60:.0f} h"


def _apart_names(base: Record, other: Record) -> tuple[str, str]:
    """B and A in words, with their scenarios where these differ."""
    name, before = _server_words(other), _server_words(base)
    if base.scenario.name != other.scenario.name:
        return f"{name} in {other.scenario.name}", f"{before} in {base.scenario.name}"
    return name, before


def _duel_closing(verdict: Verdict, duel: DuelVerdict, base: Record, other: Record) -> str:
    """The answer of a duel in a sentence or two."""
    name, before = _apart_names(base, other)
    low, high = verdict.ci95
    least = "" if verdict.limit is Limit.NONE else "at least "
    title, amount = metric_title(duel.metric, other), ""
    if duel.metric == COMPLETED:
        text = f"{name} completes {least}{_percent(verdict.ratio)} than {before} under the same"
        text += " load"
    else:
        text = f"the {title} of {name} is {pace_words(verdict.ratio)} than that of {before}"
        amount = _amount(base.metric(duel.metric), other.metric(duel.metric))
    text += f" ({amount}95 % interval {percent(low)} to {percent(high)}, {p_words(verdict.p)})"
    more = " and ".join(more_words(duel.worse, other))
    main = _main_closing(verdict, duel, text, minutes_of(base, other))
    if likely := more_words((one for one in duel.others if one.said is Said.LIKELY), other):
        main += f" Probably worse: {' and '.join(likely)}."
    if not more:
        return main
    if duel.answer is Answer.SLOWER:
        return f"{main} It has {more}."
    return f"Worse: {name} has {more}. Of the {title}: {main[0].lower()}{main[1:]}"


def _amount(before: Metric | None, after: Metric | None) -> str:
    """What a figure of B is more than that of A: ``+150 ms, ``; empty where one is unknown."""
    values = [one.value for one in (before, after) if one and one.value is not None]
    if after is None or len(values) < 2:
        return ""
    unit, factor = scale_of(after.unit, values)
    return f"{factor * (values[1] - values[0]):+.3g} {unit}, "


def more_words(figures: Iterable[Judged], other: Record) -> list[str]:
    """Changes of figures of a duel, each with its interval."""
    return [
        f"{_percent(figure.ratio)} {metric_title(figure.name, other)} (95 % interval "
        f"{percent(figure.ci95[0])} to {percent(figure.ci95[1])})"
        for figure in figures
    ]


def _main_closing(verdict: Verdict, duel: DuelVerdict, text: str, minutes: float) -> str:
    """The answer on the figure that decides alone; `minutes` is what the duel took (min)."""
    if duel.answer in (Answer.SLOWER, Answer.FASTER):
        return f"{answer_word(duel.answer, duel.metric).capitalize()}: {text}."
    if duel.answer is Answer.SAME:
        bound = f"Equal: no change bigger than {100 * duel.bound:.1f} %: {text}."
        if not duel.is_change:
            return bound
        size = f"{100 * abs(duel.ratio - 1):.1f} %"
        answer = (
            Answer.SLOWER if (duel.ratio < 1) == verdict.higher_is_better else Answer.FASTER
        )
        pace = answer_word(answer, duel.metric)
        return f"{bound} It is {pace} by about {size}, which is less than is looked for."
    if duel.correlated:
        return (
            f"Cannot tell: {text}, but the ratio may go on from one round into the next, so "
            f"that {duel.rounds} rounds add little information. Look for what disturbs "
            "one of the two for minutes, or give more --budget."
        )
    slower = answer_word(Answer.SLOWER, duel.metric)
    likely = f", probably {slower}" if duel.main.said is Said.LIKELY else ""
    return (
        f"Cannot tell at this budget{likely}: {text} after {duel.rounds} rounds; a "
        f"{worse(verdict)} of {verdict.threshold_percent:g} % would have been found in "
        f"{100 * duel.power:.0f} of 100 duels. Give --budget "
        f"{math.ceil(duel.further * minutes)}, or a steadier machine."
    )


def duel_title(comparison: Comparison) -> str:
    """The answer of a duel in a few words, such as ``B is 3.4 % slower than A``."""
    verdict, other = comparison.verdict, comparison.other
    if verdict is None or verdict.duel is None:
        return "No verdict on A and B"
    duel = verdict.duel
    least = "" if verdict.limit is Limit.NONE else "at least "
    if duel.answer in (Answer.SLOWER, Answer.FASTER):
        if duel.metric != COMPLETED:
            title = metric_title(duel.metric, other)
            return f"The {title} of B is {pace_words(duel.ratio)} than that of A"
        size = f"{100 * abs(duel.ratio - 1):.1f} %"
        return f"B is {least}{size} {duel.answer.value} than A"
    if duel.worse:
        figure = duel.worse[0]
        return f"B has {_percent(figure.ratio)} {metric_title(figure.name, other)} than A"
    if duel.answer is Answer.SAME:
        return f"A and B are equal: no change bigger than {100 * duel.bound:.1f} %"
    return f"Cannot tell whether B is {answer_word(Answer.SLOWER, duel.metric)} than A"


def _percent(ratio: float) -> str:
    return f"{100 * abs(ratio - 1):.1f} % {'less' if ratio < 1 else 'more'}"


def _judged(word: str, verdict: Verdict, text: str) -> str:
    """The verdict on the change described by `text`, the word first."""
    said, chance = f"{word.capitalize()}: {text}", p_words(verdict.p)
    allowed = f"the threshold is {verdict.threshold_percent:g} %"
    if verdict.limit is Limit.AT_LEAST and verdict.answer is Answer.SAME:
        return f"{said}; {allowed}."
    if verdict.answer is Answer.SLOWER or (verdict.differs and verdict.answer is Answer.SAME):
        return f"{said} ({chance}); {allowed}."
    if verdict.answer is Answer.FASTER:
        return f"{said} ({chance})."
    return f"{said}, which may be chance ({chance}). {sight_words(verdict)}."


def _server_words(record: Record) -> str:
    """Words for a result's build: hash and subject of its commit, or the package."""
    server, source = record.server, record.source
    if not server.commit:
        package = f" ({server.package})" if server.package else ""
        return f"{server_name(server)} as packaged{package}"
    text = f"{server_name(replace(server, commit=None))} of commit {server.commit[:SHORT]}"
    if source and source.subject:
        text += f" ({printable(source.subject)})"
    return text + " with uncommitted changes" * bool(source and source.dirty)


def _measured(verdict: Verdict, figure: Metric) -> str:
    """The change in words: ``8.0 % slower``; for units that are not rates, ``lower``."""
    text = pace_words(verdict.ratio, figure.unit)
    if verdict.limit is Limit.AT_LEAST and verdict.ratio < 1:
        return f"at most {text}"
    return f"at least {text}" if verdict.limit is not Limit.NONE else text


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
        yield f"layout {layout.seed}: {layout.answer.value}, {percent(layout.ratio)}"
    mean = ""
    if layouts.ci95 is not None and layouts.scatter is not None:
        change = change_words(layouts.ratio, layouts.ci95)
        scatter = f"builds scatter by {100 * layouts.scatter:.1f} %"
        mean = f" Over {len(layouts.layouts)} layouts {change}; {scatter}."
    yield f"{sentence(layouts.cause.value)}.{mean}"
