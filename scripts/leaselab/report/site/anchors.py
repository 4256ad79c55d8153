"""What a result in the index comes to against its anchor, which took turns with it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from leaselab.analysis.ratio import Ratio, paired_ratio
from leaselab.model.errors import BELIEVED
from leaselab.model.procedures.duel import DUEL

Row = Mapping[str, Any]


def base_of(row: Row, known: Mapping[str, Row]) -> Row | None:
    """The row of a result's anchor, which may be itself; None without one.

    `known` are rows by their ids.  A duel has none: its verdict judges its rounds.
    """
    return known.get(row["anchor"]) if row["procedure"] != DUEL else None


def anchor_of(row: Row, known: Mapping[str, Row]) -> Row | None:
    """The same, and None for the anchor itself."""
    base = base_of(row, known)
    return None if base is None or base["id"] == row["id"] else base


def anchor_words(row: Row, known: Mapping[str, Row]) -> str:
    """The ratio of a result to its anchor, with its 95 % interval; empty without one."""
    base = base_of(row, known)
    if base is not None and base["id"] == row["id"]:
        return "the anchor"
    ratio = to_anchor(base, row) if base else None
    if ratio is None:
        return ""
    ends = f" ({ratio.ci95[0]:.3f} to {ratio.ci95[1]:.3f})" if ratio.ci95 else ""
    return f"{ratio.value:.3f}{ends}"


def to_anchor(base: Row, row: Row) -> Ratio | None:
    """The ratio of a result to that of its anchor; None where no round has both."""
    both = rounds(base, row) if row["outcome"] in BELIEVED else []
    return paired_ratio(*zip(*both, strict=True)) if both else None


def rounds(base: Row, row: Row) -> list[tuple[float, float]]:
    """What each round came to in both, of those that have a figure in both."""
    values = (
        [value for value, _ in json.loads(each["rounds"] or "[]")] for each in (base, row)
    )
    return [both for both in zip(*values, strict=False) if all(both)]
