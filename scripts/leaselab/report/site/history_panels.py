"""The results of one metric, and their charts by bench: by commit, and over time."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from itertools import pairwise
from typing import Any

from leaselab.analysis.comparison.basis import base_of, to_anchor, turns
from leaselab.analysis.history.series import Series, State
from leaselab.model.errors import BELIEVED
from leaselab.model.procedures.cost import COST
from leaselab.model.server import server_name
from leaselab.model.source import SHORT
from leaselab.report.listing import sentence, with_unit
from leaselab.report.review.words import step_words
from leaselab.report.site.figure import Figure, figure
from leaselab.report.site.history_chart import Course, Mark, Step, history_chart
from leaselab.report.site.review import change_colour
from leaselab.report.site.vega import ASIDE, MEASURED
from leaselab.report.units import rows_in_shown_units

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Line:
    """Results of one scenario that are about the same metric."""

    scenario: str
    metric: str
    name: str
    """The scenario; with the metric's words where it was first measured for another one."""
    page: str
    """The same as the name of a file."""
    rows: Sequence[Row]
    """The index's, oldest first; at least one."""

    @property
    def title(self) -> str:
        """The metric in words."""
        return titles_of(self.rows[-1]).get(self.metric, self.metric)

    @property
    def unit(self) -> str:
        """The metric's unit."""
        return str(self.rows[-1]["unit"])

    @property
    def counted(self) -> bool:
        """Whether its figures are counts, and not timed."""
        return bool(self.rows[-1]["procedure"] == COST)


def lines_of(scenario: str, rows: Sequence[Row]) -> list[Line]:
    """The results of one scenario by metric; `rows` are the index's, oldest first."""
    by_metric: dict[str, list[Row]] = {}
    for row in _in_order(rows):
        by_metric.setdefault(row["metric"], []).append(row)
    lines = []
    for place, (metric, members) in enumerate(by_metric.items()):
        line = Line(scenario, metric, scenario, scenario, rows_in_shown_units(members))
        if place:
            line = replace(line, name=f"{scenario}, {line.title}", page=f"{scenario}.{metric}")
        lines.append(line)
    return lines


def _in_order(rows: Sequence[Row]) -> list[Row]:
    """Rows as they were measured; those of an experiment, which take turns, by commit date."""
    taking_turns: dict[str, list[Row]] = {}
    for row in rows:
        taking_turns.setdefault(row["experiment"] or row["id"], []).append(row)
    return [row for group in taking_turns.values() for row in sorted(group, key=_made)]


def _made(row: Row) -> tuple[float, str]:
    """When its commit was made, and when it was measured; packages come first."""
    made = row["commit_date"]
    return datetime.fromisoformat(made).timestamp() if made else 0.0, row["started_at"]


def titles_of(row: Row) -> dict[str, str]:
    """The metrics of a result in words, by their names."""
    titles: dict[str, str] = json.loads(row["titles"] or "{}")
    return titles


_DRAWN = 200
"""Newest results of a drawing; over time, a browser that runs scripts shows all."""
_NONE = "-"
_COLOURED = (
    "From a change of level on, dots have its colour: orange where it is suspected, red where "
    "a duel confirmed it for the worse, green for the better."
)

_COUNTED = (
    "Counts are exact: a line leads in steps from each counted commit to the next. A dashed "
    "line is a commit that does more (red) or less (green), of anything that was counted. The "
    "vertical axis spans 1 % or more."
)

_COUNTS = "A dot is a count. A dashed line is a change of the goal, listed below by its number."


@dataclass(frozen=True, slots=True)
class Panel:
    """The results of one bench in one environment: others are not set against these."""

    name: str
    charts: Sequence[Figure]
    marks: Sequence[Mark]


def _colours(series: Sequence[Series]) -> dict[str, str]:
    """The colour of each result of a build at a level that a change led to, by its id.

    That is the colour of the change; a change that a duel refuted leaves the colour before it.
    """
    colours: dict[str, str] = {}
    for each in series:
        begun = {
            change.after.build: change_colour(change)
            for change in each.changes
            if change.state in (State.SUSPECTED, State.CONFIRMED)
        }
        colour = MEASURED
        for point in each.points:
            colour = begun.get(point.build, colour)
            colours |= dict.fromkeys(point.ids, colour)
    return colours


def _steps(series: Sequence[Series]) -> Iterator[Step]:
    """The commits that changed the level, but for changes that a duel refuted."""
    for change in (change for each in series for change in each.changes):
        if change.after.commit and change.state is not State.REFUTED:
            yield Step(change.after.commit[:SHORT], step_words(change), change_colour(change))


class Drawing:
    """Draws the results of one line."""

    def __init__(
        self,
        line: Line,
        series: Sequence[Series],
        href: Callable[[Row], str],
        counts: Line | None = None,
    ) -> None:
        """`series` are those of the scenario, `href` says where a result is shown.

        `counts` are drawn below the line, by the same commits.
        """
        own = [each for each in series if each.of_counts == line.counted]
        self._line = line
        self._colours = {} if line.counted else _colours(own)
        # Those of a series without anchor are the figures, in another unit than is shown.
        self._points = {
            ident: point
            for each in own
            if each.anchor
            for point in each.points
            for ident in point.ids
        }
        self._series = own
        self._href = href
        self._below = Drawing(counts, series, href) if counts else None
        self.known = {row["id"]: row for row in line.rows}

    def panel(self, number: int, bench: str | None, environment: str | None) -> Panel:
        """The charts of one bench in one environment."""
        rows = self.rows(bench, environment)
        place = f"{bench}, environment {environment or _NONE}"
        marks = _goals(rows)
        suffix = f"-{number + 1}" if number else ""
        below = self._below.rows(bench, environment) if self._below else []
        charts = [*self._by_commit(rows, below, place, suffix)]
        if not (charts and self._line.counted):  # a count is the same at any time
            over_time = self._over_time(rows, marks, place, suffix)
            charts += [over_time] if over_time else []
        return Panel(place, charts, marks)

    def rows(self, bench: str | None, environment: str | None) -> list[Row]:
        """The results of one bench in one environment."""
        return [
            row
            for row in self._line.rows
            if (row["bench"], row["environment"]) == (bench, environment)
        ]

    def _over_time(
        self, rows: Sequence[Row], marks: Sequence[Mark], place: str, suffix: str
    ) -> Figure | None:
        points = [self._figure(row, row["started_at"]) for row in rows]
        drawn = points[-_DRAWN:]
        since = [mark for mark in marks if mark.at >= drawn[0]["at"]]
        draw = partial(history_chart, name=f"{self._line.name} over time, {place}")
        return figure(
            f"time{suffix}",
            f"{sentence(self._line.title)} over time",
            draw([Course(points, self._axis)], marks),
            drawn=draw([Course(drawn, self._axis)], since),
            note=_COUNTS
            if self._line.counted
            else _note(points, anchored=any(base_of(row, self.known) for row in rows)),
        )

    def _by_commit(
        self, rows: Sequence[Row], below: Sequence[Row], place: str, suffix: str
    ) -> Iterator[Figure]:
        """Commits in the order in which they were made, by each anchor; those with two.

        `below` are the counts of the same commits, or of others.
        """
        groups: dict[str, list[Row]] = {}
        for row in _built(rows):
            base = base_of(row, self.known)
            if base is not row:
                groups.setdefault(server_name(base) if base else "", []).append(row)
        for number, (anchor, members) in enumerate(groups.items()):
            chosen, counted = members[-_DRAWN:], _built(below)[-_DRAWN:]
            commits = list(dict.fromkeys(map(_commit, _built([*chosen, *counted]))))
            if len({row["commit"] for row in chosen}) < 2:
                continue
            courses = [self.course(chosen, anchor)]
            title = f"{sentence(self._line.title)} by commit"
            title += f", as a ratio to {anchor}" * bool(anchor)
            notes = [_commit_note(self._line, anchor, len(members))]
            if self._below and counted:
                courses.append(self._below.course(counted))
                title += f", and {self._below.title}"
                notes.append(_COUNTED)
            by_commit = figure(
                f"commits{suffix}{f'-to-{number}' if number else ''}",
                title,
                history_chart(
                    courses,
                    [],
                    name=f"{self._line.name} by commit, oldest first, {place}",
                    commits=commits,
                ),
                note=" ".join(notes),
            )
            if by_commit is not None:
                yield by_commit

    @property
    def title(self) -> str:
        """The metric in words."""
        return self._line.title

    def course(self, rows: Sequence[Row], anchor: str = "") -> Course:
        """The figures of commits on one bench in one environment, or ratios to an anchor."""
        axis = f"ratio to {anchor}" if anchor else self._axis
        points = [self._point(row) for row in rows]
        bench, environment = rows[0]["bench"], rows[0]["environment"]
        # A series with an anchor may be of several environments.
        near = [
            one
            for one in self._series
            if one.bench == bench and (one.anchor or one.environment == environment)
        ]
        return Course(points, axis, [*_steps(near)], exact=self._line.counted)

    @property
    def _axis(self) -> str:
        return with_unit(self._line.title, self._line.unit)

    def _point(self, row: Row) -> dict[str, Any]:
        """A point among commits: the ratio to its anchor, where it has one.

        A build of a series has the ratio and the interval that it has there.
        """
        point = self._figure(row, _commit(row))
        base = base_of(row, self.known)
        if base is None:
            return point
        known = self._points.get(row["id"])
        ratio = known or to_anchor(base, row)
        low, high = (ratio.ci95 if ratio else None) or (None, None)
        mean = ratio.value if ratio else None
        runs = [(rate / reference, False) for reference, rate in turns(base, row)]
        return {**point, "mean": mean, "low": low, "high": high, "runs": runs}

    def _figure(self, row: Row, at: str) -> dict[str, Any]:
        """A point of the chart, see `Course`; the anchor's are grey.

        A count has neither runs, which are equal, nor an interval.
        """
        exact = self._line.counted
        believed = row["outcome"] in BELIEVED and not exact
        runs = json.loads(row["rounds"] or "[]") if believed else []
        grey = base_of(row, self.known) is row
        return {
            "at": at,
            "label": server_name(row) + (f": {row['subject']}" if row["subject"] else ""),
            "mean": row["value"],
            "low": None if exact else row["ci_low"],
            "high": None if exact else row["ci_high"],
            "runs": [(value, dropped) for value, dropped in runs if value is not None],
            "href": self._href(row),
            "colour": ASIDE if grey else self._colours.get(row["id"], MEASURED),
            "alike": f"{row['ruler']} {row['durability']} {row['release']}",
        }


def _built(rows: Sequence[Row]) -> list[Row]:
    """Those of commits, in the order in which these were made."""
    return sorted((row for row in rows if row["commit"] and row["commit_date"]), key=_made)


def _commit(row: Row) -> str:
    """A commit on an axis; one with changes of a checkout is another."""
    return str(row["commit"][:SHORT] + ("*" if row["dirty"] else ""))


def _goals(rows: Sequence[Row]) -> list[Mark]:
    """A mark where the goal is not that of the result before."""
    known = [row for row in rows if row["value"] is not None]
    changed = [both for both in pairwise(known) if both[0]["ruler"] != both[1]["ruler"]]
    return [
        Mark(number, row["started_at"], _goal_change(before, row))
        for number, (before, row) in enumerate(changed, start=1)
    ]


def _goal_change(before: Row, row: Row) -> str:
    old, new = json.loads(before["ruler"]), json.loads(row["ruler"])
    return ", ".join(
        f"{name} {old.get(name)} to {value}"
        for name, value in new.items()
        if old.get(name) != value
    )


def _note(points: Sequence[Mapping[str, Any]], *, anchored: bool) -> str:
    text = (
        "A small dot is a run, a pale grey one was dropped; a large dot is the figure of "
        "a result, the line through it its 95 % interval. The drift of the machine is in these "
        "figures. A dashed line is a change of the goal, listed below by its number."
    )
    if anchored:
        text += " A grey dot is the anchor."
    if any(point["colour"] not in (MEASURED, ASIDE) for point in points):
        text += f" {_COLOURED}"
    if len(points) > _DRAWN:
        text += (
            f" The newest {_DRAWN} of {len(points)} are drawn; with scripts allowed, all are."
        )
    return text


def _commit_note(line: Line, anchor: str, count: int) -> str:
    text = "Commits stand in the order of their commit dates, not of their measurement"
    if count > _DRAWN:
        text += f"; the newest {_DRAWN} results of {count} are shown"
    if line.counted:
        return f"{text}. {_COUNTED}"
    rests = (
        f"Each is the ratio of the {line.title} to {anchor}, measured in turn with it: the "
        "drift of the machine cancels."
        if anchor
        else "Without an anchor, the drift of the machine is in these figures."
    )
    return f"{text}. {rests} {_COLOURED} A dashed line is such a change."
