"""One trial: a constant offered rate for a fixed time, and what came of it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Goal:
    """What a trial must keep to pass, and how closely the search must bracket it."""

    loss_ratio: float = 0.025
    """Highest passing share of exchanges not completed in time (0..1)."""
    late_s: float = 2.0
    """A reply later than this after its request counts as lost (seconds)."""
    relative_width: float = 0.01
    """Widest acceptable bracket, (upper - lower) / upper (0..1)."""


@dataclass(frozen=True, slots=True)
class TrialRequest:
    """What a search asks for."""

    rate: int
    """Offered load (exchanges started per second)."""
    duration_s: int
    """Length of the traffic period (whole seconds: perfdhcp counts in those)."""


@dataclass(frozen=True, slots=True)
class Latency:
    """Latency of one stage or exchange (seconds, over those answered)."""

    p50: float
    p90: float
    p99: float
    p999: float
    max: float


@dataclass(frozen=True, slots=True)
class Trial:
    """What one trial measured.

    `completed + late + lost == started` always holds: an exchange answered
    after `late_s` is late, never completed.
    """

    rate: int
    """Offered load asked for (exchanges/s)."""
    duration_s: int
    """Traffic period asked for (s)."""
    started: int
    """Exchanges started (first packets sent)."""
    completed: int
    """Exchanges completed in time, start to ACK/REPLY."""
    late: int
    """Exchanges of which a reply came, but later than the goal's `late_s`."""
    lost: int
    """Exchanges that were never completed."""
    traffic_s: float
    """How long exchanges were really being started (s); shorter than
    `duration_s` where the trial was aborted."""
    valid: bool = True
    """False where the trial says nothing about the server; see `reason`."""
    reason: str = ""
    """Why the trial is not valid, one of `measure.validity`'s words."""
    aborted: bool = False
    """The generator ended it early, because it could not pass any more."""
    detail: str = ""
    """What `reason` is about, such as whose reply was foreign; empty where it says all."""

    @property
    def loss_ratio(self) -> float:
        """Share of the exchanges started that did not complete in time (0..1).

        An aborted trial is judged by the exchanges it started.
        """
        return 1.0 - self.completed / self.started if self.started else 1.0

    def passes(self, goal: Goal) -> bool:
        """True when the trial is valid and its loss is at or under the goal."""
        return self.valid and self.loss_ratio <= goal.loss_ratio

    @property
    def completed_rate(self) -> float:
        """Exchanges completed in time per second of traffic (1/s)."""
        return self.completed / self.traffic_s if self.traffic_s else 0.0


@dataclass(frozen=True, slots=True)
class SearchLimits:
    """Where and how long a search may look."""

    min_rate: int = 10
    """Lowest offered rate worth a trial (exchanges/s)."""
    max_rate: int = 200_000
    """Highest offered rate that may be tried (exchanges/s)."""
    start_rate: int = 2_000
    """First offered rate of the first run (exchanges/s)."""
    trial_s: int = 5
    """Length of a trial that can stand in a bracket (s)."""
    scout_s: int = 1
    """Length of a trial that only says where to look (s)."""
    max_trials: int = 40
    """Trials of one run after which the search gives up."""
    warm_up_s: int = 1
    """Length of the trial that each run begins with and that counts for nothing, as the
    server was just started (s); 0 for none."""
    confirm_s: int = 30
    """Traffic for which the result has to hold once the runs are done (s), in trials one
    after the other; 0 for none."""


@dataclass(frozen=True, slots=True)
class RunEstimate:
    """What one search found, with the bracket that proves it.

    `lower` passed, `upper` failed, both ran the full `trial_s`, and
    ``(upper.rate - lower.rate) / upper.rate <= goal.relative_width``.
    """

    max_rate: float
    """Offered rate at which the loss meets the goal, inside the bracket
    (exchanges/s)."""
    completed_rate: float
    """Exchanges completed in time per second at the lower bound (1/s)."""
    lower: Trial
    upper: Trial
    trials: tuple[Trial, ...]
    """Every trial of the run in the order it was made."""
