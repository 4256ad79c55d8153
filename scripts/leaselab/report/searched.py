"""A finished search in a range of commits, by whatever decided it: names, states, output."""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, TextIO

from leaselab.analysis.comparison.profile import ProfileDifference
from leaselab.analysis.duels.bisect import Ending
from leaselab.analysis.duels.culprits import Gap
from leaselab.model.errors import Outcome
from leaselab.model.source import SHORT, Commit
from leaselab.model.text import printable
from leaselab.report.export.markdown import markdown_of_profiles
from leaselab.report.listing import escaped, markdown_table
from leaselab.report.profile import print_profile
from leaselab.report.width import write_lines, write_table

NAMES = 3
"""Columns of the commits' table that are words."""
UNKNOWN = "-"
"""What a table has of a commit that was not measured."""
_SUBJECT = 40
"""Characters of a subject that a table shows."""
_ROWS = 20
"""Rows above which the commits that were not measured are left out."""


@dataclass(frozen=True)
class CommitNames:
    """A range of commits, by their places."""

    commits: Sequence[Commit]
    """The good end first, the bad end last."""

    def short(self, place: int) -> str:
        """Short hash of a place."""
        return self.commits[place].hash[:SHORT]

    def name(self, place: int) -> str:
        """Short hash and subject of a place."""
        return f"{self.short(place)} ({self.commits[place].subject})"


@dataclass(frozen=True, kw_only=True)
class Searched(CommitNames, ABC):
    """What is known of a range when its search has ended."""

    scenario: str
    bench: str
    by: ClassVar[str] = ""
    """Option of ``bisect`` that searches likewise."""
    check: ClassVar[tuple[str, str]]
    """Options of ``compare`` that say more of a culprit, and what they say."""
    reasons: Mapping[int, str] = field(default_factory=dict)
    """Reasons why commits cannot be measured, by place."""
    unbuilt: frozenset[int] = frozenset()
    """Places of commits that do not build or do not start."""
    merged: Mapping[int, tuple[str, str]] = field(default_factory=dict)
    """For culprits that are merges: start and last commit of the merged branch (full
    hashes)."""
    profiles: Mapping[int, ProfileDifference] = field(default_factory=dict)
    """What culprits spend by function, compared with their parents."""

    @property
    @abstractmethod
    def ending(self) -> Ending:
        """How the search ended."""

    @property
    @abstractmethod
    def gaps(self) -> Mapping[int, Gap]:
        """The gaps of the culprits, by place."""

    @property
    @abstractmethod
    def answer(self) -> Outcome:
        """Outcome of a search whose ends can be measured."""

    @property
    def checked(self) -> Collection[int]:
        """Places of culprits of which that is known already."""
        return ()

    @property
    def last(self) -> int:
        """Place of the bad end."""
        return len(self.commits) - 1

    @property
    def outcome(self) -> Outcome:
        """Outcome of the command."""
        if self.ending is not Ending.BROKEN:
            return self.answer
        return Outcome.BUILD if {0, self.last} & self.unbuilt else Outcome.INVALID

    def state(self, place: int) -> str:
        """Words for the state of a place."""
        said = []
        if place == 0:
            said.append("good end")
        if place == self.last:
            said.append("bad end")
        if place in self.gaps:
            said.append("CULPRIT")
        if place in self.unbuilt:
            said.append("does not build or start")
        elif place in self.reasons:
            said.append("cannot be measured")
        return ", ".join(said)

    def columns(self, place: int) -> list[str]:
        """The first `NAMES` columns of the commits' table."""
        commit = self.commits[place]
        return [commit.name, printable(commit.subject)[:_SUBJECT], self.state(place)]

    def before(self, gap: Gap) -> str:
        """What the commit of a gap is compared with, in words."""
        if gap.commits == 1:
            return f"{self.short(gap.after)}, its parent"
        between = ", ".join(self.short(place) for place in range(gap.after + 1, gap.place))
        return (
            f"{self.short(gap.after)}; it may as well be what came before it and cannot be "
            f"measured: {between}"
        )

    def merge(self, place: int) -> str:
        """How to search on in a culprit that is a merge; empty for another one."""
        if place not in self.merged:
            return ""
        base, last = (commit[:SHORT] for commit in self.merged[place])
        return f"It is a merge: search on with --good {base} --bad {last}{self.by}"

    def unmeasured(self) -> Iterator[str]:
        """Why commits cannot be measured, a line each."""
        for place, why in sorted(self.reasons.items()):
            yield f"{self.name(place)}: {why}"

    def broken_words(self) -> str:
        """Which end cannot be measured, in a sentence."""
        place = min({0, self.last} & self.reasons.keys())
        which = "bad" if place else "good"
        why = self.reasons[place]
        return f"The {which} end cannot be measured: {self.name(place)}: {why}"

    def gap_document(self, gap: Gap) -> dict[str, Any]:
        """A gap for ``--json``."""
        return {
            "after": self.commits[gap.after].hash,
            "to": self.commits[gap.place].hash,
            "commits": gap.commits,
        }

    def culprit_document(self, gap: Gap) -> dict[str, Any]:
        """The commit of a gap for ``--json``, without what was measured of it."""
        commit = self.commits[gap.place]
        return {
            "hash": commit.hash,
            "subject": commit.subject,
            **self.gap_document(gap),
            "merged": list(self.merged.get(gap.place, ())) or None,
        }

    def commit_document(self, place: int) -> dict[str, Any]:
        """A commit of the range for ``--json``, likewise."""
        commit = self.commits[place]
        return {
            "hash": commit.hash,
            "subject": commit.subject,
            "broken": self.reasons.get(place),
            "culprit": place in self.gaps,
        }


@dataclass(frozen=True, slots=True)
class SearchReport:
    """What is shown of a finished search."""

    searched: Searched
    headings: Sequence[str]
    rows: Sequence[Sequence[str]]
    """One for each commit, from the good end to the bad one."""
    conditions: Sequence[str]
    """Notes that qualify the result."""
    closing: str
    """The result in a few sentences."""
    document: Mapping[str, Any]
    """All of it for ``--json``."""


def print_search(report: SearchReport, stream: TextIO | None = None) -> None:
    """Print each commit with its state, and last the result; to stdout by default."""
    stream = stream or sys.stdout
    searched, shown = report.searched, report.rows
    if len(shown) > _ROWS:  # the others say nothing
        shown = [row for row in shown if row[2] or row[3] != UNKNOWN]
    write_table(stream, report.headings, shown, NAMES, report.headings[4:])
    write_lines(stream, ["", *report.conditions])
    for place, profile in searched.profiles.items():
        before = searched.gaps[place].after
        stream.write(f"\nA is {searched.short(before)}, B is {searched.short(place)}:\n")
        print_profile(profile, stream)
    write_lines(stream, ["", report.closing])


def markdown_of_search(report: SearchReport) -> str:
    """The same as Markdown, with the result first."""
    return "".join(
        [
            f"## Leaselab bisect: {report.searched.ending.value}\n\n",
            f"{escaped(report.closing)}\n\n",
            *markdown_table(report.headings, report.rows, NAMES),
            "\n",
            *(f"- {escaped(line)}\n" for line in report.conditions),
            *(markdown_of_profiles(profile) for profile in report.searched.profiles.values()),
        ]
    )
