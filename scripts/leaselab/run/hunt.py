"""The complete search, by duels, for the commits of a range that made a server slower."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from leaselab.analysis.comparison.archived_duels import FAILURES, Facts, facts_of
from leaselab.analysis.comparison.verdict import Comparison
from leaselab.analysis.duels.bisect import End, Ending, Known, Limits, Step, next_step
from leaselab.analysis.duels.culprits import Gap
from leaselab.analysis.duels.layouts import OverLayouts
from leaselab.archive.changes import note_search
from leaselab.builds.repository import Repository
from leaselab.model import changes, moment
from leaselab.model.bounds import clipped
from leaselab.model.contest import Contest
from leaselab.model.errors import BELIEVED, Outcome, invalid_measurement
from leaselab.model.procedures.duel import DUEL, Duel
from leaselab.model.record import Record
from leaselab.model.scenario import Scenario
from leaselab.model.source import Commit
from leaselab.model.speech import say
from leaselab.model.text import printable
from leaselab.report.bisect import Hunted, closing
from leaselab.report.hunting import HuntWords
from leaselab.run.contest import (
    archived_duel,
    duel,
    explain,
    over_layouts,
    profiles_of,
    say_cost,
)
from leaselab.run.session import Session
from leaselab.run.task import Task, source_folder

_RECENT = 20
"""Number of newest results of commits from which the duration of a build is estimated."""


@dataclass(slots=True)
class Search:
    """The search in one range: its duels in the archive, and those that are made."""

    session: Session
    scenario: Scenario
    repository: Repository
    commits: Sequence[Commit]
    """The commits of the range, the good end first."""
    plan: Duel
    limits: Limits
    ids: list[str] = field(default_factory=list)
    """Ids of the results that this search has made."""
    _read: dict[str, Record | None] = field(default_factory=dict)
    _layouts: dict[int, OverLayouts] = field(default_factory=dict)
    """Verdicts on culprits that were measured in several layouts."""

    def run(self) -> End:
        """Make duels until the search ends.

        Raises as `Session.measure`, and an invalid-measurement error where repeated duels of
        two commits have no verdict.
        """
        facts, words = self._facts(), self._words
        _say(*words.cost(facts, self._build_s()))
        while isinstance(step := next_step(facts.known, self.limits), Step):
            _say(words.step(facts, step))
            self._fight(step)
            before, facts = facts, self._facts()
            lines = [*words.found(before, facts)]
            _say(*lines or [self._no_verdict(step, before, facts)])
        self._note(facts.known, step)
        return step

    def _note(self, known: Known, end: End) -> None:
        """Have the archive know how the search ended: its duels alone name no commit."""
        commits, session = self.commits, self.session
        search = changes.Search(
            scenario=self.scenario.name,
            bench=session.inventory.bench,
            metric=self.limits.metric,
            good=commits[0].hash,
            bad=commits[-1].hash,
            ending=end.ending.value,
            further=end.ending in (Ending.OPEN, Ending.UNKNOWN),
            culprits=tuple(
                changes.Culprit(
                    commit=commits[named.gap.place].hash,
                    subject=clipped(commits[named.gap.place].subject),
                    date=commits[named.gap.place].date,
                    parent=commits[named.gap.after].hash,
                    parent_subject=clipped(commits[named.gap.after].subject),
                    ratio=named.level.ratio,
                    ci95=named.level.ci95,
                    duel=known.of(named.gap.after, named.gap.place)[-1].id,
                )
                for named in end.culprits
            ),
            at=moment.now(),
        )
        note_search(session.store.root, search)

    def foresee(self) -> None:
        """Print what the archive knows, the next step and its possible cost."""
        facts, words = self._facts(), self._words
        _say(*words.cost(facts, self._build_s()))
        step = next_step(facts.known, self.limits)
        if isinstance(step, Step):
            _say(words.step(facts, step))
        else:
            _say(closing(self.hunted(step, facts)))

    def lay_out(self, end: End, layouts: int) -> None:
        """Make duels of each culprit and its parent in several layouts."""

        def made(contest: Contest[Task]) -> Comparison:
            archived = archived_duel(self.session, contest)
            if archived is not None:
                return archived
            fought = duel(self.session, contest)
            self.ids += fought.ids
            return fought.comparison

        for culprit in end.culprits:
            contest = self._contest(culprit.gap)
            say_cost(self.session, contest, layouts)
            self._layouts[culprit.gap.place], _ = over_layouts(made, contest, layouts)

    def explain(self, end: End) -> None:
        """Profile each culprit and its parent; errors as `leaselab.run.contest.explain`."""
        known = self._facts().known
        for culprit in end.culprits:
            results = self._confirmed(known, culprit.gap)
            self.ids += explain(self.session, self._contest(culprit.gap), *results)

    @property
    def _words(self) -> HuntWords:
        return HuntWords(self.commits, self.limits)

    def _no_verdict(self, step: Step, before: Facts, now: Facts) -> str:
        """Report that a duel had no verdict; raise where a repetition is useless."""
        pair = step.older, step.newer
        texts = now.spoiled.get(pair, ())
        if len(texts) >= FAILURES or texts == before.spoiled.get(pair, ()):
            raise invalid_measurement(
                "inconclusive: repeated duels of these commits gave no verdict",
                where=" against ".join(self._words.name(place) for place in pair[::-1]),
                found=texts[-1] if texts else "nothing that belongs to this search",
                todo="see their results; the same command goes on with the search",
            )
        return f"no verdict, so it is measured again: {texts[-1]}"

    def hunted(self, end: End, facts: Facts | None = None) -> Hunted:
        """Return all known facts, from the archive unless they were just read."""
        facts = facts or self._facts()
        gaps = [culprit.gap for culprit in end.culprits]
        merged = {gap.place: self.repository.merged(self.commits[gap.place]) for gap in gaps}
        profiles = {
            gap.place: profiles_of(self.session.store, *self._confirmed(facts.known, gap))
            for gap in gaps
        }
        return Hunted(
            self.scenario.name,
            self.session.inventory.bench,
            self.commits,
            facts.known,
            self.limits,
            end,
            facts.reasons,
            facts.unbuilt,
            {place: merge for place, merge in merged.items() if merge is not None},
            {place: profile for place, profile in profiles.items() if profile is not None},
            self._layouts,
        )

    def _confirmed(self, known: Known, gap: Gap) -> tuple[Record, Record]:
        """The results of the last duel that identified a culprit: its parent's and its own."""
        base = self._record(known.of(gap.after, gap.place)[-1].id)
        points = base.experiment.points if base.experiment is not None else ()
        return base, self._record(points[1])

    def _contest(self, gap: Gap) -> Contest[Task]:
        """That of a culprit's parent with the culprit."""
        return Contest(self._task(gap.after), self._task(gap.place), self.plan)

    def _task(self, place: int) -> Task:
        commit = self.commits[place]
        files = dict(self.session.files)
        if commit.tree not in files:
            files[commit.tree] = self.repository.archive(commit, source_folder())
            self.session.files = files
        return Task(self.scenario, commit)

    def _fight(self, step: Step) -> None:
        """Make the duel of a step, or resume an interrupted one."""
        first, second = self._task(step.older), self._task(step.newer)
        session = replace(
            self.session, overrides={**self.session.overrides, "rounds": step.rounds}
        )
        session.complete((first, second), lambda _, ended: self.ids.append(ended.place.name))

    def _facts(self) -> Facts:
        """Read the duels between commits of the range, and which commits fail."""
        tasks = {commit.hash: Task(self.scenario, commit) for commit in self.commits}
        records = []
        for row in self.session.store.index.rows(
            scenario=self.scenario.name, bench=self.session.inventory.bench
        ):
            counts = row["procedure"] == DUEL or row["outcome"] == Outcome.BUILD.label
            if counts and row["commit"] in tasks:
                record = self._readable(row["id"])
                task = tasks[row["commit"]]
                if record and self.session.earlier.is_like(task, record, self.plan):
                    records.append(record)
        return facts_of([*tasks], records, self.limits.find)

    def _record(self, ref: str) -> Record:
        return self._readable(ref) or self.session.store.load(ref)

    def _readable(self, ref: str) -> Record | None:
        if ref not in self._read:
            self._read[ref] = next(self.session.store.load_readable([ref]), None)
        return self._read[ref]

    def _build_s(self) -> float | None:
        """Durations of builds of the scenario's server, by the newest results (s)."""
        rows = self.session.store.index.rows(scenario=self.scenario.name, limit=_RECENT)
        took = [
            build.seconds["total"]
            for row in rows
            if row["commit"] and row["outcome"] in BELIEVED
            if (record := self._readable(row["id"]))
            if (build := record.server.build) and "total" in build.seconds
        ]
        return statistics.median(took) if took else None


def _say(*lines: str) -> None:
    for line in lines:
        say(f"leaselab bisect: {printable(line)}")
