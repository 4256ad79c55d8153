"""Simulated comparisons of two servers on a machine that drifts, by several designs."""

from __future__ import annotations

import enum
import math
import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache

from msgspec.structs import replace

from benchmarks._servers import Shape
from leaselab.analysis.comparison.ratio import Runs, paired_ratio, ratio
from leaselab.analysis.duels.duel import (
    MOST_APART,
    Answer,
    DuelVerdict,
    judge,
    places_differ,
    scatter,
)
from leaselab.analysis.duels.error_budget import wider_error
from leaselab.measure.overload import lifted, next_load, next_sight, sighted
from leaselab.measure.ports import During
from leaselab.measure.procedures.duel import DuelTrials
from leaselab.model.procedure import BESIDE_S, STARTED_S
from leaselab.model.procedures.duel import (
    LEAST_ROUNDS,
    LOSSLESS_S,
    MOST_DROPPED,
    OLD,
    PAUSE_S,
    Duel,
)
from leaselab.model.record import GENERATOR_LIMITED, Round
from leaselab.model.trial import WHOLE, Load, Percentiles, Trial

PLAN = Duel()
CAPACITY = 6000.0
"""What the first server can complete on average (transactions/s)."""
P99_S = 0.1
"""What the first server's p99 is (s)."""
CPU_US = 60.0
"""CPU time of the first server for each (us)."""
RUN_S = 50.0
"""Time of one run of a max rate: a fifteenth of the 12.5 minutes of a sweep's nine and its
confirmation (s)."""
RUNS, TRIM, ALTERNATING = 9, 1, 9
"""Runs of a sweep, runs dropped at each end, and runs of each where whole runs alternate."""
TRIAL_S = 3
"""Length of the trial whose scatter a cell has (s)."""
DUELS_BY_ONE = 20
"""Duels that are made by one error budget; then the bench is calibrated again."""
DRIFT_S = (60.0, 3600.0)
"""Time constant of the machine's drift, drawn from this range with an even logarithm (s)."""


class Design(enum.Enum):
    """How two servers are compared; the value is the words for it."""

    SWEEPS = "two sweeps one after the other, 5 % threshold"
    RUNS = "whole runs alternating, 9 + 9"
    APART = "duel, one up at a time"
    BOTH = "duel, both up at once"


@dataclass(frozen=True, slots=True)
class Cell:
    """A machine and its noise; relative standard deviations (0..1)."""

    drift: float
    """Of the machine's speed, over times far longer than its time constant."""
    trial: float
    """Of the completed rate of a trial of 3 s, as independent from moment to moment; that of a
    run's max rate is two thirds of it."""
    start: float = 0.005
    """Of a server's speed from start to start."""
    place: float = 0.005
    """By how much the second place on the network is slower."""
    shape: Shape = Shape.NORMAL
    """How trials scatter."""
    spoiled: float = 0.0
    """Share of the trials that lose 40 % of what the server can complete."""
    knee: float = 0.0
    """How hard the server's limit is: completed and offered rate and capacity go together as
    ``completed ** -knee = offered ** -knee + capacity ** -knee``; 0 for a limit without a
    knee."""
    own: float = 0.0
    """Of the second server's own speed."""
    own_s: float = -PLAN.round_s / math.log(0.8)
    """Time constant of that (s): by default it is correlated by 0.8 from round to round."""
    pulse: float = 0.0
    """By how much the machine is slower for 5 s, again and again."""
    pulse_every_s: float = 2 * PLAN.round_s
    """How long it is from one such disturbance to the next (s)."""
    limited: float = 0.0
    """Share of the trials whose generator offers too little."""
    p99: float = 0.0
    """Of a trial's p99; 0 where it is unknown."""
    later: float = 0.0
    """By how much the second server's p99 is longer."""
    ages: float = 0.0
    """By how much the second server is slower from `AGES_S` after its start on."""
    cpu: float = 0.01
    """Of a trial's CPU time per transaction."""
    calibrated: int = 0
    """Duels of each kind in the error budget by which errors are taken; 0 without one."""
    effort: float = 1.0
    """By how many times more the second server's CPU time per transaction differs than its
    speed does."""
    fills: float = 0.0
    """By how much a transaction costs more for each second of `CAPACITY` that a server holds,
    over what it costs of one that holds nothing."""
    label: str = ""
    """Its name, where the fields above make it another machine."""

    @property
    def name(self) -> str:
        """Short and unique, in percent: ``drift-5-trial-3-heavy``."""
        if self.label:
            return self.label
        shape = "" if self.shape is Shape.NORMAL else f"-{self.shape.value}"
        return f"drift-{100 * self.drift:g}-trial-{100 * self.trial:g}{shape}"


@dataclass(frozen=True, slots=True)
class Ended:
    """How one comparison ended."""

    answer: Answer
    minutes: float
    """Lab time of it, without builds and deployments."""
    ratio: float
    holds: bool = True
    """Whether the interval holds the true ratio."""
    worse: bool = False
    """Whether another figure than the completed rate got worse."""


@dataclass(slots=True)
class Machine:
    """A machine whose speed drifts (Ornstein-Uhlenbeck), and its clock."""

    cell: Cell
    noise: random.Random
    now_s: float = 0.0
    own: float = field(init=False)
    """Speed of the second server beside the machine's (logarithm)."""
    _speed: float = field(init=False)
    _constant_s: float = field(init=False)
    _pulse_s: float = field(init=False)

    def __post_init__(self) -> None:
        """Draw how fast it drifts, and where it is."""
        low, high = map(math.log, DRIFT_S)
        self._constant_s = math.exp(self.noise.uniform(low, high))
        self._speed = self.cell.drift * self.noise.gauss(0, 1)
        self.own = self.cell.own * self.noise.gauss(0, 1)
        self._pulse_s = self.noise.uniform(0.0, self.cell.pulse_every_s)

    def wait(self, seconds: float) -> None:
        """Let time go by (s)."""
        self._speed = self._later(self._speed, self.cell.drift, seconds / self._constant_s)
        self.own = self._later(self.own, self.cell.own, seconds / self.cell.own_s)
        self.now_s += seconds

    def _later(self, value: float, spread: float, constants: float) -> float:
        kept = math.exp(-constants)
        return value * kept + spread * math.sqrt(1 - kept * kept) * self.noise.gauss(0, 1)

    def pulse(self, seconds: float) -> float:
        """What a disturbance leaves of the speed over the next seconds (0..1)."""
        if not self.cell.pulse:
            return 1.0
        every_s = self.cell.pulse_every_s
        since = (self.now_s - self._pulse_s) % every_s
        hit_s = max(0.0, min(seconds, PULSE_S - since))
        hit_s += max(0.0, since + seconds - every_s)
        return 1.0 - self.cell.pulse * min(hit_s, seconds) / seconds

    def scatter(self) -> float:
        """Error of a trial (standard deviations)."""
        if self.cell.shape is Shape.NORMAL:
            return self.noise.gauss(0, 1)
        return _quantiles(self.cell.shape)[self.noise.randrange(_STEPS)]

    def capacity(self, relative: float) -> float:
        """What a server can complete now (transactions/s)."""
        return CAPACITY * relative * math.exp(self._speed)


PULSE_S = 5.0
"""How long a disturbance takes (s)."""
AGES_S = 20.0
"""Time after its start from which on a server may be slower (s)."""
_STEPS = 20_000
_STEPS_OF_FILLING = 10
"""In how many steps a server fills in each second of a load."""


@cache
def _quantiles(shape: Shape) -> list[float]:
    """Draw one of these with equal chances: the scatter of each shape, in order."""
    return [shape.quantile((step + 0.5) / _STEPS) for step in range(_STEPS)]


@dataclass(slots=True)
class Side:
    """One of the two servers."""

    machine: Machine
    relative: float
    """Its speed over that of the first (ratio)."""
    second: bool = False
    started: float = 1.0
    """What the last start came to (ratio)."""
    held: float = 0.0
    """What it holds, over `CAPACITY` (s)."""
    since_s: float = 0.0
    """When it was started."""

    @property
    def age_s(self) -> float:
        """Time since its start (s)."""
        return self.machine.now_s - self.since_s

    def start(self, *, second_place: bool) -> None:
        """Start the server at a place."""
        cell = self.machine.cell
        self.held, self.since_s = 0.0, self.machine.now_s
        self.started = math.exp(cell.start * self.machine.noise.gauss(0, 1))
        if second_place:
            self.started *= 1 - cell.place

    def ask(
        self,
        load: Load,
        *,
        may_abort: bool = False,  # noqa: ARG002  # `Ask`'s
        reset: bool = True,
        during: During | None = None,  # noqa: ARG002  # as above
    ) -> Trial:
        """Run a trial: load beyond the capacity is lost."""
        machine, cell = self.machine, self.machine.cell
        scatter = cell.trial * math.sqrt(TRIAL_S / load.duration_s) * machine.scatter()
        off = math.exp(scatter + machine.own * self.second)
        capacity = machine.capacity(self.relative * self.started) * off
        capacity *= machine.pulse(load.duration_s)
        if self.second and self.age_s >= AGES_S:
            capacity *= 1 - cell.ages
        if cell.spoiled and machine.noise.random() < cell.spoiled:
            capacity *= 0.6
        attempted = load.rate * load.duration_s
        completed = min(attempted, round(self._served(load, capacity)))
        if reset:
            self.held = 0.0
        machine.wait(load.duration_s + (BESIDE_S if completed < attempted else LOSSLESS_S))
        limited = bool(cell.limited) and machine.noise.random() < cell.limited
        cost = CPU_US * self.relative**-cell.effort / machine.capacity(1.0) * CAPACITY
        return Trial(
            rate=load.rate,
            duration_s=load.duration_s,
            attempted=attempted,
            completed=completed,
            late=0,
            lost=attempted - completed,
            traffic_s=float(load.duration_s),
            cpu_us=cost * math.exp(cell.cpu * machine.noise.gauss(0, 1)),
            latency_s=self._latency(),
            valid=not limited,
            reason=GENERATOR_LIMITED if limited else "",
        )

    def _latency(self) -> dict[str, Percentiles | None]:
        """How long its replies take, where that is known."""
        cell, noise = self.machine.cell, self.machine.noise
        if not cell.p99:
            return {}
        p99 = P99_S * (1 + cell.later * self.second) * math.exp(cell.p99 * noise.gauss(0, 1))
        return {WHOLE: Percentiles(p50=p99, p90=p99, p99=p99, p999=p99, max=p99)}

    def _served(self, load: Load, capacity: float) -> float:
        """What it completes of a load (transactions), whose clients come back or are new."""
        fills, served = self.machine.cell.fills, 0.0
        steps = _STEPS_OF_FILLING * load.duration_s if fills else 1
        for _ in range(steps):
            now = self._completed(load.rate, capacity / (1 + fills * self.held))
            served += now * load.duration_s / steps
            held = self.held + now * load.duration_s / steps / CAPACITY
            self.held = min(held, load.clients / CAPACITY or math.inf)
        return served

    def _completed(self, offered: float, capacity: float) -> float:
        """What it completes of an offered rate (transactions/s)."""
        knee = self.machine.cell.knee
        if not knee:
            return min(offered, capacity)
        return capacity * math.pow(1 + math.pow(capacity / offered, knee), -1 / knee)


def compared(design: Design, cell: Cell, drop: float, seed: int) -> Ended:
    """Compare a server with one that is slower by `drop` (0..1); the seed fixes all draws."""
    machine, sides = _servers(cell, drop, str(seed))
    if design is Design.SWEEPS:
        return _sweeps(machine, sides)
    if design is Design.RUNS:
        return _alternating(machine, sides)
    wider = _known(cell, seed // DUELS_BY_ONE) if cell.calibrated else 1.0
    plan = replace(PLAN, wider=wider, seed=str(seed))
    return _duel(plan, machine, sides, both=design is Design.BOTH)


def _servers(cell: Cell, drop: float, seed: str) -> tuple[Machine, Sequence[Side]]:
    machine = Machine(cell, random.Random(f"{cell.name} {drop} {seed}"))  # noqa: S311 - a simulation
    return machine, (Side(machine, 1.0), Side(machine, 1.0 - drop, second=True))


@cache
def _known(cell: Cell, number: int) -> float:
    """Calibrate the bench by duels of equal servers and of slower ones: the error's factor."""
    kinds: tuple[list[tuple[float, float]], ...] = ([], [])
    for drop, kind in zip((0.0, PLAN.find), kinds, strict=True):
        for pair in range(cell.calibrated):
            machine, sides = _servers(cell, drop, f"calibrating {number} {pair}")
            plan = replace(PLAN, seed=f"calibrating {number} {pair}")
            rounds = duel(plan, machine, sides, both=True)
            verdict, spread = judge(plan, *rounds), scatter(plan, *rounds)
            if verdict is not None and spread is not None:
                error = spread / math.sqrt(verdict.rounds)
                kind.append((math.log(verdict.ratio), error))
    return wider_error(kinds)


def _sweeps(machine: Machine, sides: Sequence[Side]) -> Ended:
    first, second = ([run_of(side) for _ in range(RUNS)] for side in sides)
    change = ratio(Runs(tuple(first), TRIM), Runs(tuple(second), TRIM))
    slower = change.value < 0.95 and bool(change.differs)
    answer = Answer.SLOWER if slower else Answer.SAME
    return Ended(answer, machine.now_s / 60, change.value)


def _alternating(machine: Machine, sides: Sequence[Side]) -> Ended:
    made: tuple[list[float], list[float]] = ([], [])
    for index in range(ALTERNATING):
        for side in (0, 1) if index % 2 == 0 else (1, 0):
            made[side].append(run_of(sides[side]))
    change = paired_ratio(*made)
    one_sided = (change.p or 0.0) / 2
    slower = change.value < 0.985 and one_sided < 0.01
    return Ended(Answer.SLOWER if slower else Answer.SAME, machine.now_s / 60, change.value)


def run_of(side: Side) -> float:
    """One run of a max rate (transactions/s)."""
    machine = side.machine
    machine.wait(RUN_S)
    side.start(second_place=False)
    off = math.exp(machine.cell.trial / 1.5 * machine.scatter())
    return machine.capacity(side.relative * side.started) * off


def _duel(plan: Duel, machine: Machine, sides: Sequence[Side], *, both: bool) -> Ended:
    rounds = duel(plan, machine, sides, both=both)
    verdict = judge(plan, *rounds)
    if verdict is None or not verdict.final:
        return Ended(Answer.UNKNOWN, machine.now_s / 60, 1.0, holds=False)
    low, high = verdict.ci95
    holds = low <= sides[1].relative <= high
    minutes = machine.now_s / 60
    return Ended(verdict.answer, minutes, verdict.ratio, holds, bool(verdict.worse))


def duel(
    plan: Duel, machine: Machine, sides: Sequence[Side], *, both: bool
) -> tuple[list[Round], list[Round]]:
    """Make the rounds of a duel, until there is an answer or no round left; those of each."""
    fight = _Fight(plan, machine, sides, both)
    while not fight.ended():
        fight.round()
    return fight.rounds


@dataclass(slots=True)
class _Fight:
    """A duel that goes on."""

    plan: Duel
    machine: Machine
    sides: Sequence[Side]
    both: bool
    rounds: tuple[list[Round], list[Round]] = field(default_factory=lambda: ([], []))
    clients: int = 0
    begun: int = 0
    """Rounds before the last search for a load."""
    verdict: DuelVerdict | None = None
    """By the rounds so far."""

    def ended(self) -> bool:
        """Whether there is an answer, or no round left."""
        plan, rounds = self.plan, self.rounds
        made = len(rounds[0])
        dropped = [any(one.is_dropped for one in pair) for pair in zip(*rounds, strict=True)]
        if dropped and dropped[-1]:
            self.begun = made
        if sum(dropped[-MOST_DROPPED:]) == MOST_DROPPED or made >= plan.rounds:
            return True
        apart = places_differ(plan, *rounds) if self.both and made == LEAST_ROUNDS else None
        self.verdict = judge(plan, *rounds)
        return (apart or 0.0) > MOST_APART or bool(self.verdict and self.verdict.final)

    def round(self) -> None:
        """Make the next round."""
        plan, turns = self.plan, DuelTrials(self.plan)
        index = len(self.rounds[0]) + 1
        order = (1, 0) if plan.order_of(index) else (0, 1)
        self.machine.wait(self.machine.noise.uniform(0.0, PAUSE_S))
        looks = self.begun == index - 1
        if looks:
            for side in order:
                self._start(side, index)
                self.machine.wait(STARTED_S)
            rate = _sighted(turns, self.sides)
            self.clients = self.clients or turns.clients(rate)
        else:
            rate = next_load(plan, *(of[self.begun :] for of in self.rounds))
        waits = self.verdict.waits if self.verdict else ()
        old = plan.is_old(index) or OLD in waits
        made: tuple[list[Trial], list[Trial]] = ([], [])
        for up in [order] if self.both else [order[:1], order[1:]]:
            for side in up:
                if not looks:
                    self._start(side, index)
                self.sides[side].held = self.clients / CAPACITY
                self.machine.wait(plan.ready_s)
            for done, side in enumerate(up if old else ()):
                left_s = math.ceil((plan.old_s - self.sides[side].age_s) / (len(up) - done))
                if left_s > 0:
                    self.sides[side].ask(turns.aging(rate, self.clients, left_s), reset=False)
            for turn in range(plan.trials):
                for side in up if turn % 2 == 0 else up[::-1]:
                    made[side].append(turns.turn(self.sides[side].ask, rate, self.clients))
        for side in (0, 1):
            self.rounds[side].append(_round(index, made[side], turns, old=old))

    def _start(self, side: int, index: int) -> None:
        self.sides[side].start(second_place=self.both and side != self.plan.order_of(index))


def _sighted(turns: DuelTrials, sides: Sequence[Side]) -> int:
    """Look for a load, as the first round does."""
    plan = turns.procedure
    looked: list[Trial] = []
    while (rate := sighted(plan, looked)) is None:
        wanted = next_sight(plan, looked)
        looked.append(sides[0].ask(turns.looking(wanted, come_back=True)))
    made: list[Trial] = []
    while not (lift := lifted(plan, rate, made))[1]:
        made.append(sides[1].ask(turns.looking(lift[0], come_back=True)))
    return lift[0]


def _round(index: int, made: Sequence[Trial], turns: DuelTrials, *, old: bool) -> Round:
    return Round(
        index=index,
        started_at="1970-01-01T00:00:00Z",
        metrics={**turns.answer(made, old=old).metrics, "cpu_us": turns.procedure.cpu_us(made)},
        traffic_s=0.0,
        wall_s=0.0,
        trials=tuple(made),
    )
