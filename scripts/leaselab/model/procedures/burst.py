"""Burst: clients that all begin at once."""

from __future__ import annotations

from typing import Annotated

import msgspec

from leaselab.model.procedure import (
    STALLED_LIMIT,
    Length,
    MetricKind,
    Rounds,
    Unjudged,
    cpu_kind,
)

RESENT = "resent"
"""Metric of a burst and of its trials: packets sent again after no reply."""


class Burst(Unjudged, frozen=True, kw_only=True, tag="burst"):
    """Clients that all begin at once, as after a power cut, and retry until they are served."""

    rounds: Rounds = 3
    """Rounds planned."""
    clients: Annotated[int, msgspec.Meta(ge=1, le=10_000_000)] = 1000
    """Number of clients that begin at once."""
    limit_s: Length = 120
    """Longest time for which clients retry (s): some wait a minute before the next attempt."""

    @property
    def words(self) -> str:
        return f"{self.clients} clients at once, for {self.limit_s} s at most"

    @property
    def most_attempted(self) -> int:
        return self.clients

    @property
    def longest_trial_s(self) -> float:
        return self.limit_s

    @property
    def longest_trials_s(self) -> float:
        return (STALLED_LIMIT + 1) * (self.limit_s + self.beside_s)

    def metrics(self, plural: str) -> tuple[MetricKind, ...]:
        """Return the metrics: time until all clients were served, and its cost."""
        until = "time until all are served"
        return (
            MetricKind("served_s", until, "s", "lower"),
            MetricKind(RESENT, "resent packets", "packets", "lower"),
            MetricKind("resent_ratio", "resent packets per client", "ratio", "lower"),
            MetricKind("served_ratio", "clients served", "ratio", "higher"),
            MetricKind("served_rate", f"clients over the {until}", f"{plural}/s", "higher"),
            cpu_kind(plural),
        )
