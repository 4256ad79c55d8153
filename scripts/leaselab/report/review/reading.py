"""The review of an archive: its series, with what counts and duels say of their changes."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator, Mapping, Sequence
from functools import cache

from leaselab.analysis.comparison.cost import difference_of, judge_cost
from leaselab.analysis.comparison.verdict import compare
from leaselab.analysis.history.changes import known_changes
from leaselab.analysis.history.histories import histories
from leaselab.analysis.history.series import (
    CountChange,
    Counts,
    Duel,
    Series,
    duelled,
    operations_of,
)
from leaselab.archive.calibration import duels
from leaselab.archive.changes import read_changes
from leaselab.archive.row import Row, row_of
from leaselab.archive.store import Store
from leaselab.model.errors import LeaselabError, usage_error
from leaselab.model.identity import build_of
from leaselab.model.procedures.duel import DUEL
from leaselab.model.record import Record
from leaselab.report.review.review import Period, Review

_log = logging.getLogger(__name__)


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
