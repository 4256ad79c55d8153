"""What a result is compared with on its page: its anchor, the build before it, a release."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from leaselab.analysis.comparison.verdict import compare
from leaselab.analysis.history.releases import release_names
from leaselab.model.errors import BELIEVED
from leaselab.model.identity import Conditions, build_of
from leaselab.model.procedures.duel import DUEL
from leaselab.model.record import Record
from leaselab.model.server import server_name
from leaselab.report.verdict.words import interval_words, percent

Row = Mapping[str, Any]


def beside_ids(ident: str, rows: Sequence[Row]) -> dict[str, list[str]]:
    """What a result is compared with: words by the ids of results, none for a duel.

    `rows` are those of the index of its scenario, oldest first.  The previous build and the
    release are the newest before it with a figure, measured in the same way.
    """
    known = {row["id"]: row for row in rows}
    own = known.get(ident)
    if own is None or own["procedure"] == DUEL:
        return {}
    earlier = [
        row
        for row in rows
        if row["started_at"] < own["started_at"]
        and row["outcome"] in BELIEVED
        and row["metric"] == own["metric"]
        and build_of(row) != build_of(own)
        and Conditions.of_row(row) == Conditions.of_row(own)
    ]
    builds = [row for row in earlier if row["id"] != row["anchor"]]
    anchor = known.get(own["anchor"]) if own["anchor"] != ident else None
    released = [row for row in (*earlier, anchor) if row and release_names(row)]
    chosen = {
        "anchor": anchor,
        "previous build": builds[-1] if builds else None,
        "release": released[-1] if released else None,
    }
    found: dict[str, list[str]] = {}
    for word, row in chosen.items():
        if row is not None:
            found.setdefault(row["id"], []).append(word)
    return found


def beside(
    record: Record, ids: Mapping[str, Sequence[str]], read: Callable[[str], Record | None]
) -> list[dict[str, str]]:
    """The comparisons of a result with those of `ids`, which have words by id: table rows.

    `read` returns a result; None for one that cannot be read, which is left out, as is one that
    does not compare.
    """
    known = {ident: one for ident in ids if (one := read(ident)) is not None}
    of = {each.anchor for each in (record, *known.values()) if each.anchor}
    anchors = {ident: one for ident in of if (one := read(ident)) is not None}
    made = []
    for ident, base in known.items():
        comparison = compare(base, record, anchors={record.id: record, **anchors})
        if (verdict := comparison.verdict) is not None:
            made.append(
                {
                    "id": ident,
                    "what": " and ".join(ids[ident]),
                    "server": server_name(base.server),
                    "change": percent(verdict.ratio),
                    "interval": "-" if verdict.cost else interval_words(verdict.ci95),
                    "word": comparison.words,
                }
            )
    return made
