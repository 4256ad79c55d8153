"""How long jobs wait for benches, without an event loop: Kiefer's and Wolfowitz' recursion.

Benches serve who came first.  So the next job begins on the bench that is free first, and all
that has to be known are the times at which benches become free.  Builds follow each other in
the order in which jobs ask for them.  Benches that break, and their hourly checks, are not in
it: `leaselab dev bench week` simulates those, and shows what they cost.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Sequence
from dataclasses import dataclass

from leaselab.analysis.arrivals import Demand, Job
from leaselab.analysis.workload import Lab


@dataclass(frozen=True, slots=True)
class Served:
    """What became of a job; times are hours since Monday, 00:00."""

    job: Job
    began_h: float
    """When it got its bench."""
    measured_h: float
    """When it began to measure: hosts are prepared and the commit is built."""
    done_h: float
    """When its verdict was there, and the bench was free."""

    @property
    def waited_h(self) -> float:
        """Time in the queue (h)."""
        return self.began_h - self.job.ready_h


def serve(lab: Lab, asked: Demand) -> list[Served]:
    """Simulate benches that never break, which serve jobs in the order of their requests."""
    free = [0.0] * lab.benches
    built: dict[int, float] = {}
    builder_h = 0.0
    served = []
    for job in asked.jobs:
        began = lab.opens_h(max(job.ready_h, heapq.heappop(free)))
        measured = began + lab.prepare_min / 60
        if job.commit is not None:
            if job.commit.number not in built:
                builder_h = max(builder_h, measured) + job.commit.build_h
                built[job.commit.number] = builder_h
            measured = max(measured, built[job.commit.number])
        done = measured + job.measure_h + lab.finish_min / 60
        heapq.heappush(free, done)
        served.append(Served(job, began, measured, done))
    return served


def quantile(values: Sequence[float], share: float) -> float:
    """The smallest value that at least this share of them reaches or stays below; nan of none.

    Infinite values are values like others, which interpolation would not allow.
    """
    if not values:
        return math.nan
    return sorted(values)[max(0, math.ceil(share * len(values)) - 1)]
