"""The page that sets results side by side: ratios with their intervals, and what differs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

from leaselab.analysis.comparison.incompatibilities import (
    Difference,
    config_differences,
    differences,
)
from leaselab.analysis.comparison.matrix import cell_of
from leaselab.analysis.comparison.verdict import FIRST, Comparison, compare, duel_of
from leaselab.analysis.history.series import Change
from leaselab.model.procedures.duel import DUEL
from leaselab.model.procedures.profile import PROFILE
from leaselab.model.record import SERVER, Metric, Record
from leaselab.model.server import server_name, settings_of
from leaselab.report.facts import config_text
from leaselab.report.listing import moment_words
from leaselab.report.matrix import shown
from leaselab.report.site.changes_chart import changes_chart
from leaselab.report.site.figure import Figure, figure
from leaselab.report.site.news import News
from leaselab.report.site.vega import Look, look_of
from leaselab.report.units import in_shown_units
from leaselab.report.verdict.sentence import counted
from leaselab.report.verdict.words import basis_words, ratio_words

MOST = 5
"""Builds of a scenario that are set side by side, by their newest results."""


@dataclass(frozen=True, slots=True)
class Column:
    """One of the results that stand side by side."""

    id: str
    label: str
    """Its distinguishing words: server and version, or scenario."""
    started_at: str
    figure: str
    metrics: Sequence[Metric | None]
    """Its metrics beside the figure, in the order of `Group.others`."""


@dataclass(frozen=True, slots=True)
class Line:
    """Two of them, and what `compare` says of the second."""

    name: str
    a: Column
    b: Column
    comparison: Comparison

    @property
    def cells(self) -> tuple[str, str]:
        """The ratio and its 95 % interval."""
        return ratio_words(self.comparison.verdict)

    @property
    def rests(self) -> str:
        """What the word rests on, or why there is no verdict."""
        verdict, error = self.comparison.verdict, self.comparison.error
        if verdict is not None:
            return basis_words(verdict)
        return str(error or "")

    @property
    def look(self) -> Look:
        """How the word looks."""
        return look_of(self.comparison.word)

    @property
    def differs(self) -> bool:
        """Whether the servers are not equal, as far as is known."""
        return self.comparison.word not in ("equal", FIRST)


@dataclass(frozen=True, slots=True)
class Group:
    """Results that are compared, each with the first of them and with each other."""

    name: str
    title: str
    """What all of them are about; "figure" where that is not the same."""
    unit: str
    """Of that; empty where it is not the same."""
    others: Sequence[Metric]
    """Metrics beside the figure, as the first has them, of which there is any value."""
    columns: Sequence[Column]
    lines: Sequence[Line]
    """Those that the page opens with: the last against the first, or each of named ones."""
    further: Sequence[Line]
    """The other ones."""
    figure: Figure | None
    differences: Sequence[Difference]
    configuration: Sequence[Difference]

    @property
    def differs(self) -> bool:
        """Whether one of the lines does."""
        return any(line.differs for line in self.lines)


def compared(
    groups: Sequence[Group], known: Sequence[News] = (), words: str = ""
) -> dict[str, Any]:
    """What the template gets: groups that differ first, their lines, and the answer.

    `known` are the known changes, `words` what a title says of them.
    """
    groups = sorted(groups, key=lambda made: not made.differs)
    lines = [line for made in groups for line in made.lines]
    title = counted([line.comparison for line in lines])
    return {
        "groups": groups,
        "lines": lines,
        "further": [line for made in groups for line in made.further],
        "answer": title if groups else "Nothing to compare yet",
        "known": known,
        "words": words,
        "most": MOST,
        "drifted": sum(line.differs and line.comparison.apart for line in lines),
    }


def choose(rows: Sequence[Mapping[str, Any]], changes: Sequence[Change] = ()) -> list[str]:
    """Choose which results of one history to set side by side, the one to compare with first.

    The newest of each build that was measured, the newest result whatever became of it, and
    before them the anchor's that it was measured in turn with, else that of the build before
    the oldest of known `changes`; where there is one build only, the newest two.  Empty where
    there is nothing to compare.  A duel or a profile is none.
    """
    rows = [row for row in rows if row["procedure"] not in (DUEL, PROFILE)]
    measured = [row for row in rows if row["value"] is not None]
    newest: dict[tuple[str, str], str] = {}
    for row in [*measured, *rows[-1:]]:
        key = (server_name(row), row["release"] or "")
        newest.pop(key, None)
        newest[key] = row["id"]
    chosen = list(newest.values())[-MOST:]
    if len(chosen) == 1:
        chosen = [*(row["id"] for row in measured[-2:] if row["id"] != chosen[0]), *chosen][-2:]
    oldest = min(changes, key=lambda change: change.detected_at, default=None)
    bases = [*(oldest.before.ids if oldest else ()), str(rows[-1]["anchor"]) if rows else ""]
    known = [ident for ident in bases if ident in {row["id"] for row in rows}]
    if known:
        chosen = [known[-1], *(ref for ref in chosen if ref != known[-1])]
    return chosen if len(chosen) > 1 else []


def newest_duel(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """The results of the newest duel of a scenario; empty without one.

    `rows` are the scenario's.  A duel that calibrated is none.
    """
    experiments: dict[str, list[str]] = {}
    for row in rows:
        if row["procedure"] == DUEL and row["experiment"] and row["slowdown"] is None:
            experiments.setdefault(row["experiment"], []).append(row["id"])
    return next((both for both in reversed(experiments.values()) if len(both) == 2), [])


def group(
    name: str,
    results: Sequence[tuple[Record, Path]],
    anchors: Mapping[str, Record],
    *,
    every: bool = False,
) -> Group:
    """Compare results (records and their directories), with the first of them as the base.

    `anchors` are those that they name, by their ids.  With `every`, the page opens with all of
    them against the first, else with the last alone.
    """
    measured = [record for record, _ in results]
    records = in_shown_units(measured)
    several = len({record.scenario.name for record in records}) > 1
    systems = len({record.release for record in records}) > 1
    titles = {(record.figure.title, record.figure.unit) for record in records}
    title, unit = titles.pop() if len(titles) == 1 else ("figure", "")
    known = {
        metric.name
        for record in records
        for metric in record.figures
        if metric.value is not None
    }
    others = [metric for metric in records[0].figures[1:] if metric.name in known]
    columns = [
        _column(record, others, several=several, systems=systems, alone=bool(unit))
        for record in records
    ]
    lines = []
    for one, two in combinations(range(len(columns)), 2):
        # A duel is judged in its order.
        base, other = (two, one) if duel_of(measured[two], measured[one]) else (one, two)
        found = compare(measured[base], measured[other], anchors=anchors)
        lines.append(Line(name, columns[base], columns[other], found))
    of_first, between = lines[: len(columns) - 1], lines[len(columns) - 1 :]
    opened = of_first if every else of_first[-1:]
    bars = [
        (f"{line.b.label}, {line.rests}", verdict.ratio, verdict.ci95, line.look)
        for line in of_first
        if (verdict := line.comparison.verdict) is not None
    ]
    place = "".join(letter if letter.isalnum() else "-" for letter in name)
    return Group(
        name=name,
        title=title,
        unit=unit,
        others=others,
        columns=columns,
        lines=opened,
        further=[*of_first[: -len(opened)], *between],
        figure=figure(
            f"ratio-{place}",
            f"Changes from {columns[0].label}",
            changes_chart(bars, f"Changes of the {title} from {columns[0].label}")
            if len(bars) > 1
            else None,
            note="The line through a dot is the 95 % interval of the change. Across "
            "sessions, it does not count the drift of the machine.",
        ),
        differences=differences(records),
        configuration=config_differences(
            [_settings(record, directory) for record, directory in results]
        ),
    )


def _settings(record: Record, directory: Path) -> str | None:
    """A server's configuration, without what differs between any two builds."""
    text, server = config_text(record, directory, SERVER), record.server
    prefix = server.build.prefix if server.build else None
    return settings_of(text, server.variant, prefix) if text is not None else None


def _column(
    record: Record, others: Sequence[Metric], *, several: bool, systems: bool, alone: bool
) -> Column:
    cell = cell_of(record)
    label = ", ".join(filter(None, (cell.server, record.release if systems else "")))
    return Column(
        id=record.id,
        label=f"{cell.scenario}, {label}" if several else label,
        started_at=moment_words(record.started_at).rpartition(":")[0],
        figure=shown(cell) if alone else f"{shown(cell)} {record.figure.unit}",
        metrics=[record.metric(metric.name) for metric in others],
    )
