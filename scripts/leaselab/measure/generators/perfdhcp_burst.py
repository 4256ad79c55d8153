"""What one burst with perfdhcp comes to: clients that begin at once, and try until served."""

from __future__ import annotations

import numpy as np

from leaselab.measure.generators.adapter import (
    GENERATOR_LIMITED,
    GENERATOR_STALLED,
    POOL_TOO_FULL,
    Seen,
)
from leaselab.measure.generators.dhcp_load import (
    DUPLICATE_ADDRESS,
    MALFORMED,
    POOL_USE_LIMIT,
    REJECTED,
    STAGES,
    addresses_of,
)
from leaselab.measure.generators.perfdhcp_output import (
    Output,
    Times,
    parse_resent,
    percentiles,
)
from leaselab.measure.generators.perfdhcp_reading import PerfdhcpReading
from leaselab.measure.generators.transactions import MISSING_SHARE
from leaselab.model.procedures.burst import RESENT
from leaselab.model.trial import WHOLE, Second, Trial


class BurstReading(PerfdhcpReading):
    """What perfdhcp printed of clients that began at once."""

    def trial(self, seen: Seen) -> Trial:
        """Return what came of them: each is served when its last reply comes."""
        output, load = self.output, self.load
        first, second = STAGES[self.family]
        served_at = since_first(output)
        served = served_at.size
        is_whole = served == load.at_once
        reason = self._burst_doubt(seen)
        return Trial.of(
            load,
            attempted=output.first.sent,
            completed=served,
            late=0,
            lost=output.first.sent - served,
            traffic_s=float(served_at.max()) if is_whole else float(load.duration_s),
            valid=not reason,
            reason=reason,
            latency_s={
                first: percentiles(output.first.latency_s),
                second: percentiles(output.second.latency_s),
                WHOLE: percentiles(served_at),
            },
            per_second=served_by_second(served_at),
            argv=self.argv,
            figures={RESENT: float(parse_resent(self.text()))},
        )

    def _burst_doubt(self, seen: Seen) -> str:
        """Return the word for why a burst does not count, empty when it does.

        Not all of the doubts of a steady load have a meaning: clients that go on trying are
        late by their own will.
        """
        output, clients = self.output, self.load.at_once
        served = output.second.received
        dropped = seen.generator.receive_errors if seen.generator else 0
        refusals = output.first.rejected + output.second.rejected + seen.refused
        doubts = (
            (GENERATOR_LIMITED, output.first.sent < clients),
            (MALFORMED, output.malformed > 0),
            (DUPLICATE_ADDRESS, output.second.duplicates > 0),
            (REJECTED, served == clients and refusals > 0),
            (POOL_TOO_FULL, clients > POOL_USE_LIMIT * addresses_of(self.bench.scenario)),
            # Clients whose replies the generator has dropped ask again for want of them.
            (GENERATOR_STALLED, dropped > MISSING_SHARE * clients),
        )
        return next((word for word, is_so in doubts if is_so), "")


def since_first(output: Output) -> Times:
    """When each client of those that began at once was served, shape (served,).

    In seconds since the first answered one began, ascending: they all begin before the first
    reply is read.
    """
    if not output.second.received:
        return np.empty(0)
    return np.sort(output.second.received_at) - float(output.first.sent_at.min())


def served_by_second(served_at: Times) -> tuple[Second, ...]:
    """Second-by-second series of those clients (s, ascending, shape (served,))."""
    if not served_at.size:
        return ()
    counts = np.bincount(np.floor(served_at).astype(int))
    return tuple(
        Second(t=second, attempted=None, completed=int(count), p50_s=None, p99_s=None)
        for second, count in enumerate(counts)
    )
