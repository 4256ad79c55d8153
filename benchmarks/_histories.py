"""Simulated histories of commits, and searches for slower commits by several designs.

The machine and the duels are those of `benchmarks._duels`: a machine whose speed drifts, trials
and starts that scatter, rounds that the code that ships judges.
"""

from __future__ import annotations

import enum
import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from msgspec.structs import replace

from benchmarks._duels import RUN_S, RUNS, TRIM, Cell, Machine, Side, duel, run_of
from leaselab.analysis.comparison.ratio import Runs
from leaselab.analysis.duels.bisect import TRIES, End, Ending, Known, Limits, next_step
from leaselab.analysis.duels.culprits import BUILD_SD, Duelled, Gap
from leaselab.analysis.duels.duel import Answer, DuelVerdict, judge
from leaselab.analysis.duels.layouts import Cause, LayoutVerdict, OverLayouts
from leaselab.model.procedures.duel import Duel

COMMITS = 64
DEPLOY_S = 30.0
"""Time of one deployment (s), as seen on a local lab; builds are left out.  A duel has four,
two variants at two places, and a sweep has one."""
DROP = 0.05
GAIN, SCATTER = 0.1, 0.01
"""Of a commit that is faster, and of builds whose functions lie in another order (0..1)."""
LAYOUTS = 5
"""Orders in which a culprit and its parent are built."""
SWEEP_S = RUNS * RUN_S


class Kind(enum.Enum):
    """What a history holds; the value is the words for it."""

    NONE = "none"
    ONE = "one"
    TWO = "two"
    BROKEN = "one; 20 % do not build"
    GAIN = "one after a gain of 10 %"
    BUILDS = "one; builds scatter by 1 %"


@dataclass(frozen=True, slots=True)
class History:
    """Commits 1 to 64 after a good end."""

    speeds: Sequence[float]
    """Of each place, over that of the good end (ratio)."""
    culprits: frozenset[int]
    broken: frozenset[int]
    code: Sequence[float] = ()
    """The same by the code alone, whatever the order of its functions is."""
    scatter: float = 0.0
    """Relative standard deviation of builds of the same code (0..1)."""


def history_of(kind: Kind, seed: int) -> History:
    """Make up a history; builds differ by a little everywhere (`BUILD_SD`)."""
    chance = random.Random(f"history {kind.name} {seed}")  # noqa: S311 - a simulation
    places = range(1, COMMITS + 1)
    broken: set[int] = set()
    if kind is Kind.BROKEN:
        broken = {place for place in places[:-1] if chance.random() < 0.2}
    able = [place for place in places if place not in broken]
    many = {Kind.NONE: 0, Kind.TWO: 2}.get(kind, 1)
    culprits = frozenset(chance.sample(able[kind is Kind.GAIN :], many))
    gain = chance.randrange(1, min(culprits)) if kind is Kind.GAIN else None
    scatter = SCATTER if kind is Kind.BUILDS else BUILD_SD
    code, speeds = [1.0], [1.0]
    for place in places:
        change = 1 + GAIN if place == gain else 1 - DROP * (place in culprits)
        code.append(code[-1] * change)
        speeds.append(code[-1] * math.exp(scatter * chance.gauss(0, 1)))
    return History(speeds, culprits, frozenset(broken), code, scatter)


@dataclass(slots=True)
class Bench:
    """A machine on which commits of a history are measured."""

    history: History
    machine: Machine

    def duelled(self, older: int, newer: int, plan: Duel) -> Duelled | None:
        """Make a duel; None where it came to no verdict."""
        began_s = self.machine.now_s
        verdict = self.judged([self.history.speeds[place] for place in (older, newer)], plan)
        minutes = (self.machine.now_s - began_s - 4 * DEPLOY_S) / 60
        if verdict is None:
            return None
        return Duelled.of((older, newer), f"{began_s:012.3f}", minutes, verdict)

    def judged(self, speeds: Sequence[float], plan: Duel) -> DuelVerdict | None:
        """Make a duel of two servers with these speeds (ratio); None without a verdict."""
        self.machine.wait(4 * DEPLOY_S)
        plan = replace(plan, seed=f"{self.machine.now_s:.3f}")
        sides = [Side(self.machine, speed) for speed in speeds]
        return judge(plan, *duel(plan, self.machine, sides, both=True))

    def over_layouts(self, gap: Gap) -> OverLayouts:
        """Make duels of a culprit and its parent in several layouts."""
        history, made = self.history, []
        for seed in range(1, LAYOUTS + 1):
            speeds = [
                history.code[place] * math.exp(history.scatter * self.machine.noise.gauss(0, 1))
                for place in (gap.after, gap.place)
            ]
            verdict = self.judged(speeds, Duel(find=Limits().find))
            if verdict is not None:
                made.append(LayoutVerdict(seed, verdict.answer, verdict.ratio, verdict.error))
        return OverLayouts(tuple(made))

    def sweep(self, place: int) -> float:
        """Return the max rate of a commit, by nine runs (transactions/s)."""
        self.machine.wait(DEPLOY_S)
        side = Side(self.machine, self.history.speeds[place])
        return Runs(tuple(run_of(side) for _ in range(RUNS)), TRIM).mean


@dataclass(frozen=True, slots=True)
class Searched:
    """The outcome of a search."""

    named: frozenset[Gap]
    """What it names: commits after a place, up to another."""
    hours: float
    """Lab time, deployments included (h)."""
    steps: int
    """Duels or sweeps."""

    def right(self, history: History) -> bool:
        """Whether all culprits are named and nothing else is."""
        return len(self.named) == len(history.culprits) and not self.wrong(history)

    def wrong(self, history: History) -> bool:
        """Whether it names a gap without culprit, or more than indistinguishable commits."""
        return any(not _holds(gap, history) for gap in self.named)


def _holds(gap: Gap, history: History) -> bool:
    within = range(gap.after + 1, gap.place + 1)
    able = [place for place in within if place not in history.broken]
    return able == [gap.place] and gap.place in history.culprits


@dataclass(slots=True)
class _Hunt:
    bench: Bench
    steps: int = field(default=0)

    def ended(self, *named: Gap) -> Searched:
        hours = self.bench.machine.now_s / 3600
        return Searched(frozenset(named), hours, self.steps)


def _weighing(hunt: _Hunt) -> Searched:
    """`leaselab bisect`: the decisions that ship."""
    limits, history = Limits(), hunt.bench.history
    known = Known(COMMITS, (), history.broken)
    while not isinstance(step := next_step(known, limits), End):
        hunt.steps += 1
        plan = Duel(rounds=step.rounds, find=limits.find)
        made = hunt.bench.duelled(step.older, step.newer, plan)
        if made is not None:
            known = Known(COMMITS, (*known.duels, made), known.broken)
    named = step.culprits if step.ending is Ending.FOUND else ()
    return hunt.ended(*(culprit.gap for culprit in named))


def _laid_out(hunt: _Hunt) -> Searched:
    """The same with `--layouts`: a culprit is the code's if it is slower in each of them."""
    named = _weighing(hunt).named
    hunt.steps += LAYOUTS * len(named)
    return hunt.ended(
        *(gap for gap in named if hunt.bench.over_layouts(gap).cause is Cause.CODE)
    )


def _duels(hunt: _Hunt) -> Searched:
    """A plain bisection by duels: each answer is final; without one, more rounds follow."""
    broken = hunt.bench.history.broken

    def slower(older: int, newer: int) -> bool | None:
        for doubled in range(TRIES):
            hunt.steps += 1
            plan = Duel(rounds=Limits().rounds * 2**doubled)
            duel = hunt.bench.duelled(older, newer, plan)
            if duel is not None and duel.answer is not Answer.UNKNOWN:
                return duel.answer is Answer.SLOWER
        return None

    if not slower(0, COMMITS):
        return hunt.ended()
    good, bad = _halved(broken, lambda place: bool(slower(0, place)))
    return hunt.ended(*[Gap(good, bad)] * bool(slower(good, bad)))


def _sweeps(hunt: _Hunt, threshold: float) -> Searched:
    """`git bisect` with a sweep per step: bad is slower than the good end by so much."""

    def bad(place: int) -> bool:
        hunt.steps += 1
        return hunt.bench.sweep(place) < (1 - threshold) * base

    hunt.steps += 1
    base = hunt.bench.sweep(0)
    if not bad(COMMITS):
        return hunt.ended()
    return hunt.ended(Gap(*_halved(hunt.bench.history.broken, bad)))


def _halved(broken: frozenset[int], bad: Callable[[int], bool]) -> tuple[int, int]:
    """The last good and the first bad place, as `git bisect` with `skip` finds them."""
    good, first_bad = 0, COMMITS
    while able := [commit for commit in range(good + 1, first_bad) if commit not in broken]:
        place = min(able, key=lambda commit: abs(2 * commit - good - first_bad))
        if bad(place):
            first_bad = place
        else:
            good = place
    return good, first_bad


DESIGNS: dict[str, Callable[[_Hunt], Searched]] = {
    "leaselab bisect": _weighing,
    "leaselab bisect --layouts 5": _laid_out,
    "plain bisection by duels": _duels,
    "git bisect, sweeps, 5 %": lambda hunt: _sweeps(hunt, 0.05),
    "git bisect, sweeps, 2.5 %": lambda hunt: _sweeps(hunt, 0.025),
}
"""The designs, by the name in the table."""


def searched(design: str, kind: Kind, cell: Cell, seed: int) -> tuple[History, Searched]:
    """Search one history on a machine; the seed fixes all draws."""
    history = history_of(kind, seed)
    name = f"{design} {kind.name} {cell.name} {seed}"
    machine = Machine(cell, random.Random(name))  # noqa: S311 - a simulation
    return history, DESIGNS[design](_Hunt(Bench(history, machine)))
