"""Which results stand for their scenarios: the newest of each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leaselab.model.errors import usage_error

if TYPE_CHECKING:
    from collections.abc import Sequence

    from leaselab.archive.index import Index


def newest_of(
    index: Index, patterns: Sequence[str] = ("*",), bench: str | None = None
) -> list[str]:
    """The newest result of each scenario that a pattern names, on one bench or on all; ids.

    One for each durability: a scenario that was measured with other settings
    does not replace what it usually is.  A commit whose server never ran has
    no place, nor has a result that cannot be read.  Raises a usage error for a
    pattern without a result.
    """
    found: dict[tuple[str, str], str] = {}
    for pattern in patterns:
        rows = index.newest_places(pattern, bench)
        if not rows:
            raise usage_error(
                f"no results of {pattern}" + (f" on bench {bench}" if bench else ""),
                todo="`leaselab list` shows what there is, `leaselab run` makes more",
            )
        for row in rows:
            found.setdefault((row["scenario"], row["durability"]), row["id"])
    return list(found.values())
