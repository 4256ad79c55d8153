"""Duel: two servers in turn under one load that is slightly more than they can serve."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Iterable
from functools import cache
from typing import Annotated, Any, Final, Literal, Self, get_args

import msgspec

from leaselab.model.procedure import (
    AFTER_TRIAL,
    BESIDE_S,
    COMPLETED,
    CPU,
    LOSS_KIND,
    MEDIAN,
    MEMORY,
    P99,
    P99_KIND,
    PAUSE_LIMIT_S,
    RELOAD_S,
    ROUND_OVERHEAD_S,
    SERVER_KINDS,
    STALLED_LIMIT,
    START_S,
    STARTED_S,
    Count,
    Length,
    MetricKind,
    Rate,
    Ratio,
    ReplyTime,
    Unjudged,
    completed_kind,
    cpu_kind,
    refuse,
)
from leaselab.model.procedures.operate import (
    Operate,
    Operations,
    Spacing,
)

DUEL: Final = "duel"
"""Name of the procedure."""
_OfOperations = Literal["stall_s", "recovered_s", "effect_s"]
_Metric = Literal[
    "completed_rate", "cpu_us", "p99_s", "memory_mib", "start_s", "reload_s", _OfOperations
]
METRICS: tuple[str, ...] = get_args(_Metric)
"""Figures that a duel can be about, the usual one first."""
OPERATED: tuple[str, ...] = get_args(_OfOperations)
"""Those of operations, which happen in each trial of a duel about one of them."""
OPERATING = ("operations", "before_s", "every_s")
"""Parameters of procedure operate that a duel has as well."""
OF_CODE = (COMPLETED, CPU)
"""Those that say how fast the code is under load."""
OLD = "old_rate"
"""Name of the metric of old rounds: their completed rate."""
LEAST = {
    OLD: 0.1,
    P99: 0.25,
    MEMORY: 0.1,
    START_S: 0.25,
    RELOAD_S: 0.25,
    **dict.fromkeys(OPERATED, 0.25),
}
"""Smallest change that a duel looks for, by figure (ratio, 0..)."""
LEAST_OTHERS = 0.03
"""The same for all other figures."""
BELOW = 0.7
"""Load over what the first server completes (ratio), where a duel is about neither rate nor
starts: both servers can serve it."""
LEAST_ROUNDS = 4
"""Fewest rounds that separate the noise from the order within a round: two of each order."""
_Half = Annotated[float, msgspec.Meta(gt=0, lt=0.5)]
_NO_RULER = frozenset(
    {"rate", "max_rate", "find", "false_alarm", "missed", "wider", "old_s", "seed"}
)
"""Parameters that may differ between results that are compared, beyond those of all."""
_FIRST_LOOK, _NEXT_LOOK = 5, 1.07
"""Rounds before the first look (interim analysis), and the factor of the rounds from one look
to the next: most duels end early, without needless rounds."""
_LAST_LOOK = 1.04
"""Least factor of the rounds of the last look to those of the one before: fewer additional
rounds add too little information."""
_EARLY = 14
"""Rounds after which duels of equal servers with little noise end."""
# Equal servers whose rounds scatter by 4.7 % took 29.5 rounds with 0.1 late, and take 25.2 with
# 0.3; 3.4 instead of 2.1 % of drops of 3 % are called equal (2000 simulated duels).
_EARLY_MISSES, _LATE_MISSES = 0.4, 0.3
"""Shares of the permitted misses (0..1) that are spent at those looks, and evenly over all
rounds.  The rest is a reserve for effects beyond normal noise: dropped rounds, and small drops
that are judged too small to count."""
MOST_WIDER = 10.0
"""Highest factor of the error: a bench that needs a higher one can compare nothing."""
_BLOCK = 4
"""Rounds in a block: half of them have one order, half the other."""
_OLD_EVERY = 16
"""One of so many rounds is old, the first one among them: the search for the load ages its
servers anyway."""
PAUSE_S = 0.5
"""Longest pause before a round (s); its length is random."""
# A server serves 0.6 of the load in a bad second, too.
FILLING_SHARE, FILLINGS = 0.6, 3
"""Share of the rounds' load (0..1) at which returning clients are first served, and most trials
for it: after the first, each trial has half the load for twice as long."""
LOSSLESS_S = 0.35
"""Time beside the traffic of a trial without loss (s): it ends with the last answer."""
SIGHT_S = 1
"""Length of a trial that searches the first load (s)."""
MOST_DROPPED = 3
"""Dropped rounds in a row, in which no trial of one server counts, after which a duel ends."""
SIGHTING_TRIALS = 30
"""Most trials that search the first load."""


@cache
def _order(seed: str, block: int) -> tuple[int, ...]:
    """Return the order of the servers in each round of a block: 0 or 1."""
    order = [0, 1] * (_BLOCK // 2)
    random.Random(f"{seed} {block}").shuffle(order)  # noqa: S311 - random order, nothing secret
    return tuple(order)


@cache
def _looks(rounds: int) -> tuple[int, ...]:
    """Return the numbers of rounds after which there is a look."""
    numbers, at = [], float(min(_FIRST_LOOK, rounds))
    while at * _LAST_LOOK <= rounds:
        numbers.append(int(at))
        at = max(at + 1, at * _NEXT_LOOK)
    return (*numbers, rounds)


@cache
def _alarms(rounds: int, chance: float) -> tuple[float, ...]:
    """Spread the chance of a false alarm over the looks."""
    return _steps(chance * math.sqrt(at / rounds) for at in _looks(rounds))


@cache
def _misses(rounds: int, chance: float) -> tuple[float, ...]:
    """Spread the chance of a miss over the looks."""
    early = (_EARLY_MISSES * math.sqrt(min(1.0, at / _EARLY)) for at in _looks(rounds))
    late = (_LATE_MISSES * at / rounds for at in _looks(rounds))
    return _steps(chance * sum(both) for both in zip(early, late, strict=True))


def _steps(spent: Iterable[float]) -> tuple[float, ...]:
    """Return the differences of successive values."""
    return tuple(late - early for early, late in itertools.pairwise((0.0, *spent)))


class Duel(Unjudged, frozen=True, kw_only=True, tag=DUEL):
    """Two servers in turn under one load, until the better one is known.

    The load is slightly above the capacity of the first server, so that the completed rate is
    the capacity of each.  It is searched before the first round, and follows the first server
    from round to round; within a round both servers have the same load.  For a metric other
    than the rate, it stays at a load that both can serve; a round for the time of a start or a
    reload has no load.
    """

    metric: _Metric = "completed_rate"
    """The figure that decides."""
    rounds: Annotated[int, msgspec.Meta(ge=LEAST_ROUNDS, le=1000)] = 74
    """Most rounds: the duel ends as soon as there is an answer."""
    trim: Annotated[int, msgspec.Meta(ge=0, le=500)] = 0
    """No round is dropped: a disturbance of a whole round cancels in the ratio."""
    # Of trials of 1 to 5 s, one to three a start, this needs the fewest minutes in simulations.
    trials: Count = 1
    """Trials of each server in a round: more server starts add more information than more
    trials per start."""
    trial_s: Length = 3
    """Length of a trial (s)."""
    late_s: ReplyTime = 0.5
    """A reply later than this after its request counts as lost (s)."""
    wait_s: ReplyTime = 1.0
    """How long the generator waits for replies after its last packet (s)."""
    over: Annotated[float, msgspec.Meta(gt=1, le=2)] = 1.08
    """Offered load over what the faster server completed (ratio)."""
    rate: Rate = 1000
    """Load at which the search begins (transactions/s)."""
    max_rate: Rate = 200_000
    """Highest load that is offered (transactions/s)."""
    loss_ratio: Ratio = 0.005
    """Loss (0..1) that is not an overload: a trial whose higher loss may be due to its
    generator is repeated."""
    clients_s: Annotated[int, msgspec.Meta(ge=0, le=60)] = 1
    """Number of clients, as the seconds for which 0.6 of the first round's load begins new ones
    (s): all are served before the trials and return in turn, so that both servers store the
    same. 0: each client is new, and the server is emptied after each trial."""
    find: Annotated[float, msgspec.Meta(ge=0, lt=0.5)] = 0
    """Smallest change for the worse that the duel is to find (0..1). 0: 0.03 of the rate and of
    CPU time, 0.1 of memory, 0.25 of times."""
    false_alarm: _Half = 0.01
    """Chance that equal servers are judged slower, over all looks (0..1); the same for
    faster."""
    missed: _Half = 0.05
    """Chance that a drop of `find` is not found, over all looks, where the answer is that
    there is none (0..1)."""
    wider: Annotated[float, msgspec.Meta(ge=1, le=MOST_WIDER)] = 1.0
    """Least factor of the standard error: by how much the duels that calibrate this bench
    scatter more than their rounds explain."""
    old_s: Annotated[int, msgspec.Meta(ge=0, le=600)] = 25
    """Least time from the start of the servers to their trials in old rounds (s): the first
    round, and one of each 16. 0: no round is old."""
    operations: Operations = ()
    """What is done to each server in a trial, where the metric is of operations; those of the
    scenario unless given."""
    before_s: Spacing = 5
    """Traffic before the first operation (s)."""
    every_s: Spacing = 15
    """Traffic from the begin of each operation to the next, or to the end (s)."""
    seed: str = DUEL
    """What the order of the servers in each round is drawn by: the id of the experiment, so
    that a resumed duel goes on with the same sequence, and no two duels have the same."""

    def __post_init__(self) -> None:
        """Set the smallest change by the metric, and trials that have room for operations."""
        super().__post_init__()
        if self.operates:
            # One longer than all of these stalls would meet clients that wait.
            msgspec.structs.force_setattr(self, "clients_s", 0)
            length_s = self.before_s + len(self.operations) * self.every_s
            msgspec.structs.force_setattr(self, "trial_s", length_s)
        if not self.find:
            msgspec.structs.force_setattr(self, "find", LEAST.get(self.metric, LEAST_OTHERS))

    @property
    def words(self) -> str:
        wider = f", errors {self.wider:g} times as large by the error budget"
        if self.starts:
            what = "starts" if self.metric == START_S else "reloads"
            return f"{what} without load, {self.rounds} rounds at most"
        load = "a little more than" if self.at_limit else f"{BELOW:.0%} of what"
        operated = f" with {', '.join(self.operations)}" if self.operates else ""
        return (
            f"trials of {self.trial_s} s{operated} at {load} A completes, "
            f"{self.trials} of each server in a round, {self.rounds} rounds at most, "
            f"replies within {self.late_s:g} s{wider if self.wider > 1 else ''}"
        )

    @property
    def errors(self) -> tuple[float, float, float]:
        """The drop that it is to find, and its permitted error rates (0..1 each).

        Duels that differ in these end at different times and answer different questions.
        """
        return self.find, self.false_alarm, self.missed

    @property
    def of_two(self) -> bool:
        return True

    @property
    def places(self) -> int:
        # An operation on what both share, such as a database, would meet the other server.
        return 1 if self.starts or self.operates else 2

    @property
    def at_limit(self) -> bool:
        """Whether the servers get more load than they can serve."""
        return self.metric == COMPLETED

    @property
    def starts(self) -> bool:
        """Whether a round only starts the servers, and loads neither."""
        return self.metric in (START_S, RELOAD_S)

    @property
    def operates(self) -> bool:
        return self.metric in OPERATED

    @property
    def others(self) -> tuple[str, ...]:
        """The figures that are judged in each round besides the one that decides.

        Where servers are operated, latency is that of the operations.
        """
        every: tuple[str, ...] = (COMPLETED, CPU, P99, MEMORY, START_S)
        if self.starts:
            every = (START_S,)
        elif self.operates:
            every = (COMPLETED, CPU, MEMORY, START_S)
        return tuple(name for name in every if name != self.metric)

    @property
    def judged(self) -> tuple[str, ...]:
        """All figures that are judged."""
        return (self.metric, *self.others, *[OLD] * (self.at_limit and bool(self.old_s)))

    def least(self, name: str) -> float:
        """Return the smallest change of a figure that is looked for (0..); half counts."""
        if name == self.metric:
            return self.find
        return LEAST.get(name, self.find if self.at_limit else LEAST_OTHERS)

    def order_of(self, index: int) -> int:
        """Return the order of the servers in a round, by its index from 1: 0 or 1.

        Of each four rounds, two have each order.  The choice is random, so that a periodic
        disturbance does not always affect the same server.  The first round begins with A,
        whose load is searched, and the fifth: what the first, old one differs by shows then.
        """
        block, place = divmod(index - 1, _BLOCK)
        return _order(self.seed, block)[place] ^ _order(self.seed, min(block, 1))[0]

    def is_old(self, index: int) -> bool:
        """Whether the servers of a round are to be old, by its index from 1."""
        return self.at_limit and bool(self.old_s) and index % _OLD_EVERY == 1

    @property
    def higher_is_better(self) -> bool:
        """Whether a lower value of the metric is a change for the worse."""
        return self.metric == COMPLETED

    def gain(self, change: float) -> float:
        """Return the ratio of performance where the metric changes by a share.

        `change` is above 0 for the better, below for the worse.
        """
        return 1 + change if self.higher_is_better else 1 / (1 - change)

    @property
    def ends_early(self) -> bool:
        return True

    @property
    def looks(self) -> tuple[int, ...]:
        """Numbers of rounds after which there is a look, ascending; the last is `rounds`."""
        return _looks(self.rounds)

    @property
    def alarms(self) -> tuple[float, ...]:
        """The chance of a false alarm of each look (0..1).

        They are spent by the square root of the share of rounds: early looks end most duels.
        """
        return _alarms(self.rounds, self.false_alarm)

    @property
    def misses(self) -> tuple[float, ...]:
        """The chance that a look wrongly excludes a real drop (0..1)."""
        return _misses(self.rounds, self.missed)

    @property
    def round_s(self) -> float:
        """Approximate time of a round: both servers, one after the other or at once (s)."""
        trials_s = 0.0 if self.starts else self.trials * (self.trial_s + BESIDE_S)
        return 2 * (self.ready_s + trials_s) + PAUSE_S / 2

    @property
    def ready_s(self) -> float:
        """Approximate time from a server's start to its first trial (s)."""
        warm_up_s = 0 if self.starts else max(self.warm_up_s, self.clients_s)
        return STARTED_S + (warm_up_s + LOSSLESS_S if warm_up_s else 0.0)

    def round_with_s(self, *, waits: bool) -> float:
        """Approximate time of a round by the generator (s).

        `waits`: it waits for `wait_s` after a trial with losses, and not for the last answer.
        """
        lossy = 2 * self.trials if waits and self.at_limit else 0
        return self.round_s + lossy * self.wait_s

    def within(self, seconds: float, *, waits: bool = False) -> Self:
        """Return it with approximately as many rounds as fit into a time (s).

        `waits` as in `round_with_s`.  Raises a usage error for a time too short for any answer.
        """
        round_s = self.round_with_s(waits=waits)
        rounds = int(seconds / round_s)
        if rounds < LEAST_ROUNDS:
            refuse(
                "too little time for a duel",
                f"{seconds:.0f} s",
                f"{LEAST_ROUNDS * round_s:.0f} s or more, for {LEAST_ROUNDS} rounds",
                "raise --budget",
            )
        return msgspec.structs.replace(self, rounds=rounds)

    @property
    def most_attempted(self) -> int:
        return self.max_rate * self.trial_s

    @property
    def longest_trial_s(self) -> float:
        return max(self.trial_s, self.old_s)

    def ruler(self) -> dict[str, Any]:
        """As of every procedure.

        The start of the search, the permitted error rates and the error do not affect the
        figure.
        """
        known = Unjudged.ruler(self)
        return {name: value for name, value in known.items() if name not in _NO_RULER}

    @property
    def longest_s(self) -> float:
        beside = self.beside_s
        trials = self.trials + STALLED_LIMIT
        round_s = max(self.warm_up_s, FILLINGS * (2 * self.clients_s + beside)) + beside
        round_s += trials * (self.trial_s + beside) + ROUND_OVERHEAD_S + PAUSE_S + self.old_s
        # After each round that is dropped, and before the first, both servers look for a load.
        sighting = SIGHTING_TRIALS * (SIGHT_S + beside)
        return self.rounds * (round_s + sighting) + 2 * sighting + PAUSE_LIMIT_S

    def metrics(self, plural: str) -> tuple[MetricKind, ...]:
        """Return the metrics: first the one that decides, then cost, latency, load and loss.

        Also the number of returning clients, None where each was new, and what old rounds
        completed.
        """
        completed = completed_kind(plural)
        kinds: tuple[MetricKind, ...] = (
            completed,
            cpu_kind(plural),
            P99_KIND,
            MetricKind("offered_rate", "offered load", f"{plural}/s", "neither"),
            LOSS_KIND,
            MetricKind("clients", "clients that come back", "clients", "neither", MEDIAN),
            MetricKind(
                OLD,
                f"{completed.title} {self.old_s} s after the start",
                completed.unit,
                "higher",
                MEDIAN,
                seldom=True,
            ),
        )
        if self.operates:
            kinds += Operate(operations=self.operations).metrics(plural)
        main = next(kind for kind in (*kinds, *SERVER_KINDS) if kind.name == self.metric)
        return (main, *(kind for kind in kinds if kind is not main and not self.starts))

    def check(self) -> None:
        """Raise a usage error for a duel that cannot reach an answer."""
        Unjudged.check(self)
        if self.rate > self.max_rate:
            refuse("out of range", f"rate {self.rate}", f"1 to max_rate {self.max_rate}")
        if self.reset != AFTER_TRIAL:
            refuse("a duel resets its servers itself", f"reset {self.reset}", AFTER_TRIAL)
