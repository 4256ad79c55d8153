"""Log bisection: what one writes who knows only pass and fail."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from leaselab.model.trial import Load

if TYPE_CHECKING:
    from benchmarks._servers import Server
    from leaselab.model.procedures.max_rate import MaxRate

START_RATE = 1000


def bisection(server: Server, procedure: MaxRate) -> float:
    """Find the max rate of one run: the middle of the last bracket (exchanges/s).

    Doubles from 1000/s until a trial fails, then halves the bracket on the
    logarithmic scale until it is narrow enough; full-length trials throughout.
    """

    def passes(rate: int) -> bool:
        return procedure.passes(server.measure(Load(rate, procedure.trial_s)))

    lower, upper = procedure.min_rate, START_RATE
    while passes(upper):
        lower, upper = upper, upper * 2
    while (upper - lower) / upper > procedure.relative_width:
        middle = round(math.sqrt(lower * upper))
        if passes(middle):
            lower = middle
        else:
            upper = middle
    return math.sqrt(lower * upper)
