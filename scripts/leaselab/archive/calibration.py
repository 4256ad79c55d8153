"""The duels of the archive whose answer was known beforehand: they calibrated their bench."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from leaselab.archive.store import Store
    from leaselab.model.record import Record


def calibrating(
    store: Store, scenario: str, bench: str, environment: str | None
) -> list[tuple[Record, Record]]:
    """Return the duels (A, B) that calibrated a bench in an environment, the newest first.

    One of which a result is gone is left out.  Raises as `Store.load`.
    """
    ids = {
        row["id"]
        for row in store.index.every(scenario)
        if row["slowdown"] is not None
        and (row["bench"], row["environment"]) == (bench, environment)
    }
    found = []
    for one in sorted(ids, reverse=True):
        record = store.load(one)
        points = record.experiment.points if record.experiment else ()
        if points[:1] == (one,) and points[-1] in ids:
            found.append((record, store.load(points[-1])))
    return found
