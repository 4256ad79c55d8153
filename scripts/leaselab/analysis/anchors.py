"""Which results have an anchor in common, and nights on which the anchor itself was off."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from leaselab.analysis.detectors import Reading
from leaselab.model.identity import Conditions, build_of

Row = Mapping[str, Any]

_LEAST, _MOST = 10, 40
"""Sessions before one that show how the anchor usually is, at least and at most."""
_FAR = 5.0
"""How many times the usual deviation the anchor has to be off."""
_STEADY = 0.004
"""Least usual deviation: a quieter anchor is not known any better (logarithm)."""
_SCALE = 1.4826
"""Standard deviation of normal values over their median absolute deviation."""


@dataclass(frozen=True, slots=True)
class Session:
    """A build that took turns with the anchor."""

    reading: Reading
    """Of the ratio."""
    anchor: float
    """Logarithm of the anchor's own figure."""
    build: float
    """That of the build's."""


def anchor_builds(rows: Iterable[Row]) -> dict[str, tuple[object, ...]]:
    """Build, conditions and metric of the anchor, by the id of each result that has one."""
    known = {row["id"]: row for row in rows}
    return {
        ident: (build_of(base), Conditions.of_row(base), base["metric"])
        for ident, row in known.items()
        if (base := known.get(row["anchor"])) is not None
    }


def have_common(anchors: Mapping[str, object], ident: str, other: str) -> bool:
    """Whether two results have an anchor in common, by their ids."""
    return ident in anchors and anchors[ident] == anchors.get(other)


def took_turns(row: Row, other: Row) -> bool:
    """Whether two rows of the index are of one experiment."""
    return row["experiment"] is not None and bool(row["experiment"] == other["experiment"])


def doubted(sessions: Sequence[Session]) -> list[Reading]:
    """Return the readings, those with a larger error whose anchor was off.

    The sessions are in the order in which they were measured, and each is judged by those
    before it.  Where the build is off as well, it is the machine that differs: that cancels.
    """
    readings = []
    for place, one in enumerate(sessions):
        before = sessions[max(0, place - _MOST) : place]
        off = _off(one.anchor, [other.anchor for other in before])
        own = one.build - statistics.median([other.build for other in before] or [one.build])
        # The machine moves both alike, so that half of it would be seen in the build.
        alone = abs(off) > 0 and off * own < off * off / 2
        error = max(one.reading.error, abs(off)) if alone else one.reading.error
        readings.append(replace(one.reading, error=error))
    return readings


def _off(value: float, before: Sequence[float]) -> float:
    """By how much a value is off what is usual; 0 where that is not known, or not far."""
    if len(before) < _LEAST:
        return 0.0
    middle = statistics.median(before)
    usual = max(_STEADY, _SCALE * statistics.median(abs(one - middle) for one in before))
    return value - middle if abs(value - middle) > _FAR * usual else 0.0
