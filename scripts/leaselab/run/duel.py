"""The rounds of a duel: two points in turn, until their rounds have an answer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from leaselab.analysis.duel import judge
from leaselab.measure.overload import next_load, next_sight, sighted
from leaselab.measure.procedures.duel import Turns
from leaselab.model.errors import LeaselabError, Outcome

if TYPE_CHECKING:
    from leaselab.measure.point import OpenRound, Point
    from leaselab.measure.trials import Trials
    from leaselab.model.procedures.duel import Duel


@dataclass(slots=True)
class Fight:
    """Two points, of which each round measures both."""

    points: tuple[Point, Point]
    """A, which the load follows, and B."""
    elsewhere: tuple[Trials, Trials] | None = None
    """How each is asked at the second place, where both are up at once; None where one is
    started after the other."""
    _here: tuple[Trials, ...] = field(init=False, default=())

    def __post_init__(self) -> None:
        """Remember how each is asked at the first place."""
        self._here = tuple(point.trials for point in self.points)

    @property
    def _plan(self) -> Duel:
        plan: Duel = self.points[0].method.procedure
        return plan

    def run(self) -> None:
        """Make rounds until there is an answer; both points are finished then.

        A server that fails ends both: its own point with the error.  Raises the error of a
        broken lab, and what is journaled can be gone on with.
        """
        while not all(point.finished for point in self.points):
            if self._decided():
                for point in self.points:
                    point.end()
            else:
                self._round()

    def _decided(self) -> bool:
        first, second = (point.rounds for point in self.points)
        both = min(len(first), len(second))
        if both < max(len(first), len(second)):
            return False
        verdict = judge(self._plan, first, second)
        if verdict is not None and both in self._plan.looks:
            self.points[0].listener.phase(
                f"look {verdict.look} of {len(self._plan.looks)}: B to A "
                f"{verdict.ratio:.3f}, {verdict.answer.value}"
                f"{'' if verdict.final else ' yet'}"
            )
        return both >= self._plan.rounds or (verdict is not None and verdict.final)

    def _round(self) -> None:
        """Make the next round of both, or of the one that a kill has left without it."""
        one, other = self.points
        index = min(len(one.rounds), len(other.rounds)) + 1
        sides = [side for side in (0, 1) if len(self.points[side].rounds) < index]
        even = index % 2 == 0
        order = sides[::-1] if even and index > 1 else sides
        if self.elsewhere:
            # A begins at its own place, and B elsewhere.
            for side, point in enumerate(self.points):
                moved = even if side == 0 else not even
                point.trials = (self.elsewhere if moved else self._here)[side]
        at = _Failing()
        try:
            if self.elsewhere and len(sides) == 2:
                self._together(index, order, at)
            else:
                for side in order:
                    self._alone(index, side, at)
        except LeaselabError as error:
            if error.outcome is Outcome.LAB:
                raise
            for side, point in enumerate(self.points):
                point.end(error if side == at.side else None)

    def _together(self, index: int, order: Sequence[int], at: _Failing) -> None:
        """Have both up, and change between them from trial to trial (A B B A …)."""
        with ExitStack() as stack:
            opened: dict[int, OpenRound] = {}
            for side in order:
                at.side = side
                opened[side] = stack.enter_context(self._serving(index, side, at))
            at.side = 0  # it is A whose load is looked for, or followed
            rate = self._load(opened.get(0))
            for side in order:
                at.side = side
                opened[side].warm_up(rate)
            for turn in range(self._plan.trials):
                for side in order if turn % 2 == 0 else reversed(order):
                    at.side = side
                    self._method(side).turn(opened[side].ask, rate)
            found = {}
            for side in order:
                at.side = side
                found[side] = self._method(side).found(opened[side].made)
        for side in order:
            self.points[side].complete(opened[side], found[side])

    def _alone(self, index: int, side: int, at: _Failing) -> None:
        """Have one up alone, for all of its trials of a round."""
        at.side = side
        with self._serving(index, side, at) as current:
            rate = self._load(current if side == 0 else None)
            current.warm_up(rate)
            for _ in range(self._plan.trials):
                self._method(side).turn(current.ask, rate)
            found = self._method(side).found(current.made)
        self.points[side].complete(current, found)

    @contextmanager
    def _serving(self, index: int, side: int, at: _Failing) -> Iterator[OpenRound]:
        point = self.points[side]
        current = point.open_round(index)
        try:
            with point.serving(current):
                yield current
        except LeaselabError as error:
            if at.side == side:
                point.abandon(current, error)
            raise

    def _method(self, side: int) -> Turns:
        method = self.points[side].method
        if not isinstance(method, Turns):
            raise AssertionError(f"a point of a duel is measured by {method}")
        return method

    def _load(self, sighting: OpenRound | None) -> int:
        """The load of the round: the same for both servers.

        Where it is not known, A looks for it, with trials that count for nothing.
        """
        first, second = (point.rounds for point in self.points)
        if len(first) > len(second):
            return first[-1].trials[-1].rate
        if first:
            return next_load(self._plan, first)
        if sighting is None:
            raise AssertionError("the first round begins with A")
        looked = len(sighting.warm_ups)
        while (rate := sighted(self._plan, sighting.warm_ups[looked:])) is None:
            wanted = next_sight(self._plan, sighting.warm_ups[looked:])
            sighting.warm_up(wanted, self._plan.trial_s)
        return rate


@dataclass(slots=True)
class _Failing:
    """Whose turn it is: whose an error is."""

    side: int = 0
