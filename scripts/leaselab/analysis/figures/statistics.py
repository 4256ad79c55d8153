"""The trimmed mean of a few runs, and how well it is known.

Nine runs with the highest and lowest dropped are not seven runs: the seven
survivors lie closer together than seven plain runs would, and their standard
deviation is about 30 % too small.  Tukey and McLaughlin take the error from the
*winsorized* sample instead, in which the dropped values are replaced by their
nearest kept neighbours.

The interval is of the session: where the runs have a trend, it is by their distances from a
line (`interval`).  What moved is no part of it, and is said beside it.  A comparison with
another session has it in its error (`lasting_error`), as that one may meet another level.
`leaselab dev bench sweeps` shows how often both hold.
"""

from __future__ import annotations

import itertools
import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from leaselab.model.errors import usage_error

CONFIDENCE = 0.95
# Of simulated sweeps that do not move, it calls up to 2 % unsteady; of those that move by 16 %,
# 72 to 99 % (benchmarks/results/sweeps.md).
TREND = 0.02
"""Chance of a trend among values in random order (0..1) below which there is one."""
LEAST_RUNS = 5
"""Fewest values that show whether they move."""
_EXACT = 20
"""Most values of which all orders are counted; the sums of more are normal enough."""


@dataclass(frozen=True, slots=True)
class Line:
    """The straight line through values in the order in which they were measured."""

    middle: float
    moved: float
    """How far it goes from the first value to the last."""
    level: tuple[float, ...]
    """The values without its slope."""
    error: float
    """Standard error of their trimmed mean."""

    @property
    def chance(self) -> float:
        """Standard error of `moved`: n - 1 over the root of the squares of the places."""
        n = len(self.level)
        return self.error * math.sqrt(12 * (n - 1) / (n + 1))

    @property
    def ends(self) -> tuple[float, float]:
        """The line at the first and at the last value."""
        return self.middle - self.moved / 2, self.middle + self.moved / 2


def check_trim(n: int, trim: int) -> None:
    """Raises usage_error unless something is left of n runs after trimming."""
    if trim < 0 or n <= 2 * trim:
        raise usage_error(
            "too few runs to drop the highest and lowest",
            found=f"{n} runs, trim {trim}",
            wanted=f"at least {2 * max(trim, 0) + 1} runs, or a smaller trim",
        )


def trimmed_indices(values: Sequence[float], trim: int) -> tuple[int, ...]:
    """Positions of the `trim` lowest and `trim` highest values, ascending.

    Of equal values the earlier counts as the lower.  Raises usage_error as `check_trim` does.
    """
    check_trim(len(values), trim)
    order = sorted(range(len(values)), key=lambda index: (values[index], index))
    return tuple(sorted(order[:trim] + order[len(order) - trim :]))


def trimmed_mean(values: Sequence[float], trim: int) -> float:
    """The mean of what is left of the values.  Raises usage_error as `check_trim` does."""
    check_trim(len(values), trim)
    kept = sorted(values)[trim : len(values) - trim]
    return math.fsum(kept) / len(kept)


def line(values: Sequence[float], trim: int) -> Line | None:
    """The line of Theil and Sen, which few wild values do not move.

    None where `standard_error` has none.
    """
    n, twos = len(values), list(itertools.combinations(enumerate(values), 2))
    middle = (n - 1) / 2
    slope = statistics.median(
        (late - early) / (after - before) for (before, early), (after, late) in twos
    )
    level = tuple(value - slope * (place - middle) for place, value in enumerate(values))
    error = standard_error(level, trim)
    if error is None:
        return None
    return Line(trimmed_mean(values, trim), slope * (n - 1), level, error)


def trend(values: Sequence[float], trim: int) -> Line | None:
    """The line through values whose order is no chance, else None; of five or more."""
    return line(values, trim) if len(values) >= LEAST_RUNS and order(values) < TREND else None


def order(values: Sequence[float]) -> float:
    """Kendall's p that values have no trend in their order (0..1); two equals count half."""
    n, twos = len(values), list(itertools.combinations(values, 2))
    rises = abs(sum((late > early) - (late < early) for early, late in twos))
    if n <= _EXACT:
        return min(1.0, 2.0 * _orders(n)[(len(twos) - rises + 1) // 2])
    sd = math.sqrt(n * (n - 1) * (2 * n + 5) / 18)
    return math.erfc(max(0, rises - 1) / sd / math.sqrt(2))


@lru_cache(maxsize=_EXACT)
def _orders(count: int) -> list[float]:
    """Share of the orders of so many values that have at most 0, 1, 2, ... inversions."""
    orders = [1]
    for number in range(2, count + 1):
        longer = [0] * (len(orders) + number - 1)
        for place, many in enumerate(orders):
            for more in range(number):
                longer[place + more] += many
        orders = longer
    return [many / math.factorial(count) for many in itertools.accumulate(orders)]


def interval(values: Sequence[float], trim: int) -> tuple[float, float] | None:
    """95 % confidence interval of the trimmed mean, of this session; None of one value left.

    The values are in the order in which they were measured.  Where they have a trend, their
    scatter is that about a line: the mean of what the server did in this time is known so well,
    however far it moved.
    """
    n, kept = len(values), len(values) - 2 * trim
    error, moving = standard_error(values, trim), trend(values, trim)
    if error is None:
        return None
    mean, reach = trimmed_mean(values, trim), quantile(kept - 1) * error
    if moving is not None:
        # Of a trend the ends are what is dropped, so that the kept ones are so many.
        plain = math.sqrt(_variance(moving.level) * (n - 1) / (n - 2) / kept)
        # A wild run makes the first one wide, few runs the second.
        steady = quantile(kept - 2) * moving.error * math.sqrt(n / kept)
        reach = min(quantile(n - 2) * plain, steady)
    return mean - reach, mean + reach


def quantile(freedom: float, chance: float = 1 - CONFIDENCE) -> float:
    """How many standard errors are exceeded with a chance, on either side (Student's t)."""
    from scipy.special import stdtrit  # noqa: PLC0415  # slow to import; `show` has no need of it

    return float(stdtrit(freedom, 1 - chance / 2))


def standard_error(values: Sequence[float], trim: int) -> float | None:
    """Tukey-McLaughlin standard error of the trimmed mean: s_w / ((1 - 2 k/n) sqrt(n)).

    s_w is the standard deviation of the winsorized values.  None when only
    one value is left after trimming: one value says nothing about its error.
    """
    n = len(values)
    check_trim(n, trim)
    if n - 2 * trim == 1:
        return None
    deviation = math.sqrt(_variance(winsorized(values, trim)))
    return deviation / ((1 - 2 * trim / n) * math.sqrt(n))


def lasting_error(values: Sequence[float], trim: int) -> float | None:
    """Standard error of the trimmed mean for a comparison with another session.

    None as `standard_error`, of which it is made and of `drift`.
    """
    error = standard_error(values, trim)
    return None if error is None else math.hypot(error, drift(values, trim))


def drift(values: Sequence[float], trim: int) -> float:
    """Standard deviation of the level of such a session, by how it moved in this one.

    Half of what a line moves beyond its chance: another session can differ by all of it.
    """
    found = line(values, trim) if len(values) >= LEAST_RUNS else None
    return math.sqrt(max(0.0, found.moved**2 - found.chance**2)) / 2 if found else 0.0


def winsorized(values: Sequence[float], trim: int) -> list[float]:
    """The values in ascending order, the trimmed ones replaced by their kept neighbours."""
    check_trim(len(values), trim)
    kept = sorted(values)[trim : len(values) - trim]
    return [kept[0]] * trim + kept + [kept[-1]] * trim


def spread(values: Sequence[float]) -> float | None:
    """Standard deviation of all values over their mean (ratio).

    None for one value, where the mean is 0, and where a value is below 0, as a slope may be: a
    ratio to a mean about 0 says nothing.
    """
    mean = math.fsum(values) / len(values)
    if len(values) < 2 or mean == 0 or min(values) < 0:
        return None
    return math.sqrt(_variance(values)) / mean


def _variance(values: Sequence[float]) -> float:
    mean = math.fsum(values) / len(values)
    return math.fsum((value - mean) ** 2 for value in values) / (len(values) - 1)
