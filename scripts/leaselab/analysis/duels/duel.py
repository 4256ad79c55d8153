"""Which of two servers is better by one figure: judged look by look, while a duel goes on.

Each round has both servers under one load, and is one logarithm of a ratio.  Rounds have one of
two orders (`Duel.order_of`), and another place for each server in each: the difference between
these two kinds of rounds is taken out, and what is left is noise.  The rounds that are farthest
off are dropped, at both ends alike.  Old rounds count with the others while they agree with
them.

A duel is judged several times.  Each look has a share of the permitted chance of an error; the
bounds (`leaselab.analysis.duels.sequential`) are those with which all looks together err as
often as was asked for.
"""

from __future__ import annotations

import enum
import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, replace

from leaselab.analysis.duels.estimate import Estimate, estimate, power
from leaselab.analysis.duels.sequential import bounds, constant
from leaselab.analysis.duels.starts import StartShare, start_share
from leaselab.analysis.figures.statistics import CONFIDENCE
from leaselab.model.procedure import COMPLETED as RATE
from leaselab.model.procedure import CPU, LOSS_KIND, MEMORY, P99, START_S
from leaselab.model.procedures.duel import OLD, Duel
from leaselab.model.record import Round

LOSS = LOSS_KIND.name
_RATES = frozenset({RATE, OLD})
"""Figures that are better the higher they are."""
LEAST_LOSS = 0.01
"""Loss (0..1) from which on a server is at its limit: with less, the load was not more than it
could serve, and the completed rate does not show its limit."""
_CAPPED = 0.25
"""Share of the rounds (0..1) from which on the faster server is not at its limit."""
_FLOOR = 1e-3
"""Completed rate that stands for none, over that of the other server (ratio)."""
MOST_APART = 0.1
"""By how much one place may be slower than the other (0..1)."""
_PLACE_ERRORS = 6.0
"""How many standard errors places have to differ by for it to be said of the first rounds."""
_MAY_BE = 0.2
"""One-sided p from which on down a figure may have got worse, so that a duel goes on for it."""
SHARES = {RATE: 0.75, CPU: 0.1, OLD: 0.05, P99: 0.04, MEMORY: 0.03, START_S: 0.03}
"""Which share of the false alarms each figure may make that is judged; together they are 1.
A figure that decides instead of the rate exchanges shares with it; one without a share of its
own has that of old rounds, which are there for the rate only."""


class Answer(enum.Enum):
    """What a duel says of the second server against the first; the value is the word for it.

    Slower is worse and faster is better by the figure that decides, whichever it is.
    """

    SLOWER = "slower"
    FASTER = "faster"
    SAME = "equal"
    UNKNOWN = "cannot tell"


class Said(enum.Enum):
    """What a duel says of one figure of the second server; the value is the word for it."""

    WORSE = "worse"
    LIKELY = "probably worse"
    EXCLUDED = "no change for the worse"
    """None as large as `Judged.bound`, which is less than what is looked for."""
    UNKNOWN = "too few rounds"


@dataclass(frozen=True, slots=True)
class Judged:
    """A figure that a duel judges; all but rates are better the lower they are."""

    name: str
    """As of a round's metrics."""
    ratio: float
    """That of the second server over that of the first."""
    ci95: tuple[float, float]
    """The intervals of all looks together hold the truth in 95 of 100 duels, so this one does,
    whenever a duel ends."""
    p: float
    """One-sided test that it did not get worse (0..1)."""
    least: float
    """Smallest change that is looked for (0..); half of it counts."""
    worse: bool
    """Whether it changed for the worse, by at least half of that."""
    bound: float
    """With the chance of an error that the duel was given for that, the change for the worse is
    smaller (0..)."""
    rounds: int
    """Rounds that have it."""

    @property
    def rises(self) -> bool:
        """Whether a rise is a change for the worse."""
        return self.name not in _RATES

    @property
    def counts(self) -> bool:
        """Whether the change, if it is one, is for the worse and large enough."""
        return (self.ratio - 1 if self.rises else 1 - self.ratio) > self.least / 2

    @property
    def said(self) -> Said:
        """The answer in a word: worse, or how much of that the rounds exclude."""
        low, high = self.ci95
        if self.worse:
            return Said.WORSE
        if self.counts and not low <= 1 <= high:
            return Said.LIKELY
        return Said.EXCLUDED if self.bound <= self.least else Said.UNKNOWN


@dataclass(frozen=True, slots=True)
class DuelVerdict:
    """What the rounds of a duel say so far."""

    main: Judged
    """The figure that decides."""
    answer: Answer
    error: float
    """Standard error of the logarithm of its ratio."""
    p: float
    """One-sided test that the servers are equal (0..1), towards the side of the ratio."""
    rounds: int
    """Rounds that count for it."""
    dropped: int
    """Rounds that were dropped, as no trial of one server counts in them."""
    look: int
    """Which look this was, from 1."""
    looks: int
    """How many there may be."""
    bound: float
    """With the chance of an error that the duel was given for that, the change is not larger
    (0..)."""
    power: float
    """Chance that a drop of the size that was to be found is called slower by as many rounds
    with this noise (0..1)."""
    further: float
    """How many times as many rounds with this noise find such a drop in 95 of 100 duels; 1
    where these do."""
    capped: bool
    """Whether the faster server was not at its limit: it is faster by at least so much."""
    correlated: bool
    """Whether there would be an answer, but rounds resemble the ones before, so that many
    rounds add little information to a few."""
    order: float
    """By how much the order of a round changes its ratio: of servers that are both up, the
    ratio of their places."""
    others: tuple[Judged, ...]
    """Further figures that were judged."""
    waits: tuple[str, ...]
    """Those of them that may have got worse, where there would be an answer without them."""
    final: bool
    """Whether the duel is over."""
    starts: StartShare | None = None
    """The share of the servers' starts in the variance of a round; None where the rounds do not
    show it, and of other figures than the completed rate."""

    @property
    def metric(self) -> str:
        """Name of the figure that decides."""
        return self.main.name

    @property
    def ratio(self) -> float:
        """That figure of the second server over that of the first."""
        return self.main.ratio

    @property
    def ci95(self) -> tuple[float, float]:
        """Its interval, as of `Judged`."""
        return self.main.ci95

    @property
    def worse(self) -> tuple[Judged, ...]:
        """The further figures that got worse."""
        return tuple(other for other in self.others if other.worse)

    @property
    def is_change(self) -> bool:
        """Whether the ratio differs from 1 by its interval, for any answer."""
        low, high = self.ci95
        return not low <= 1.0 <= high


def judge(plan: Duel, first: Sequence[Round], second: Sequence[Round]) -> DuelVerdict | None:
    """Judge the rounds so far; None before the first look.

    `first` and `second` are the rounds of the two servers, by their index.  Between two looks,
    what the last one said still stands: the error that was paid for is that of the looks.
    """
    indices = _of_both(first, second)
    due = [number for number in plan.looks if number <= len(indices)]
    if not due:
        return None
    seen = indices[: due[-1]]
    dropped = {one.index for one in (*first, *second) if one.is_dropped}
    counted = [index for index in seen if index not in dropped]
    if plan.at_limit:
        counted = _counted(counted, first, second)
    elif not plan.starts:
        # Where a load was looked for, more than A serves was tried: that stays in its memory.
        counted = [index for index in counted if index - 1 in counted]
    look = len(due)
    last = look == len(plan.looks)
    gains = _gains(plan.metric, counted, first, second)
    found = estimate(plan, gains, plan.wider)
    aged: Judged | None = None
    if of_old := _gains(OLD, counted, first, second):
        old = {index for index, _ in of_old}
        fresh = estimate(plan, [one for one in gains if one[0] not in old], plan.wider)
        if fresh is not None:
            aged = _judged(plan, look, _aged(plan, fresh, of_old), OLD)
            found = fresh if aged.worse or _may_be(aged) else found
    if found is None:
        return None
    alpha, beta = _alarm_bound(plan, look, plan.metric), _miss_bound(plan, look)
    others = tuple(
        _judged(plan, look, of_it, name)
        for name in plan.others
        if (of_it := estimate(plan, _gains(name, counted, first, second)))
    )
    others += (aged,) if aged else ()
    answer, p = _answer(plan, found, (alpha, beta), last=last)
    correlated = (
        answer
        is Answer.UNKNOWN
        is not _answer(plan, found.least_widened, (alpha, beta), last=last)[0]
    )
    waits: tuple[str, ...] = ()
    if answer is Answer.SAME and not last:
        waits = tuple(one.name for one in others if _may_be(one))
        answer = Answer.UNKNOWN if waits else answer
    low, high = _of_figure(plan.metric, found.interval(1 - 2 * beta))
    (order,) = _of_figure(plan.metric, (math.exp(found.order),))
    return DuelVerdict(
        main=_judged(plan, look, found, plan.metric),
        answer=answer,
        error=found.error,
        p=p,
        rounds=found.rounds,
        dropped=len(dropped.intersection(seen)),
        look=look,
        looks=len(plan.looks),
        bound=max(1 - low, high - 1),
        power=power(
            found.error,
            found.df,
            1 - plan.gain(-plan.find),
            alpha,
            least=1 - plan.gain(-plan.find / 2),
        ),
        further=_further(plan, found, alpha),
        capped=plan.at_limit and _is_capped(counted, first, second, found),
        correlated=correlated,
        order=order,
        others=others,
        waits=waits,
        final=last or answer is not Answer.UNKNOWN,
        starts=start_share(plan, counted, first, second) if plan.at_limit else None,
    )


def _of_both(first: Sequence[Round], second: Sequence[Round]) -> list[int]:
    """Indices of the rounds that both have made."""
    return sorted({one.index for one in first} & {one.index for one in second})


def _share(plan: Duel, name: str) -> float:
    """Which share of the false alarms a figure may make (0..1)."""
    if name == plan.metric:
        return SHARES[RATE]
    return SHARES.get(plan.metric, SHARES[OLD]) if name == RATE else SHARES[name]


def _alarm_bound(plan: Duel, look: int, name: str) -> float:
    """The p that a look has to stay below for a figure to be worse (0..1)."""
    chances = tuple(_share(plan, name) * chance for chance in plan.alarms)
    return bounds(plan.looks, chances)[look - 1]


def _miss_bound(plan: Duel, look: int) -> float:
    """The p that a look has to stay below for a drop to be excluded (0..1)."""
    return bounds(plan.looks, plan.misses)[look - 1]


def _sure(plan: Duel) -> float:
    """How sure the interval of each look has to be, so that all hold the truth (0..1)."""
    return 1 - 2 * constant(plan.looks, (1 - CONFIDENCE) / 2)


def last_bound(plan: Duel) -> float:
    """The p (0..1) that the last look has to stay below for a server to be called slower."""
    return _alarm_bound(plan, len(plan.looks), plan.metric)


def _may_be(figure: Judged) -> bool:
    """Whether a figure may have got worse by as much as counts, and more rounds will decide."""
    return figure.counts and not figure.worse and figure.p < _MAY_BE


def _judged(plan: Duel, look: int, found: Estimate, name: str) -> Judged:
    """Judge a figure at a look: its interval, and whether it got worse."""
    alpha, beta = _alarm_bound(plan, look, name), _miss_bound(plan, look)
    low, high = _of_figure(name, found.interval(1 - 2 * beta))
    low95, high95 = _of_figure(name, found.interval(_sure(plan)))
    one = Judged(
        name=name,
        ratio=_of_figure(name, (found.ratio,))[0],
        ci95=(low95, high95),
        p=found.p_below(1.0),
        least=plan.least(name),
        worse=False,
        bound=max(0.0, 1 - low if name in _RATES else high - 1),
        rounds=found.rounds,
    )
    return replace(one, worse=one.counts and one.p < alpha)


def _aged(plan: Duel, fresh: Estimate, values: Sequence[tuple[int, float]]) -> Estimate:
    """Estimate the mean of old rounds, of which there may be one: they scatter as all do."""
    level = [value - fresh.order * (2 * plan.order_of(index) - 1) for index, value in values]
    mean, count = statistics.fmean(level), len(level)
    squares = fresh.df * fresh.scatter**2 + math.fsum((value - mean) ** 2 for value in level)
    df = fresh.df + count - 1
    error = fresh.wider * math.sqrt(squares / df / count)
    return replace(fresh, mean=mean, error=error, df=df, rounds=count)


def _of_figure(name: str, gains: tuple[float, ...]) -> tuple[float, ...]:
    """Ratios of performance, ascending, as ratios of a figure, ascending."""
    return gains if name in _RATES else tuple(1 / gain for gain in gains[::-1])


def _answer(
    plan: Duel, found: Estimate, errors: tuple[float, float], *, last: bool
) -> tuple[Answer, float]:
    """The answer of one look, and its one-sided p.

    `errors` are the p of a false alarm and of a miss that this look has to stay below.

    A change counts from half of the drop that is to be found on: smaller ones do not count,
    however sure they are.  No change means that a drop of that size is
    excluded and, before the last look, that nothing looks like a gain; rounds that resemble the
    ones before make a change doubtful, and no change not.
    """
    alpha, beta = errors
    below, above = found.p_below(1.0), found.p_above(1.0)
    p = below if found.mean < 0 else above
    gain = plan.gain(plan.find / 2)
    if below < alpha and found.ratio < plan.gain(-plan.find / 2):
        return Answer.SLOWER, below
    if above < alpha and found.ratio > gain:
        return Answer.FASTER, above
    worse = plan.gain(-plan.find)
    if found.least_widened.p_above(worse) < beta and (found.ratio < gain or last):
        return Answer.SAME, p
    return Answer.UNKNOWN, p


def scatter(plan: Duel, first: Sequence[Round], second: Sequence[Round]) -> float | None:
    """Standard deviation of the rounds' logarithms about what their order makes of them (0..).

    None where too few rounds count.
    """
    seen = _of_both(first, second)
    found = estimate(plan, _gains(RATE, _counted(seen, first, second), first, second))
    return None if found is None else found.scatter


def places_differ(plan: Duel, first: Sequence[Round], second: Sequence[Round]) -> float | None:
    """By how much one place is slower than the other (0..1), of servers that are both up.

    None while it is not sure that they differ.
    """
    found = estimate(plan, _gains(RATE, _of_both(first, second), first, second))
    if found is None or abs(found.order) < _PLACE_ERRORS * found.order_error:
        return None
    return 1 - math.exp(-abs(found.order))


def _further(plan: Duel, found: Estimate, alpha: float) -> float:
    """How many times as many rounds find the drop with the power of the plan; at least 1."""
    from scipy.special import stdtrit  # noqa: PLC0415  # slow to import, seldom needed

    needed = float(stdtrit(10**6, 1 - alpha) + stdtrit(10**6, 1 - plan.missed))
    return max(1.0, (needed * found.error / math.log(plan.gain(-plan.find))) ** 2)


def _counted(seen: Sequence[int], first: Sequence[Round], second: Sequence[Round]) -> list[int]:
    """The rounds that count, of those with these indices.

    The load is raised until it is more than either server can serve; rounds count from then
    on, whichever of the two is fast in one.  Where it never is, they all do.  A round in which
    neither lost anything compares nothing, and favours neither.
    """
    lost = [_loss(rounds, seen) for rounds in (first, second)]
    loaded = [index for index in seen if max(of[index] for of in lost) >= LEAST_LOSS]
    settled = [index for index in loaded if min(of[index] for of in lost) >= LEAST_LOSS]
    return [index for index in loaded if not settled or index >= settled[0]]


def _is_capped(
    counted: Sequence[int], first: Sequence[Round], second: Sequence[Round], found: Estimate
) -> bool:
    """Whether the server that is faster has served nearly all that was offered."""
    lost = _loss(second if found.mean > 0 else first, counted)
    served = sum(lost[index] < LEAST_LOSS for index in counted)
    return served > _CAPPED * len(counted)


def _loss(rounds: Sequence[Round], seen: Sequence[int]) -> dict[int, float]:
    """What was lost in the rounds with these indices (0..1)."""
    of = {round_.index: round_.metrics.get(LOSS) for round_ in rounds}
    return {index: of[index] or 0.0 for index in seen}


def _gains(
    name: str, seen: Sequence[int], first: Sequence[Round], second: Sequence[Round]
) -> list[tuple[int, float]]:
    """Index and logarithm of the ratio of performance by a figure, of the rounds that have it.

    That is the ratio of the rate, and the inverse of the ratio of any other figure.
    """
    ones, others = (
        {round_.index: round_.metrics.get(name) for round_ in rounds}
        for rounds in (first, second)
    )
    found: list[tuple[int, float]] = []
    for index in seen:
        one, other = ones[index], others[index]
        if name in _RATES and one is not None and other is not None and max(one, other):
            # A server that completes nothing is slower by as much as can be.
            one, other = (max(rate, _FLOOR * max(one, other)) for rate in (one, other))
        if one and other:
            found.append((index, math.log(other / one if name in _RATES else one / other)))
    return found
