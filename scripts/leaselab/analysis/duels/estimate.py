"""The mean of a duel's rounds, its error, and the power of a test by it."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, replace

from leaselab.analysis.duels.sequential import widening
from leaselab.analysis.figures.statistics import standard_error, trimmed_mean, winsorized
from leaselab.model.procedures.duel import Duel

# With 0.35, measured duels of a server in C would end a third sooner, those of a threaded one
# gain nothing or take longer.
TRIM = 0.15
"""Share of the rounds that is dropped at each end (0..1)."""
_TRIMMED_FROM = 12
"""Rounds from which on some are dropped: of fewer, each is missed for the error."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """The trimmed mean of the rounds' logarithms, without what their order does."""

    mean: float
    error: float
    """Standard error of the mean."""
    df: int
    """Degrees of freedom of the error."""
    order: float = 0.0
    """What the order does: half of the difference of its two kinds of rounds (logarithm)."""
    order_error: float = 0.0
    """Standard error of that."""
    wider: float = 1.0
    """By what factor the error is larger, as rounds resemble the ones before."""
    least_wider: float = 1.0
    """The least such factor, known of the bench."""
    rounds: int = 0
    """Number of rounds, with those that were dropped as outliers."""

    @property
    def scatter(self) -> float:
        """Standard deviation of the rounds' logarithms, without what their order does (0..)."""
        return self.error / self.wider * math.sqrt(self.rounds)

    @property
    def least_widened(self) -> Estimate:
        """The estimate by the bench's known autocorrelation instead of that of these rounds."""
        least = self.least_wider
        return replace(self, error=self.error / self.wider * least, wider=least)

    @property
    def ratio(self) -> float:
        """The ratio that the mean is the logarithm of."""
        return math.exp(self.mean)

    def interval(self, confidence: float) -> tuple[float, float]:
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


def trimmed(count: int) -> int:
    """How many rounds of so many are dropped at each end."""
    return int(TRIM * count) if count >= _TRIMMED_FROM else 0


# The scatter of a bench's earlier duels is no prior of this one.  Worth 3 to 8 degrees of
# freedom, and left out where an F test at 10 % contradicts it, it saved 3 to 8 % of the rounds
# of equal servers that scatter by 4.7 %; but where it was half of the truth, 1.8 to 2.9 % of
# them were called slower, not 1 %, and 6 to 8 % of drops were missed (2000 simulated duels).
def estimate(
    plan: Duel, values: Sequence[tuple[int, float]], least_wider: float = 1.0
) -> Estimate | None:
    """Estimate the mean of the rounds' logarithms (index, logarithm).

    Rounds of the two orders may have another mean each; the estimate is halfway between, and
    the error is of what is left without that, at least `least_wider` times.  None with fewer
    than two rounds of each order.
    """
    kinds = [
        [value for index, value in values if plan.order_of(index) == one] for one in (0, 1)
    ]
    if min(map(len, kinds)) < 2:
        return None
    order = (statistics.median(kinds[1]) - statistics.median(kinds[0])) / 2
    level = [value - order * (2 * plan.order_of(index) - 1) for index, value in values]
    count, trim = len(level), trimmed(len(level))
    mean, error = trimmed_mean(level, trim), standard_error(level, trim)
    if error is None:
        return None
    # The order has taken a degree of freedom, too.
    error *= math.sqrt((count - 1) / (count - 2))
    low, *_, high = winsorized(level, trim)
    wider = max(least_wider, widening([min(max(value, low), high) for value in level]))
    df = count - 2 * trim - 2
    return Estimate(mean, wider * error, df, order, error, wider, least_wider, count)


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
