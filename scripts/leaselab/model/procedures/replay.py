"""Replay: the arrivals of a user's clients, minute by minute, on one server."""

from __future__ import annotations

from typing import Annotated, Final

import msgspec

from leaselab.model.bounds import LONGEST
from leaselab.model.procedure import (
    LOSS_KIND,
    P99_KIND,
    MetricKind,
    Rounds,
    Unjudged,
    completed_kind,
    cpu_kind,
    refuse,
)
from leaselab.model.trial import Load

REPLAY: Final = "replay"
"""Name of the procedure."""
MOST_MINUTES = 1440
"""Minutes of one load: a day."""
KEPT, WORST_LOSS, WORST_P99 = "kept_minutes", "worst_loss_ratio", "worst_p99_s"
"""Metrics of a replay by its minutes."""
Begun = Annotated[int, msgspec.Meta(ge=0, le=1_000_000_000)]


class Replay(Unjudged, frozen=True, kw_only=True, tag=REPLAY):
    """What clients began in each minute, in one load that a server keeps up with or not."""

    rounds: Rounds = 1
    """Rounds planned."""
    arrivals: Annotated[
        tuple[Begun, ...], msgspec.Meta(min_length=1, max_length=MOST_MINUTES)
    ] = (1000, 5000, 2000)
    """Transactions that clients begin in each minute."""
    speed: Annotated[float, msgspec.Meta(gt=0, le=3600)] = 1.0
    """How many times as fast as they came; the length of the load is in whole seconds."""

    @property
    def load(self) -> Load:
        """All of it; its rate is the mean one (transactions/s)."""
        seconds = max(1, round(60 * len(self.arrivals) / self.speed))
        rate = max(1, round(sum(self.arrivals) / seconds))
        return Load(rate, seconds, counts=self.arrivals)

    @property
    def words(self) -> str:
        return (
            f"{len(self.arrivals)} minutes of arrivals in {self.load.duration_s} s, "
            f"at most {100 * self.loss_ratio:g} % lost in each, "
            f"replies within {self.late_s:g} s"
        )

    @property
    def most_attempted(self) -> int:
        return sum(self.arrivals)

    @property
    def longest_trial_s(self) -> float:
        return self.load.duration_s

    @property
    def round_s(self) -> float:
        return self.approximate_s(1, self.load.duration_s)

    @property
    def longest_trials_s(self) -> float:
        return self.load.duration_s + self.beside_s

    def check(self) -> None:
        """Raise a usage error where nothing arrives, or more than a record has room for."""
        super().check()
        if not any(self.arrivals):
            refuse("no arrivals", f"arrivals {self.load.counts_words[:40]}", "one or more")
        if len(self.load.counts_words) > LONGEST:
            refuse(
                "too many minutes for so many clients",
                f"{len(self.load.counts_words)} digits and commas",
                f"at most {LONGEST}",
                "replay fewer minutes: --minutes",
            )

    def metrics(self, plural: str) -> tuple[MetricKind, ...]:
        """Return the metrics: minutes in which the server kept up, the worst one, and all."""
        return (
            MetricKind(KEPT, "minutes kept up with", "ratio", "higher"),
            MetricKind(WORST_LOSS, "loss of the worst minute", "ratio", "lower"),
            MetricKind(WORST_P99, "p99 latency of the slowest minute", "s", "lower"),
            LOSS_KIND,
            P99_KIND,
            completed_kind(plural, "neither"),
            cpu_kind(plural),
        )
