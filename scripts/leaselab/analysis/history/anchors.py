"""Which results have an anchor in common, and nights on which the anchor itself was off."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from leaselab.analysis.history.detectors import Reading
from leaselab.model.identity import Conditions, build_of

Row = Mapping[str, Any]

_LEAST, _MOST = 10, 40
"""Sessions before one that show how the anchor usually is, at least and at most."""
# Without it, three nights of a slow anchor were two changes of every series.
_FAR = 0.02
"""How far the anchor has to be off at least (logarithm)."""
_STEADY = 0.004
"""Least usual deviation: a quieter anchor is not known any better (logarithm)."""
_LIKELIER = 4.0
"""Twice the logarithm of how much likelier an anchor that was off has to be than a build that
is another one."""
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
    before it.  What the level of the machine does is in both figures, and cancels.  Where the
    ratio is off by more than that, either the anchor was off, and the build shows where the
    level is, or the build is another one, and the anchor shows it: whichever needs the smaller
    deviation of the level, in terms of the usual one, is the likelier.
    """
    readings = []
    for place, one in enumerate(sessions):
        before = sessions[max(0, place - _MOST) : place]
        error = one.reading.error
        if len(before) >= _LEAST:
            anchors = [other.anchor for other in before]
            middle = statistics.median(anchors)
            usual = _SCALE * statistics.median(abs(anchor - middle) for anchor in anchors)
            off = one.anchor - middle
            own = one.build - statistics.median(other.build for other in before)
            likelier = off**2 - own**2 > _LIKELIER * max(_STEADY, usual) ** 2
            # The machine moves both alike, so that half of it would be seen in the build.
            if abs(off) > _FAR and off * own < off**2 / 2 and likelier:
                error = max(error, abs(off))
        readings.append(replace(one.reading, error=error))
    return readings
