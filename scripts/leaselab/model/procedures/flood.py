"""Flood: as much as the generator can offer, several times one after the other."""

from __future__ import annotations

import math
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

DROPPED = 1
"""Floods at the beginning of a round that count for nothing: the server warms up."""


class Flood(Unjudged, frozen=True, kw_only=True, tag="flood"):
    """As much as the generator can offer, as ISC's performance lab measures BIND 9.

    No rate is asked for: the generator sends whenever fewer transactions wait for an answer
    than it lets wait.  The first flood of a round counts for nothing.
    """

    rounds: Rounds = 3
    """Rounds planned."""
    floods: Annotated[int, msgspec.Meta(ge=DROPPED + 2, le=1000)] = 30
    """How many one after the other in a round, nothing reset between them."""
    flood_s: Length = 30
    """Length of each (s)."""

    @property
    def words(self) -> str:
        """The floods, in words."""
        return (
            f"{self.floods} floods of {self.flood_s} s, the first one dropped, "
            f"replies within {self.late_s:g} s"
        )

    @property
    def most_attempted(self) -> float:
        """Nothing bounds it: no rate is asked for."""
        return math.inf

    @property
    def longest_trial_s(self) -> float:
        """Traffic of a flood (s)."""
        return self.flood_s

    @property
    def longest_s(self) -> float:
        """Upper bound of the time that all rounds of a point can take (s)."""
        beside = self.wait_s + TRIAL_OVERHEAD_S
        floods = (self.floods + STALLED_LIMIT) * (self.flood_s + beside)
        one = self.warm_up_s + beside + floods + ROUND_OVERHEAD_S
        return self.rounds * one + PAUSE_LIMIT_S

    def metrics(self, plural: str) -> tuple[MetricKind, ...]:
        """Return the rate answered, how much it varies, the loss, the latency and the cost."""
        return (
            MetricKind(
                name="flood_rate", title="flood rate", unit=f"{plural}/s", better="higher"
            ),
            MetricKind(
                name="flood_spread",
                title="spread of the floods",
                unit="ratio",
                better="lower",
            ),
            MetricKind(name="loss_ratio", title="loss", unit="ratio", better="lower"),
            MetricKind(name="p99_s", title="p99 latency", unit="s", better="lower"),
            MetricKind(name="p50_s", title="median latency", unit="s", better="lower"),
            cpu_kind(plural),
        )
