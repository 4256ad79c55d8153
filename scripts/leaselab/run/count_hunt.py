"""The complete search, by counts, for the commits of a range that changed the server's work."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import msgspec

from leaselab.analysis.comparison.archived_counts import CountFacts, count_facts_of, judged
from leaselab.analysis.comparison.count_search import CountEnd, next_count
from leaselab.analysis.duels.culprits import Gap
from leaselab.model import changes
from leaselab.model.errors import invalid_measurement
from leaselab.model.procedures.cost import INSTRUCTIONS
from leaselab.model.record import Record
from leaselab.report.count_bisect import CountHunted, CountWords, report_of_counts
from leaselab.report.searched import SearchReport
from leaselab.run.commit_range import CommitRange, say
from leaselab.run.contest import profiles_of


@dataclass(slots=True)
class CountSearch:
    """The search in one range: its counts in the archive, and those that are made."""

    span: CommitRange
    every: int | None
    """Which commits are counted whatever the ends cost: each so many-th; None for none."""
    ids: list[str] = field(default_factory=list)
    """Ids of the results that this search has made."""
    end: CountEnd | None = None
    """How the search has ended."""

    def run(self) -> None:
        """Count commits until the search ends; raises as `Session.measure`."""
        facts, words = self._facts(), self._words
        say(*words.cost(facts, self.span.build_s()))
        while isinstance(place := self._next(facts), int):
            say(words.step(place))
            self._count(place)
            before, facts = facts, self._facts()
            if facts == before:
                raise invalid_measurement(
                    "the result of this count does not belong to this search",
                    where=words.name(place),
                    found=self.ids[-1],
                    todo="see the result; the same command goes on with the search",
                )
            say(words.found(facts, place))
        self._note(facts, place)
        self.end = place

    def foresee(self) -> None:
        """Print what the archive knows, the next step and its possible cost."""
        facts, words = self._facts(), self._words
        say(*words.cost(facts, self.span.build_s()))
        step = self._next(facts)
        if isinstance(step, int):
            say(words.step(step))
        else:
            say(report_of_counts(self._hunted(step)).closing)

    def report(self) -> SearchReport:
        """What is shown of the search, which has ended; from the archive."""
        if self.end is None:
            raise AssertionError("this search has not ended")
        return report_of_counts(self._hunted(self.end))

    def _hunted(self, end: CountEnd) -> CountHunted:
        facts, session = self._facts(), self.span.session
        profiles = {
            gap.place: profiles_of(session.store, *self._counted(facts, gap))
            for gap in end.culprits
        }
        return CountHunted(
            self.span.commits,
            scenario=self.span.scenario.name,
            bench=session.inventory.bench,
            known=facts.known,
            end=end,
            every=self.every,
            reasons=facts.reasons,
            unbuilt=facts.unbuilt,
            merged=self.span.merged(gap.place for gap in end.culprits),
            profiles={place: one for place, one in profiles.items() if one is not None},
        )

    @property
    def _words(self) -> CountWords:
        return CountWords(self.span.commits, self.every)

    def _facts(self) -> CountFacts:
        hashes = [commit.hash for commit in self.span.commits]
        session = self.span.session
        plan = session.catalogue.procedure_of(self.span.scenario, session.overrides)
        return count_facts_of(hashes, self.span.records(plan))

    def _next(self, facts: CountFacts) -> int | CountEnd:
        return next_count(facts.known, lambda a, b: judged(a, b).change, self.every)

    def _count(self, place: int) -> None:
        """Count a commit, or go on with a count that was interrupted."""
        session, task = self.span.session, self.span.task(place)
        sealed = lambda _, ended: self.ids.append(ended.place.name)  # noqa: E731
        if not session.go_on(task, [task], sealed):
            session.measure([task], sealed)

    def _counted(self, facts: CountFacts, gap: Gap) -> tuple[Record, Record]:
        return facts.known.of[gap.after], facts.known.of[gap.place]

    def _note(self, facts: CountFacts, end: CountEnd) -> None:
        """Have the archive know which commits cost more of what."""
        named: dict[str, list[changes.Culprit]] = {INSTRUCTIONS: []}
        for gap in end.culprits:
            for metric, culprit in self._grown(facts, gap):
                named.setdefault(metric, []).append(culprit)
        for metric, culprits in named.items():
            self.span.note(metric, end.ending.value, culprits, further=False)

    def _grown(self, facts: CountFacts, gap: Gap) -> Iterator[tuple[str, changes.Culprit]]:
        """What a commit has more of; a ratio to nothing is none."""
        both = self._counted(facts, gap)
        for part in judged(*both).grown:
            if part.lowest[0] > 0:
                culprit = self.span.culprit(gap, part.ratio, part.bounds)
                ids = (both[0].id, both[1].id)
                yield part.name, msgspec.structs.replace(culprit, counts=ids)
