"""Changes by scenario: text, JSON and Markdown."""

from __future__ import annotations

import json
import logging
import re
import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, TextIO

from leaselab.analysis.comparison.cost import difference_of, judge_cost
from leaselab.analysis.comparison.ratio import Basis
from leaselab.analysis.comparison.verdict import answer_word, compare
from leaselab.analysis.history.changes import Do, decides, known_changes, what_next
from leaselab.analysis.history.detectors import LEARNT, Shape
from leaselab.analysis.history.series import (
    Change,
    CountChange,
    Counts,
    Duel,
    Point,
    Series,
    State,
    duelled,
    histories,
    operations_of,
)
from leaselab.archive.calibration import duels
from leaselab.archive.changes import read_changes
from leaselab.archive.row import Row, row_of
from leaselab.archive.schema import document_of
from leaselab.archive.store import Store
from leaselab.model.errors import LeaselabError, usage_error
from leaselab.model.identity import build_of
from leaselab.model.procedures.duel import DUEL
from leaselab.model.record import Record
from leaselab.model.source import SHORT
from leaselab.report.listing import escaped, markdown_table
from leaselab.report.verdict.cost import (
    closing_words,
    cost_document,
    detail_words,
    part_words,
    short_words,
)
from leaselab.report.verdict.words import interval_words, pace_words, percent
from leaselab.report.width import write_lines, write_table

_log = logging.getLogger(__name__)
_MONTH = re.compile(r"\d{4}-(0[1-9]|1[0-2])")
_SUBJECT = 60
"""Letters of a subject that a table shows."""
HEADINGS = ("scenario", "changed by", "95 % interval", "what", "last before", "first after")
NO_ANCHOR = (
    "no anchor: the machine's drift is in these figures; leaselab run with --anchor measures "
    "a fixed reference in turn with the others"
)


@dataclass(frozen=True, slots=True)
class Period:
    """From when until when; ISO 8601 in UTC, compared as text."""

    since: str = ""
    until: str = "9999"
    """The first moment after the period."""
    words: str = "the whole archive"

    def has(self, moment: str) -> bool:
        """Whether a moment is in the period."""
        return self.since <= moment < self.until


@dataclass(frozen=True, slots=True)
class Review:
    """The series of an archive, and their changes in a period."""

    period: Period
    series: tuple[Series, ...]
    metric: str | None = None
    """The only figure of the series; None for that of each procedure."""
    older: bool = True
    """Whether it includes changes from before the period that are still suspected or were
    settled in it."""

    def of(self, *states: State) -> list[tuple[Series, Change]]:
        """The changes of the period that are in one of these states, by scenario and age."""
        return [
            (series, change)
            for series in self.series
            for change in sorted(series.changes, key=lambda change: change.detected_at)
            if change.state in states
            and (self.period.has(change.detected_at) or (self.older and self._news(change)))
        ]

    def _news(self, change: Change) -> bool:
        """Whether a change from before the period was not settled before it."""
        if change.detected_at >= self.period.until:
            return False
        if change.state is State.ACCEPTED:
            return False
        return change.state is State.SUSPECTED or self.period.has(change.settled_at)

    @property
    def months(self) -> list[Review]:
        """The same by month, the newest first; the months in which nothing moved are none.

        Where there is no change at all it is one of the whole period.
        """
        months = sorted(
            {change.detected_at[:7] for series in self.series for change in series.changes},
            reverse=True,
        )
        return [replace(self, period=month(name), older=False) for name in months] or [self]


def month(text: str) -> Period:
    """A month, as YYYY-MM.  Raises ValueError for what is none."""
    if not _MONTH.fullmatch(text):
        raise ValueError(f"not a month: {text}")
    year, number = (int(part) for part in text.split("-"))
    following = f"{year + number // 12:04}-{number % 12 + 1:02}"
    return Period(f"{text}-01", f"{following}-01", text)


def review_of(
    store: Store,
    patterns: Sequence[str] = ("*",),
    period: Period | None = None,
    metric: str | None = None,
) -> Review:
    """The review of the scenarios that match patterns, by a metric or the main ones.

    An unreadable duel is reported and settles nothing.  Raises a usage error for a metric that
    no result has.
    """
    rows = [row for pattern in patterns for row in store.index.every(pattern)]
    if metric is None:
        return Review(period or Period(), tuple(series_of(store, rows)))
    series = series_of(store, _by(store, rows, metric))
    settling = {duelled(each.metric, each.unit) for each in series if each.metric == metric}
    own = tuple(
        each
        for each in series
        if each.metric == metric or (not each.levels and each.metric in settling)
    )
    return Review(period or Period(), own, metric)


def _by(store: Store, rows: Sequence[Row], metric: str) -> list[Row]:
    """The rows of results that have a metric, with that as their figure, and of its duels."""
    known = {row["id"]: json.loads(row["metrics"] or "{}") for row in rows}
    units = [each[metric][-1] for each in known.values() if metric in each]
    if rows and not units:
        raise usage_error(
            "no result has such a metric",
            where="--metric",
            found=metric,
            wanted=" or ".join(sorted({name for each in known.values() for name in each})),
        )
    settling = duelled(metric, units[0]) if units else None
    ids = (row["id"] for row in rows if metric in known[row["id"]] and row["procedure"] != DUEL)
    made = {record.id: record.by(metric) for record in store.load_readable(ids)}
    return [
        row_of(made[row["id"]], row["path"]) if row["id"] in made else row
        for row in rows
        if row["id"] in made or (row["procedure"], row["metric"]) == (DUEL, settling)
    ]


def series_of(store: Store, rows: Sequence[Row]) -> list[Series]:
    """The series of rows of the index, with all that is known of their changes."""
    known = {row["id"]: row for row in rows}
    series = histories(known.values(), _counts(store), list(_duels(store, known)))
    return known_changes(series, read_changes(store.root), known)


def _counts(store: Store) -> Counts:
    """Compares counts of a store, by their ids.

    Functions that cannot be read are reported and left out.
    """

    @cache
    def record(ident: str) -> Record | None:
        return next(store.load_readable([ident]), None)

    def counts(first: str, second: str) -> CountChange | None:
        base, other = record(first), record(second)
        verdict = judge_cost(base, other) if base and other else None
        if base is None or other is None or verdict is None:
            return None
        functions = None
        if verdict.deciding:
            try:
                functions = difference_of(base, other, store.read)
            except LeaselabError as error:
                _log.warning("%s: its functions are left out: %s", second, error)
        return CountChange(verdict, functions)

    return counts


def _duels(store: Store, rows: Mapping[str, Row]) -> Iterator[Duel]:
    """What each duel of the rows, by their ids, says of the builds of its two servers."""
    clean = [row for row in rows.values() if not row["dirty"]]
    for both in duels(store, clean):
        first, second = (rows[record.id] for record in both)
        try:
            verdict = compare(*both).verdict
        except LeaselabError as error:
            _log.warning("%s settles nothing: %s", first["id"], error)
            continue
        if verdict is None or verdict.duel is None:
            continue
        if first["scenario"] == second["scenario"]:
            yield Duel(
                first["scenario"],
                first["bench"],
                first["metric"],
                build_of(first),
                build_of(second),
                verdict.answer,
                verdict.ratio,
                verdict.duel.error,
                verdict.ci95,
                (first["id"], second["id"]),
                max(first["finished_at"], second["finished_at"]),
                capped=verdict.duel.capped,
                operations=operations_of(first),
            )


def point_words(point: Point) -> str:
    """A build as people know it: short hash and subject, or server and version."""
    if not point.commit:
        return point.name
    return f"{point.commit[:SHORT]} {point.subject[:_SUBJECT]}".rstrip()


def title_words(changes: Sequence[tuple[Series, Change]], when: str = "") -> str:
    """The change in a few words, or how many there are for the worse and for the better.

    `when` says in which time; empty without any change.
    """
    if not changes:
        return ""
    if len(changes) == 1:
        ((series, change),) = changes
        verb = verb_words(change) if change.measured is State.CONFIRMED else "may be"
        size = size_words(change, series.unit)
        since = build_name(change.first_after)
        return f"1 change{when}: {series.scenario} {verb} {size} since {since}"
    worse = sum(change.worse for _, change in changes)
    counts = ((worse, "for the worse"), (len(changes) - worse, "for the better"))
    parts = " and ".join(f"{count} {word}" for count, word in counts if count)
    return f"{len(changes)} changes{when}: {parts}"


def verb_words(change: Change) -> str:
    """The verb before `size_words`: code that was counted costs more, and is no slower."""
    return "is" if change.counted is None else "costs"


def size_words(change: Change, unit: str) -> str:
    """How large a change is: ``3.4 % slower``, ``1.2 % more instructions per exchange``."""
    if change.counted is None:
        return pace_words(change.size[0], unit)
    return part_words(change.counted.verdict.deciding[0])


def moved_words(change: Change) -> str:
    """The same in a table: ``-3.4 %``, ``+1.2 % instructions``."""
    if change.counted is None:
        return percent(change.size[0])
    return short_words(change.counted.verdict.deciding[0])


def step_words(change: Change) -> str:
    """A change for a chart: its size, and what is known of it."""
    return f"{moved_words(change)} {state_words(change)}"


def failing(review: Review) -> bool:
    """Whether a change for the worse is confirmed, and nobody accepted it."""
    return any(change.worse for _, change in review.of(State.CONFIRMED))


def state_words(change: Change) -> str:
    """What is known of a change, with what its duel found where that is not the `size`."""
    known, taken = change.measured, change.accepted
    if taken is not None:
        return f"accepted by {taken.by} on {taken.at[:10]}: {taken.reason}"
    if change.culprit is not None:
        return f"{known.value}: bisect named the commit"
    if change.counted is not None:
        counted = change.counted
        most = detail_words(counted.verdict, counted.functions)
        return f"{known.value} by counts{': ' * bool(most)}{most}"
    if change.duel is None:
        return known.value
    ratio = percent(change.duel.ratio)
    if known is State.SUSPECTED:
        return f"{known.value}: a duel could not tell ({ratio})"
    refuting = f": {ratio}" if known is State.REFUTED else ""
    return f"{known.value} by a duel{refuting}"


def range_words(change: Change) -> str:
    """Commits that a change lies between, as git takes them."""
    before, after = change.last_before, change.first_after
    if not (before.commit and after.commit):
        return f"{before.name} to {after.name}"
    return f"{before.commit[:SHORT]}..{after.commit[:SHORT]}"


def next_words(series: Series, change: Change) -> tuple[str, str]:
    """What to do about a change, and the command for it; both empty where there is nothing."""
    do = what_next(series, change)
    if do is None:
        return "", ""
    scenario, by = series.scenario, decides(series)
    good, bad = change.before.commit or "", change.after.commit or ""
    repo = f" --repo {shlex.quote(change.after.repository or '')}"
    bisect = f"bisect {scenario}{repo} --good {good[:SHORT]} --bad {bad[:SHORT]}{by}"
    ends = f"{good[:SHORT]} {bad[:SHORT]}"
    since = change.first_after.commit or ""
    command = {
        Do.SETTLE: f"review {scenario} --confirm",
        Do.LONGER: f"compare {ends} --live --budget 60{repo} --scenario {scenario}{by}",
        Do.BISECT: bisect,
        Do.FURTHER: f"{bisect} --budget 480",
        Do.ACCEPT: f'review {scenario} --accept {since[:SHORT]} "REASON"',
    }[do]
    return do.value, f"./leaselab {command}"


def shape_words(change: Change) -> str:
    """Better or worse, at once or little by little."""
    word = "worse" if change.worse else "better"
    return f"{word}, creeping" if change.shape is Shape.CREEP else word


def notes(review: Review) -> list[str]:
    """Notes on the figures."""
    lines = []
    timed = [series for series in review.series if not series.of_counts]
    enough = {series.scenario for series in timed if series.enough}
    short = {series.scenario for series in timed} - enough
    if short:
        lines.append(
            f"a history needs {LEARNT + 1} builds of a scenario; these have fewer: "
            f"{', '.join(sorted(short))}"
        )
    changed = [series for series, _ in review.of(*State)]
    if any(not (series.anchor or series.of_counts) for series in changed):
        lines.append(f"{Basis.SESSIONS.value}: {NO_ANCHOR}")
    if any(change.moved_lab for _, change in review.of(*State)):
        lines.append("† the environment of the lab is another one after it")
    return lines


def headline(review: Review) -> str:
    """The period, the metric if one was named, and what there is of it."""
    by = f", by {review.metric}" if review.metric else ""
    return f"{review.period.words}{by}: {counts(review)}"


def counts(review: Review) -> str:
    """How many changes of each kind there are, and of how much."""
    changes = ", ".join(f"{len(review.of(state))} {state.value}" for state in State)
    builds = sum(len(series.points) for series in review.series)
    return f"{changes}; {len(review.series)} series with {builds} builds"


def cells(series: Series, change: Change) -> list[str]:
    """A change as a row below `HEADINGS`."""
    _, ci95 = change.size
    drifts = not series.anchor and change.measured is not State.CONFIRMED
    rests = f" {Basis.SESSIONS.value}" if drifts else ""
    return [
        series.scenario,
        f"{moved_words(change)}{'†' * change.moved_lab}",
        interval_words(ci95),
        f"{shape_words(change)}{rests}",
        point_words(change.last_before),
        point_words(change.first_after),
    ]


_PARTS = (
    ("Changes", (State.CONFIRMED,)),
    ("Suspected, not measured again yet", (State.SUSPECTED,)),
    ("Refuted by a duel", (State.REFUTED,)),
    ("Accepted", (State.ACCEPTED,)),
)
"""Sections of a review, and what stands in them."""


def parts(review: Review) -> list[tuple[str, list[tuple[Series, Change]]]]:
    """The sections that have something in them."""
    return [(title, series) for title, states in _PARTS if (series := review.of(*states))]


def print_review(review: Review, stream: TextIO | None = None) -> None:
    """Print it; stdout unless given."""
    stream = stream or sys.stdout
    if not review.series:
        stream.write(
            "none yet: `./leaselab run SCENARIO --repo DIR --commits A..B` makes some\n"
        )
        return
    write_lines(stream, [headline(review)])
    for title, changes in parts(review):
        stream.write(f"\n{title}\n")
        write_table(stream, HEADINGS, (cells(*change) for change in changes), len(HEADINGS))
        write_lines(stream, said(changes))
    remarks = notes(review)
    write_lines(stream, ["", *remarks] if remarks else [])


def said(changes: Sequence[tuple[Series, Change]]) -> list[str]:
    """What is known of each change of a section, and what to do next."""
    lines = []
    for series, change in changes:
        todo, command = next_words(series, change)
        since = build_name(change.first_after)
        known = state_words(change)
        if change.counted is not None and change.accepted is None:
            counted, before = change.counted, build_name(change.last_before)
            sentence = closing_words(counted.verdict, since, before, counted.functions)
            known = sentence.removesuffix(".")
        lines.append(f"{series.scenario} since {since}: {known}")
        if todo:
            lines[-1] += f"; next, {todo}: {command}"
    return lines


def build_name(point: Point) -> str:
    """A build by its short commit, or by its name where it is of none."""
    return point.commit[:SHORT] if point.commit else point.name


def markdown_of_review(review: Review) -> str:
    """The same in Markdown: confirmed changes, and apart from them those only suspected."""
    lines = [
        f"## What moved: {escaped(review.period.words)}\n",
        f"\n{escaped(headline(review))}\n",
    ]
    if not review.of(State.CONFIRMED):
        lines.append("\nNo change was confirmed.\n")
    for title, changes in parts(review):
        lines.append(f"\n### {title}\n\n")
        lines += markdown_table(HEADINGS, (cells(*change) for change in changes), len(HEADINGS))
        lines += ["\n", *(f"- {escaped(line)}\n" for line in said(changes))]
    lines += [f"\n{escaped(line)}\n" for line in notes(review)]
    return "".join(lines)


def review_document(review: Review) -> dict[str, Any]:
    """The review for ``--json``; moments in UTC, ratios as such."""
    return {
        "since": review.period.since or None,
        "until": review.period.until if review.period.until != "9999" else None,
        "metric": review.metric,
        "series": [_series_document(series) for series in review.series],
        "changes": [
            {
                "scenario": series.scenario,
                "metric": series.metric,
                "anchor": series.anchor or None,
                **change_document(change),
            }
            for series, change in review.of(*State)
        ],
        "notes": notes(review),
    }


def _series_document(series: Series) -> dict[str, Any]:
    names = ("scenario", "metric", "unit", "bench", "environment")
    return {
        **{name: getattr(series, name) for name in names},
        "anchor": series.anchor or None,
        "builds": len(series.points),
        "enough": series.enough,
    }


def change_document(change: Change) -> dict[str, Any]:
    """A change for ``--json``; its ratio is that of what confirmed it, if anything did."""
    ratio, ci95 = change.size
    return {
        "state": change.state.value,
        "shape": change.shape.value,
        "worse": change.worse,
        "ratio": ratio,
        "ci95": ci95,
        "before": _point_document(change.last_before),
        "after": _point_document(change.first_after),
        "culprit": change.culprit and change.culprit.commit,
        "accepted": change.accepted and document_of(change.accepted),
        "detected": _point_document(change.detected),
        "detected_at": change.detected_at,
        "another_environment": change.moved_lab,
        "duel": None if change.duel is None else _duel_document(change.duel),
        "cost": cost_document(change.counted.verdict) if change.counted else None,
    }


def _point_document(point: Point) -> dict[str, Any]:
    return {
        "build": point.name,
        "commit": point.commit,
        "subject": point.subject,
        "results": list(point.ids),
    }


def _duel_document(duel: Duel) -> dict[str, Any]:
    return {
        "word": answer_word(duel.answer, duel.metric),
        "ratio": duel.ratio,
        "ci95": duel.ci95,
        "results": list(duel.ids),
        "finished_at": duel.at,
    }
