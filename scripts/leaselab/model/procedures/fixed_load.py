"""Fixed load: one rate for seconds to hours."""

from __future__ import annotations

import math

from leaselab.model.procedure import (
    LOSS_KIND,
    P50_KIND,
    P99_KIND,
    STALLED_LIMIT,
    Length,
    MetricKind,
    completed_kind,
    cpu_kind,
)
from leaselab.model.procedures.one_load import OneLoad


class FixedLoad(OneLoad, frozen=True, kw_only=True, tag="fixed-load"):
    """One load for seconds to hours: latency, loss, and the drift of both."""

    duration_s: Length = 60
    """Traffic of a round (s)."""
    trial_s: Length = 60
    """Longest trial (s): a longer load is offered in successive trials, without a reset between
    them and with different clients in each."""

    @property
    def words(self) -> str:
        return f"{self.load_words} for {self.duration_s} s, replies within {self.late_s:g} s"

    @property
    def most_attempted(self) -> int:
        """Most transactions of one round, of which stalls may spoil and repeat some."""
        repeated_s = STALLED_LIMIT * self.trial_s if self.duration_s > self.trial_s else 0
        return (self.rate or 0) * (self.duration_s + repeated_s)

    @property
    def longest_trial_s(self) -> float:
        return min(self.trial_s, self.duration_s)

    @property
    def round_s(self) -> float:
        return self.approximate_s(math.ceil(self.duration_s / self.trial_s), self.duration_s)

    @property
    def longest_trials_s(self) -> float:
        trials = math.ceil(self.duration_s / self.trial_s) + STALLED_LIMIT
        traffic_s = self.duration_s + STALLED_LIMIT * self.longest_trial_s
        return traffic_s + trials * self.beside_s

    def metrics(self, plural: str) -> tuple[MetricKind, ...]:
        """Return the metrics: latency, loss, completed rate, cost, and the drifts."""
        return (
            P99_KIND,
            P50_KIND,
            LOSS_KIND,
            completed_kind(plural),
            cpu_kind(plural),
            MetricKind("latency_drift", "drift of the median latency", "ratio", "lower"),
            MetricKind("memory_drift", "growth of memory", "bytes/s", "lower"),
        )
