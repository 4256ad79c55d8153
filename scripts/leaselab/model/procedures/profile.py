"""Profile: one load under which the server's CPU time is sampled, and what it waits for."""

from __future__ import annotations

import math
from typing import Annotated, Final

import msgspec

from leaselab.model.procedure import (
    CPU,
    LOSS_KIND,
    STALLED_LIMIT,
    Length,
    MetricKind,
    Rounds,
    completed_kind,
    cpu_kind,
)
from leaselab.model.procedures.one_load import OneLoad

PROFILE: Final = "profile"
"""Name of the procedure."""
STACKS = "stacks"
"""Key in `Round.files` of the samples by stack."""
SAMPLED_US = "sampled_us"
"""Name of the metric of the CPU time that the samples of a round represent."""
WAITS = "waits"
"""Key in `Round.files` of the parts of a transaction's time (us), by cause."""
LATENCY_US, QUEUE_US, OTHER_US = "latency_us", "queue_us", "other_us"
"""Names of metrics: the mean latency of a transaction, what is left of it without all other
parts, and the waits of no metric."""
PARTS = {
    LATENCY_US: "mean latency",
    QUEUE_US: "queues and network",
    "processor_us": "no processor",
    "database_us": "database",
    "partner_us": "partner",
    "sync_us": "fsync",
    "lock_us": "lock",
    "sleep_us": "sleep",
    OTHER_US: "other waits",
}
"""Titles of the metrics that, with the CPU time, add up to the first, by their names: that of
a wait is its cause in the server's contract and ``_us``."""


def part_title(cause: str) -> str:
    """Return the words for a part of a transaction's time; that of no metric is its cause."""
    name = metric_of(cause)
    return cause if name == OTHER_US else PARTS.get(name, "on the CPU")


def metric_of(cause: str) -> str:
    """Return the name of the metric that a part of a transaction's time is in."""
    known = (CPU, *PARTS)
    return next((name for name in (cause, f"{cause}_us") if name in known), OTHER_US)


class Profile(OneLoad, frozen=True, kw_only=True, tag=PROFILE):
    """One load below the max rate, while the server's processes are sampled.

    It shows how CPU time is spent; it does not measure the server's capacity, as sampling
    itself has a cost.
    """

    rounds: Rounds = 8
    """Rounds planned: the intervals of the many functions are computed from them."""
    trim: Annotated[int, msgspec.Meta(ge=0, le=500)] = 0
    """No round is dropped: each round of one point is compared with the same round of
    another."""
    duration_s: Length = 8
    """Traffic of a round (s)."""
    returning: Annotated[int, msgspec.Meta(ge=0, le=100_000_000)] = 0
    """Clients that come back in turn; 0: each transaction has a new one."""

    @property
    def words(self) -> str:
        how = "while the server's CPU time and waits are sampled"
        return f"{self.load_words} for {self.duration_s} s, {how}"

    @property
    def most_attempted(self) -> int:
        """Most transactions of one round, of which stalls may spoil and repeat some."""
        return (self.rate or 0) * (self.duration_s * (1 + STALLED_LIMIT) + self.filling_s)

    @property
    def filling_s(self) -> int:
        """Traffic that serves each returning client once, at half of the load (s)."""
        return math.ceil(2 * self.returning / self.rate) if self.rate else 0

    @property
    def longest_trial_s(self) -> float:
        return self.duration_s

    @property
    def round_s(self) -> float:
        return self.approximate_s(1, self.duration_s + self.filling_s)

    @property
    def longest_trials_s(self) -> float:
        traffic_s = (1 + STALLED_LIMIT) * self.duration_s + self.filling_s
        return 2 * (traffic_s + (2 + STALLED_LIMIT) * self.beside_s)

    @property
    def same_load(self) -> bool:
        return True

    @property
    def samples(self) -> bool:
        return True

    def metrics(self, plural: str) -> tuple[MetricKind, ...]:
        """Return the metrics: cost, its sampled part, and what was served."""
        cost = cpu_kind(plural)
        return (
            cost,
            MetricKind(SAMPLED_US, "sampled", cost.unit, "neither", cost.how),
            *(
                MetricKind(name, title, cost.unit, "neither", cost.how, seldom=True)
                for name, title in PARTS.items()
            ),
            MetricKind("samples", "samples", "samples", "neither"),
            MetricKind("lost_samples", "lost", "samples", "neither"),
            LOSS_KIND,
            completed_kind(plural, "neither"),
        )
