"""Fixed load: one rate for seconds to hours."""

from __future__ import annotations

import math

from leaselab.model.procedure import (
    PAUSE_LIMIT_S,
    ROUND_OVERHEAD_S,
    STALLED_LIMIT,
    TRIAL_OVERHEAD_S,
    Length,
    MetricKind,
    cpu_kind,
)
from leaselab.model.procedures.one_load import OneLoad


class FixedLoad(OneLoad, frozen=True, kw_only=True, tag="fixed-load"):
    """One load for seconds to hours: latency, what is lost, and how both drift."""

    duration_s: Length = 60
    """Traffic of a round (s)."""
    trial_s: Length = 60
    """Longest trial (s): a longer load is offered in trials one after the other, without a
    reset between them and with other clients in each."""

    @property
    def words(self) -> str:
        """The load of a round, in words."""
        return f"{self.load_words} for {self.duration_s} s, replies within {self.late_s:g} s"

    @property
    def most_attempted(self) -> int:
        """Most transactions of one round, of which stalls may spoil and repeat some."""
        repeated_s = STALLED_LIMIT * self.trial_s if self.duration_s > self.trial_s else 0
        return (self.rate or 0) * (self.duration_s + repeated_s)

    @property
    def longest_trial_s(self) -> float:
        """Traffic of its longest trial (s)."""
        return min(self.trial_s, self.duration_s)

    @property
    def longest_s(self) -> float:
        """Upper bound of the time that all rounds of a point can take (s)."""
        beside = self.wait_s + TRIAL_OVERHEAD_S
        trials = math.ceil(self.duration_s / self.trial_s) + STALLED_LIMIT + 1
        traffic_s = self.duration_s + STALLED_LIMIT * self.longest_trial_s + self.warm_up_s
        return self.rounds * (traffic_s + trials * beside + ROUND_OVERHEAD_S) + PAUSE_LIMIT_S

    def metrics(self, plural: str) -> tuple[MetricKind, ...]:
        """Return latency, loss, what was completed, what it costs, and the drifts."""
        return (
            MetricKind(name="p99_s", title="p99 latency", unit="s", better="lower"),
            MetricKind(name="p50_s", title="median latency", unit="s", better="lower"),
            MetricKind(name="loss_ratio", title="loss", unit="ratio", better="lower"),
            MetricKind(
                name="completed_rate",
                title="completed rate",
                unit=f"{plural}/s",
                better="higher",
            ),
            cpu_kind(plural),
            MetricKind(
                name="latency_drift",
                title="drift of the median latency",
                unit="ratio",
                better="lower",
            ),
            MetricKind(
                name="memory_drift", title="growth of memory", unit="bytes/s", better="lower"
            ),
        )
