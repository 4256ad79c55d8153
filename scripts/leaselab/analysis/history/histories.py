"""Each scenario from build to build: its figures as a series, and its changes.

Where results were measured in turn with an anchor, a series is of ratios to that: the machine's
drift is in both, and cancels.  Duels with one and the same first server are such a series, too.
Results without an anchor are a series of their own, of the figures themselves, for one bench in
one environment; drift is in these.

Counts are series of figures, too, without any drift: each change between two builds stands for
itself, however small.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import pairwise
from typing import Any

from leaselab.analysis.comparison.basis import base_of, to_anchor
from leaselab.analysis.figures.statistics import standard_error
from leaselab.analysis.history.anchors import Session, doubted
from leaselab.analysis.history.detectors import (
    RULES,
    Reading,
    Rules,
    Shape,
    Shift,
    shifts,
    size,
)
from leaselab.analysis.history.series import (
    Change,
    Counts,
    Duel,
    Point,
    Row,
    Series,
    duelled,
    operations_of,
)
from leaselab.model.errors import BELIEVED
from leaselab.model.identity import Build, build_of
from leaselab.model.procedures.cost import COST, INSTRUCTIONS
from leaselab.model.procedures.duel import DUEL
from leaselab.model.procedures.profile import PROFILE
from leaselab.model.server import server_name

_OF = ("scenario", "metric", "unit", "better", "bench", "durability", "ruler", "release")
"""Columns of the index in which the results of a series agree."""


def histories(
    rows: Iterable[Row],
    counts: Counts,
    duels: Sequence[Duel] = (),
    rules: Rules = RULES,
) -> list[Series]:
    """The series of an archive, by scenario; `rows` are the index's, with all columns.

    Each of the duels is a point of a series, too: its second build, against its first as the
    anchor.  Series of duels with too few builds for anything to be found are left out, as they
    are those of other purposes.  So are duels that calibrate, profiles, checkouts with changes
    that no commit has, and figures of which neither more nor less is better.
    """
    known = {row["id"]: row for row in rows}
    members = [*_of_results(known), *_of_duels(known, duels)]
    groups: dict[tuple[Any, ...], list[_Member]] = {}
    for member in members:
        groups.setdefault(member.key, []).append(member)
    found = [
        _counted(group, counts)
        if group[0].row["procedure"] == COST
        else _series(group, duels, rules)
        for group in groups.values()
    ]
    shown = [one for one in found if one.enough or not one.of_duels]
    return sorted(shown, key=lambda one: (one.scenario, not one.anchor, -len(one.points)))


@dataclass(frozen=True, slots=True)
class _Member:
    """What one result says of a build."""

    row: Row
    reading: Reading
    ci95: tuple[float | None, float | None]
    """95 % interval of what that is the logarithm of."""
    base: Row | None
    """The anchor's result that the reading is a ratio to; None of a figure."""

    @property
    def key(self) -> tuple[Any, ...]:
        """What the results of a series have in common."""
        row, base = self.row, self.base
        reference = (*build_of(base), server_name(base)) if base else row["environment"]
        return (*(row[name] for name in _OF), row["server"], bool(row["commit"]), reference)


def _of_results(known: Mapping[str, Row]) -> Iterator[_Member]:
    for row in known.values():
        if row["outcome"] not in BELIEVED or row["dirty"]:
            continue
        if row["procedure"] in (DUEL, PROFILE):  # a profile's figure is no measurement
            continue
        base = base_of(row, known)
        if base is row or row["better"] == "neither" or not row["value"]:
            continue
        if row["procedure"] == COST:
            yield _Member(row, Reading(math.log(row["value"])), (None, None), None)
            continue
        reading = relative(_rounds(base), _rounds(row)) if base else _figure(row)
        ratio = to_anchor(base, row) if base else None
        ci95 = (ratio and ratio.ci95) or (None, None)
        if reading is not None:
            yield _Member(row, reading, ci95 if base else (row["ci_low"], row["ci_high"]), base)


def _of_duels(known: Mapping[str, Row], duels: Sequence[Duel]) -> Iterator[_Member]:
    for duel in duels:
        base, row = (known.get(ident) for ident in duel.ids)
        # A ratio that is only a limit settles a change, and is no point among ratios.
        if base is None or row is None or duel.first == duel.second or duel.capped:
            continue
        if row["slowdown"] is None:
            yield _Member(row, Reading(math.log(duel.ratio), duel.error), duel.ci95, base)


def relative(
    reference: Sequence[float | None], rounds: Sequence[float | None]
) -> Reading | None:
    """The logarithm of the ratio of some rounds to those of a reference, one by one.

    None where no round has both.
    """
    both = zip(reference, rounds, strict=False)
    logs = [math.log(two / one) for one, two in both if one and two and min(one, two) > 0]
    if not logs:
        return None
    return Reading(math.fsum(logs) / len(logs), standard_error(logs, 0) or 0.0)


def _figure(row: Row) -> Reading | None:
    """The logarithm of a figure."""
    value = row["value"]
    if value < 0:
        return None
    return Reading(math.log(value), (row["standard_error"] or 0.0) / value)


def _rounds(row: Row) -> list[float | None]:
    return [value for value, _ in json.loads(row["rounds"] or "[]")]


def _series(members: Sequence[_Member], duels: Sequence[Duel], rules: Rules) -> Series:
    points = _points(_doubted(members))
    last = members[-1].row
    readings = [point.reading for point in points]
    found = shifts(readings, rules)
    starts = [0, *(shift.new[0] for shift in found)]
    ends = [*(shift.old[1] for shift in found), len(points)]
    changes = [_change(points, shift, last, duels) for shift in found]
    return _named(members[-1], points, changes, [*zip(starts, ends, strict=True)])


def _counted(members: Sequence[_Member], counts: Counts) -> Series:
    """A series of counts: a level ends where its next build does more or less."""
    points, last = _points(members), members[-1]
    metric = last.row["metric"]
    changes: list[Change] = []
    starts = [0]
    for place, (before, after) in enumerate(pairwise(points), start=1):
        found = counts(before.ids[-1], after.ids[-1])
        parts = found.verdict.parts if found else ()
        own = [one for one in parts if one.changed and metric in (INSTRUCTIONS, one.name)]
        if own:
            starts.append(place)
            changes.append(
                Change(
                    shape=Shape.STEP,
                    before=before,
                    after=after,
                    detected=after,
                    ratio=after.value / before.value,
                    ci95=None,
                    worse=any(one.grown for one in own),
                    detected_at=max(before.at, after.at),
                    moved_lab=False,
                    counted=found,
                )
            )
    return _named(last, points, changes, [*pairwise([*starts, len(points)])])


def _points(members: Iterable[_Member]) -> list[Point]:
    """The builds of a series, in their order."""
    builds: dict[Build, list[_Member]] = {}
    for one in members:
        builds.setdefault(build_of(one.row), []).append(one)
    return sorted(map(_point, builds.values()), key=_order)


def _named(
    last: _Member,
    points: Sequence[Point],
    changes: Sequence[Change],
    levels: Sequence[tuple[int, int]],
) -> Series:
    """A series of what its last result is of."""
    row, base = last.row, last.base
    return Series(
        scenario=row["scenario"],
        metric=row["metric"],
        title=json.loads(row["titles"] or "{}").get(row["metric"], row["metric"]),
        unit=row["unit"],
        bench=row["bench"],
        environment=None if base else row["environment"],
        anchor=server_name(base) if base else "",
        of_duels=row["procedure"] == DUEL,
        of_counts=row["procedure"] == COST,
        points=tuple(points),
        changes=tuple(changes),
        levels=tuple(levels),
    )


def _doubted(members: Sequence[_Member]) -> list[_Member]:
    """The members, with larger errors where the anchor was off; those of duels as they are.

    They weigh less so; the interval of each stays the one that every place shows.
    """
    sessions = {}
    for one in sorted(
        members, key=lambda member: (member.row["finished_at"], member.row["id"])
    ):
        anchor, build = one.base and one.base["value"], one.row["value"]
        if one.row["procedure"] != DUEL and anchor and min(anchor, build) > 0:
            figures = math.log(anchor), math.log(build)
            sessions[one.row["id"]] = Session(one.reading, *figures)
    known = dict(zip(sessions, doubted(list(sessions.values())), strict=True))
    return [replace(one, reading=known.get(one.row["id"], one.reading)) for one in members]


def _change(points: Sequence[Point], shift: Shift, row: Row, duels: Sequence[Duel]) -> Change:
    """A change in words that people know, and the newest duel that settles it."""
    readings = [point.reading for point in points]
    ratio, ci95 = size(readings, shift)
    before, after, detected = (
        points[place] for place in (shift.before, shift.after, shift.detected)
    )
    sides = [
        frozenset(one.build for one in points[slice(*side)]) for side in (shift.old, shift.new)
    ]
    of = [
        duel
        for duel in duels
        if (duel.scenario, duel.bench) == (row["scenario"], row["bench"])
        and duel.metric == duelled(row["metric"], row["unit"])
        and duel.operations in ((), operations_of(row))
        and duel.first in sides[0]
        and duel.second in sides[1]
    ]
    return Change(
        shape=shift.shape,
        before=before,
        after=after,
        detected=detected,
        ratio=ratio,
        ci95=ci95,
        worse=(shift.sign > 0) != (row["better"] == "higher"),
        detected_at=max(point.at for point in points[: shift.detected + 1]),
        moved_lab=before.environments.isdisjoint(after.environments),
        duel=max(of, key=lambda duel: duel.at, default=None),
    )


def _point(results: Sequence[_Member]) -> Point:
    """One build: the mean of its results' logarithms."""
    rows = [result.row for result in results]
    count = len(rows)
    first = rows[0]
    return Point(
        build=build_of(first),
        name=server_name(first),
        commit=first["commit"],
        subject=first["subject"] or "",
        commit_date=first["commit_date"] or "",
        repository=first["repository"],
        reading=Reading(
            math.fsum(result.reading.value for result in results) / count,
            math.sqrt(math.fsum(result.reading.error**2 for result in results)) / count,
        ),
        ci95=_pooled([result.ci95 for result in results]),
        ids=tuple(row["id"] for row in rows),
        at=min(row["finished_at"] for row in rows),
        environments=frozenset(row["environment"] for row in rows),
    )


def _pooled(
    intervals: Sequence[tuple[float | None, float | None]],
) -> tuple[float, float] | None:
    """The interval of the mean of logarithms of which these are the intervals."""
    known = [(low, high) for low, high in intervals if low and high and low > 0]
    if len(known) < len(intervals):
        return None
    if len(known) == 1:
        return known[0]
    middle = math.fsum(math.log(low * high) / 2 for low, high in known) / len(known)
    reach = math.hypot(*(math.log(high / low) / 2 for low, high in known)) / len(known)
    return math.exp(middle - reach), math.exp(middle + reach)


def _order(point: Point) -> tuple[float, str]:
    """Commits in the order in which they were made, packages in that of their results."""
    made = point.commit_date if point.commit else point.at
    return datetime.fromisoformat(made).timestamp() if made else 0.0, point.ids[0]
