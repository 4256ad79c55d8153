"""Event: one load, and something that happens under it."""

from __future__ import annotations

from typing import Final, Literal

from leaselab.model.procedure import (
    MEDIAN,
    ROUND_OVERHEAD_S,
    TRIAL_OVERHEAD_S,
    Length,
    MetricKind,
)
from leaselab.model.procedures.one_load import OneLoad

EVENT: Final = "event"
"""Name of the procedure."""
AFTER_SLACK_S = 20
"""Traffic after the event beyond the delay after which the other server counts it as down."""


class Event(OneLoad, frozen=True, kw_only=True, tag=EVENT):
    """One load, and something that happens under it: a server of several dies."""

    event: Literal["crash"] = "crash"
    """What happens: the server under test ends as by a crash."""
    before_s: Length = 10
    """Traffic before it (s)."""
    after_s: Length = 30
    """Traffic after it (s); longer than the other server takes to notice."""

    @property
    def usual_share(self) -> float:
        """The share of the max rate where neither rate nor share was asked for."""
        return 0.5

    @property
    def words(self) -> str:
        """The load and what happens, in words."""
        return f"{self.load_words}, {self.event} after {self.before_s} s, then {self.after_s} s"

    @property
    def most_attempted(self) -> int:
        """Most transactions of one round."""
        return (self.rate or 0) * (self.before_s + self.after_s)

    @property
    def longest_trial_s(self) -> float:
        """Traffic of its one trial (s)."""
        return self.before_s + self.after_s

    @property
    def longest_s(self) -> float:
        """Upper bound of the time that all rounds of a point can take (s)."""
        traffic_s = self.before_s + self.after_s + self.warm_up_s
        beside = 2 * (self.wait_s + TRIAL_OVERHEAD_S)  # of the trial and of the warm-up
        return self.rounds * (traffic_s + beside + ROUND_OVERHEAD_S)

    def metrics(self, plural: str) -> tuple[MetricKind, ...]:
        """Return how long nobody was served, and what the other server lacked then."""
        return (
            MetricKind(name="outage_s", title="outage", unit="s", better="lower", how=MEDIAN),
            MetricKind(
                name="lost", title=f"lost {plural}", unit=plural, better="lower", how=MEDIAN
            ),
            MetricKind(
                name="missing",
                title="missing on the other server",
                unit="entries",
                better="lower",
                how=MEDIAN,
            ),
            MetricKind(
                name="conflicting",
                title="conflicting on the other server",
                unit="entries",
                better="lower",
                how=MEDIAN,
            ),
        )
