"""Duel: two servers under one load that is a little more than they can serve, in turn."""

from __future__ import annotations

import itertools
import math
import random
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, Final, Self

import msgspec

from leaselab.model.procedure import (
    AFTER_TRIAL,
    LOSS_KIND,
    MEDIAN,
    P99_KIND,
    PAUSE_LIMIT_S,
    ROUND_OVERHEAD_S,
    STALLED_LIMIT,
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

if TYPE_CHECKING:
    from collections.abc import Iterable

DUEL: Final = "duel"
"""Name of the procedure."""
LEAST_ROUNDS = 4
"""Fewest rounds that separate the noise from the order within a round: two of each order."""
_Half = Annotated[float, msgspec.Meta(gt=0, lt=0.5)]
_NO_RULER = frozenset({"rate", "max_rate", "find", "false_alarm", "missed"})
"""Parameters that may differ between results that are compared, beyond those of all."""
_FIRST_LOOK, _NEXT_LOOK = 5, 1.07
"""After how many rounds those so far are judged first, and how many times as many there are at
each later look: most duels end early, and no round is made in vain."""
_LAST_LOOK = 1.04
"""How many times as many the last look has at least: so few more rounds tell no more."""
_EARLY = 14
"""The rounds in which duels of servers end that are equal and quiet."""
_EARLY_MISSES, _LATE_MISSES = 0.4, 0.1
"""Shares of the permitted misses (0..1) that are spent in these, and in all rounds alike.  The
rest is kept back for what bounds of normal values leave out: dropped rounds, and small drops
that are called too small to count."""
_BLOCK = 4
"""Rounds of which half have one order, and half the other."""
PAUSE_S = 0.5
"""Longest pause before a round (s); how long it is, is up to chance."""
START_S, BESIDE_S = 0.7, 0.75
"""About what a round takes for each server beside its trials, and a trial beside its traffic
(s): a start, the proof that it serves, a stop; leaseload's own beginning, and its end once
nothing more is answered.  Other generators wait for `wait_s`."""
FILLING_SHARE, FILLINGS = 0.75, 3
"""Share of the rounds' load (0..1) at which the clients that come back are served for the first
time, and in how many trials at most: after the first, each has half of it for twice as long."""
LOSSLESS_S = 0.35
"""The same beside a trial that loses nothing (s): it ends with the last answer."""
SIGHT_S = 1
"""Length of a trial in which the first load is looked for (s)."""
SIGHTING_TRIALS = 30
"""Most trials in which the first load is looked for."""


@cache
def order_of(index: int) -> int:
    """Return which of its two orders a round has, by its index from 1: 0 or 1.

    Of each four rounds two have each.  Which ones is drawn by lot, so that nothing that comes
    again and again meets the same server each time; the lots are the same for every duel, so
    that one that was interrupted goes on as it began.
    """
    block, place = divmod(index - 1, _BLOCK)
    order = [0, 1] * (_BLOCK // 2)
    random.Random(f"duel {block}").shuffle(order)  # noqa: S311 - lots, nothing secret
    return order[place]


def _steps(spent: Iterable[float]) -> tuple[float, ...]:
    """Return by how much each is more than the one before."""
    return tuple(late - early for early, late in itertools.pairwise((0.0, *spent)))


class Duel(Unjudged, frozen=True, kw_only=True, tag=DUEL):
    """Two servers in turn under one load, until it is known which is faster.

    The load is a little above what the first of them can serve, so that what is completed is
    what a server can do.  It is looked for before the first round, and follows the first
    server from round to round; within a round both have the same.
    """

    rounds: Annotated[int, msgspec.Meta(ge=LEAST_ROUNDS, le=1000)] = 74
    """Most rounds of so many trials: the duel ends as soon as there is an answer."""
    trim: Annotated[int, msgspec.Meta(ge=0, le=500)] = 0
    """None is dropped: what disturbs a whole round cancels."""
    trials: Count = 1
    """Trials of each server in a round: more starts tell more than more trials of one."""
    trial_s: Length = 3
    """Length of a trial (s)."""
    late_s: ReplyTime = 0.5
    """A reply later than this after its request counts as lost (s)."""
    wait_s: ReplyTime = 1.0
    """How long the generator waits for replies after its last packet (s)."""
    over: Annotated[float, msgspec.Meta(gt=1, le=2)] = 1.08
    """Offered load over what the faster server completed (ratio)."""
    rate: Rate = 1000
    """Where the load is looked for first (transactions/s)."""
    max_rate: Rate = 200_000
    """Highest load that is offered (transactions/s)."""
    loss_ratio: Ratio = 0.005
    """Loss (0..1) that is no overload: a trial that loses more only by what its generator may
    have caused is made again."""
    clients_s: Annotated[int, msgspec.Meta(ge=0, le=60)] = 1
    """How many clients there are, as so many seconds of three quarters of the first round's
    load have (s): all are served before the trials, and come back in turn, so that both servers
    hold the same.  0: each client is a new one, and the server is emptied after each trial."""
    find: _Half = 0.03
    """Smallest drop that is to be found (0..1)."""
    false_alarm: _Half = 0.01
    """Chance that equal servers are called slower, over all looks (0..1); the same for
    faster."""
    missed: _Half = 0.05
    """Chance that a drop of `find` is not found, over all looks, where the answer is that
    there is none (0..1)."""

    @property
    def words(self) -> str:
        return (
            f"trials of {self.trial_s} s at a little more than A completes, "
            f"{self.trials} of each server in a round, {self.rounds} rounds at most, "
            f"replies within {self.late_s:g} s"
        )

    @property
    def errors(self) -> tuple[float, float, float]:
        """Which drop it is to find, and how often it may be wrong (0..1 each).

        Duels that differ in it end at another time, and answer another question.
        """
        return self.find, self.false_alarm, self.missed

    @property
    def ends_early(self) -> bool:
        return True

    @property
    def looks(self) -> tuple[int, ...]:
        """After how many rounds those so far are judged, ascending; the last is `rounds`."""
        numbers, at = [], float(min(_FIRST_LOOK, self.rounds))
        while at * _LAST_LOOK <= self.rounds:
            numbers.append(int(at))
            at = max(at + 1, at * _NEXT_LOOK)
        return (*numbers, self.rounds)

    @property
    def alarms(self) -> tuple[float, ...]:
        """The chance of a false alarm that each look has (0..1).

        They are spent with the root of the share of the rounds: early looks end most duels.
        """
        return _steps(self.false_alarm * math.sqrt(at / self.rounds) for at in self.looks)

    @property
    def misses(self) -> tuple[float, ...]:
        """The chance that a look has to exclude a drop that there is (0..1)."""
        early = (_EARLY_MISSES * math.sqrt(min(1.0, at / _EARLY)) for at in self.looks)
        late = (_LATE_MISSES * at / self.rounds for at in self.looks)
        return _steps(self.missed * sum(both) for both in zip(early, late, strict=True))

    @property
    def round_s(self) -> float:
        """About how long a round takes: both servers, one after the other or at once (s)."""
        trials_s = self.trials * (self.trial_s + BESIDE_S)
        return 2 * (self.ready_s + trials_s) + PAUSE_S / 2

    @property
    def ready_s(self) -> float:
        """About how long it takes from a server's start to its first trial (s)."""
        warm_up_s = max(self.warm_up_s, self.clients_s)
        return START_S + (warm_up_s + LOSSLESS_S if warm_up_s else 0.0)

    def within(self, seconds: float) -> Self:
        """Return it with as many rounds as about fit into a time (s).

        Raises a usage error for a time in which it could come to no answer.
        """
        rounds = int(seconds / self.round_s)
        if rounds < LEAST_ROUNDS:
            refuse(
                "too little time for a duel",
                f"{seconds:.0f} s",
                f"{LEAST_ROUNDS * self.round_s:.0f} s or more, for {LEAST_ROUNDS} rounds",
                "raise --budget",
            )
        return msgspec.structs.replace(self, rounds=rounds)

    @property
    def most_attempted(self) -> int:
        return self.max_rate * self.trial_s

    @property
    def longest_trial_s(self) -> float:
        return self.trial_s

    def ruler(self) -> dict[str, Any]:
        """As of every procedure.

        Where the load is looked for, and which errors are allowed, moves no figure.
        """
        known = Unjudged.ruler(self)
        return {name: value for name, value in known.items() if name not in _NO_RULER}

    @property
    def longest_s(self) -> float:
        beside = self.beside_s
        trials = self.trials + STALLED_LIMIT
        round_s = max(self.warm_up_s, FILLINGS * (2 * self.clients_s + beside)) + beside
        round_s += trials * (self.trial_s + beside) + ROUND_OVERHEAD_S + PAUSE_S
        sighting = SIGHTING_TRIALS * (SIGHT_S + beside)
        return self.rounds * round_s + 2 * sighting + PAUSE_LIMIT_S

    def metrics(self, plural: str) -> tuple[MetricKind, ...]:
        """Return what was completed, what it cost, how late, what was offered and lost.

        And how many clients came back in turn; None where each was a new one.
        """
        return (
            completed_kind(plural),
            cpu_kind(plural),
            P99_KIND,
            MetricKind("offered_rate", "offered load", f"{plural}/s", "neither"),
            LOSS_KIND,
            MetricKind("clients", "clients that come back", "clients", "neither", MEDIAN),
        )

    def check(self) -> None:
        """Raise a usage error for a duel that could come to no answer."""
        Unjudged.check(self)
        if self.rate > self.max_rate:
            refuse("out of range", f"rate {self.rate}", f"1 to max_rate {self.max_rate}")
        if self.reset != AFTER_TRIAL:
            refuse("a duel resets its servers itself", f"reset {self.reset}", AFTER_TRIAL)
