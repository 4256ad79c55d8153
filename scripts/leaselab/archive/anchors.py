"""The anchors of results: the fixed references that these were measured in turn with."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from leaselab.archive.store import Store
    from leaselab.model.record import Record


def anchors_of(store: Store, *records: Record) -> dict[str, Record]:
    """The anchors that records name, by their ids.

    One that cannot be read is named and left out.
    """
    known = {one.id: one for one in records}
    missing = {one.anchor for one in records if one.anchor} - known.keys()
    return known | {one.id: one for one in store.load_readable(sorted(missing))}
