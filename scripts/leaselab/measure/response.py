"""How the trials of a run are read: what max rate their losses point to, how they scatter."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from leaselab.measure.belief import Observation
from leaselab.model.procedures.max_rate import MaxRate
from leaselab.model.trial import Trial

ASSUMED_NOISE_SD = 0.005
"""Relative spread between trials of a run before any run has shown it."""
NOISE_WEIGHT = 4.0
"""How many observed differences the assumed noise is worth."""
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
