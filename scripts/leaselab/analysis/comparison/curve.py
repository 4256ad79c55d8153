"""The figure of an experiment's points along a factor, and which of them are best."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from enum import StrEnum

from leaselab.analysis.comparison.ratio import runs_of
from leaselab.analysis.comparison.verdict import compare
from leaselab.analysis.duels.duel import Answer
from leaselab.model.record import Record
from leaselab.model.server import server_name

Factor = str | int | float | bool


class Standing(StrEnum):
    """How a point stands to the best one, in the words of tables and pages."""

    BEST = "best"
    ALIKE = "equal"
    """None at 5 %.  Each is tested alone: of 20 that are as good, one is left out by chance."""
    UNCLEAR = "too few runs to tell"
    """There is no test, as of a single run, which says nothing about its error."""
    OTHER = "differs"


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
    standing: Standing | None
    """How it stands to the best of its curve; None where one of the two has no figure."""


@dataclass(frozen=True, slots=True)
class Curve:
    """A figure along a factor, of points that are alike in everything else."""

    factor: str
    alike: Mapping[str, str]
    """What distinguishes these points from those of the experiment's other curves, by name."""
    title: str
    """The figure's, such as max rate."""
    unit: str
    points: tuple[Point, ...]
    """By the factor's value, ascending."""

    @property
    def best(self) -> Point | None:
        """The best point; None where there is no figure, or none is better than another."""
        return next((point for point in self.points if point.standing is Standing.BEST), None)


def curves_of(records: Sequence[Record]) -> list[Curve]:
    """The figure of records of one experiment along a factor, a curve for each of the others.

    The factor is the one of numbers with the most values; the last of those with as many.
    Points that differ in anything else are on curves of their own, each with its own best.
    Empty where no factor of numbers differs, where the figures are not one and the same,
    where two points would have one place, and where one would be alone on a curve.
    """
    known = [{**one.scenario.factors, **_settings_of(one)} for one in records]
    differing = {
        name: values
        for name in dict.fromkeys(name for values in known for name in values)
        for values in [{one.get(name) for one in known}]
        if len(values) > 1
    }
    factor = _along(differing)
    if factor is None or len({one.figure.name for one in records}) > 1:
        return []
    groups: dict[tuple[Factor | None, ...], dict[float, Record]] = {}
    others = [name for name in differing if name != factor]
    for values, record in zip(known, records, strict=True):
        group = groups.setdefault(tuple(values.get(name) for name in others), {})
        at = values[factor]
        if at in group:
            return []
        group[float(at)] = record
    if min(map(len, groups.values())) < 2:
        return []
    return [
        _curve(factor, {n: str(v) for n, v in zip(others, alike, strict=True)}, members)
        for alike, members in sorted(groups.items(), key=lambda group: str(group[0]))
    ]


def _settings_of(record: Record) -> dict[str, Factor]:
    """What points may differ in beside their factors."""
    return {"server": server_name(record.server), "bench": record.bench.name}


def _along(differing: Mapping[str, AbstractSet[Factor | None]]) -> str | None:
    """The factor of numbers with the most values, the last of those with as many."""
    numbers = {
        name: len(values)
        for name, values in differing.items()
        if all(
            isinstance(value, int | float) and not isinstance(value, bool) for value in values
        )
    }
    return max(reversed(numbers), key=numbers.__getitem__, default=None)


def _curve(factor: str, alike: Mapping[str, str], members: Mapping[float, Record]) -> Curve:
    best = best_of(list(members.values()))
    points = tuple(_point(at, members[at], best) for at in sorted(members))
    figure = next(iter(members.values())).figure
    return Curve(factor, alike, figure.title, figure.unit, points)


def best_of(records: Sequence[Record]) -> Record | None:
    """The record with the best figure; None where none has one, or none is better."""
    measured = [record for record in records if runs_of(record) is not None]
    better = records[0].figure.better
    if not measured or better == "neither":
        return None
    pick = max if better == "higher" else min
    return pick(measured, key=lambda one: one.figure.value or 0.0)


def standing(record: Record, best: Record | None) -> Standing | None:
    """How a record stands to the best one; None where one of the two has no figure."""
    if best is None:
        return None
    if record is best:
        return Standing.BEST
    if runs_of(record) is None:
        return None
    found = compare(best, record).verdict
    if found is None:
        return Standing.UNCLEAR
    return Standing.ALIKE if found.answer is Answer.SAME else Standing.OTHER


def _point(at: float, record: Record, best: Record | None) -> Point:
    measured = runs_of(record) is not None
    return Point(
        at=at,
        id=record.id,
        value=record.figure.value if measured else None,
        half_width=record.figure.half_width if measured else None,
        standing=standing(record, best),
    )
