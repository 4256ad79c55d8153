"""Result of a search, by counts, for the commits that changed what a server does."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from leaselab.analysis.comparison.archived_counts import CountFacts, judged
from leaselab.analysis.comparison.cost import CostVerdict
from leaselab.analysis.comparison.count_search import CountEnd, KnownCounts, most_counts
from leaselab.analysis.duels.bisect import Ending
from leaselab.analysis.duels.culprits import Gap
from leaselab.model.errors import Outcome
from leaselab.model.procedures.cost import INSTRUCTIONS
from leaselab.model.record import Record
from leaselab.report.profile import profile_document
from leaselab.report.searched import UNKNOWN, CommitNames, Searched, SearchReport
from leaselab.report.verdict.cost import (
    amount,
    closing_words,
    cost_document,
    limits_words,
    signed_amount,
)
from leaselab.report.verdict.words import percent


@dataclass(frozen=True)
class CountWords(CommitNames):
    """Progress lines of a search by counts."""

    every: int | None

    def cost(self, facts: CountFacts, build_s: float | None) -> Iterator[str]:
        """The known facts before it starts, and its cost; `build_s` is per build (s)."""
        known = facts.known
        yield (
            f"{known.last} commits from {self.short(1)} to {self.short(known.last)}; the "
            f"archive has counts of {len(known.of)}, and knows {len(known.broken)} that cannot "
            "be counted"
        )
        if not {0, known.last} & known.broken:
            each = "" if build_s is None else f" of about {build_s:.0f} s each, unless kept"
            first, halved = most_counts(known, self.every)
            more = f", and up to {halved} more" if halved else ""
            more += " for each change" * bool(halved and self.every)
            yield f"expected: {first} counts{more}, with as many builds{each}"

    def step(self, place: int) -> str:
        """Which commit is counted next."""
        return f"counting {self.name(place)}"

    def found(self, facts: CountFacts, place: int) -> str:
        """What came of a count."""
        record = facts.known.of.get(place)
        if record is not None:
            return f"{self.short(place)} costs {amount(_instructions(record))} {_unit(record)}"
        if place in facts.known.broken:
            return f"{self.name(place)} is left out: {facts.reasons[place]}"
        return f"it has no count, so it is counted again: {facts.spoiled[place][-1]}"


@dataclass(frozen=True, kw_only=True)
class CountHunted(Searched):
    """A finished search by counts."""

    known: KnownCounts[Record]
    end: CountEnd
    every: int | None
    by = " --cost"
    check = ("--live", "what it does to the rate")

    @property
    def ending(self) -> Ending:
        """How the search ended."""
        return self.end.ending

    @cached_property
    def gaps(self) -> Mapping[int, Gap]:
        """The gaps of the culprits, by place."""
        return {gap.place: gap for gap in self.end.culprits}

    @property
    def answer(self) -> Outcome:
        """A regression where a named commit costs more, or the bad end does."""
        verdicts = (self.ends, *map(self.verdict, self.end.culprits))
        return Outcome.REGRESSION if any(one.grown for one in verdicts) else Outcome.OK

    @property
    def ends(self) -> CostVerdict:
        """The verdict on the two ends."""
        return self.verdict(Gap(0, self.last))

    def verdict(self, gap: Gap) -> CostVerdict:
        """What the end of a gap costs against its beginning."""
        return judged(self.known.of[gap.after], self.known.of[gap.place])


def report_of_counts(hunted: CountHunted) -> SearchReport:
    """What is shown of a search by counts."""
    counted = hunted.known.of.values()
    unit = next((_unit(record) for record in counted), INSTRUCTIONS)
    return SearchReport(
        hunted,
        ("commit", "subject", "what", unit, "change"),
        [*_rows(hunted)],
        [*_conditions(hunted)],
        _closing(hunted),
        _document(hunted),
    )


def _rows(hunted: CountHunted) -> Iterator[list[str]]:
    """One for each commit; a change is against the last one that was counted."""
    before = None
    for place in range(hunted.last + 1):
        cells = [UNKNOWN, ""]
        if place in hunted.known.of:
            cells[0] = amount(_instructions(hunted.known.of[place]))
            if before is not None:
                verdict = hunted.verdict(Gap(before, place))
                star = "*" if verdict.change else " "
                cells[1] = f"{signed_amount(verdict.instructions.difference)}{star}"
            before = place
        yield [*hunted.columns(place), *cells]


def _conditions(hunted: CountHunted) -> Iterator[str]:
    """Notes that qualify the result, a line each."""
    known = hunted.known
    yield (
        f"{hunted.scenario} on bench {hunted.bench}, {len(known.of)} of {hunted.last + 1} "
        "commits counted, along first parents"
    )
    if hunted.ending is not Ending.BROKEN:
        yield limits_words(hunted.ends)
    yield from hunted.unmeasured()


def _closing(hunted: CountHunted) -> str:
    """The result in a few sentences."""
    if hunted.ending is Ending.BROKEN:
        return hunted.broken_words()
    known, end, ends, short = hunted.known, hunted.end, hunted.ends, hunted.short
    parts = [_culprit(hunted, gap) for gap in end.culprits]
    if not end.culprits:
        parts.append(closing_words(ends, short(hunted.last), short(0), None))
    if hunted.ending is Ending.SCATTERED:
        parts.append("No single commit does: there may be many small changes.")
    named = math.prod(hunted.verdict(gap).ratio for gap in end.culprits)
    part = ends.instructions
    unnamed = abs(named * part.before - part.after) > part.least
    if end.culprits and (unnamed or len(end.culprits) > 1):
        parts.append(
            f"The ends differ by {percent(ends.ratio)}; what is named makes {percent(named)}."
        )
    if len(known.of) + len(known.broken) <= hunted.last:
        parts.append(
            "Changes that cancel each other out between two counted commits are not seen: "
            "--every 1 counts all."
        )
    return " ".join(parts)


def _culprit(hunted: CountHunted, gap: Gap) -> str:
    """What one culprit costs, and how to continue the search."""
    functions = hunted.profiles.get(gap.place)
    before = hunted.before(gap)
    text = closing_words(hunted.verdict(gap), hunted.name(gap.place), before, functions)
    merge = hunted.merge(gap.place)
    return f"{text} {merge}." if merge else text


def _document(hunted: CountHunted) -> dict[str, Any]:
    """The result for ``--json``; missing values are None, ratios newer over older."""
    known, end = hunted.known, hunted.end
    broken = hunted.ending is Ending.BROKEN
    return {
        "outcome": hunted.outcome.label,
        "ending": end.ending.value,
        "text": _closing(hunted),
        "scenario": hunted.scenario,
        "bench": hunted.bench,
        "metric": INSTRUCTIONS,
        "good": hunted.commits[0].hash,
        "bad": hunted.commits[-1].hash,
        "every": hunted.every,
        "ends": None if broken else cost_document(hunted.ends),
        "culprits": [
            {
                **hunted.culprit_document(gap),
                "more": bool(hunted.verdict(gap).grown),
                "ratio": hunted.verdict(gap).ratio,
                "cost": cost_document(hunted.verdict(gap)),
                "profile": (
                    profile_document(hunted.profiles[gap.place])
                    if gap.place in hunted.profiles
                    else None
                ),
            }
            for gap in end.culprits
        ],
        "commits": [
            {
                **hunted.commit_document(place),
                "result": known.of[place].id if place in known.of else None,
                INSTRUCTIONS: (_instructions(known.of[place]) if place in known.of else None),
            }
            for place in range(hunted.last + 1)
        ],
    }


def _instructions(record: Record) -> float:
    """The instructions of a count, the median of its starts."""
    return record.figure.value or 0.0


def _unit(record: Record) -> str:
    return record.figure.unit
