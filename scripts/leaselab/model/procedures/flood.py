"""Flood: the highest load that the generator can offer, several times in succession."""

from __future__ import annotations

import math
from typing import Annotated

import msgspec

from leaselab.model.procedure import (
    LOSS_KIND,
    P50_KIND,
    P99_KIND,
    STALLED_LIMIT,
    Length,
    MetricKind,
    Rounds,
    Unjudged,
    cpu_kind,
)

DROPPED = 1
"""Floods at the beginning of a round that do not count: the server warms up."""


class Flood(Unjudged, frozen=True, kw_only=True, tag="flood"):
    """The highest load that the generator can offer, as ISC's performance lab measures BIND 9.

    No rate is set: the generator sends whenever fewer transactions than its limit are
    unanswered.  The first flood of a round does not count.
    """

    rounds: Rounds = 3
    """Rounds planned."""
    floods: Annotated[int, msgspec.Meta(ge=DROPPED + 2, le=1000)] = 30
    """Floods of a round, without a reset between them."""
    flood_s: Length = 30
    """Length of each (s)."""

    @property
    def words(self) -> str:
        return (
            f"{self.floods} floods of {self.flood_s} s, the first one dropped, "
            f"replies within {self.late_s:g} s"
        )

    @property
    def most_attempted(self) -> float:
        """Infinite: no rate is set."""
        return math.inf

    @property
    def longest_trial_s(self) -> float:
        return self.flood_s

    @property
    def round_s(self) -> float:
        return self.approximate_s(self.floods, self.floods * self.flood_s)

    @property
    def longest_trials_s(self) -> float:
        return (self.floods + STALLED_LIMIT) * (self.flood_s + self.beside_s)

    def metrics(self, plural: str) -> tuple[MetricKind, ...]:
        """Return the metrics: answered rate, its variation, loss, latency and cost."""
        return (
            MetricKind("flood_rate", "flood rate", f"{plural}/s", "higher"),
            MetricKind("flood_spread", "spread of the floods", "ratio", "lower"),
            LOSS_KIND,
            P99_KIND,
            P50_KIND,
            cpu_kind(plural),
        )
