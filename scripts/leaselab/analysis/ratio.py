"""The ratio of two trimmed means, and how well it is known."""

from __future__ import annotations

import math
from dataclasses import dataclass

from leaselab.analysis.statistics import CONFIDENCE


@dataclass(frozen=True, slots=True)
class Level:
    """What one sweep came to, as far as a ratio needs it."""

    mean: float
    """Trimmed mean, above 0 (exchanges/s)."""
    standard_error: float | None
    """Of the trimmed mean (exchanges/s); None where the runs were too few."""
    kept: int
    """Runs that were left after trimming."""


@dataclass(frozen=True, slots=True)
class Ratio:
    """One mean over another."""

    value: float
    ci95: tuple[float, float] | None
    """95 % interval; None where one of the means has no known error."""

    @property
    def differs(self) -> bool | None:
        """True where the interval leaves 1 out; None without an interval."""
        if self.ci95 is None:
            return None
        return not self.ci95[0] <= 1.0 <= self.ci95[1]


def ratio(base: Level, other: Level) -> Ratio:
    """How much of `base` `other` is.

    The interval is that of the difference of logarithms: each relative error
    is that of its trimmed mean (Tukey and McLaughlin), and the degrees of
    freedom are Welch's with the runs that were kept, as in Yuen's test (Yuen
    1974, Biometrika 61, 165).
    """
    value = other.mean / base.mean
    if base.standard_error is None or other.standard_error is None:
        return Ratio(value, None)
    parts = [
        ((level.standard_error or 0.0) / level.mean, level.kept - 1) for level in (base, other)
    ]
    variance = math.fsum(error**2 for error, _ in parts)
    if variance == 0.0:
        return Ratio(value, (value, value))
    freedom = variance**2 / math.fsum(error**4 / free for error, free in parts)
    from scipy.special import stdtrit  # noqa: PLC0415  # slow to import, and seldom needed

    reach = float(stdtrit(freedom, (1 + CONFIDENCE) / 2)) * math.sqrt(variance)
    return Ratio(value, (value * math.exp(-reach), value * math.exp(reach)))
