"""Duels of the builds around suspected changes, each on the bench on which it was seen."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from leaselab.analysis.history.series import Change, Series, duelled
from leaselab.archive.store import Store
from leaselab.catalog.catalogue import Catalogue
from leaselab.lab.hosts.inventory import Inventory
from leaselab.model.errors import LeaselabError, Outcome
from leaselab.model.procedures.duel import DUEL, OPERATED, OPERATING
from leaselab.model.speech import announce, say
from leaselab.report.review.words import range_words
from leaselab.run.contest import duel, explain
from leaselab.run.measurement import Show
from leaselab.run.sides import Sides
from leaselab.run.task import open_source


@dataclass(frozen=True, slots=True)
class Confirmation:
    """How suspected changes are measured again."""

    store: Store
    catalogue: Catalogue
    benches: Mapping[str, Inventory]
    """By name."""
    show: Show
    repo: str | None = None
    """The server's repository; None for that of each commit."""
    full: bool = False
    """As of `Session`."""
    profiles: bool = True
    """Whether both are profiled where the later one is slower."""

    def of(self, suspected: Iterable[tuple[Series, Change]]) -> Outcome:
        """Make a duel for each change; return the outcome of the first that is not ok.

        A duel that cannot be made does not prevent the others; a broken lab does, such as a
        bench that another user has.
        """
        outcome = Outcome.OK
        for series, change in suspected:
            title = f"{series.scenario} {range_words(change)}"
            why = self.obstacle(series, change)
            if why:
                announce(f"{title}: not measured again: {why}")
                continue
            say(f"measured again: {title}")
            try:
                announce(f"{title}: {self.duel(series, change)}")
            except LeaselabError as error:
                if error.outcome is Outcome.LAB:
                    raise
                announce(f"{title}: {error}")
                outcome = error.outcome if outcome is Outcome.OK else outcome
        return outcome

    def obstacle(self, series: Series, change: Change) -> str:
        """Why a change cannot be measured again on these benches; empty where it can."""
        if not (change.before.commit and change.after.commit):
            return "only what is built from a commit can be measured again"
        if series.bench not in self.benches:
            return f"it is of bench {series.bench}, which the inventory does not have"
        if duelled(series.metric, series.unit) is None:
            return f"no duel is about {series.title}"
        if change.duel is not None:
            return "a duel could not tell; compare them --live with a larger --budget"
        return ""

    def duel(self, series: Series, change: Change) -> str:
        """Measure the builds around a change against each other; what came of it, in a word."""
        record = self.store.load(change.after.ids[0])
        where = self.repo or (record.source.repository if record.source else "")
        generator = record.scenario.generator
        sides = Sides(self.catalogue, open_source(where), series.scenario, generator)
        tasks = sides.tasks(change.before.commit or "", change.after.commit or "")
        asked = {"name": DUEL, "metric": duelled(series.metric, series.unit)}
        if asked["metric"] in OPERATED:
            asked |= {name: getattr(record.procedure, name) for name in OPERATING}
        inventory = self.benches[series.bench]
        session = sides.session(self.store, inventory, asked, self.show, full=self.full)
        session.check_tasks(*tasks)
        contest = session.contest(*tasks)
        with session.leased(f"review {series.scenario}"):
            comparison = duel(session, contest).comparison
            if comparison.error is not None:
                raise comparison.error
            if comparison.outcome is Outcome.REGRESSION and self.profiles:
                explain(session, contest, comparison.base, comparison.other)
        return comparison.word
