"""ISC's ramp: 100/s more in every trial until one fails."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leaselab.model.trial import Load

if TYPE_CHECKING:
    from benchmarks._servers import Server
    from leaselab.model.procedures.max_rate import MaxRate

START_RATE = 1000
STEP = 100


def isc_ramp(server: Server, procedure: MaxRate) -> float:
    """Find the max rate of one run: the last passing rate (exchanges/s)."""
    rate = START_RATE
    while procedure.passes(server.measure(Load(rate, procedure.trial_s))):
        rate += STEP
    return float(rate - STEP)
