"""The rounds of a duel: two points in turn, until there is an answer."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from itertools import takewhile

from leaselab.analysis.comparison.verdict import answer_word
from leaselab.analysis.duels.duel import LEAST_LOSS, MOST_APART, judge, places_differ
from leaselab.measure.overload import lifted, next_load, next_sight, sighted
from leaselab.measure.point import OpenRound, Point
from leaselab.measure.procedures.duel import DuelTrials
from leaselab.measure.procedures.method import none_counts
from leaselab.measure.trials import Trials
from leaselab.model.errors import LeaselabError, Outcome, invalid_measurement, server_broken
from leaselab.model.journal import Phase
from leaselab.model.procedure import RELOAD_S, STALLED_LIMIT
from leaselab.model.procedures.duel import (
    FILLINGS,
    LEAST_ROUNDS,
    MOST_DROPPED,
    OLD,
    PAUSE_S,
    SIGHT_S,
    Duel,
)
from leaselab.model.record import SERVER, Round


@dataclass(slots=True)
class DuelRounds:
    """The rounds of a duel: each measures both points.

    The order and the pause before a round are random, so that a periodic disturbance does not
    always affect the same point.
    """

    points: tuple[Point, Point]
    """A and B."""
    elsewhere: tuple[Trials, Trials] | None = None
    """Measures each point at the second address, where both are up at once; None where one is
    started after the other."""
    _here: tuple[Trials, ...] = field(init=False, default=())

    def __post_init__(self) -> None:
        """Keep the measuring object of each point at the first address."""
        self._here = tuple(point.trials for point in self.points)

    @property
    def _plan(self) -> Duel:
        plan: Duel = self.points[0].method.procedure
        return plan

    def run(self) -> None:
        """Make rounds until there is an answer; both points are finished then.

        A server that fails ends both points, its own with the error.  Raises the error of a
        broken lab; the journaled rounds can be resumed.
        """
        while not all(point.finished for point in self.points):
            try:
                decided = self._decided()
            except LeaselabError as error:
                for point in self.points:
                    point.end(error)
                return
            if decided:
                for point in self.points:
                    point.end()
            else:
                self._round()

    def _decided(self) -> bool:
        first, second = (point.rounds for point in self.points)
        both = min(len(first), len(second))
        if both < max(len(first), len(second)):
            return False
        self._refuse_dropped()
        if self.elsewhere and both == LEAST_ROUNDS:
            self._see_places()
        if both not in self._plan.looks:
            return False
        verdict = judge(self._plan, first, second)
        if verdict is not None:
            text = (
                f"look {verdict.look} of {verdict.looks}: B to A "
                f"{verdict.ratio:.3f}, {answer_word(verdict.answer, verdict.metric)}"
                f"{'' if verdict.final else ' yet'}"
                f"{'; may be worse: ' if verdict.waits else ''}{', '.join(verdict.waits)}"
            )
            self.points[0].listener(Phase(text=text))
        return both >= self._plan.rounds or (verdict is not None and verdict.final)

    def _refuse_dropped(self) -> None:
        """Say that the last round was dropped; raise invalid_measurement after several."""
        first, second = (point.rounds for point in self.points)
        pairs = [*zip(first, second, strict=True)]
        row = [*takewhile(lambda pair: any(one.is_dropped for one in pair), reversed(pairs))]
        if not row:
            return
        trials = [trial for one in row[0] for trial in one.trials if one.is_dropped]
        if len(row) >= MOST_DROPPED:
            raise none_counts(trials, f"the last {len(row)} rounds, and new loads for them")
        text = (
            f"round {row[0][0].index} is dropped: {trials[-1].reason}; looking for a load again"
        )
        self.points[0].listener(Phase(text=text))

    def _see_places(self) -> None:
        """Raise an invalid-measurement error where one address is far slower than the other.

        Otherwise one server of each round would be far below or far beyond its limit.
        """
        apart = places_differ(self._plan, *(point.rounds for point in self.points))
        if apart is not None and apart > MOST_APART:
            raise invalid_measurement(
                "the two places of the server's host differ, so no two servers can be compared "
                "there",
                where=self.points[0].trials.bench.hosts[SERVER].access.name,
                found=f"{apart:.0%} less completed at one address than at the other, after "
                f"{LEAST_ROUNDS} rounds",
                wanted=f"{MOST_APART:.0%} or less",
                todo="look at the device of the second place (leaselab lab check); without "
                "second addresses in the inventory, servers are up one after the other",
            )

    def _round(self) -> None:
        """Make the next round of both points, or of the one that lacks it after a kill."""
        first, second = self.points
        index = min(len(first.rounds), len(second.rounds)) + 1
        sides = [side for side in (0, 1) if len(self.points[side].rounds) < index]
        swapped = self._plan.order_of(index)
        order = sides[::-1] if swapped else sides
        if self.elsewhere:
            for side, point in enumerate(self.points):
                moved = side != swapped
                point.trials = (self.elsewhere if moved else self._here)[side]
        if len(sides) == 2:
            first.sleep(random.uniform(0.0, PAUSE_S))  # noqa: S311 - a pause, nothing secret
        at = _Current()
        try:
            if self.elsewhere and len(sides) == 2:
                self._together(index, order, at)
            else:
                for side in order:
                    (self._started if self._plan.starts else self._alone)(index, side, at)
        except LeaselabError as error:
            if error.outcome is Outcome.LAB:
                raise
            for side, point in enumerate(self.points):
                point.end(error if side == at.side else None)

    def _together(self, index: int, order: Sequence[int], at: _Current) -> None:
        """Run both at once, and alternate between them from trial to trial (A B B A …)."""
        with ExitStack() as stack:
            opened: dict[int, OpenRound] = {}
            for side in order:
                at.side = side
                opened[side] = stack.enter_context(self._serving(index, side, at))
            rate = self._load(index, opened, at)
            clients = self._clients(rate)
            for side in order:
                at.side = side
                self._ready(side, opened[side], rate, clients)
            old = self._is_old(index)
            for done, side in enumerate(order if old else ()):
                at.side = side
                self._age(side, opened[side], rate, clients, share=len(order) - done)
            for turn in range(self._plan.trials):
                for side in order if turn % 2 == 0 else reversed(order):
                    at.side = side
                    self._turn(side, opened[side], rate, clients)
            answers = {}
            for side in order:
                at.side = side
                answers[side] = self._method(side).answer(opened[side].made, clients, old=old)
        for side in order:
            self.points[side].complete(opened[side], answers[side])

    def _alone(self, index: int, side: int, at: _Current) -> None:
        """Run one point alone, for all of its trials of a round."""
        at.side = side
        with self._serving(index, side, at) as current:
            rate = self._load(index, {side: current}, at)
            clients = self._clients(rate)
            self._ready(side, current, rate, clients)
            if old := self._is_old(index):
                self._age(side, current, rate, clients)
            for _ in range(self._plan.trials):
                self._turn(side, current, rate, clients)
            answer = self._method(side).answer(current.made, clients, old=old)
        self.points[side].complete(current, answer)

    def _turn(self, side: int, current: OpenRound, rate: int, clients: int) -> None:
        """Make one trial of a point that counts."""
        operated = self.points[side].trials.server if self._plan.operates else None
        self._method(side).turn(current.ask, rate, clients, operated)

    def _started(self, index: int, side: int, at: _Current) -> None:
        """Start one point, and have it reload its data where the duel is about that.

        In the first round, it also has to serve a load.
        """
        at.side = side
        point = self.points[side]
        with self._serving(index, side, at) as current:
            if index == 1:
                self._prove(side, current)
            if self._plan.metric == RELOAD_S:
                current.took_s[RELOAD_S] = point.reload()
        self.points[side].complete(current, self._method(side).answer(current.made))

    def _prove(self, side: int, current: OpenRound) -> None:
        """Raise a server-broken error for a server that starts, and completes nothing."""
        load = self._method(side).looking(self._plan.rate, come_back=self._come_back)
        for _ in range(STALLED_LIMIT):
            trial = current.prepare(load, "proving that it serves")
            if trial.completed:
                return
        if trial.valid:
            raise server_broken(
                "the server starts, and completes nothing",
                where=self.points[side].trials.bench.hosts[SERVER].access.name,
                found=f"no transaction of {trial.attempted} at {trial.rate}/s",
                todo="read the trial's raw output, in raw/ of the result, or begin with a "
                "lower rate",
            )
        raise none_counts([trial], f"load of {trial.rate}/s")

    def _clients(self, rate: int) -> int:
        """Number of returning clients, the same in all rounds; 0 where each is new."""
        made = [one for one in self.points[0].rounds if not one.is_dropped]
        first = made[0].trials[-1].rate if made else rate
        return self._method(0).clients(first) * self._come_back

    def _is_old(self, index: int) -> bool:
        """Whether the servers of a round are to be old: also all that a verdict waits for."""
        if self._plan.is_old(index):
            return True
        verdict = judge(self._plan, *(point.rounds for point in self.points))
        return verdict is not None and OLD in verdict.waits

    def _age(
        self, side: int, current: OpenRound, rate: int, clients: int, share: int = 1
    ) -> None:
        """Let a server grow old, for one of so many shares of the time that is left."""
        seconds = math.ceil((self._plan.old_s - current.age_s) / share)
        if seconds > 0:
            load = self._method(side).aging(rate, clients, seconds)
            current.prepare(load, "letting the server grow old", reset=not clients)

    @property
    def _come_back(self) -> bool:
        """Whether clients can return in turn."""
        return all(point.trials.generator.takes_clients for point in self.points)

    def _ready(self, side: int, current: OpenRound, rate: int, clients: int) -> None:
        """Warm a server up, and fill it to the level of all trials."""
        if not clients:
            current.warm_up(rate)
            return
        for made in range(FILLINGS):
            load = self._method(side).filling(clients, made)
            served = current.prepare(load, "serving all clients", reset=False)
            if served.loss_ratio < LEAST_LOSS:
                break

    @contextmanager
    def _serving(self, index: int, side: int, at: _Current) -> Iterator[OpenRound]:
        point = self.points[side]
        current = point.open_round(index)
        try:
            with point.serving(current):
                yield current
        except LeaselabError as error:
            if at.side == side:
                point.abandon(current, error)
            raise

    def _method(self, side: int) -> DuelTrials:
        method = self.points[side].method
        if not isinstance(method, DuelTrials):
            raise AssertionError(f"a point of a duel is measured by {method}")
        return method

    def _load(self, index: int, opened: Mapping[int, OpenRound], at: _Current) -> int:
        """The load of a round: the same for both servers.

        Where it is not known, or the round before was dropped, one server searches its own
        load, and the other one that also exceeds its capacity, both with trials that do not
        count.  Of two that are up, A searches.
        """
        side = min(opened)
        first, second = (self._since_dropped(point.rounds, index) for point in self.points)
        ahead = next((one for point in self.points for one in point.rounds[index - 1 :]), None)
        if ahead is not None:  # the other one has made this round already
            rate = ahead.trials[-1].rate
            if self._plan.at_limit and not first and not ahead.is_dropped:
                self._lift(side, opened[side], at, rate)
            return rate
        if not self._plan.at_limit:
            if first:
                return first[0].trials[-1].rate
            return self._method(side).below(self._sight(side, opened[side], at))
        if len(second) == 1 and not self.elsewhere:
            return max(self._lifted(first[0], second[0]), next_load(self._plan, first, second))
        if first:
            return next_load(self._plan, first, second)
        rate = self._sight(side, opened[side], at)
        return self._lift(1, opened[1], at, rate) if len(opened) > 1 else rate

    def _since_dropped(self, rounds: Sequence[Round], index: int) -> Sequence[Round]:
        """The rounds before one of this index, from the last on that looked for a load."""
        before = rounds[: index - 1]
        dropped = (
            one.index
            for point in self.points
            for one in point.rounds[: index - 1]
            if one.is_dropped
        )
        return before[max(dropped, default=0) :]

    def _sight(self, side: int, sighting: OpenRound, at: _Current) -> int:
        """Search a load slightly above the capacity of a server."""
        at.side = side
        looked = len(sighting.warm_ups)
        while (rate := sighted(self._plan, sighting.warm_ups[looked:])) is None:
            wanted = next_sight(self._plan, sighting.warm_ups[looked:])
            self._look(side, sighting, wanted)
        return rate

    def _lift(self, side: int, sighting: OpenRound, at: _Current, rate: int) -> int:
        """Search a load that also exceeds the capacity of the other server."""
        at.side = side
        looked = len(sighting.warm_ups)
        while not (lift := lifted(self._plan, rate, sighting.warm_ups[looked:]))[1]:
            self._look(side, sighting, lift[0])
        return lift[0]

    def _look(self, side: int, sighting: OpenRound, rate: int) -> None:
        load = self._method(side).looking(rate, come_back=self._come_back)
        sighting.prepare(load, "looking for a load")

    def _lifted(self, *begun: Round) -> int:
        """The load that the second server of a round searched, which may have been lower."""
        other = begun[1 - self._plan.order_of(begun[0].index)]
        rate = other.trials[-1].rate
        looked = [
            trial
            for trial in other.warm_ups
            if trial.duration_s == SIGHT_S and trial.rate >= rate
        ]
        # Loads of the warm-up that followed the search may look like its own.
        lifts = (lifted(self._plan, rate, looked[:end]) for end in range(len(looked) + 1))
        return next((load for load, known in lifts if known), rate)


@dataclass(slots=True)
class _Current:
    """Which point is measured now (0: A, 1: B); an error is its failure."""

    side: int = 0
