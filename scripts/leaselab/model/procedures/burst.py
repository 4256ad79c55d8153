"""Burst: clients that all begin at once."""

from __future__ import annotations

from typing import Annotated

import msgspec

from leaselab.model.procedure import (
    PAUSE_LIMIT_S,
    ROUND_OVERHEAD_S,
    STALLED_LIMIT,
    TRIAL_OVERHEAD_S,
    Length,
    MetricKind,
    Rounds,
    Unjudged,
    cpu_kind,
)

RESENT = "resent"
"""Metric of a burst, and figure of its trials: packets sent again, as no reply had come."""


class Burst(Unjudged, frozen=True, kw_only=True, tag="burst"):
    """Clients that all begin at once, as after a power cut, and try until they are served."""

    rounds: Rounds = 3
    """Rounds planned."""
    clients: Annotated[int, msgspec.Meta(ge=1, le=10_000_000)] = 1000
    """How many begin at once."""
    limit_s: Length = 120
    """Longest time for which they go on trying (s): some wait a minute before the next try."""

    @property
    def words(self) -> str:
        """The load of a round, in words."""
        return f"{self.clients} clients at once, for {self.limit_s} s at most"

    @property
    def most_attempted(self) -> int:
        """Most transactions of one trial: each begins with a server that was reset."""
        return self.clients

    @property
    def longest_trial_s(self) -> float:
        """Traffic of its one trial (s)."""
        return self.limit_s

    @property
    def longest_s(self) -> float:
        """Upper bound of the time that all rounds of a point can take (s)."""
        beside = self.wait_s + TRIAL_OVERHEAD_S
        trials = (STALLED_LIMIT + 1) * (self.limit_s + beside)
        one = self.warm_up_s + beside + trials + ROUND_OVERHEAD_S
        return self.rounds * one + PAUSE_LIMIT_S

    def metrics(self, plural: str) -> tuple[MetricKind, ...]:
        """Return how long it took until all were served, and what that cost."""
        return (
            MetricKind(
                name="served_s", title="time until all are served", unit="s", better="lower"
            ),
            MetricKind(name=RESENT, title="resent packets", unit="packets", better="lower"),
            MetricKind(
                name="resent_ratio",
                title="resent packets per client",
                unit="ratio",
                better="lower",
            ),
            MetricKind(
                name="served_ratio", title="clients served", unit="ratio", better="higher"
            ),
            MetricKind(
                name="served_rate",
                title="clients over the time until all are served",
                unit=f"{plural}/s",
                better="higher",
            ),
            cpu_kind(plural),
        )
