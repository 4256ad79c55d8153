"""What the earlier runs of a sweep say about the next one."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from leaselab.measure.belief import Belief, combine, observe

if TYPE_CHECKING:
    from collections.abc import Sequence

    from leaselab.model.trial import Goal, RunEstimate

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
class Prior:
    """Where to start a run, and how much its trials will differ."""

    noise_sd: float
    """Relative standard deviation between trials of a run (0..)."""
    belief: Belief | None
    """Where the run's max rate is to be expected; None for the first run."""


def learn(earlier: Sequence[RunEstimate], goal: Goal) -> Prior:
    """Read the earlier runs of the same sweep."""
    noise_sd = _noise(earlier, goal)
    if not earlier:
        return Prior(noise_sd, None)
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
    return Prior(noise_sd, Belief(centre, spread_sd * math.sqrt(1.0 + 1.0 / len(found))))


def _noise(earlier: Sequence[RunEstimate], goal: Goal) -> float:
    """Standard deviation of readings within runs, pooled over the runs."""
    squares, freedom = NOISE_WEIGHT * ASSUMED_NOISE_SD**2, NOISE_WEIGHT
    for run in earlier:
        readings = [
            item
            for trial in run.trials
            if trial.valid and trial.loss_ratio <= READABLE_LOSS
            if not (item := observe(trial, goal, ASSUMED_NOISE_SD)).at_least
        ]
        centre = combine(readings)
        if centre is not None:
            squares += sum((item.log_rate - centre.log_rate) ** 2 for item in readings)
            freedom += len(readings) - 1
    return math.sqrt(squares / freedom)
