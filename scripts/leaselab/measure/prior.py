"""What the earlier runs of a sweep say about the next one."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from leaselab.measure.belief import Belief
from leaselab.measure.response import Response

if TYPE_CHECKING:
    from collections.abc import Sequence

    from leaselab.model.trial import Goal, RunEstimate

ASSUMED_SPREAD_SD = 0.005
"""Relative spread between runs before any two runs have shown it."""
SPREAD_WEIGHT = 1.0
"""How many observed differences the assumed spread is worth."""


@dataclass(frozen=True, slots=True)
class Prior:
    """Where to start a run, and how its trials will answer."""

    response: Response
    runs: int
    """How many runs of the sweep are finished."""
    belief: Belief | None
    """Where the run's max rate is to be expected; None for the first run."""


def learn(earlier: Sequence[RunEstimate], goal: Goal) -> Prior:
    """Read the finished runs of the same sweep.

    The centre is the mean without the extremes (of four runs or more), so that one
    odd run does not lead the next one astray; the spread counts them all.
    """
    response = Response()
    for run in earlier:
        response = response.overloaded(run.trials, goal, run.max_rate)
    for run in earlier:
        response = response.scattered(run.trials, goal)
    if not earlier:
        return Prior(response, len(earlier), None)
    found = sorted(math.log(run.max_rate) for run in earlier)
    kept = found[1:-1] if len(found) > 3 else found
    centre = sum(kept) / len(kept)
    squares = sum((value - centre) ** 2 for value in found)
    variance = (SPREAD_WEIGHT * ASSUMED_SPREAD_SD**2 + squares) / (
        SPREAD_WEIGHT + len(found) - 1
    )
    return Prior(
        response, len(earlier), Belief(centre, math.sqrt(variance * (1.0 + 1.0 / len(found))))
    )
