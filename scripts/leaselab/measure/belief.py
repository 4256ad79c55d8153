"""Readings of the max rate, and what they say together."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

ASSUMED_SPREAD_SD = 0.02
"""Relative spread between runs before any two runs have shown it."""
SPREAD_WEIGHT = 1.0
"""How many observed differences the assumed spread is worth."""


@dataclass(frozen=True, slots=True)
class Observation:
    """One reading of the max rate (natural logarithms of transactions/s)."""

    log_rate: float
    sd: float
    """Standard error of `log_rate`, so a relative one (0..)."""
    at_least: bool = False
    """The reading is a lower limit: the trial lost nothing to read from."""


@dataclass(frozen=True, slots=True)
class Belief:
    """Where the max rate is thought to be (natural logarithms of transactions/s)."""

    log_rate: float
    sd: float

    def fails_at(self, log_rate: float, noise_sd: float) -> float:
        """Probability that a trial at an offered load fails (0..1)."""
        return _below((log_rate - self.log_rate) / math.hypot(self.sd, noise_sd))


def expect(max_rates: Sequence[float]) -> Belief | None:
    """Where the next run of a sweep is to be expected after runs with these max rates.

    The centre is the mean without the extremes (of four runs or more), so that one
    odd run does not lead the next one astray; the spread counts them all.  None
    without any run.
    """
    if not max_rates:
        return None
    logarithms = sorted(math.log(rate) for rate in max_rates)
    kept = logarithms[1:-1] if len(logarithms) > 3 else logarithms
    centre = sum(kept) / len(kept)
    squares = sum((value - centre) ** 2 for value in logarithms)
    variance = (SPREAD_WEIGHT * ASSUMED_SPREAD_SD**2 + squares) / (
        SPREAD_WEIGHT + len(logarithms) - 1
    )
    return Belief(centre, math.sqrt(variance * (1.0 + 1.0 / len(logarithms))))


def combine(observations: Sequence[Observation]) -> Belief | None:
    """Maximum likelihood of normal readings and lower limits; None if only limits.

    Without the limits it is the mean weighted by inverse variances.  A limit
    enters with the probability that a normal reading lies above it, which keeps
    the estimate from being pulled down by the trials that lost nothing.
    """
    readings = [item for item in observations if not item.at_least]
    if not readings:
        return None
    precision = sum(item.sd**-2 for item in readings)
    mean = sum(item.log_rate * item.sd**-2 for item in readings) / precision
    limits = [item for item in observations if item.at_least]
    log_rate, curvature = mean, precision
    for _ in range(12 if limits else 0):
        slope, curvature = (mean - log_rate) * precision, precision
        for pull, bend in _pulls(limits, log_rate):
            slope += pull
            curvature += bend
        step = slope / curvature
        log_rate += step
        if abs(step) < 1e-6:
            break
    return Belief(log_rate, curvature**-0.5)


def _pulls(limits: Iterable[Observation], log_rate: float) -> Iterable[tuple[float, float]]:
    """First derivative, and minus the second, of each limit's log likelihood."""
    for item in limits:
        z = (log_rate - item.log_rate) / item.sd
        # The inverse Mills ratio; its asymptote where the probability underflows.
        below = _below(z)
        density = math.exp(-0.5 * z * z) / math.sqrt(2.0 * math.pi)
        ratio = density / below if below > 1e-12 else -z
        yield ratio / item.sd, max(ratio * (ratio + z), 0.0) / item.sd**2


def _below(z: float) -> float:
    """Probability that a standard normal value is below z."""
    return 0.5 * math.erfc(-z / math.sqrt(2.0))
