"""Fill: a load on a server whose storage is partly filled."""

from __future__ import annotations

import math
from collections.abc import Sequence

from leaselab.model.errors import usage_error
from leaselab.model.procedure import (
    LOSS_KIND,
    P50_KIND,
    P99_KIND,
    STALLED_LIMIT,
    Length,
    MetricKind,
    Rate,
    Ratio,
    completed_kind,
    cpu_kind,
)
from leaselab.model.procedures.one_load import OneLoad
from leaselab.model.trial import Trial

FILLED, FILLED_AFTER = "filled", "filled_after"
"""Metrics of a filling: the filled share of the capacity before and after the load (0..1)."""


class Fill(OneLoad, frozen=True, kw_only=True, tag="fill"):
    """One load on a server that is filled to a share of its capacity, up to nearly all.

    New clients fill it up to `fill` first, and nothing is reset before the load.
    """

    fill: Ratio = 0.5
    """Filled share of its capacity before the load (0..1)."""
    fill_rate: Rate | None = None
    """Offered load while the server is filled (transactions/s); null: that of the load."""
    fill_limit_s: Length = 1200
    """Longest time of the filling (s): after it the round fails."""
    trial_s: Length = 30
    """Longest trial of the filling (s)."""
    duration_s: Length = 5
    """Traffic of the load (s), in one trial."""

    @property
    def words(self) -> str:
        return (
            f"{self.load_words} for {self.duration_s} s on a server that is "
            f"{100 * self.fill:g} % full, replies within {self.late_s:g} s"
        )

    @property
    def fills(self) -> bool:
        return True

    @property
    def offered(self) -> int:
        """Transactions of the load without the filling; 0 while its rate is not known."""
        return (self.rate or 0) * self.duration_s

    @property
    def filling_rate(self) -> int:
        """Offered load while it is filled (transactions/s); 0 while it is not known."""
        return self.fill_rate or self.rate or 0

    def to_fill(self, capacity: int) -> int:
        """Number of entries to store before the load, of `capacity` at most."""
        return math.ceil(self.fill * capacity)

    def check_capacity(self, capacity: int | None, where: str) -> None:
        if capacity is None:
            raise usage_error(
                "this load has no pool, so `fill` does not apply",
                where=where,
                wanted="a DHCP load with a pool",
            )
        free = capacity - self.to_fill(capacity)
        if self.offered > free:
            raise usage_error(
                "the load does not fit into what is free",
                where=where,
                found=f"{self.rate}/s for {self.duration_s} s into {free} of {capacity}",
                wanted=f"{free} transactions or fewer",
                todo="enlarge the pool, or lower fill, rate or duration_s",
            )
        filling_s = self.to_fill(capacity) / self.filling_rate if self.filling_rate else 0.0
        if filling_s > self.fill_limit_s:
            raise usage_error(
                "filling takes longer than it may",
                where=where,
                found=f"{self.to_fill(capacity)} at {self.filling_rate}/s: {filling_s:.3g} s",
                wanted=f"at most {self.fill_limit_s} s, fill_limit_s",
                todo="raise fill_rate or fill_limit_s, or make the pool smaller",
            )

    @property
    def most_attempted(self) -> int:
        return self.offered

    @property
    def longest_trial_s(self) -> float:
        return max(self.trial_s, self.duration_s)

    @property
    def longest_trials_s(self) -> float:
        filling = self.fill_limit_s + self.trial_s + self.beside_s
        return filling + (STALLED_LIMIT + 1) * (self.duration_s + self.beside_s)

    def cpu_us(self, trials: Sequence[Trial]) -> None:
        """None: the cost of filling is not the cost of the load, which the method computes."""

    def metrics(self, plural: str) -> tuple[MetricKind, ...]:
        """Return the metrics: completed rate, latency, and the actual filled shares."""
        return (
            completed_kind(plural),
            P99_KIND,
            P50_KIND,
            LOSS_KIND,
            cpu_kind(plural),
            MetricKind(FILLED, "filled before", "ratio", "neither"),
            MetricKind(FILLED_AFTER, "filled after", "ratio", "neither"),
        )
