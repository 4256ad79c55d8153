"""What a tool printed of one load of queries: the part that is the same whatever the tool."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from leaselab.measure.generators.adapter import Seen
from leaselab.measure.generators.dns_answers import Expected
from leaselab.measure.generators.printed import PrintedReading, printed
from leaselab.model.record import GENERATOR


@dataclass(frozen=True)
class DnsReading(PrintedReading):
    """What a tool printed of one load; it is parsed when it is first asked for."""

    expected: Expected

    @property
    def conclusive(self) -> bool:
        """It is never ended early."""
        return True

    @property
    def text(self) -> bytes:
        """The same, decompressed; raises a broken-lab error where there is no measurement."""
        where = self.bench.hosts[GENERATOR].access.name
        return printed(self.generated, self.bench.generator.path, where)

    def hosts_cost(self, seen: Seen, waiting: int) -> int:
        """Queries that the generator's host may have cost.

        Answers that it dropped, and those that waited while it stood still for longer than an
        answer may take: `waiting` is how many may do so at once.
        """
        if seen.generator is None:
            return 0
        stood_s = max(seen.generator.steal_s, seen.generator.throttled_s)
        stalled = waiting if stood_s >= self.procedure.late_s else 0
        return seen.generator.receive_errors + stalled


def by_second(counts: Sequence[int]) -> NDArray[np.float64]:
    """When each query was answered, by the end of its second (s), shape (answered,).

    `counts` are the answers in each second.
    """
    return np.repeat(np.arange(1.0, len(counts) + 1), counts)
