"""The sections of a release report: which results they have, and which are missing."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from leaselab.analysis.comparison.curve import curves_of
from leaselab.analysis.comparison.verdict import Comparison, Limit
from leaselab.analysis.figures.summary import whole_latency
from leaselab.analysis.history.releases import Release
from leaselab.model.errors import BELIEVED
from leaselab.model.record import Record
from leaselab.model.scenario import Scenario
from leaselab.report.listing import measured, sentence
from leaselab.report.site.changes_chart import changes_chart
from leaselab.report.site.figure import Figure, figure
from leaselab.report.site.release_charts import curves_chart
from leaselab.report.site.seconds_chart import seconds_note
from leaselab.report.site.sweep import run_seconds, typical_run
from leaselab.report.site.vega import Look, look_of
from leaselab.report.verdict.sentence import closing
from leaselab.report.verdict.words import basis_words, interval_words, pace_words, percent

Families = Mapping[str, Sequence[Scenario]]
"""The scenarios of each family of the catalogue, by its name."""

BASELINE = ("memfile", "mysql", "postgresql")
"""Families of the backends: what a server without anything special does."""
SECTIONS = {
    "threads": "Threads",
    "queue-size": "Queue",
    "reservations": "Reservations",
    "classes": "Classes",
    "long-run": "Long run",
}
"""Families that have a section of their own, and its title.  Scenarios with a partner come
after the queue."""
LONG_RUN, PARTNERS = "long-run", "high-availability"


@dataclass(frozen=True, slots=True)
class Entry:
    """One result of the release, and what it is compared with."""

    other: Record
    base: Record | None
    """In shown units, as `other`."""
    comparison: Comparison
    """Of both as they were measured."""

    @property
    def scenario(self) -> str:
        """Its name."""
        return self.other.scenario.name

    @property
    def look(self) -> Look:
        """What the change is: worse, better, same, or unknown, as across sessions."""
        return Look.UNKNOWN if self.comparison.apart else look_of(self.comparison.word)

    @property
    def basis(self) -> str:
        """What the change rests on, or why there is none, in words."""
        verdict = self.comparison.verdict
        if verdict is not None:
            return basis_words(verdict)
        if self.other.outcome not in BELIEVED:
            return self.other.reasons[0].text if self.other.reasons else self.other.outcome
        if self.base is None:
            return "no result to compare with"
        return str(self.comparison.error)

    @property
    def cells(self) -> dict[str, Any]:
        """What a line of a table shows."""
        verdict, metric = self.comparison.verdict, self.other.figure
        both = [self.base, self.other]
        latency = [whole_latency(record).get("p99") if record else None for record in both]
        return {
            "scenario": self.scenario,
            "look": self.look,
            "change": percent(verdict.ratio) if verdict else "-",
            "interval": interval_words(verdict.ci95) if verdict else "-",
            "word": self.comparison.word,
            "basis": self.basis,
            "figures": [_figure(record, metric.name) if record else "-" for record in both],
            "runs": [len(record.rounds) if record else "-" for record in both],
            "p99": [None if record is None else 1000 * record for record in latency],
            "ids": [record.id if record else "" for record in both],
        }

    @property
    def news(self) -> str:
        """A change that was seen, in a sentence; empty for any other result."""
        verdict = self.comparison.verdict
        if verdict is None or self.look not in ("worse", "better"):
            return ""
        if verdict.limit is not Limit.NONE:
            return closing(self.comparison)
        figure = self.other.figure
        return (
            f"{figure.title} {pace_words(verdict.ratio, figure.unit)} (95 % interval "
            f"{interval_words(verdict.ci95)}), {self.basis}"
        )


@dataclass(frozen=True, slots=True)
class Part:
    """The results of one family in a section."""

    name: str
    tables: tuple[tuple[str, tuple[dict[str, Any], ...]], ...]
    """What the figures are, and the lines."""
    figures: tuple[Figure | None, ...]
    missing: tuple[str, ...]
    """Scenarios that were not measured with the release."""
    count: int
    """Of how many."""


@dataclass(frozen=True, slots=True)
class Section:
    """A part of the report with a title of its own."""

    key: str
    title: str
    parts: tuple[Part, ...]
    count: tuple[int, int]
    """Scenarios that have a result of the release, of how many."""

    @property
    def missing(self) -> list[str]:
        """Families of which nothing was measured with the release."""
        return [part.name for part in self.parts if not part.tables]


@dataclass(frozen=True, slots=True)
class Report:
    """What the report is of."""

    release: Release
    against: Release
    families: Families
    entries: Mapping[str, Sequence[Entry]]
    """By scenario."""

    @property
    def name(self) -> str:
        """A name that no report of other results has."""
        ids = sorted(entry.other.id for each in self.entries.values() for entry in each)
        ids += sorted(
            entry.base.id for each in self.entries.values() for entry in each if entry.base
        )
        digest = hashlib.sha256("\n".join(ids).encode()).hexdigest()[:8]
        both = f"{self.release.name}-against-{self.against.name}"
        return f"release-{re.sub(r'[^0-9A-Za-z.+_-]', '-', both)}-{digest}"

    def sections(self) -> Iterator[Section]:
        """All of them, in the order of the page."""
        known = [name for name in BASELINE if name in self.families]
        yield self._section("baseline", "Baseline", known, partner=False)
        for key, title in SECTIONS.items():
            yield self._section(key, title, [key] if key in self.families else [])
            if key == "queue-size":
                yield self._section(PARTNERS, "High availability", known, partner=True)
        rest = [name for name in self.families if name not in {*BASELINE, *SECTIONS}]
        yield self._section("others", "Other experiments", rest)

    def _section(
        self, key: str, title: str, names: Sequence[str], *, partner: bool | None = None
    ) -> Section:
        wanted = {
            name: [
                family.name
                for family in self.families[name]
                if partner is None or family.partner is partner
            ]
            for name in names
        }
        parts = tuple(
            self._part(key, name, scenarios) for name, scenarios in wanted.items() if scenarios
        )
        every = [scenario for scenarios in wanted.values() for scenario in scenarios]
        return Section(
            key, title, parts, (sum(scenario in self.entries for scenario in every), len(every))
        )

    def _part(self, key: str, name: str, scenarios: Sequence[str]) -> Part:
        entries = [entry for scenario in scenarios for entry in self.entries.get(scenario, ())]
        place = name if key in (name, "others") else f"{key}-{name}"
        figures = [*self._changes(entries, place, name), *self._curves(entries, place)]
        if name == LONG_RUN:
            figures += [_seconds(entry) for entry in entries]
        title = f"{name} with a partner" if key == PARTNERS else name
        gone = tuple(scenario for scenario in scenarios if scenario not in self.entries)
        return Part(title, tuple(_tables(entries)), tuple(figures), gone, len(scenarios))

    def _changes(
        self, entries: Sequence[Entry], place: str, name: str
    ) -> Iterator[Figure | None]:
        changes = [
            (entry.scenario, verdict.ratio, verdict.ci95, entry.look)
            for entry in entries
            if (verdict := entry.comparison.verdict) is not None
        ]
        title = f"Change from {self.against.name} to {self.release.name}, {name}"
        yield figure(
            f"{place}-changes",
            title,
            changes_chart(changes, title),
            note="A dot is the change of the figure, the line its 95 % interval. Red: worse, "
            "green: better, blue: equal, grey: across sessions, which "
            "includes the drift of the machine.",
        )

    def _curves(self, entries: Sequence[Entry], place: str) -> Iterator[Figure | None]:
        sides = {
            self.against.name: curves_of([entry.base for entry in entries if entry.base]),
            self.release.name: curves_of([entry.other for entry in entries]),
        }
        for number, curve in enumerate(sides[self.release.name], start=1):
            own = {
                name: each
                for name, curves in sides.items()
                for each in curves
                if (each.factor, each.alike) == (curve.factor, curve.alike)
            }
            of = ", ".join(curve.alike.values())
            title = f"{sentence(curve.title)} by {curve.factor}" + (f", {of}" if of else "")
            yield figure(
                f"{place}-curve-{number}",
                title,
                curves_chart(own, title),
                note="The line through a point is its 95 % interval. Two points of one place "
                "took turns where the table says so: judge the change by the table, which is "
                "closer than two intervals that overlap.",
            )


def _figure(record: Record, name: str) -> str:
    metric = record.metric(name)
    if metric is None or record.outcome not in BELIEVED:
        return record.outcome
    return measured(metric.value, metric.unit, metric.half_width)


def _tables(entries: Sequence[Entry]) -> Iterator[tuple[str, tuple[dict[str, Any], ...]]]:
    def kind(entry: Entry) -> str:
        metric = entry.other.figure
        return f"{metric.title} in {metric.unit}: {entry.other.procedure.words}"

    for title, members in groupby(sorted(entries, key=kind), key=kind):
        yield title, tuple(member.cells for member in members)


def _seconds(entry: Entry) -> Figure | None:
    """A run of the release second by second."""
    typical = typical_run(entry.other)
    if typical is None:
        return None
    return figure(
        f"seconds-{entry.scenario}",
        f"{entry.scenario}, second by second",
        run_seconds(entry.other, typical),
        note=f"Run {typical.index} of {entry.other.id}. {seconds_note(typical)}",
    )
