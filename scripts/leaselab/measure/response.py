"""How the trials of a run are read: what max rate their losses point to, how they scatter."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from leaselab.model.procedures.max_rate import MaxRate
from leaselab.model.trial import Trial

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


ASSUMED_NOISE_SD = 0.005
"""Relative spread between trials of a run before any run has shown it."""
NOISE_WEIGHT = 4.0
"""How many observed differences the assumed noise is worth."""
# The middle of the two kinds of servers that its text names; SLOPE_SD covers both.
SLOPE = 0.88
"""Distance of the max rate from an offered rate per unit of ln(passed share), both on the
logarithmic scale: between a server that completes its capacity of any load (1.0)
and one that loses packets of half-finished exchanges (about 0.75)."""
SLOPE_SD = 0.2
LEAST_PASSED = 0.1
"""A trial that completes less than this share is read as one that completed so
much: a server that stops answering says "lower", not "zero"."""
BACKGROUND_SHARE = 0.4
"""Losses under this share of the goal are background (real servers lose up to 1 % in
bursts far below their max rate), not a full server."""
NEAR = 0.05
"""Largest |ln(passed share / passed share at the goal)| that says how trials scatter."""
FAR = 0.35
"""Distance beyond which only the lowest of several overloaded trials is read."""


@dataclass(frozen=True, slots=True)
class Response:
    """What a run's trials show of how they scatter; spreads are relative (0..)."""

    noise_squares: float = NOISE_WEIGHT * ASSUMED_NOISE_SD**2
    noise_freedom: float = NOISE_WEIGHT

    @property
    def noise_sd(self) -> float:
        """Standard deviation between the trials of a run (relative)."""
        return math.sqrt(self.noise_squares / self.noise_freedom)

    def read(self, trial: Trial, procedure: MaxRate) -> Observation:
        """Read the max rate from one valid trial.

        A full server completes its goodput C at any excess, so that its max
        rate is C / (1 - goal), whether the loss is above the goal or below it.  One
        that collapses completes less; the slope corrects for it, and the further
        the trial is from the goal the less is made of it.
        """
        distance = _distance(trial, procedure)
        return Observation(
            math.log(trial.rate) + SLOPE * distance,
            math.hypot(self.noise_sd, SLOPE_SD * distance),
            at_least=trial.loss_ratio < BACKGROUND_SHARE * procedure.loss_ratio,
        )

    def read_all(self, trials: Sequence[Trial], procedure: MaxRate) -> list[Observation]:
        """Read the valid ones of some trials.

        Of those far above the max rate only the lowest counts: their errors have
        one cause, the shape of the collapse, so that they do not average out.
        """
        valid = [trial for trial in trials if trial.valid]
        far = [trial.rate for trial in valid if _distance(trial, procedure) < -FAR]
        return [
            self.read(trial, procedure)
            for trial in valid
            if not far or trial.rate == min(far) or _distance(trial, procedure) >= -FAR
        ]

    def scattered(self, trials: Sequence[Trial], procedure: MaxRate) -> Response:
        """Learn the noise from the differences between trials of one run."""
        readings = [
            math.log(trial.rate) + SLOPE * distance
            for trial in trials
            if trial.valid and trial.loss_ratio >= BACKGROUND_SHARE * procedure.loss_ratio
            if abs(distance := _distance(trial, procedure)) <= NEAR
        ]
        if len(readings) < 2:
            return self
        mean = sum(readings) / len(readings)
        return replace(
            self,
            noise_squares=self.noise_squares + sum((item - mean) ** 2 for item in readings),
            noise_freedom=self.noise_freedom + len(readings) - 1,
        )


def _distance(trial: Trial, procedure: MaxRate) -> float:
    """Return ln(passed share / passed share at the goal); 0 at the max rate."""
    passed = max(1.0 - trial.loss_ratio, LEAST_PASSED)
    return math.log(passed / (1.0 - procedure.loss_ratio))
