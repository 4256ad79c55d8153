"""ISC's ramp: 100/s more in every trial until one fails."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leaselab.model.trial import Goal, SearchLimits, TrialRequest

if TYPE_CHECKING:
    from benchmarks._servers import Server

START_RATE = 1000
STEP = 100


def isc_ramp(server: Server, goal: Goal, limits: SearchLimits) -> float:
    """Find the max rate of one run: the last passing rate (exchanges/s)."""
    rate = START_RATE
    while server.measure(TrialRequest(rate, limits.trial_s)).passes(goal):
        rate += STEP
    return float(rate - STEP)
