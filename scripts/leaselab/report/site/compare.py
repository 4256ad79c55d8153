"""The page that sets results side by side: ratios with their intervals, and what differs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from leaselab.analysis.basis import common_anchor, ratio_of
from leaselab.analysis.incompatibilities import (
    Difference,
    config_differences,
    differences,
    incompatibilities,
)
from leaselab.analysis.matrix import cell_of
from leaselab.analysis.ratio import Basis, Ratio
from leaselab.model.errors import BELIEVED
from leaselab.model.record import SERVER, Metric, Record
from leaselab.model.server import server_name, settings_of
from leaselab.report.closing import pace_words, signed
from leaselab.report.facts import config_text
from leaselab.report.listing import sentence
from leaselab.report.matrix import shown
from leaselab.report.site.changes_chart import changes_chart
from leaselab.report.site.figure import Figure, figure
from leaselab.report.site.vega import Look
from leaselab.report.units import in_shown_units

MOST = 4
"""Results side by side: more columns are not read."""
_ALIKE = "no difference seen"


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
    ratio: Ratio | None
    """To the first; None for itself, and where there is nothing to divide."""
    rests: str
    """What that rests on, in words."""
    incompatibilities: Sequence[str]
    """Why it is not comparable; empty when it is."""
    words: str
    """What the ratio says; empty without one, or where it is not comparable."""

    @property
    def differs(self) -> bool:
        """Whether it is comparable, and a difference was seen."""
        return bool(self.words and self.ratio and self.ratio.differs)


@dataclass(frozen=True, slots=True)
class Group:
    """Results that are compared with the first of them."""

    name: str
    title: str
    """What all of them are about; "figure" where that is not the same."""
    unit: str
    """Of that; empty where it is not the same."""
    others: Sequence[Metric]
    """Metrics beside the figure, as the first has them, of which there is any value."""
    columns: Sequence[Column]
    figure: Figure | None
    differences: Sequence[Difference]
    configuration: Sequence[Difference]

    @property
    def differs(self) -> bool:
        """Whether a difference was seen that is not the drift of the machine."""
        return any(
            column.differs and column.ratio and column.ratio.basis is not Basis.SESSIONS
            for column in self.columns
        )

    @property
    def alike(self) -> bool:
        """Whether every comparison could have seen a difference, and none did."""
        return all(column.words == _ALIKE for column in self.columns[1:])


def compared(groups: Sequence[Group]) -> dict[str, Any]:
    """What the template gets: groups that differ first, groups that do not, and the answer."""
    drifted = [
        made
        for made in groups
        if not made.differs and any(column.differs for column in made.columns)
    ]
    differing = [made for made in groups if made.differs]
    differ = "differs" if len(differing) == 1 else "differ"
    title = f"{len(differing)} of {len(groups)} comparisons {differ}"
    if len(groups) == 1:
        words = [
            f"{column.words} {column.ratio.basis.value}"
            for column in groups[0].columns
            if column.words and column.ratio
        ]
        title = f"{groups[0].name}: {'; '.join(words) or 'nothing to compare'}"
    rest = [made for made in groups if made not in differing and made not in drifted]
    alike = [made for made in rest if made.alike] if len(groups) > 1 else []
    return {
        "groups": [*differing, *drifted, *(made for made in rest if made not in alike)],
        "alike": alike,
        "count": len(groups),
        "answer": title if groups else "Nothing to compare yet",
        "drifted": len(drifted) if len(groups) > 1 else 0,
    }


def choose(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Choose which results of one history to set side by side, oldest first; ids.

    The newest of each server that was measured, or, where there is one server
    only, the newest two.  Empty where there is nothing to compare.
    """
    believed = [row for row in rows if row["value"] is not None and row["outcome"] in BELIEVED]
    newest: dict[tuple[str, str], str] = {}
    for row in believed:
        key = (server_name(row), row["release"] or "")
        newest.pop(key, None)
        newest[key] = row["id"]
    chosen = list(newest.values())[-MOST:]
    if len(chosen) == 1:
        chosen = [row["id"] for row in believed[-2:]]
    return chosen if len(chosen) > 1 else []


def group(
    name: str, results: Sequence[tuple[Record, Path]], anchors: Mapping[str, Record]
) -> Group:
    """Compare results (records and their directories) with the first of them.

    `anchors` are those that they name, by their ids.
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
        for metric in record.metrics
        if metric.value is not None
    }
    others = [metric for metric in records[0].metrics[1:] if metric.name in known]
    columns = [
        _column(
            records[0],
            record,
            *_ratio(measured[0], raw, anchors),
            others=others,
            several=several,
            systems=systems,
        )
        for record, raw in zip(records, measured, strict=True)
    ]
    rests = {column.rests for column in columns if column.ratio}
    shared = f", {rests.pop()}" if len(rests) == 1 else ""
    bars = [
        (
            f"{number}. {column.label}" + ("" if shared else f", {column.rests}"),
            column.ratio.value,
            column.ratio.ci95,
            Look.SAME,
        )
        for number, column in enumerate(columns, start=1)
        if column.ratio is not None
    ]
    place = "".join(letter if letter.isalnum() else "-" for letter in name)
    return Group(
        name=name,
        title=title,
        unit=unit,
        others=others,
        columns=columns,
        figure=figure(
            f"ratio-{place}",
            f"{sentence(title)} against {columns[0].label}{shared}",
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


def _ratio(
    base: Record, record: Record, anchors: Mapping[str, Record]
) -> tuple[Ratio | None, str]:
    """The ratio to the first result, and what it rests on; None where there is none."""
    same = (record.figure.name, record.figure.unit) == (base.figure.name, base.figure.unit)
    ratio = ratio_of(base, record, anchors) if same and record is not base else None
    if ratio is None:
        return None, ""
    common = common_anchor(base, record, anchors)
    if ratio.basis is Basis.ANCHOR and common is not None:
        return ratio, f"{ratio.basis.value} {server_name(common[0].server)}"
    return ratio, ratio.basis.value


def _column(
    base: Record,
    record: Record,
    ratio: Ratio | None,
    rests: str,
    *,
    others: Sequence[Metric],
    several: bool,
    systems: bool,
) -> Column:
    cell = cell_of(record)
    same = (record.figure.name, record.figure.unit) == (base.figure.name, base.figure.unit)
    label = ", ".join(filter(None, (cell.server, record.release if systems else "")))
    other = list(
        dict.fromkeys(
            f"another {incompatibility.what}"
            for incompatibility in incompatibilities(base, record)
        )
    )
    return Column(
        id=record.id,
        label=f"{cell.scenario}, {label}" if several else label,
        started_at=record.started_at,
        figure=shown(cell) if same else f"{shown(cell)} {record.figure.unit}",
        metrics=[record.metric(metric.name) for metric in others],
        ratio=ratio,
        rests=rests,
        incompatibilities=other,
        words=_words(ratio, record.figure.unit) if ratio and not other else "",
    )


def _words(ratio: Ratio, unit: str) -> str:
    """The difference: ``3.4 % slower``, or no more than a figure where drift is part of it."""
    if ratio.differs is None:
        return "too few runs to say"
    if not ratio.differs:
        return _ALIKE
    if ratio.basis is Basis.SESSIONS:
        return f"differs by {signed(ratio.value)}"
    return pace_words(ratio.value, unit)
