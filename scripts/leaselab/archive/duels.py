"""The duels of the archive: of each, the results of its two servers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from leaselab.archive.row import Row
from leaselab.archive.store import Store
from leaselab.model.identity import Conditions, Place
from leaselab.model.procedures.duel import DUEL
from leaselab.model.record import Record


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
