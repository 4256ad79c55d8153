"""The page of all benches: how each was when somebody last asked, and its last result.

Pages are not written again by themselves, so it has moments where a terminal has ages.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from leaselab.archive.bench_notes import CHECK, STATUS, noted_benches, read_note

if TYPE_CHECKING:
    from leaselab.archive.store import Store

MEANINGS = {
    "free": "nobody has it",
    "measuring": "a sweep has it",
    "held": "somebody has it for several commands",
    "maintenance": "its keeper has taken it out of use",
    "broken": "a host is not well, or the last check found errors",
    "unreachable": "no host answers",
    "down": "a lab of one machine that is not up",
}
_VERDICTS = {"free": "good", "measuring": "good", "held": "good"}
_FAULTS = frozenset({"broken", "unreachable"})


def bench_rows(store: Store) -> list[dict[str, Any]]:
    """What the page shows of each bench that was ever asked, by name."""
    rows = []
    for name in noted_benches(store.root):
        seen = read_note(store.root, name, STATUS)
        if seen is None:
            continue
        results = store.index.rows(bench=name, limit=1)
        rows.append(
            {
                "bench": name,
                **seen,
                "verdict": "refused" if seen["state"] in _FAULTS else _verdict(seen["state"]),
                "result": results[0] if results else None,
                "check": read_note(store.root, name, CHECK),
            }
        )
    return rows


def _verdict(state: str) -> str:
    return _VERDICTS.get(state, "doubt")
