"""Log bisection: what one writes who knows only pass and fail."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from leaselab.model.trial import Goal, SearchLimits, TrialRequest

if TYPE_CHECKING:
    from benchmarks._servers import Server

START_RATE = 1000


def bisection(server: Server, goal: Goal, limits: SearchLimits) -> float:
    """Find the max rate of one run: the middle of the last bracket (exchanges/s).

    Doubles from 1000/s until a trial fails, then halves the bracket on the
    logarithmic scale until it is narrow enough; full-length trials throughout.
    """

    def passes(rate: int) -> bool:
        return server.measure(TrialRequest(rate, limits.trial_s)).passes(goal)

    lower, upper = limits.min_rate, START_RATE
    while passes(upper):
        lower, upper = upper, upper * 2
    while (upper - lower) / upper > goal.relative_width:
        middle = round(math.sqrt(lower * upper))
        if passes(middle):
            lower = middle
        else:
            upper = middle
    return math.sqrt(lower * upper)
