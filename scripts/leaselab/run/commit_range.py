"""The commits of a range that is searched: as tasks, and what the archive has of them."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from leaselab.analysis.duels.culprits import Gap
from leaselab.archive.changes import note_search
from leaselab.builds.repository import Repository
from leaselab.model import changes, moment, speech
from leaselab.model.bounds import clipped
from leaselab.model.errors import BELIEVED, Outcome
from leaselab.model.procedures import AnyProcedure
from leaselab.model.record import Record
from leaselab.model.scenario import Scenario
from leaselab.model.source import Commit
from leaselab.model.text import printable
from leaselab.run.session import Session
from leaselab.run.task import Task, source_folder

_RECENT = 20
"""Number of newest results of commits from which the duration of a build is estimated."""


@dataclass(slots=True)
class CommitRange:
    """A range of commits of one server, measured in one scenario on one bench."""

    session: Session
    scenario: Scenario
    repository: Repository
    commits: Sequence[Commit]
    """The commits of the range, the good end first."""
    _read: dict[str, Record | None] = field(default_factory=dict)

    def task(self, place: int) -> Task:
        """The task that measures a place."""
        commit = self.commits[place]
        files = dict(self.session.files)
        if commit.tree not in files:
            files[commit.tree] = self.repository.archive(commit, source_folder())
            self.session.files = files
        return Task(self.scenario, commit)

    def records(self, wanted: AnyProcedure) -> list[Record]:
        """The results of commits of the range by a procedure, and those that do not build."""
        tasks = {commit.hash: Task(self.scenario, commit) for commit in self.commits}
        records = []
        for row in self.session.store.index.rows(
            scenario=self.scenario.name, bench=self.session.inventory.bench
        ):
            counts = row["procedure"] == wanted.name or row["outcome"] == Outcome.BUILD.label
            if counts and row["commit"] in tasks:
                record = self.readable(row["id"])
                task = tasks[row["commit"]]
                if record and self.session.earlier.is_like(task, record, wanted):
                    records.append(record)
        return records

    def record(self, ref: str) -> Record:
        """A result; raises as `Store.load`."""
        return self.readable(ref) or self.session.store.load(ref)

    def readable(self, ref: str) -> Record | None:
        """A result; None where it cannot be read."""
        if ref not in self._read:
            self._read[ref] = next(self.session.store.load_readable([ref]), None)
        return self._read[ref]

    def merged(self, places: Iterable[int]) -> dict[int, tuple[str, str]]:
        """For those that are merges: start and last commit of the merged branch."""
        merges = {place: self.repository.merged(self.commits[place]) for place in places}
        return {place: merge for place, merge in merges.items() if merge is not None}

    def culprit(
        self, gap: Gap, ratio: float, ci95: tuple[float, float] | None
    ) -> changes.Culprit:
        """The commit of a gap for `note`; `ratio` and `ci95` as of `changes.Culprit`."""
        commit, parent = self.commits[gap.place], self.commits[gap.after]
        return changes.Culprit(
            commit=commit.hash,
            subject=clipped(commit.subject),
            date=commit.date,
            parent=parent.hash,
            parent_subject=clipped(parent.subject),
            ratio=ratio,
            ci95=ci95,
        )

    def note(
        self, metric: str, ending: str, culprits: Iterable[changes.Culprit], *, further: bool
    ) -> None:
        """Have the archive know how a search ended: its results alone name no commit."""
        search = changes.Search(
            scenario=self.scenario.name,
            bench=self.session.inventory.bench,
            metric=metric,
            good=self.commits[0].hash,
            bad=self.commits[-1].hash,
            ending=ending,
            further=further,
            culprits=tuple(culprits),
            at=moment.now(),
        )
        note_search(self.session.store.root, search)

    def build_s(self) -> float | None:
        """Durations of builds of the scenario's server, by the newest results (s)."""
        rows = self.session.store.index.rows(scenario=self.scenario.name, limit=_RECENT)
        took = [
            build.seconds["total"]
            for row in rows
            if row["commit"] and row["outcome"] in BELIEVED
            if (record := self.readable(row["id"]))
            if (build := record.server.build) and "total" in build.seconds
        ]
        return statistics.median(took) if took else None


def say(*lines: str) -> None:
    """Print progress lines of a search."""
    for line in lines:
        speech.say(f"leaselab bisect: {printable(line)}")
