"""The power of duels on a bench: by those of equal servers, and of one that is slowed down."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from leaselab.analysis.duels.duel import Answer, DuelVerdict, judge, last_bound, scatter
from leaselab.analysis.duels.estimate import power, trimmed
from leaselab.model.contest import Contest, contest_by
from leaselab.model.errors import BELIEVED
from leaselab.model.procedures.duel import MOST_WIDER, Duel
from leaselab.model.record import Record

POWER = 0.9
"""Share of the duels (0..1) that find the smallest drop."""
_STEPS = 40
LEAST_KNOWN = 9
"""Fewest degrees of freedom that show whether duels scatter more than their rounds explain."""
_BY_CHANCE = 2.0
"""Of duels that do not, 9 of 10 benches show a factor of the error below 1 and this over the
root of the degrees of freedom."""


@dataclass(frozen=True, slots=True)
class Side:
    """The duels of one kind: of equal servers, or of one that was slowed down."""

    duels: int
    slower: int
    """How many of them called B slower: false alarms, or drops that were found."""
    minutes: float
    """Mean lab time of one, without builds and deployments (min)."""
    ratio: float
    """Median of their ratios."""


@dataclass(frozen=True, slots=True)
class ErrorBudget:
    """The power of the duels of one scenario on one bench in one environment."""

    equal: Side | None
    slowed: Side | None
    slowdown: float
    """For which share of the time the slower server stood still (0..1); 0 without any."""
    scatter: float
    """Standard deviation of a round's ratio (0..1)."""
    smallest: float | None
    """Smallest drop that 90 of 100 duels find with all of their rounds (0..1); None where
    that would be more than half."""
    wider: float
    """By what factor the error of a duel is larger than its rounds say, as what wanders for
    longer than a duel takes is not seen in one (1..); 1 where that may be chance."""
    since: str
    """When the first of the duels began (UTC, ISO 8601)."""
    until: str
    """When the last of them began."""


def error_budget(
    duels: Sequence[tuple[Record, Record]], plan: Duel, slowdown: float | None = None
) -> ErrorBudget | None:
    """Sum up duels that calibrated a bench (A, B); None without one that came to a verdict.

    All are of one scenario, bench and environment.  Those count that were made as `plan` says,
    and that have no slowdown (0..1) or this one; without it, the one that is nearest to the
    drop that the plan is to find.
    """
    judged = [
        (contest, found)
        for base, other in duels
        if (contest := contest_by(base.procedure, base, other)) is not None
        and _alike(contest.plan, plan)
        and (found := _verdict(contest)) is not None
    ]
    if slowdown is None:
        known = {one for contest, _ in judged if (one := slowdown_of(contest.a))}
        slowdown = min(known, key=lambda one: abs(one - plan.find), default=0.0)
    judged = [one for one in judged if slowdown_of(one[0].a) in (0.0, slowdown)]
    if not judged:
        return None
    spreads = [spread for contest, _ in judged if (spread := _scatter(contest)) is not None]
    spread = math.sqrt(statistics.fmean(one * one for one in spreads)) if spreads else 0.0
    moments = sorted(contest.a.started_at for contest, _ in judged)
    return ErrorBudget(
        equal=_side([one for one in judged if not slowdown_of(one[0].a)]),
        slowed=_side([one for one in judged if slowdown_of(one[0].a)]),
        slowdown=max(slowdown_of(contest.a) for contest, _ in judged),
        scatter=spread,
        smallest=_smallest(spread, plan),
        wider=wider_error(
            [
                [
                    (math.log(found.ratio), spread / math.sqrt(found.rounds))
                    for contest, found in judged
                    if bool(slowdown_of(contest.a)) is slowed
                    and (spread := _scatter(contest)) is not None
                ]
                for slowed in (False, True)
            ]
        ),
        since=moments[0],
        until=moments[-1],
    )


def wider_error(kinds: Sequence[Sequence[tuple[float, float]]]) -> float:
    """By what factor duels scatter more than their rounds explain (1..).

    `kinds` are duels of equal servers, and of one that was slowed down: the logarithm of each
    ratio, and the standard error that its rounds explain.  1 where that may be chance.
    """
    equal, slowed = kinds
    middle = statistics.fmean(mean for mean, _ in slowed) if slowed else 0.0
    squares = math.fsum(mean * mean for mean, _ in equal)
    squares += math.fsum((mean - middle) ** 2 for mean, _ in slowed)
    known = len(equal) + max(0, len(slowed) - 1)
    errors = [error * error for _, error in (*equal, *slowed)]
    if known < LEAST_KNOWN or not any(errors):
        return 1.0
    wider = math.sqrt(squares / known / statistics.fmean(errors))
    if wider <= 1 + _BY_CHANCE / math.sqrt(known):
        return 1.0
    return min(MOST_WIDER, round(wider, 2))


def _alike(one: Duel, plan: Duel) -> bool:
    """Whether a duel has the power of one of a plan: as small a drop, by rounds as long."""
    same_errors = (one.rounds, one.errors) == (plan.rounds, plan.errors)
    return same_errors and one.ruler() == plan.ruler()


def _verdict(contest: Contest[Record]) -> DuelVerdict | None:
    """What a duel came to; None where it failed, or too few rounds count."""
    if not {contest.a.outcome, contest.b.outcome} <= BELIEVED:
        return None
    return judge(contest.plan, contest.a.rounds, contest.b.rounds)


def _scatter(contest: Contest[Record]) -> float | None:
    """How far the rounds of a duel scatter (0..); None where too few count."""
    return scatter(contest.plan, contest.a.rounds, contest.b.rounds)


def slowdown_of(record: Record) -> float:
    """By how much B was slowed down in a duel that calibrates (0..1); 0 in any other."""
    return (record.experiment.slowdown if record.experiment else None) or 0.0


def _side(judged: Sequence[tuple[Contest[Record], DuelVerdict]]) -> Side | None:
    if not judged:
        return None
    return Side(
        duels=len(judged),
        slower=sum(found.answer is Answer.SLOWER for _, found in judged),
        minutes=statistics.fmean(minutes_of(contest.a, contest.b) for contest, _ in judged),
        ratio=statistics.median(found.ratio for _, found in judged),
    )


def minutes_of(base: Record, other: Record) -> float:
    """Lab time of a duel, without builds, deployments and interruptions (min)."""
    both_up = base.experiment is not None and base.experiment.both_up
    # Where both are up, each of them was there for all of it.
    wall_s = max(base.wall_s, other.wall_s) if both_up else base.wall_s + other.wall_s
    return wall_s / 60


def _smallest(spread: float, plan: Duel) -> float | None:
    """The smallest drop that the last look finds with the wanted power (0..1)."""
    alpha = last_bound(plan)
    error = spread / math.sqrt(plan.rounds)
    df = plan.rounds - 2 * trimmed(plan.rounds) - 2

    def found(drop: float) -> bool:
        return power(error, df, drop, alpha, least=plan.find / 2) >= POWER

    low, high = 0.0, 0.5
    if not found(high):
        return None
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (low, middle) if found(middle) else (middle, high)
    return high
