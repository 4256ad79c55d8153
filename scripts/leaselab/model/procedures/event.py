"""Event: one load, and an event under it, such as a crash."""

from __future__ import annotations

from typing import Final, Literal

from leaselab.model.procedure import (
    MEDIAN,
    Length,
    MetricKind,
)
from leaselab.model.procedures.one_load import VIOLATIONS, OneLoad

EVENT: Final = "event"
"""Name of the procedure."""
AFTER_SLACK_S = 20
"""Traffic after the event beyond the delay after which the other server declares it down."""


class Event(OneLoad, frozen=True, kw_only=True, tag=EVENT):
    """One load, and an event under it: one of several servers fails."""

    event: Literal["crash"] = "crash"
    """The event: the server under test is killed, as by a crash."""
    before_s: Length = 10
    """Traffic before it (s)."""
    after_s: Length = 30
    """Traffic after it (s); longer than the other server takes to detect the event."""

    @property
    def usual_share(self) -> float:
        return 0.5

    @property
    def words(self) -> str:
        return f"{self.load_words}, {self.event} after {self.before_s} s, then {self.after_s} s"

    @property
    def most_attempted(self) -> int:
        return (self.rate or 0) * (self.before_s + self.after_s)

    @property
    def longest_trial_s(self) -> float:
        return self.before_s + self.after_s

    @property
    def round_s(self) -> float:
        return self.approximate_s(1, self.longest_trial_s)

    @property
    def longest_trials_s(self) -> float:
        return self.longest_trial_s + self.beside_s

    def metrics(self, plural: str) -> tuple[MetricKind, ...]:
        """Return the metrics: time without service, and what was broken of leases."""
        return (
            MetricKind("outage_s", "outage", "s", "lower", MEDIAN),
            MetricKind("lost", f"lost {plural}", plural, "lower", MEDIAN),
            VIOLATIONS,
        )
