"""What calibrates a bench: ceilings of its generators, and duels whose answer is known."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta

from msgspec.structs import replace

from leaselab.archive.row import Row
from leaselab.archive.store import Store
from leaselab.model.errors import Outcome
from leaselab.model.identity import Conditions, Place
from leaselab.model.procedures.duel import DUEL
from leaselab.model.procedures.max_rate import MaxRate
from leaselab.model.record import GENERATOR_LIMITED, Ceiling, Reason, Record

FRESH = timedelta(days=30)
"""Longest validity of a ceiling."""
NEAR = 0.8
"""Share of the ceiling above which a load may show the generator's limit, and not the server's
(ratio)."""


def ceiling_for(store: Store, record: Record) -> Ceiling | None:
    """Return the newest ceiling by which a result can be judged; None without a fresh one.

    That is: of the same generator in the same version, with the same transaction over the same
    transport, on the same bench in the same environment.
    """
    place = Conditions.of_record(record).place
    ended = datetime.fromisoformat(record.finished_at)
    newest_first = (
        row["id"]
        for row in reversed(store.index.every())
        if Conditions.of_row(row).place == place
        and row["outcome"] == Outcome.OK.label
        and timedelta(0) <= ended - datetime.fromisoformat(row["finished_at"]) <= FRESH
        and _is_ceiling(row)
    )
    for earlier in store.load_readable(newest_first):
        alike = _generator(earlier) == _generator(record)
        same = earlier.scenario.transaction == record.scenario.transaction
        same = same and earlier.scenario.transport == record.scenario.transport
        if alike and same and earlier.figure.value:
            return Ceiling(rate=earlier.figure.value, id=earlier.id)
    return None


def _is_ceiling(row: Row) -> bool:
    """Whether a row of the index is of a result whose limit is that of the generator."""
    return bool(json.loads(row["ruler"]).get("limit") == "generator")


def _generator(record: Record) -> tuple[object, ...]:
    """The identity of a generator: its program, as its path has the build's key."""
    tool = record.generator
    return (tool.name, tool.version, tool.options.get("path"), tool.options.get("threading"))


def under(ceiling: Ceiling | None, record: Record) -> Record:
    """Return a result with the ceiling that is known for it, and a reason where it is near.

    One that shows a ceiling itself has none.
    """
    if ceiling is None or record.procedure.of_generator:
        return record
    record = replace(record, ceiling=ceiling)
    share = _highest(record) / ceiling.rate
    if share <= NEAR or record.outcome != Outcome.OK.label:
        return record
    text = (
        f"{100 * share:.0f} % of {ceiling.rate:.0f}/s, the ceiling of {record.generator.name} "
        f"and the path on this bench ({ceiling.id}); wanted at most {100 * NEAR:.0f} %"
    )
    return replace(record, reasons=(Reason(word=GENERATOR_LIMITED, text=text), *record.reasons))


def _highest(record: Record) -> float:
    """The highest load that the result's figures are of (transactions/s)."""
    if isinstance(record.procedure, MaxRate):
        return record.figure.value or 0.0
    return max((trial.completed_rate for trial in record.trials if trial.valid), default=0.0)


def duels(store: Store, rows: Iterable[Row]) -> Iterator[tuple[Record, Record]]:
    """Yield the results (A, B) of each duel with both results among the index's rows.

    They come in the order of the rows.  An unreadable duel is reported and left out.
    """
    ids: dict[str, set[str]] = {}
    for row in rows:
        if row["procedure"] == DUEL and row["experiment"]:
            ids.setdefault(row["experiment"], set()).add(row["id"])
    for experiment, both in ids.items():
        if len(both) != 2:
            continue
        records = {record.id: record for record in store.load_readable(sorted(both))}
        if len(records) != 2:
            continue
        of = records[experiment].experiment if experiment in records else None
        if of is not None and set(of.points) == both:
            yield records[of.points[0]], records[of.points[1]]


def calibrating(store: Store, scenario: str, place: Place) -> list[tuple[Record, Record]]:
    """Return the duels (A, B) that calibrated a bench in an environment, the newest first.

    The answer of such duels is known beforehand.
    """
    rows = [
        row
        for row in store.index.every(scenario)
        if row["slowdown"] is not None and Conditions.of_row(row).place == place
    ]
    return [*duels(store, rows)][::-1]
