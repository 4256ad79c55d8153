"""Which of two servers is faster: judged look by look, while a duel goes on.

Each round has both servers under one load, and is one logarithm of a ratio.  Rounds of odd
number have another order, and another place for each server, than those of even number: the
difference between these two kinds of rounds is taken out, and what is left is noise.

A duel is judged several times.  Each look has a share of the permitted chance of an error, and
the shares add up to 1: so over all looks the chance is at most what was asked for (Bonferroni's
inequality), whatever one look has to do with another.
"""

from __future__ import annotations

import enum
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from leaselab.analysis.statistics import CONFIDENCE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from leaselab.model.procedures.duel import Duel
    from leaselab.model.record import Round

LEAST_LOSS = 0.01
"""Loss of the first server (0..1) from which on a round counts: with less, the load was not
more than it could serve, and the completed rates tell nothing of what it could."""


class Answer(enum.Enum):
    """What a duel says of the second server against the first; the value is the word for it."""

    SLOWER = "slower"
    FASTER = "faster"
    SAME = "no change"
    UNKNOWN = "cannot tell"


@dataclass(frozen=True, slots=True)
class Estimate:
    """The mean of the rounds' logarithms, without what their order does."""

    mean: float
    error: float
    """Standard error of the mean."""
    df: int
    """Degrees of freedom of the error."""

    @property
    def ratio(self) -> float:
        """The ratio that the mean is the logarithm of."""
        return math.exp(self.mean)

    def interval(self, confidence: float = CONFIDENCE) -> tuple[float, float]:
        """Interval of the ratio (0..1 is how sure it is)."""
        from scipy.special import stdtrit  # noqa: PLC0415  # slow to import, seldom needed

        reach = float(stdtrit(self.df, (1 + confidence) / 2)) * self.error
        return math.exp(self.mean - reach), math.exp(self.mean + reach)

    def p_below(self, ratio: float) -> float:
        """Chance of a mean as low as this one, or lower, where `ratio` is true (0..1)."""
        from scipy.special import stdtr  # noqa: PLC0415  # as above

        away = self.mean - math.log(ratio)
        if not self.error:
            return 0.0 if away < 0 else 1.0
        return float(stdtr(self.df, away / self.error))

    def p_above(self, ratio: float) -> float:
        """Chance of a mean as high as this one, or higher, where `ratio` is true (0..1)."""
        return 1.0 - self.p_below(ratio)


@dataclass(frozen=True, slots=True)
class DuelVerdict:
    """What the rounds of a duel say so far."""

    answer: Answer
    ratio: float
    """Completed rate of the second server over that of the first."""
    error: float
    """Standard error of its logarithm."""
    ci95: tuple[float, float]
    p: float
    """One-sided test that the servers are equal (0..1), towards the side of the ratio."""
    rounds: int
    """Rounds that count."""
    look: int
    """Which look this was, from 1."""
    bound: float
    """With the chance of an error that the duel was given for that, the change is not larger
    (0..)."""
    power: float
    """Chance that a drop of the size that was to be found is called slower by as many rounds
    with this noise (0..1)."""
    cpu: tuple[float, tuple[float, float]] | None
    """Server CPU per transaction, second over first, and its 95 % interval; None where it is
    not known."""
    final: bool
    """Whether the duel is over."""


def judge(plan: Duel, first: Sequence[Round], second: Sequence[Round]) -> DuelVerdict | None:
    """Judge the rounds so far; None before the first look.

    `first` and `second` are the rounds of the two servers, by their index.  Between two looks,
    what the last one said still stands: the error that was paid for is that of the looks.
    """
    looks = [*plan.looks]
    indices = sorted({one.index for one in first} & {one.index for one in second})
    made = len(indices)
    due = [number for number in looks if number <= made]
    if not due:
        return None
    seen = indices[: due[-1]]
    return _look(plan, len(due), seen, first, second)


def _look(
    plan: Duel, look: int, seen: Sequence[int], first: Sequence[Round], second: Sequence[Round]
) -> DuelVerdict | None:
    ratios = _ratios(seen, first, second)
    found = estimate(ratios["completed_rate"])
    last = look == len(plan.looks)
    if found is None:
        return None
    spent = [*plan.looks.values()][look - 1]
    alpha, beta = spent * plan.false_alarm, spent * plan.missed
    answer, p = _answer(plan, found, (alpha, beta), last=last)
    cpu = estimate(ratios["cpu_us"])
    low, high = found.interval(1 - 2 * beta)
    return DuelVerdict(
        answer=answer,
        ratio=found.ratio,
        error=found.error,
        ci95=found.interval(),
        p=p,
        rounds=len(ratios["completed_rate"]),
        look=look,
        bound=max(1 - low, high - 1),
        power=power(found.error, found.df, plan.find, alpha, least=plan.find / 2),
        cpu=(cpu.ratio, cpu.interval()) if cpu is not None else None,
        final=last or answer is not Answer.UNKNOWN,
    )


def _answer(
    plan: Duel, found: Estimate, errors: tuple[float, float], *, last: bool
) -> tuple[Answer, float]:
    """The answer of one look, and its one-sided p.

    `errors` are the chances of a false alarm and of a miss that this look may have.

    A change counts from half of the drop that is to be found on: smaller ones are none that
    anybody looks for, however sure they are.  Before the last look, no change means neither a
    drop nor a gain of that size.
    """
    alpha, beta = errors
    below, above = found.p_below(1.0), found.p_above(1.0)
    p = below if found.mean < 0 else above
    if below < alpha and found.ratio < 1 - plan.find / 2:
        return Answer.SLOWER, below
    if above < alpha and found.ratio > 1 + plan.find / 2:
        return Answer.FASTER, above
    no_drop = found.p_above(1 - plan.find) < beta
    no_gain = found.p_below(1 + plan.find) < beta
    if no_drop and (no_gain or last):
        return Answer.SAME, p
    return Answer.UNKNOWN, p


def estimate(values: Sequence[tuple[int, float]]) -> Estimate | None:
    """Estimate the mean of the rounds' logarithms (index, logarithm).

    Rounds of odd and of even index may have another mean each; the estimate is halfway
    between, and the error is of what each scatters about its own.  None with fewer than two
    rounds of each kind.
    """
    kinds = [[value for index, value in values if index % 2 == parity] for parity in (0, 1)]
    if min(map(len, kinds)) < 2:
        return None
    means = [math.fsum(kind) / len(kind) for kind in kinds]
    squares = math.fsum(
        (value - mean) ** 2 for kind, mean in zip(kinds, means, strict=True) for value in kind
    )
    df = len(values) - 2
    variance = squares / df * math.fsum(1 / len(kind) for kind in kinds) / 4
    return Estimate(math.fsum(means) / 2, math.sqrt(variance), df)


def scatter(first: Sequence[Round], second: Sequence[Round]) -> float | None:
    """Standard deviation of the rounds' logarithms about what their order makes of them (0..).

    None where too few rounds count.
    """
    seen = sorted({one.index for one in first} & {one.index for one in second})
    values = _ratios(seen, first, second)["completed_rate"]
    found = estimate(values)
    return None if found is None else found.error * math.sqrt(len(values))


def power(error: float, df: int, drop: float, alpha: float, *, least: float) -> float:
    """Chance that a true drop is called slower by rounds with this standard error (0..1).

    That is: one-sided p below `alpha`, and a ratio below 1 - `least`.
    """
    from scipy.special import nctdtr, stdtr, stdtrit  # noqa: PLC0415  # as above

    if not error:
        return 1.0
    needed = max(float(stdtrit(df, 1 - alpha)), -math.log(1 - least) / error)
    away = -math.log(1 - drop) / error
    seen = 1.0 - float(nctdtr(df, away, needed))
    # Far out, where the function of scipy gives up, the plain t distribution is near enough.
    return seen if math.isfinite(seen) else float(stdtr(df, away - needed))


def _ratios(
    seen: Sequence[int], first: Sequence[Round], second: Sequence[Round]
) -> dict[str, list[tuple[int, float]]]:
    """By metric: index and logarithm of the ratio, of the rounds that count."""
    ones, others = ({one.index: one.metrics for one in rounds} for rounds in (first, second))
    found: dict[str, list[tuple[int, float]]] = {"completed_rate": [], "cpu_us": []}
    for index in seen:
        loss = ones[index].get("loss_ratio")
        if loss is None or loss < LEAST_LOSS:
            continue
        for name, ratios in found.items():
            one, other = ones[index].get(name), others[index].get(name)
            if one and other:
                ratios.append((index, math.log(other / one)))
    return found
