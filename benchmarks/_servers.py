"""Simulated DHCP servers: a capacity that varies between runs and between trials."""

from __future__ import annotations

import enum
import math
import random
import statistics
from dataclasses import dataclass
from functools import cache

import numpy as np
from scipy.special import gammaincinv, stdtrit

from leaselab.model.procedures.max_rate import MaxRate
from leaselab.model.trial import Load, Trial

WAIT_S = 2.0
"""Time a trial costs beside its traffic: the wait for late replies (s)."""


class Overload(enum.Enum):
    """What the server does with more than it can take."""

    KEEPS = "keeps"
    """Completes its capacity, whatever is offered."""
    COLLAPSES = "collapses"
    """Completes less, the more is offered: the receive buffer is full and drops
    packets of all kinds alike, so work done for an offer is in vain whenever the
    client's request is dropped afterwards."""

    def completed_rate(self, offered: float, capacity: float) -> float:
        """Exchanges completed per second at an offered load (both 1/s).

        The collapsing server handles two packets of an exchange, `2 * capacity`
        packets a second in all.  When a packet survives the full buffer with
        probability q, it sees `offered` first packets and `offered * q` second
        ones, so that ``offered * q * (1 + q) = 2 * capacity``; q * q of the
        exchanges complete.  At twice its capacity it completes 76 % of it, at
        five times 47 %.
        """
        if offered <= capacity:
            return offered
        if self is Overload.KEEPS:
            return capacity
        survives = (math.sqrt(1.0 + 8.0 * capacity / offered) - 1.0) / 2.0
        return offered * survives * survives

    def max_rate(self, capacity: float, loss_ratio: float) -> float:
        """Offered load at which the loss is exactly `loss_ratio` (1/s)."""
        passed = 1.0 - loss_ratio
        if self is Overload.KEEPS:
            return capacity / passed
        survives = math.sqrt(passed)
        return 2.0 * capacity / (survives * (1.0 + survives))


class Shape(enum.Enum):
    """How capacities scatter: distributions of mean 0 and standard deviation 1."""

    NORMAL = "normal"
    HEAVY = "heavy"
    """Student's t with 3 degrees of freedom: mostly close, now and then far off."""
    SKEWED = "skewed"
    """Minus a gamma distribution of shape 4 (skewness -1): slow moments lie further out."""

    def quantile(self, share: float) -> float:
        """Value below which this share (0..1) of the draws lies."""
        share = min(max(share, 1e-9), 1.0 - 1e-9)
        if self is Shape.HEAVY:
            return float(stdtrit(3, share)) / math.sqrt(3.0)
        if self is Shape.SKEWED:
            return (4.0 - float(gammaincinv(4.0, 1.0 - share))) / 2.0
        return statistics.NormalDist().inv_cdf(share)


def _stream(name: str) -> random.Random:
    """Return a stream of chance that is the same in every process and run."""
    return random.Random(name)  # noqa: S311 - a simulation, nothing secret


@dataclass(frozen=True, slots=True)
class Cell:
    """One kind of server, with how much it varies."""

    overload: Overload
    capacity: int
    """Mean capacity (exchanges/s)."""
    run_sd: float
    """Relative standard deviation of the capacity between runs (0..1)."""
    trial_sd: float
    """Relative standard deviation of the capacity between the trials of one run (0..1)."""
    shape: Shape = Shape.NORMAL
    """How both scatter."""

    @property
    def name(self) -> str:
        """Short and unique: ``keeps-6000-2-0.5`` (spreads in percent), ``-heavy`` after it."""
        shape = "" if self.shape is Shape.NORMAL else f"-{self.shape.value}"
        return (
            f"{self.overload.value}-{self.capacity}"
            f"-{self.run_sd * 100:g}-{self.trial_sd * 100:g}{shape}"
        )

    def max_rate(self, capacity: float, loss_ratio: float) -> float:
        """The max rate of a run with this mean capacity (exchanges/s).

        The load at which every second trial keeps the goal, so that of the median trial.
        """
        median = capacity * (1.0 + self.trial_sd * self.shape.quantile(0.5))
        return self.overload.max_rate(median, loss_ratio)

    def trimmed_mean(self, procedure: MaxRate) -> float:
        """What the trimmed mean of the max rates of a sweep is on average (exchanges/s).

        For runs that scatter evenly to both sides that of the mean capacity.
        """
        factor = 1.0 + self.run_sd * _mean_trimmed(self.shape, procedure.rounds, procedure.trim)
        return self.max_rate(self.capacity * factor, procedure.loss_ratio)

    def run_capacity(self, sweep: int, run: int) -> float:
        """Capacity drawn for one run; always the same (exchanges/s).

        Every second sweep draws the mirror image of the one before, so that what
        the draws alone add to a bias cancels exactly.
        """
        share = _stream(f"{self.name} run {sweep // 2} {run}").random()
        draw = self.shape.quantile(1.0 - share if sweep % 2 else share)
        return self.capacity * max(0.05, 1.0 + self.run_sd * draw)

    def server(self, sweep: int, run: int) -> Server:
        """Return the server of one run, with its own stream of trial noise."""
        return Server(
            self.overload,
            self.run_capacity(sweep, run),
            self.trial_sd,
            _stream(f"{self.name} trials {sweep} {run}"),
            shape=self.shape,
        )


@cache
def _mean_trimmed(shape: Shape, runs: int, trim: int) -> float:
    """Mean of the trimmed mean of `runs` draws (standard deviations)."""
    if shape is not Shape.SKEWED:
        return 0.0
    draws = (4.0 - np.random.default_rng(1).gamma(4.0, size=(400_000, runs))) / 2.0
    return float(np.sort(draws, axis=1)[:, trim : runs - trim].mean())


@dataclass(slots=True)
class Server:
    """A server during one run; it counts the time its trials cost."""

    overload: Overload
    capacity: float
    trial_sd: float
    noise: random.Random
    shape: Shape = Shape.NORMAL
    aborts: MaxRate | None = None
    """Trials that cannot pass by it any more are ended early, as perfdhcp -D does."""
    seconds: float = 0.0
    trials: int = 0

    def measure(self, load: Load) -> Trial:
        """Run one trial; counts are whole exchanges."""
        rate, duration_s = load.rate, load.duration_s
        draw = self.shape.quantile(self.noise.random())
        capacity = self.capacity * max(0.05, 1.0 + self.trial_sd * draw)
        completed_rate = self.overload.completed_rate(rate, capacity)
        traffic_s = float(duration_s)
        if self.aborts is not None and completed_rate < rate:
            # Half a second of traffic is on its way and not lost yet.
            allowed = self.aborts.loss_ratio * rate * duration_s + 0.5 * rate
            traffic_s = min(traffic_s, allowed / (rate - completed_rate))
        attempted = round(rate * traffic_s)
        completed = min(attempted, round(completed_rate * traffic_s))
        self.seconds += traffic_s + WAIT_S
        self.trials += 1
        return Trial(
            rate=rate,
            duration_s=duration_s,
            attempted=attempted,
            completed=completed,
            late=0,
            lost=attempted - completed,
            traffic_s=traffic_s,
            aborted=traffic_s < duration_s,
        )
