"""Result of a search for the commit that made a server slower: text, Markdown and JSON."""

from __future__ import annotations

import math
import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TextIO

from leaselab.analysis.comparison.profile import ProfileDifference
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
from leaselab.model.source import SHORT, Commit
from leaselab.model.text import printable
from leaselab.report.export.markdown import markdown_of_profiles
from leaselab.report.listing import escaped, markdown_table, sentence
from leaselab.report.profile import growth, print_profile, profile_document
from leaselab.report.verdict.document import layouts_document
from leaselab.report.verdict.sentence import layouts_words
from leaselab.report.verdict.words import change_words, percent
from leaselab.report.width import write_lines, write_table

HEADINGS = ("commit", "subject", "what", "ratio", "95 % interval", "by")
NAMES = 3
"""Number of text columns."""
_SUBJECT = 40
"""Characters of a subject that a table shows."""
_ROWS = 20
"""Rows above which the commits that were not measured are left out."""
_UNKNOWN = "-"
_INSIDE = 12
"""Approximate number of commits measured to search inside a range."""
_DOUBTFUL = 0.25
"""Commits that look as slow as a culprit by their builds alone, from which on it is said."""
_OUTCOMES = {
    Ending.FOUND: Outcome.REGRESSION,
    Ending.OPEN: Outcome.REGRESSION,
    Ending.SCATTERED: Outcome.REGRESSION,
    Ending.SAME: Outcome.OK,
    Ending.FASTER: Outcome.OK,
    Ending.UNKNOWN: Outcome.INVALID,
    Ending.BROKEN: Outcome.INVALID,
}
"""Exit codes: wherever the bad end is slower, there is a regression."""


@dataclass(frozen=True)
class Hunted:
    """A finished search."""

    scenario: str
    bench: str
    commits: Sequence[Commit]
    """Commits of the range: the good end first, the bad end last."""
    known: Known
    limits: Limits
    end: End
    reasons: Mapping[int, str] = field(default_factory=dict)
    """Reasons why commits cannot be measured, by place."""
    unbuilt: frozenset[int] = frozenset()
    """Places of commits that do not build or do not start."""
    merged: Mapping[int, tuple[str, str]] = field(default_factory=dict)
    """For culprits that are merges: start and last commit of the merged branch (full
    hashes)."""
    profiles: Mapping[int, ProfileDifference] = field(default_factory=dict)
    """Profiles of culprits, compared with their parents."""
    layouts: Mapping[int, OverLayouts] = field(default_factory=dict)
    """Verdicts on culprits measured in several layouts, compared with their parents."""

    @property
    def outcome(self) -> Outcome:
        """Outcome of the command."""
        ends = {0, self.known.count} & self.known.broken
        if self.end.ending is Ending.BROKEN and ends & self.unbuilt:
            return Outcome.BUILD
        return _OUTCOMES[self.end.ending]

    @cached_property
    def builds(self) -> Builds:
        """By how much builds of the range may differ whose code is equally fast."""
        return builds(self.known, self.end)

    @cached_property
    def culprits(self) -> Mapping[int, Culprit]:
        """Places of the culprits."""
        return {culprit.gap.place: culprit for culprit in self.end.culprits}

    def name(self, place: int) -> str:
        """Short hash and subject of a place."""
        commit = self.commits[place]
        return f"{commit.hash[:SHORT]} ({commit.subject})"

    def short(self, place: int) -> str:
        """Short hash of a place."""
        return self.commits[place].hash[:SHORT]


def print_hunted(hunted: Hunted, stream: TextIO | None = None) -> None:
    """Print each commit with its state, and last the result; to stdout by default."""
    stream = stream or sys.stdout
    shown = [*rows(hunted)]
    if len(shown) > _ROWS:  # the others say nothing
        shown = [row for row in shown if row[2] or row[3] != _UNKNOWN]
    write_table(stream, HEADINGS, shown, NAMES, HEADINGS[4:])
    write_lines(stream, ["", *conditions(hunted)])
    for place, profile in hunted.profiles.items():
        before = hunted.culprits[place].gap.after
        stream.write(f"\nA is {hunted.short(before)}, B is {hunted.short(place)}:\n")
        print_profile(profile, stream)
    write_lines(stream, ["", closing(hunted)])


def markdown_of_hunted(hunted: Hunted) -> str:
    """The same as Markdown, with the result first."""
    return "".join(
        [
            f"## Leaselab bisect: {hunted.end.ending.value}\n\n",
            f"{escaped(closing(hunted))}\n\n",
            *markdown_table(HEADINGS, [*rows(hunted)], NAMES),
            "\n",
            *(f"- {escaped(line)}\n" for line in conditions(hunted)),
            *(markdown_of_profiles(profile) for profile in hunted.profiles.values()),
        ]
    )


def rows(hunted: Hunted) -> Iterator[list[str]]:
    """Rows for `HEADINGS`, one for each commit from the good end to the bad one."""
    level_of = levels(hunted.known)
    for place, commit in enumerate(hunted.commits):
        level = level_of.get(place)
        ratio, interval, by = ("1", "", "") if place == 0 else (_UNKNOWN, "", "")
        if level is not None:
            ratio, by = f"{level.ratio:.3f}", pooled_words(level.duels)
            interval = "{:.3f} to {:.3f}".format(*level.ci95) if level.ci95 else ""
        subject = printable(commit.subject)[:_SUBJECT]
        yield [commit.name, subject, _what(hunted, place), ratio, interval, by]


def _what(hunted: Hunted, place: int) -> str:
    """Words for the state of a place."""
    said = []
    if place == 0:
        said.append("good end")
    if place == hunted.known.count:
        said.append("bad end")
    if place in hunted.culprits:
        said.append("CULPRIT")
    if place in hunted.unbuilt:
        said.append("does not build or start")
    elif place in hunted.known.broken:
        said.append("cannot be measured")
    return ", ".join(said)


def conditions(hunted: Hunted) -> Iterator[str]:
    """Notes that qualify the result, a line each."""
    known, limits = hunted.known, hunted.limits
    by = "" if limits.metric == COMPLETED else f", by {limits.metric}"
    yield f"{hunted.scenario} on bench {hunted.bench}{by}, commits along first parents"
    yield (
        f"{len(known.duels)} duels, {known.minutes:.0f} of {limits.budget_minutes:g} min of "
        f"lab time; a change counts from {50 * limits.find:g} % on, duels are to find "
        f"{100 * limits.find:g} %"
    )
    for place in sorted(known.broken):
        yield f"{hunted.name(place)}: {hunted.reasons.get(place, 'cannot be measured')}"


def closing(hunted: Hunted) -> str:
    """The result in a few sentences."""
    end, known = hunted.end, hunted.known
    ends = f"{hunted.short(known.count)} against {hunted.short(0)}"
    if end.ending is Ending.BROKEN:
        place = min({0, known.count} & known.broken)
        which = "good" if place == 0 else "bad"
        why = hunted.reasons.get(place, "")
        return f"The {which} end cannot be measured: {hunted.name(place)}: {why}"
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
    text += f" {hunted.short(gap.after)}"
    if gap.commits == 1:
        text += ", its parent"
    else:
        between = ", ".join(hunted.short(place) for place in range(gap.after + 1, gap.place))
        text += f"; it may as well be what came before it and cannot be measured: {between}"
    merged = hunted.merged.get(gap.place)
    if merged is not None:
        base, last = (commit[:SHORT] for commit in merged)
        text += f". It is a merge: search on with --good {base} --bad {last}"
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
    further = "A further change" if hunted.culprits else "The change"
    spent = f"{hunted.known.minutes:.0f} of {hunted.limits.budget_minutes:g} min"
    return (
        f"{further} is between {hunted.short(left.after)} and {hunted.name(left.place)}, "
        f"{left.commits} commits, not decided within this budget ({spent}): give more "
        "--budget; finished duels are reused."
    )


def pooled_words(duels: int) -> str:
    """How many duels a ratio and its interval are of."""
    return "one duel" if duels == 1 else f"pooled of {duels} duels"


def level_document(level: Level | None) -> dict[str, Any]:
    """A ratio for ``--json``, with its interval and the number of duels it is pooled of."""
    if level is None:
        return {"ratio": None, "ci95": None, "pooled_of": None}
    return {"ratio": level.ratio, "ci95": level.ci95, "pooled_of": level.duels}


def hunted_document(hunted: Hunted) -> dict[str, Any]:
    """The result for ``--json``; missing values are None, ratios newer over older."""
    known, end, level_of = hunted.known, hunted.end, levels(hunted.known)

    def gap_document(gap: Gap) -> dict[str, Any]:
        return {
            "after": hunted.commits[gap.after].hash,
            "to": hunted.commits[gap.place].hash,
            "commits": gap.commits,
        }

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
                "hash": hunted.commits[culprit.gap.place].hash,
                "subject": hunted.commits[culprit.gap.place].subject,
                **gap_document(culprit.gap),
                **level_document(culprit.level),
                "as_slow_by_chance": hunted.builds.as_slow(culprit),
                "merged": list(hunted.merged.get(culprit.gap.place, ())) or None,
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
        "left": gap_document(end.left) if end.left is not None else None,
        "commits": [
            {
                "hash": commit.hash,
                "subject": commit.subject,
                **level_document(level_of.get(place)),
                **({} if place else {"ratio": 1.0}),
                "broken": hunted.reasons.get(place),
                "culprit": place in hunted.culprits,
            }
            for place, commit in enumerate(hunted.commits)
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
