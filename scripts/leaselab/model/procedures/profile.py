"""Profile: one load under which the server's CPU time is sampled by function."""

from __future__ import annotations

from typing import Annotated, Final

import msgspec

from leaselab.model.procedure import (
    PAUSE_LIMIT_S,
    ROUND_OVERHEAD_S,
    STALLED_LIMIT,
    TRIAL_OVERHEAD_S,
    Length,
    MetricKind,
    Rounds,
    cpu_kind,
)
from leaselab.model.procedures.one_load import OneLoad

PROFILE: Final = "profile"
"""Name of the procedure."""
STACKS = "stacks"
"""What `Round.files` calls the samples by stack."""
SAMPLED_US = "sampled_us"
"""Name of the metric that tells how much CPU time the samples of a round stand for."""


class Profile(OneLoad, frozen=True, kw_only=True, tag=PROFILE):
    """One load below the max rate, while the server's processes are sampled.

    It says where CPU time goes, and is no measurement of how much the server can: sampling
    costs the server something.
    """

    rounds: Rounds = 8
    """Rounds planned: each function's intervals rest on them, and there are many functions."""
    trim: Annotated[int, msgspec.Meta(ge=0, le=500)] = 0
    """No round is dropped: each round of one point is compared with that of another."""
    duration_s: Length = 8
    """Traffic of a round (s)."""

    @property
    def words(self) -> str:
        """The load of a round, in words."""
        return (
            f"{self.load_words} for {self.duration_s} s, while the server's CPU time is sampled"
        )

    @property
    def most_attempted(self) -> int:
        """Most transactions of one round, of which stalls may spoil and repeat some."""
        return (self.rate or 0) * self.duration_s * (1 + STALLED_LIMIT)

    @property
    def longest_trial_s(self) -> float:
        """Traffic of its longest trial (s)."""
        return self.duration_s

    @property
    def longest_s(self) -> float:
        """Upper bound of the time that all rounds of a point can take (s)."""
        trial_s = self.duration_s + self.wait_s + TRIAL_OVERHEAD_S
        one_s = self.warm_up_s + (1 + STALLED_LIMIT) * 2 * trial_s + ROUND_OVERHEAD_S
        return self.rounds * one_s + PAUSE_LIMIT_S

    @property
    def same_load(self) -> bool:
        """All points do the same work while they are sampled."""
        return True

    @property
    def samples(self) -> bool:
        """It samples the server's processes."""
        return True

    def metrics(self, plural: str) -> tuple[MetricKind, ...]:
        """Return the cost, how much of it was sampled, and what was served."""
        cost = cpu_kind(plural)
        return (
            cost,
            MetricKind(
                name=SAMPLED_US, title="sampled", unit=cost.unit, better="neither", how=cost.how
            ),
            MetricKind(name="samples", title="samples", unit="samples", better="neither"),
            MetricKind(name="lost_samples", title="lost", unit="samples", better="neither"),
            MetricKind(name="loss_ratio", title="loss", unit="ratio", better="lower"),
            MetricKind(
                name="completed_rate",
                title="completed rate",
                unit=f"{plural}/s",
                better="neither",
            ),
        )
