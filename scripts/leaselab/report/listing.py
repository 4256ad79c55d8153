"""The list of results as lines of text.

Plain formatting, not a table of rich: a list of 100 000 results has to come at
once, in a pipe as on a terminal.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from leaselab.model.server import server_name

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

_NONE = "-"


def listing(rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """One line a result, below a line of headings; rows are the index's.

    The id tells time and scenario, so they have no columns of their own.
    """
    if not rows:
        yield "no results"
        return
    width = max(len(row["id"]) for row in rows)
    yield f"{'id':{width}}  {'outcome':12}  {'max rate/s':>10}  {'durability':10}  server"
    for row in rows:
        rate = row["trimmed_mean"]
        shown = _NONE if rate is None else f"{rate:.0f}"
        yield (
            f"{row['id']:{width}}  {row['outcome']:12}  {shown:>10}  "
            f"{row['durability'] or _NONE:10}  {server_name(row)}"
        )


def span(seconds: float) -> str:
    """A length of time in words: ``6 min 41 s``, ``40 s``."""
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"
