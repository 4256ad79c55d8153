"""Result of a search, by duels, for the commit that made a server slower."""

from __future__ import annotations

import math
import shlex
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from leaselab.analysis.comparison.verdict import answer_word
from leaselab.analysis.duels.bisect import (
    Builds,
    Culprit,
    End,
    Ending,
    Known,
    Limits,
    builds,
    levels,
)
from leaselab.analysis.duels.culprits import Gap, Level
from leaselab.analysis.duels.duel import Answer
from leaselab.analysis.duels.layouts import OverLayouts
from leaselab.model.errors import Outcome
from leaselab.model.procedure import COMPLETED
from leaselab.model.source import SHORT
from leaselab.report.listing import sentence
from leaselab.report.profile import growth, profile_document
from leaselab.report.searched import UNKNOWN, Searched, SearchReport
from leaselab.report.verdict.document import layouts_document
from leaselab.report.verdict.sentence import layouts_words
from leaselab.report.verdict.words import change_words, percent

HEADINGS = ("commit", "subject", "what", "ratio", "95 % interval", "by")
_INSIDE = 12
"""Approximate number of commits measured to search inside a range."""
_DOUBTFUL = 0.25
"""Commits that look as slow as a culprit by their builds alone, from which on it is said."""
_SLOWER = frozenset({Ending.FOUND, Ending.OPEN, Ending.SCATTERED})
"""Endings of searches whose bad end is slower."""


@dataclass(frozen=True, kw_only=True)
class Hunted(Searched):
    """A finished search by duels."""

    known: Known
    limits: Limits
    end: End
    layouts: Mapping[int, OverLayouts] = field(default_factory=dict)
    """Verdicts on culprits measured in several layouts, compared with their parents."""
    check = ("--live --layouts 5", "the code, or its place?")

    @property
    def ending(self) -> Ending:
        """How the search ended."""
        return self.end.ending

    @cached_property
    def gaps(self) -> Mapping[int, Gap]:
        """The gaps of the culprits, by place."""
        return {culprit.gap.place: culprit.gap for culprit in self.end.culprits}

    @property
    def answer(self) -> Outcome:
        """Wherever the bad end is slower, there is a regression."""
        if self.ending in _SLOWER:
            return Outcome.REGRESSION
        return Outcome.INVALID if self.ending is Ending.UNKNOWN else Outcome.OK

    @property
    def checked(self) -> Collection[int]:
        """Places of culprits that were measured in several layouts."""
        return self.layouts.keys()

    @cached_property
    def builds(self) -> Builds:
        """By how much builds of the range may differ whose code is equally fast."""
        return builds(self.known, self.end)


def report_of_hunt(hunted: Hunted) -> SearchReport:
    """What is shown of a search by duels."""
    return SearchReport(
        hunted,
        HEADINGS,
        [*_rows(hunted)],
        [*_conditions(hunted)],
        closing(hunted),
        _document(hunted),
    )


def _rows(hunted: Hunted) -> Iterator[list[str]]:
    """Rows for `HEADINGS`, one for each commit from the good end to the bad one."""
    level_of = levels(hunted.known)
    for place in range(hunted.last + 1):
        level = level_of.get(place)
        ratio, interval, by = ("1", "", "") if place == 0 else (UNKNOWN, "", "")
        if level is not None:
            ratio, by = f"{level.ratio:.3f}", pooled_words(level.duels)
            interval = "{:.3f} to {:.3f}".format(*level.ci95) if level.ci95 else ""
        yield [*hunted.columns(place), ratio, interval, by]


def _conditions(hunted: Hunted) -> Iterator[str]:
    """Notes that qualify the result, a line each."""
    known, limits = hunted.known, hunted.limits
    by = "" if limits.metric == COMPLETED else f", by {limits.metric}"
    yield f"{hunted.scenario} on bench {hunted.bench}{by}, commits along first parents"
    yield (
        f"{len(known.duels)} duels, {known.minutes:.0f} of {limits.budget_minutes:g} min of "
        f"lab time; a change counts from {50 * limits.find:g} % on, duels are to find "
        f"{100 * limits.find:g} %"
    )
    yield from hunted.unmeasured()


def closing(hunted: Hunted) -> str:
    """The result in a few sentences."""
    end, known = hunted.end, hunted.known
    ends = f"{hunted.short(known.count)} against {hunted.short(0)}"
    if end.ending is Ending.BROKEN:
        return hunted.broken_words()
    last = known.ends[-1]
    measured = f"{change_words(last.ratio, last.ci95)}, {last.rounds} rounds"
    if end.ending is Ending.SAME:
        return (
            f"The ends do not differ enough to count: {ends} makes {measured}. "
            f"{_inside(hunted)}"
        )
    if end.ending is Ending.FASTER:
        better = answer_word(Answer.FASTER, hunted.limits.metric)
        return f"The bad end is {better}: {ends} makes {measured}. {_inside(hunted)}"
    if end.ending is Ending.UNKNOWN:
        return (
            f"Cannot tell whether the ends differ: {ends} makes {measured}. Give more "
            "--budget, or a steadier machine."
        )
    parts = [_culprit(hunted, culprit) for culprit in end.culprits]
    if end.ending is Ending.SCATTERED:
        parts.append(
            f"The ends differ ({ends}: {measured}), but no single commit was found that makes "
            f"a change of {50 * hunted.limits.find:g} % or more: there may be many small ones."
        )
    if end.left is not None:
        parts.append(_left(hunted, end.left))
    if len(end.culprits) > 1 or (end.culprits and end.left is not None):
        product = math.prod(culprit.level.ratio for culprit in end.culprits)
        parts.append(
            f"The ends differ by {percent(last.ratio)}; what is named makes {percent(product)}."
        )
    return " ".join(parts)


def _inside(hunted: Hunted) -> str:
    """How to search a drop that a gain hides; empty where no commit is inside."""
    known, commits = hunted.known, hunted.commits
    if known.count < 2:
        return "There is no commit between them."
    good, bad = commits[0], commits[-1]
    repo, every = shlex.quote(bad.repository), math.ceil(known.count / _INSIDE)
    take = f" --every {every}" if every > 1 else ""
    metric = hunted.limits.metric
    change, by = ("rise", f" --metric {metric}") if hunted.limits.rises else ("drop", "")
    return (
        f"A {change} inside the range may be hidden by a gain. To find it: leaselab run "
        f"{hunted.scenario} --repo {repo} --commits {good.hash[:SHORT]}..{bad.hash[:SHORT]} "
        f"--first-parent{take} --anchor {good.hash[:SHORT]}; then leaselab review "
        f"{hunted.scenario}{by} --confirm --repo {repo}"
    )


def _culprit(hunted: Hunted, culprit: Culprit) -> str:
    """The effect of one culprit, and how to continue the search."""
    gap = culprit.gap
    change = change_words(culprit.level.ratio, culprit.level.ci95)
    if culprit.level.duels > 1:
        change += f" {pooled_words(culprit.level.duels)}"
    worse = sentence(answer_word(Answer.SLOWER, hunted.limits.metric))
    text = f"{worse} since {hunted.name(gap.place)}: {change} against"
    text += f" {hunted.before(gap)}"
    if merge := hunted.merge(gap.place):
        text += f". {merge}"
    profile = hunted.profiles.get(gap.place)
    if profile is not None and profile.grown:
        text += f". CPU time by function: {growth(profile).removesuffix('.')}"
    layouts = hunted.layouts.get(gap.place)
    if layouts is not None:
        *_, line = layouts_words(layouts)
        text += f". {line.removesuffix('.')}"
    elif hunted.builds.as_slow(culprit) >= _DOUBTFUL:
        text += f". It may be innocent: {builds_words(hunted.builds, culprit)}"
    return f"{text}."


def builds_words(builds: Builds, culprit: Culprit) -> str:
    """How many commits look as slow as a culprit by the place of their code alone."""
    seen = f"by {builds.seen} of them" if builds.seen else "assumed, as too few were measured"
    many = builds.as_slow(culprit)
    return (
        f"builds of equal code may scatter by {100 * builds.scatter:.1f} % ({seen}), and then "
        f"about {many:.{1 if many < 10 else 0}f} of {builds.commits} commits look as slow. "
        "Measure both in several layouts: --layouts 5"
    )


def _left(hunted: Hunted, left: Gap) -> str:
    further = "A further change" if hunted.gaps else "The change"
    spent = f"{hunted.known.minutes:.0f} of {hunted.limits.budget_minutes:g} min"
    return (
        f"{further} is between {hunted.short(left.after)} and {hunted.name(left.place)}, "
        f"{left.commits} commits, not decided within this budget ({spent}): give more "
        "--budget; finished duels are reused."
    )


def pooled_words(duels: int) -> str:
    """How many duels a ratio and its interval are of."""
    return "one duel" if duels == 1 else f"pooled of {duels} duels"


def _level_document(level: Level | None) -> dict[str, Any]:
    """A ratio for ``--json``, with its interval and the number of duels it is pooled of."""
    if level is None:
        return {"ratio": None, "ci95": None, "pooled_of": None}
    return {"ratio": level.ratio, "ci95": level.ci95, "pooled_of": level.duels}


def _document(hunted: Hunted) -> dict[str, Any]:
    """The result for ``--json``; missing values are None, ratios newer over older."""
    known, end, level_of = hunted.known, hunted.end, levels(hunted.known)
    return {
        "outcome": hunted.outcome.label,
        "ending": end.ending.value,
        "text": closing(hunted),
        "scenario": hunted.scenario,
        "bench": hunted.bench,
        "metric": hunted.limits.metric,
        "good": hunted.commits[0].hash,
        "bad": hunted.commits[-1].hash,
        "threshold_percent": 100 * hunted.limits.find,
        "budget_minutes": hunted.limits.budget_minutes,
        "minutes": known.minutes,
        "culprits": [
            {
                **hunted.culprit_document(culprit.gap),
                **_level_document(culprit.level),
                "as_slow_by_chance": hunted.builds.as_slow(culprit),
                "layouts": (
                    layouts_document(hunted.layouts[culprit.gap.place])
                    if culprit.gap.place in hunted.layouts
                    else None
                ),
                "profile": (
                    profile_document(hunted.profiles[culprit.gap.place])
                    if culprit.gap.place in hunted.profiles
                    else None
                ),
            }
            for culprit in end.culprits
        ],
        "left": hunted.gap_document(end.left) if end.left is not None else None,
        "commits": [
            {
                **hunted.commit_document(place),
                **_level_document(level_of.get(place)),
                **({} if place else {"ratio": 1.0}),
            }
            for place in range(hunted.last + 1)
        ],
        "duels": [
            {
                "experiment": duel.id or None,
                "older": hunted.commits[duel.older].hash,
                "newer": hunted.commits[duel.newer].hash,
                "word": answer_word(duel.answer, hunted.limits.metric),
                "ratio": duel.ratio,
                "ci95": duel.ci95,
                "rounds": duel.rounds,
                "minutes": duel.minutes,
            }
            for duel in known.ordered
        ],
    }
