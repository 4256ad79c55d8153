"""The ceilings of the archive: the highest loads of the generator and path of a bench."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from leaselab.model.errors import Outcome
from leaselab.model.identity import Conditions
from leaselab.model.record import Ceiling, Record

if TYPE_CHECKING:
    from leaselab.archive.row import Row
    from leaselab.archive.store import Store

FRESH = timedelta(days=30)
"""Longest validity of a ceiling."""


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
