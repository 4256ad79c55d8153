"""The list of known changes: those of histories, what searches named, what was accepted.

Every title, table, exit code and piece of advice is about the changes of these series; nothing
else says that something changed.
"""

from __future__ import annotations

import enum
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from leaselab.analysis.history.detectors import Reading, Shape
from leaselab.analysis.history.series import Change, Point, Series, State, duelled
from leaselab.model.changes import Acceptance, Changes, Culprit, Search
from leaselab.model.identity import Build, build_of
from leaselab.model.procedure import COMPLETED
from leaselab.model.server import server_name

Row = Mapping[str, Any]
_NEAR = 1
"""By how many builds a history may be off when it says where a change is."""


class Do(enum.Enum):
    """What to do about a change; the value is the words for it."""

    SETTLE = "have a duel settle it"
    LONGER = "a duel could not tell; give it more time"
    BISECT = "find the commit between them and its functions"
    FURTHER = "the search ended without a culprit; give it more time"
    ACCEPT = "if this is intended, accept it"


def known_changes(
    series: Sequence[Series], known: Changes, rows: Mapping[str, Row]
) -> list[Series]:
    """The series, each change with its culprit and whether it was accepted.

    Culprits that belong to no change of a series have a series of their own, of two builds.
    `rows` are those of the index that may be concerned, by their ids.
    """
    named = {
        (search.scenario, search.bench, search.metric, culprit.commit): (search, culprit)
        for search in sorted(known.searches, key=lambda search: search.at)
        for culprit in search.culprits
    }
    searched = [_searched(one, list(named.values()), known.searches) for one in series]
    taken = {
        (one.scenario, one.bench, _searched_by(one), change.culprit.commit)
        for one in searched
        for change in one.changes
        if change.culprit
    }
    alone = [
        found
        for key, (search, culprit) in named.items()
        if key not in taken and (found := _alone(search, culprit, rows)) is not None
    ]
    listed = sorted((*searched, *alone), key=lambda one: one.scenario)
    return [_accepted(one, known.accepted) for one in listed]


def belongs(series: Series, scenario: str, metric: str, unit: str) -> bool:
    """Whether the changes of a series are those of a figure of a scenario.

    A culprit that has a series of its own is one of the rate that its duels were decided by.
    """
    if series.scenario != scenario:
        return False
    alone = not series.levels and series.metric == duelled(metric, unit)
    return series.metric == metric or alone


def _searched(
    series: Series, named: Sequence[tuple[Search, Culprit]], searches: Sequence[Search]
) -> Series:
    """A series with the culprits of its changes; each culprit is of the nearest one."""
    own = [search for search in searches if _is_of(search, series)]
    culprits = [culprit for search, culprit in named if _is_of(search, series)]
    found: dict[int, Culprit] = {}
    for near in range(_NEAR + 1):
        for place, change in enumerate(series.changes):
            inside = [
                one
                for one in culprits
                if one not in found.values()
                and change.worse
                and _between(*_around(series, change, near), one.commit, one.date)
            ]
            if place not in found and inside:
                found[place] = max(inside, key=lambda one: abs(one.ratio - 1))
    return replace(
        series,
        changes=tuple(
            replace(change, culprit=found.get(place), search=_ended(change, own))
            for place, change in enumerate(series.changes)
        ),
    )


def _is_of(search: Search, series: Series) -> bool:
    return (search.scenario, search.bench, search.metric) == (
        series.scenario,
        series.bench,
        _searched_by(series),
    )


def _searched_by(series: Series) -> str:
    """The metric of searches that name its culprits: that of duels, or what is counted."""
    return duelled(series.metric, series.unit) or series.metric


def _ended(change: Change, searches: Sequence[Search]) -> Search | None:
    """The newest search between the builds of a change."""
    ends = change.before.commit, change.after.commit
    own = [search for search in searches if (search.good, search.bad) == ends]
    return max(own, key=lambda search: search.at, default=None)


def _around(series: Series, change: Change, near: int) -> tuple[Point, Point]:
    """The builds before and after a change, or those that are so many builds further off."""
    first, last = (series.points.index(one) for one in (change.before, change.after))
    points = series.points
    return points[max(0, first - near)], points[min(len(points) - 1, last + near)]


def _between(before: Point, after: Point, commit: str, date: str | None) -> bool:
    """Whether a commit is one of those after a build, up to another."""
    if commit == after.commit:
        return True
    if not (date and before.commit_date and after.commit_date) or commit == before.commit:
        return False
    first, at, last = map(datetime.fromisoformat, (before.commit_date, date, after.commit_date))
    return first < at <= last


def _alone(search: Search, culprit: Culprit, rows: Mapping[str, Row]) -> Series | None:
    """A culprit as a series of its own; None without the results that named it."""
    both = _named_by(culprit, rows)
    if len(both) != 2 or {row["scenario"] for row in both} != {search.scenario}:
        return None
    before, after = (_end(row) for row in both)
    figures = json.loads(both[1]["metrics"])
    change = Change(
        shape=Shape.STEP,
        before=before,
        after=after,
        detected=after,
        ratio=culprit.ratio,
        ci95=culprit.ci95,
        worse=True,
        detected_at=search.at,
        moved_lab=False,
        culprit=culprit,
    )
    return Series(
        scenario=search.scenario,
        metric=search.metric,
        title=search.metric.replace("_", " "),
        unit=figures[search.metric][-1],
        bench=search.bench,
        environment=None,
        anchor=server_name(both[0]),
        of_duels=culprit.duel is not None,
        of_counts=False,
        points=(before, after),
        changes=(change,),
        levels=(),
    )


def _named_by(culprit: Culprit, rows: Mapping[str, Row]) -> list[Row]:
    """The results of its parent and its own: of their duel, or the two that were counted."""
    if culprit.duel is None:
        return [rows[name] for name in culprit.counts or () if name in rows]
    duel = (row for row in rows.values() if row["experiment"] == culprit.duel)
    return sorted(duel, key=lambda row: row["id"] != culprit.duel)


def _end(row: Row) -> Point:
    build: Build = build_of(row)
    return Point(
        build=build,
        name=server_name(row),
        commit=row["commit"],
        subject=row["subject"] or "",
        commit_date=row["commit_date"] or "",
        repository=row["repository"],
        reading=Reading(0.0),
        ci95=None,
        ids=(row["id"],),
        at=row["finished_at"],
        environments=frozenset([row["environment"]]),
    )


def _accepted(series: Series, accepted: Sequence[Acceptance]) -> Series:
    changes = []
    for change in series.changes:
        of = [one for one in accepted if is_accepted(series, change, one)]
        changes.append(replace(change, accepted=of[-1] if of else None))
    return replace(series, changes=tuple(changes))


def is_accepted(series: Series, change: Change, one: Acceptance) -> bool:
    """Whether it is this change that was accepted; a culprit may have been named since then."""
    if (one.scenario, one.metric) != (series.scenario, series.metric):
        return False
    commits = {change.first_after.commit, change.after.commit}
    return one.commit in commits or _between(change.before, change.after, one.commit, one.date)


def since(change: Change) -> tuple[str, str | None]:
    """The commit since which a change is so, and its date; an empty one of a package."""
    if change.culprit is not None:
        return change.culprit.commit, change.culprit.date
    return change.after.commit or "", change.after.commit_date or None


def what_next(series: Series, change: Change) -> Do | None:
    """What to do about a change; None where nothing is to be done, or nothing can be."""
    ends = change.before, change.after
    measurable = (
        (series.of_counts or duelled(series.metric, series.unit) is not None)
        and all(end.commit and end.repository for end in ends)
        and ends[0].repository == ends[1].repository
    )
    if change.state is State.SUSPECTED and measurable:
        return Do.SETTLE if change.duel is None else Do.LONGER
    if change.state is not State.CONFIRMED or not change.worse or not change.after.commit:
        return None
    if change.culprit is None and measurable and change.search is None:
        return Do.BISECT
    further = change.search is not None and change.search.further and measurable
    return Do.FURTHER if further and change.culprit is None else Do.ACCEPT


def decides(series: Series) -> str:
    """The option that has searches go by the figure of a series; empty for their own."""
    if series.of_counts:
        return " --cost"
    metric = duelled(series.metric, series.unit)
    return "" if metric in (None, COMPLETED) else f" --metric {metric}"
