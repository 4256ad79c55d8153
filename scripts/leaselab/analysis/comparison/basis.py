"""The ratio of two results: by rounds in turn, by a common anchor, or by figures alone."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

from leaselab.analysis.comparison.incompatibilities import incompatibilities
from leaselab.analysis.comparison.ratio import (
    Ratio,
    anchored_ratio,
    paired_ratio,
    ratio,
    runs_of,
)
from leaselab.model.errors import BELIEVED
from leaselab.model.procedures.cost import COST
from leaselab.model.procedures.duel import DUEL
from leaselab.model.record import Record

Row = Mapping[str, Any]
"""Of the index."""
Anchors = Mapping[str, Record]
"""Results of fixed references, by their ids."""


def alternated(base: Record, other: Record) -> bool:
    """Whether the rounds of both took turns, as those of points of one experiment do."""
    one, two = base.experiment, other.experiment
    return bool(one and two and one.id == two.id and one.interleaved and two.interleaved)


def common_anchor(
    base: Record, other: Record, anchors: Anchors
) -> tuple[Record, Record] | None:
    """The two results of the fixed reference that both were measured in turn with.

    None without a common one: both references are of one build, measured by the same scenario
    and procedure, on one bench in one environment.
    """
    first, second = (anchors.get(record.anchor or "") for record in (base, other))
    if first is None or second is None:
        return None
    same = first.server.made_of == second.server.made_of and not incompatibilities(
        first, second
    )
    return (first, second) if same else None


def ratio_of(base: Record, other: Record, anchors: Anchors) -> Ratio | None:
    """How much of the figure of `base` that of `other` is; None where one has none.

    By the rounds of both where these took turns, else by the ratios of each to the common
    anchor, else by the figures themselves.
    """
    runs, baseline = runs_of(other), runs_of(base)
    if runs is None or baseline is None:
        return None
    rounds = _rounds(base, other) if alternated(base, other) else []
    if rounds:
        return paired_ratio(*zip(*rounds, strict=True))
    common = common_anchor(base, other, anchors)
    if common is None:
        return ratio(baseline, runs)
    before, after = _to_anchor(common[0], base), _to_anchor(common[1], other)
    if before is None or after is None:
        return ratio(baseline, runs)
    return anchored_ratio(before, after)


def _to_anchor(anchor: Record, record: Record) -> list[float] | None:
    """Logarithms of the ratios of a result's rounds to those of its anchor.

    Empty for the anchor itself; None where no round has both.
    """
    if anchor.id == record.id:
        return []
    return [math.log(rate / reference) for reference, rate in _rounds(anchor, record)] or None


def _rounds(base: Record, other: Record) -> list[tuple[float, float]]:
    """What each round came to in both, of those that have a figure in both."""
    values = [
        {each.index: each.metrics.get(base.figure.name) for each in record.rounds}
        for record in (base, other)
    ]
    return [
        (first, second)
        for index, first in values[0].items()
        if first and (second := values[1].get(index))
    ]


def base_of(row: Row, known: Mapping[str, Row]) -> Row | None:
    """The row of a result's anchor, which may be itself; None without one.

    `known` are rows by their ids.  A duel has none: its verdict judges its rounds.  Nor has a
    count, in which there is no drift of the machine.
    """
    return known.get(row["anchor"]) if row["procedure"] not in (DUEL, COST) else None


def anchor_of(row: Row, known: Mapping[str, Row]) -> Row | None:
    """The same, and None for the anchor itself."""
    base = base_of(row, known)
    return None if base is None or base["id"] == row["id"] else base


def to_anchor(base: Row, row: Row) -> Ratio | None:
    """As `ratio_of` of a result and its anchor, by their rows; None where no round has both."""
    both = turns(base, row) if row["outcome"] in BELIEVED else []
    return paired_ratio(*zip(*both, strict=True)) if both else None


def turns(base: Row, row: Row) -> list[tuple[float, float]]:
    """What each round came to in both, of those that have a figure in both."""
    values = (
        [value for value, _ in json.loads(each["rounds"] or "[]")] for each in (base, row)
    )
    return [both for both in zip(*values, strict=False) if all(both)]
