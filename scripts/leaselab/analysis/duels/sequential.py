"""How sure each look at growing data has to be, so that all together err as often as asked.

Looks at the same data are alike: who errs at one has often erred at the one before.  The bounds
here are exact for a sum of normal values whose number grows from look to look: the distribution
of the sums that have crossed no bound yet is carried from look to look (Armitage, McPherson and
Rowe 1969).  A test with another distribution, such as Student's, uses the same chances.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

_LEAST = 5
"""Values from which on it shows whether they follow each other."""
_MOST_ALIKE = 0.9
"""Highest autocorrelation that is corrected for: few values show no higher one."""
_POINTS = 160
"""Points of the grid on which a distribution is carried."""
_FAR = 7.0
"""Standard deviations beyond which nothing is."""
_STEPS = 40
_ROOT = math.sqrt(2 * math.pi)


@lru_cache(maxsize=256)
def bounds(times: tuple[float, ...], spent: tuple[float, ...]) -> tuple[float, ...]:
    """Return which one-sided p each look has to stay below.

    `times` are the numbers of values at the looks, ascending, in any unit; `spent` is the
    chance that a look may err where no look before it did (0..1 each, above 0).
    """
    walk, found = _Walk(), []
    for time, chance in zip(times, spent, strict=True):
        low, high = 0.0, _FAR * math.sqrt(time)
        for _ in range(_STEPS):
            middle = (low + high) / 2
            low, high = (middle, high) if walk.beyond(time, middle) > chance else (low, middle)
        walk = walk.until(time, high)
        found.append(_above(high / math.sqrt(time)))
    return tuple(found)


@lru_cache(maxsize=256)
def constant(times: tuple[float, ...], chance: float) -> float:
    """Return the one p for all looks with which any of them errs in so many cases (0..1)."""
    low, high = 0.0, _FAR
    for _ in range(_STEPS // 3):
        middle, walk, total = (low + high) / 2, _Walk(), 0.0
        for time in times:
            bound = middle * math.sqrt(time)
            total += walk.beyond(time, bound)
            walk = walk.until(time, bound)
        low, high = (middle, high) if total > chance else (low, middle)
    return _above(high)


class _Walk:
    """Where the sum is, of the cases in which no look has crossed its bound."""

    def __init__(
        self,
        time: float = 0.0,
        sums: NDArray[np.float64] | None = None,
        chances: NDArray[np.float64] | None = None,
    ) -> None:
        self.time = time
        self.sums = np.zeros(1) if sums is None else sums
        self.chances = np.ones(1) if chances is None else chances

    def beyond(self, time: float, bound: float) -> float:
        """How likely the sum of a later time is above a bound."""
        from scipy.special import ndtr  # noqa: PLC0415  # slow to import, seldom needed

        away = (self.sums - bound) / math.sqrt(time - self.time)
        return float(self.chances @ ndtr(away))

    def until(self, time: float, bound: float) -> _Walk:
        """The same at a later time, of the cases that stay below a bound there."""
        sums = np.linspace(-_FAR * math.sqrt(time), bound, _POINTS)
        step = math.sqrt(time - self.time)
        away = (sums[:, None] - self.sums[None, :]) / step
        chances = np.exp(-away * away / 2) @ self.chances / (step * _ROOT)
        widths = np.full(_POINTS, sums[1] - sums[0])
        widths[[0, -1]] /= 2
        return _Walk(time, sums, chances * widths)


def _above(value: float) -> float:
    return math.erfc(value / math.sqrt(2)) / 2


def widening(values: Sequence[float]) -> float:
    """By what factor the error of the values' mean is larger, as they follow each other (1..).

    1 where their autocorrelation is within a standard error of none.  Else it is corrected for
    the bias of few values; it is computed by von Neumann's ratio of squares.
    """
    n, mean = len(values), math.fsum(values) / len(values)
    squares = math.fsum((value - mean) ** 2 for value in values)
    if n < _LEAST or not squares:
        return 1.0
    steps = math.fsum((late - early) ** 2 for early, late in itertools.pairwise(values))
    alike = 1.0 - steps / squares / 2.0
    if alike <= 1.0 / math.sqrt(n):
        return 1.0
    alike = min(_MOST_ALIKE, alike + (1.0 + 4.0 * alike) / n)
    return math.sqrt((1.0 + alike) / (1.0 - alike))
