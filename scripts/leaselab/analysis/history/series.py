"""Each scenario from build to build: its figures as a series, and its changes."""

from __future__ import annotations

import enum
import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from leaselab.analysis.comparison.cost import CostVerdict
from leaselab.analysis.comparison.profile import ProfileDifference
from leaselab.analysis.duels.duel import Answer
from leaselab.analysis.history.detectors import LEARNT, Reading, Shape
from leaselab.model.changes import Acceptance, Culprit, Search
from leaselab.model.identity import Build
from leaselab.model.procedure import COMPLETED
from leaselab.model.procedures.duel import METRICS
from leaselab.model.source import SHORT

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Point:
    """One build of a series, with all its results together."""

    build: Build
    name: str
    """Server, version, short hash."""
    commit: str | None
    subject: str
    commit_date: str
    repository: str | None
    reading: Reading
    ci95: tuple[float, float] | None
    """95 % interval of what the reading is the logarithm of: its one result's own, or pooled of
    all; None where one has none."""
    ids: tuple[str, ...]
    """Of its results, oldest first."""
    at: str
    """When its first result was finished."""
    environments: frozenset[str | None]

    @property
    def value(self) -> float:
        """Its figure, or its ratio to the anchor."""
        return math.exp(self.reading.value)


class State(enum.Enum):
    """What is known of a change; the value is the word for it."""

    SUSPECTED = "suspected"
    CONFIRMED = "confirmed"
    REFUTED = "refuted"
    ACCEPTED = "accepted"


@dataclass(frozen=True, slots=True)
class Duel:
    """Two builds of one scenario that were measured against each other, and what it said."""

    scenario: str
    bench: str
    metric: str
    """The figure that decided."""
    first: Build
    second: Build
    answer: Answer
    """On the second against the first."""
    ratio: float
    error: float
    """Standard error of its logarithm."""
    ci95: tuple[float, float]
    ids: tuple[str, str]
    at: str
    """When it was finished."""
    capped: bool = False
    """Whether the ratio is only a limit, as the faster server was not at its own."""
    operations: tuple[str, ...] = ()
    """What was done to both in each trial."""


@dataclass(frozen=True, slots=True)
class CountChange:
    """What two counted builds do for each transaction, the second beside the first."""

    verdict: CostVerdict
    functions: ProfileDifference | None
    """By function; None where that is not known any more."""


Counts = Callable[[str, str], CountChange | None]
"""Compares two counts by the ids of their results; None where one has none."""


@dataclass(frozen=True, slots=True)
class Change:
    """A change of a series."""

    shape: Shape
    before: Point
    """The last build at the level before."""
    after: Point
    """The first build at the level after; of a creep, the build at which it was found."""
    detected: Point
    """The build by which it was found."""
    ratio: float
    """The level after over the level before, as detected: pages show `size`."""
    ci95: tuple[float, float] | None
    worse: bool
    detected_at: str
    """When the last of the results was finished that it took to find it."""
    moved_lab: bool
    """Whether the lab's environment is another one after it."""
    duel: Duel | None = None
    """The newest duel of a build before with one after."""
    culprit: Culprit | None = None
    """The commit that a search named for it."""
    search: Search | None = None
    """The newest search between the two builds that named none."""
    accepted: Acceptance | None = None
    counted: CountChange | None = None
    """What was counted of the two builds; None where they were timed."""

    @property
    def state(self) -> State:
        """What is known of it, with what somebody decided."""
        return State.ACCEPTED if self.accepted else self.measured

    @property
    def measured(self) -> State:
        """The state by search and duel: a duel without an answer leaves it suspected.

        Counts are exact, and confirm it by themselves.
        """
        if self.culprit is not None or self.counted is not None:
            return State.CONFIRMED
        if self.duel is None or self.duel.answer is Answer.UNKNOWN:
            return State.SUSPECTED
        wanted = Answer.SLOWER if self.worse else Answer.FASTER
        return State.CONFIRMED if self.duel.answer is wanted else State.REFUTED

    @property
    def size(self) -> tuple[float, tuple[float, float] | None]:
        """How large it is, a ratio and its interval: by what confirmed it, if anything did."""
        if self.culprit is not None:
            return self.culprit.ratio, self.culprit.ci95
        if self.duel is not None and self.measured is State.CONFIRMED:
            return self.duel.ratio, self.duel.ci95
        return self.ratio, self.ci95

    @property
    def settled_at(self) -> str:
        """When that duel confirmed or refuted it; empty while it is suspected."""
        return self.duel.at if self.duel and self.measured is not State.SUSPECTED else ""

    @property
    def last_before(self) -> Point:
        """The last build before it that is known: the culprit's parent, else `before`."""
        if self.culprit is None:
            return self.before
        return _renamed(self.before, self.culprit.parent, self.culprit.parent_subject)

    @property
    def first_after(self) -> Point:
        """The build since which it is so: the culprit, else `after`."""
        if self.culprit is None:
            return self.after
        return _renamed(self.after, self.culprit.commit, self.culprit.subject)


@dataclass(frozen=True, slots=True)
class Series:
    """The builds of one scenario in their order, and the changes among them."""

    scenario: str
    metric: str
    title: str
    """The metric in words."""
    unit: str
    bench: str
    environment: str | None
    """Of a series without anchor; one with an anchor may be of several."""
    anchor: str
    """The anchor's build in words; empty without one: then the machine's drift is in it."""
    of_duels: bool
    """Whether its ratios are those of duels."""
    of_counts: bool
    """Whether its figures were counted, and not timed."""
    points: tuple[Point, ...]
    changes: tuple[Change, ...]
    levels: tuple[tuple[int, int], ...]
    """First build of each level, and one past its last."""

    @property
    def enough(self) -> bool:
        """Whether there are builds enough for anything to be found."""
        return len(self.points) > (1 if self.of_counts else LEARNT)


def _renamed(point: Point, commit: str, subject: str) -> Point:
    """Another commit of the same server, which the series has not."""
    if point.commit == commit:
        return point
    return replace(point, name=commit[:SHORT], commit=commit, subject=subject, ids=())


def duelled(metric: str, unit: str) -> str | None:
    """Return the metric of duels that settle changes of a figure; None where none can.

    A rate, such as the max rate, is settled by the completed rate.
    """
    if metric in METRICS:
        return metric
    return COMPLETED if unit.endswith("/s") else None


def operations_of(row: Row) -> tuple[str, ...]:
    """Return what was done to the server under load, of a row of the index."""
    return tuple(json.loads(row["ruler"]).get("operations", ()))
