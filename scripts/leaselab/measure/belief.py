"""What trials say about the max rate, on the logarithmic scale of offered load."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from leaselab.model.trial import Goal, Trial

COLLAPSE_SLOPE = 0.9
"""How far the max rate lies from an offered rate, per unit of ln(passed share).

1.0 for a server that keeps its goodput under overload, about 0.75 for one that
loses packets of half-finished exchanges; the middle is at most 0.15 wrong for both.
"""
SLOPE_SD = 0.2
"""Standard error that this slope is given; it makes far overload say little."""
LEAST_PASSED = 0.1
"""A trial that completes less than this share is read as one that completed so
much: a server that stops answering says "lower", not "zero"."""
VISIBLE_SHARE = 0.1
"""Losses under this share of the goal are background, not a full server."""


@dataclass(frozen=True, slots=True)
class Observation:
    """One reading of the max rate (natural logarithms of exchanges/s)."""

    log_rate: float
    sd: float
    """Standard error of `log_rate`, so a relative one (0..)."""
    at_least: bool = False
    """The reading is a lower limit: the trial lost nothing to read from."""


@dataclass(frozen=True, slots=True)
class Belief:
    """Where the max rate is thought to be (natural logarithms of exchanges/s)."""

    log_rate: float
    sd: float

    def fails_at(self, log_rate: float, noise_sd: float) -> float:
        """Probability that a trial at an offered load fails (0..1)."""
        sd = math.hypot(self.sd, noise_sd)
        return _below((log_rate - self.log_rate) / sd)


def observe(trial: Trial, goal: Goal, noise_sd: float) -> Observation:
    """Read one valid trial.

    A full server completes its goodput C whatever the excess, so that its max
    rate is C / (1 - goal), from a loss above the goal and below it alike.  One
    that collapses completes less as the excess grows; the reading then is too low
    in proportion to ln(passed share), and so is its stated error.
    """
    passed = max(1.0 - trial.loss_ratio, LEAST_PASSED)
    distance = math.log(passed / (1.0 - goal.loss_ratio))
    return Observation(
        math.log(trial.rate) + COLLAPSE_SLOPE * distance,
        math.hypot(noise_sd, SLOPE_SD * distance),
        at_least=trial.loss_ratio < VISIBLE_SHARE * goal.loss_ratio,
    )


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
        ratio = (
            math.exp(-0.5 * z * z) / math.sqrt(2.0 * math.pi) / below if below > 1e-12 else -z
        )
        yield ratio / item.sd, max(ratio * (ratio + z), 0.0) / item.sd**2


def _below(z: float) -> float:
    """Probability that a standard normal value is below z."""
    return 0.5 * math.erfc(-z / math.sqrt(2.0))
