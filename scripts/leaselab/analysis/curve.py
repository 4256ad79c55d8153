"""The figure of an experiment's points along one factor, and which of them are best."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from leaselab.analysis.ratio import ratio_of, runs_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from leaselab.model.record import Record


@dataclass(frozen=True, slots=True)
class Point:
    """One point of an experiment."""

    at: float
    """The factor's value."""
    id: str
    """The result's."""
    value: float | None
    """The figure; None where there is none."""
    half_width: float | None
    """Half of its 95 % interval; None where it has none."""
    is_best: bool
    may_be_best: bool
    """Whether nothing is known to tell it from the best: the best itself, those that do not
    differ from it at 5 %, and those with too few rounds to say.  Each is tested alone, so that
    one of 20 that are as good is left out by chance."""


@dataclass(frozen=True, slots=True)
class Curve:
    """A figure along a factor."""

    factor: str
    title: str
    """The figure's, such as max rate."""
    unit: str
    points: tuple[Point, ...]
    """By the factor's value, ascending."""

    @property
    def best(self) -> Point | None:
        """The best point; None where there is no figure, or none is better than another."""
        return next((point for point in self.points if point.is_best), None)


def curve_of(records: Sequence[Record]) -> Curve | None:
    """The figure of records of one experiment along the factor in which they differ.

    None where they do not differ in exactly one factor, where that is no number, and where
    their figures are not one and the same.
    """
    if not records:
        return None
    names = {name for one in records for name in one.scenario.factors}
    differing = [
        name for name in names if len({one.scenario.factors.get(name) for one in records}) > 1
    ]
    if len(differing) != 1 or len({one.figure.name for one in records}) > 1:
        return None
    placed = []
    for one in records:
        at = one.scenario.factors.get(differing[0])
        if isinstance(at, bool | str) or at is None:
            return None
        placed.append((at, one))
    best = best_of(records)
    points = [_point(at, one, best) for at, one in sorted(placed, key=lambda place: place[0])]
    return Curve(differing[0], records[0].figure.title, records[0].figure.unit, tuple(points))


def best_of(records: Sequence[Record]) -> Record | None:
    """The record with the best figure; None where none has one, or none is better."""
    measured = [one for one in records if runs_of(one) is not None]
    better = records[0].figure.better
    if not measured or better == "neither":
        return None
    pick = max if better == "higher" else min
    return pick(measured, key=lambda one: one.figure.value or 0.0)


def may_be_best(record: Record, best: Record | None) -> bool:
    """Whether nothing is known to tell a record from the best one, see `Point.may_be_best`."""
    if best is None or record is best:
        return best is not None
    ratio = ratio_of(best, record)
    return ratio is not None and not ratio.differs


def _point(at: float, record: Record, best: Record | None) -> Point:
    measured = runs_of(record) is not None
    return Point(
        at=at,
        id=record.id,
        value=record.figure.value if measured else None,
        half_width=record.figure.half_width if measured else None,
        is_best=record is best,
        may_be_best=may_be_best(record, best),
    )
