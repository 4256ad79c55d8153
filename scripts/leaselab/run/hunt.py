"""The complete search, by duels, for the commits of a range that made a server slower."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import msgspec

from leaselab.analysis.comparison.archived_duels import FAILURES, Facts, facts_of
from leaselab.analysis.comparison.verdict import Comparison
from leaselab.analysis.duels.bisect import End, Ending, Known, Limits, Step, next_step
from leaselab.analysis.duels.culprits import Gap
from leaselab.analysis.duels.layouts import OverLayouts
from leaselab.model.contest import Contest
from leaselab.model.errors import invalid_measurement
from leaselab.model.procedures.duel import Duel
from leaselab.model.record import Record
from leaselab.report.bisect import Hunted, closing, report_of_hunt
from leaselab.report.hunting import HuntWords
from leaselab.report.searched import SearchReport
from leaselab.run.commit_range import CommitRange, say
from leaselab.run.contest import (
    archived_duel,
    duel,
    explain,
    over_layouts,
    profiles_of,
    say_cost,
)
from leaselab.run.session import Session
from leaselab.run.task import Task


@dataclass(slots=True)
class Search:
    """The search in one range: its duels in the archive, and those that are made."""

    span: CommitRange
    plan: Duel
    limits: Limits
    layouts: int
    """In how many layouts each culprit and its parent are measured; 0 for the linker's own."""
    profiled: bool
    """Whether each culprit and its parent are profiled."""
    ids: list[str] = field(default_factory=list)
    """Ids of the results that this search has made."""
    end: End | None = None
    """How the search has ended."""
    _layouts: dict[int, OverLayouts] = field(default_factory=dict)
    """Verdicts on culprits that were measured in several layouts."""

    def run(self) -> None:
        """Make duels until the search ends, and what is to be made of each culprit.

        Raises as `Session.measure`, and an invalid-measurement error where repeated duels of
        two commits have no verdict.
        """
        facts, words = self._facts(), self._words
        say(*words.cost(facts, self.span.build_s()))
        while isinstance(step := next_step(facts.known, self.limits), Step):
            say(words.step(facts, step))
            self._fight(step)
            before, facts = facts, self._facts()
            lines = [*words.found(before, facts)]
            say(*lines or [self._no_verdict(step, before, facts)])
        self._note(facts.known, step)
        self.end = step
        for culprit in step.culprits:
            if self.layouts:
                self._lay_out(culprit.gap)
        for culprit in step.culprits:
            if self.profiled:
                results = self._confirmed(facts.known, culprit.gap)
                self.ids += explain(self._session, self._contest(culprit.gap), *results)

    def _note(self, known: Known, end: End) -> None:
        culprits = (
            msgspec.structs.replace(
                self.span.culprit(named.gap, named.level.ratio, named.level.ci95),
                duel=known.of(named.gap.after, named.gap.place)[-1].id,
            )
            for named in end.culprits
        )
        further = end.ending in (Ending.OPEN, Ending.UNKNOWN)
        self.span.note(self.limits.metric, end.ending.value, culprits, further=further)

    def foresee(self) -> None:
        """Print what the archive knows, the next step and its possible cost."""
        facts, words = self._facts(), self._words
        say(*words.cost(facts, self.span.build_s()))
        step = next_step(facts.known, self.limits)
        if isinstance(step, Step):
            say(words.step(facts, step))
        else:
            say(closing(self._hunted(step, facts)))

    def report(self) -> SearchReport:
        """What is shown of the search, which has ended; from the archive."""
        if self.end is None:
            raise AssertionError("this search has not ended")
        return report_of_hunt(self._hunted(self.end, self._facts()))

    def _lay_out(self, gap: Gap) -> None:
        """Make duels of a culprit and its parent in several layouts."""

        def made(contest: Contest[Task]) -> Comparison:
            archived = archived_duel(self._session, contest)
            if archived is not None:
                return archived
            fought = duel(self._session, contest)
            self.ids += fought.ids
            return fought.comparison

        contest = self._contest(gap)
        say_cost(self._session, contest, self.layouts)
        self._layouts[gap.place], _ = over_layouts(made, contest, self.layouts)

    @property
    def _words(self) -> HuntWords:
        return HuntWords(self.span.commits, self.limits)

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

    def _hunted(self, end: End, facts: Facts) -> Hunted:
        gaps = [culprit.gap for culprit in end.culprits]
        profiles = {
            gap.place: profiles_of(self._session.store, *self._confirmed(facts.known, gap))
            for gap in gaps
        }
        return Hunted(
            self.span.commits,
            scenario=self.span.scenario.name,
            bench=self._session.inventory.bench,
            known=facts.known,
            limits=self.limits,
            end=end,
            reasons=facts.reasons,
            unbuilt=facts.unbuilt,
            merged=self.span.merged(gap.place for gap in gaps),
            profiles={place: one for place, one in profiles.items() if one is not None},
            layouts=self._layouts,
        )

    def _confirmed(self, known: Known, gap: Gap) -> tuple[Record, Record]:
        """The results of the last duel that identified a culprit: its parent's and its own."""
        base = self.span.record(known.of(gap.after, gap.place)[-1].id)
        points = base.experiment.points if base.experiment is not None else ()
        return base, self.span.record(points[1])

    def _contest(self, gap: Gap) -> Contest[Task]:
        """That of a culprit's parent with the culprit."""
        return Contest(self.span.task(gap.after), self.span.task(gap.place), self.plan)

    def _fight(self, step: Step) -> None:
        """Make the duel of a step, or resume an interrupted one."""
        first, second = self.span.task(step.older), self.span.task(step.newer)
        session = replace(
            self._session, overrides={**self._session.overrides, "rounds": step.rounds}
        )
        session.complete((first, second), lambda _, ended: self.ids.append(ended.place.name))

    def _facts(self) -> Facts:
        """Read the duels between commits of the range, and which commits fail."""
        hashes = [commit.hash for commit in self.span.commits]
        return facts_of(hashes, self.span.records(self.plan), self.limits.find)

    @property
    def _session(self) -> Session:
        return self.span.session
