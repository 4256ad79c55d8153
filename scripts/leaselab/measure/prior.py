"""What the earlier runs of a sweep say about the next one."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from leaselab.measure.belief import Belief, observe

if TYPE_CHECKING:
    from collections.abc import Sequence

    from leaselab.model.trial import Goal, RunEstimate, Trial

ASSUMED_NOISE_SD = 0.005
"""Relative spread between trials of a run before any run has shown it."""
ASSUMED_SPREAD_SD = 0.01
"""Relative spread between runs before any two runs have shown it."""
NOISE_WEIGHT = 4.0
"""How many observed differences the assumed noise is worth."""
SPREAD_WEIGHT = 1.0
"""How many observed differences the assumed spread is worth."""
READABLE_LOSS = 0.15
"""Trials that lose more than this say more about overload than about noise."""


@dataclass(frozen=True, slots=True)
class Noise:
    """Spread between trials of a run, pooled over runs (relative, squared)."""

    squares: float
    freedom: float

    @property
    def sd(self) -> float:
        """Relative standard deviation (0..)."""
        return math.sqrt(self.squares / self.freedom)

    def with_run(self, trials: Sequence[Trial], goal: Goal) -> Noise:
        """Add the differences between the readings of one run."""
        readings = [
            item.log_rate
            for trial in trials
            if trial.valid and trial.loss_ratio <= READABLE_LOSS
            if not (item := observe(trial, goal, 0.0)).at_least
        ]
        if len(readings) < 2:
            return self
        mean = sum(readings) / len(readings)
        squares = sum((value - mean) ** 2 for value in readings)
        return Noise(self.squares + squares, self.freedom + len(readings) - 1)


@dataclass(frozen=True, slots=True)
class Prior:
    """Where to start a run, and how much its trials will differ."""

    noise: Noise
    """How much the trials of a run differ."""
    belief: Belief | None
    """Where the run's max rate is to be expected; None for the first run."""


def learn(earlier: Sequence[RunEstimate], goal: Goal) -> Prior:
    """Read the earlier runs of the same sweep."""
    noise = Noise(NOISE_WEIGHT * ASSUMED_NOISE_SD**2, NOISE_WEIGHT)
    for run in earlier:
        noise = noise.with_run(run.trials, goal)
    if not earlier:
        return Prior(noise, None)
    found = sorted(math.log(run.max_rate) for run in earlier)
    kept = found[1:-1] if len(found) > 3 else found
    centre = sum(kept) / len(kept)
    # One degree of freedom went into the centre.
    spread = [value - centre for value in found]
    freedom = len(found) - 1
    spread_sd = math.sqrt(
        (SPREAD_WEIGHT * ASSUMED_SPREAD_SD**2 + sum(value**2 for value in spread))
        / (SPREAD_WEIGHT + freedom)
    )
    return Prior(noise, Belief(centre, spread_sd * math.sqrt(1.0 + 1.0 / len(found))))
