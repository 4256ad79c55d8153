"""One algorithm on one kind of server: cost and accuracy of its sweeps."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from benchmarks._bisection import bisection
from benchmarks._isc_ramp import isc_ramp
from benchmarks._servers import Cell, Server
from leaselab.analysis.comparison.ratio import Runs, differs
from leaselab.analysis.figures.statistics import interval, trimmed_mean
from leaselab.measure.search import search
from leaselab.model.procedures.max_rate import MaxRate

PROCEDURE = MaxRate(
    rounds=9,
    trim=1,
    loss_ratio=0.025,
    relative_width=0.01,
    min_rate=10,
    max_rate=200_000,
    start_rate=2_000,
    trial_s=3,
    scout_s=1,
    max_trials=40,
)


@dataclass(frozen=True, slots=True)
class Row:
    """Results of one algorithm on one kind of server."""

    seconds: float
    """Mean time of a sweep, traffic and waits (s)."""
    trials: float
    """Mean number of trials of a sweep."""
    nominal: tuple[float, ...]
    """Each sweep's trimmed mean against its average (%)."""
    drawn: tuple[float, ...]
    """Each sweep's trimmed mean against that of its own servers' max rates (%)."""

    covered: tuple[bool, ...]
    """Whether each sweep's 95 % interval holds the average trimmed mean."""
    differs: tuple[bool, ...]
    """Whether p is below 5 % for pairs of sweeps of equal servers."""

    @property
    def coverage(self) -> float:
        """Share of the intervals that hold the truth (%); they claim 95."""
        return 100.0 * sum(self.covered) / len(self.covered)

    @property
    def false_alarms(self) -> float:
        """Share of equal pairs called different (%); the test claims 5."""
        return 100.0 * sum(self.differs) / len(self.differs)

    @property
    def bias(self) -> float:
        """Mean error against the servers that were drawn (%)."""
        return sum(self.drawn) / len(self.drawn)

    @property
    def bias_nominal(self) -> float:
        """Mean error against the mean capacity (%)."""
        return sum(self.nominal) / len(self.nominal)

    @property
    def rmse(self) -> float:
        """Root of the mean square error against the mean capacity (%)."""
        return root_mean_square(self.nominal)


def _fresh_runs(one_run: Callable[[Server, MaxRate], float]) -> Algorithm:
    """Make a sweep of runs that know nothing of each other."""

    def runs(servers: Sequence[Server]) -> list[float]:
        return [one_run(server, PROCEDURE) for server in servers]

    return runs


def _our_runs(servers: Sequence[Server]) -> list[float]:
    """Our search, as the engine calls it: trials that cannot pass are ended early."""
    max_rates: list[float] = []
    for server in servers:
        server.aborts = PROCEDURE
        max_rates.append(search(server.measure, PROCEDURE, max_rates).max_rate)
    return max_rates


Algorithm = Callable[[Sequence[Server]], list[float]]
ALGORITHMS: dict[str, Algorithm] = {
    "isc-ramp": _fresh_runs(isc_ramp),
    "bisection": _fresh_runs(bisection),
    "leaselab": _our_runs,
}
"""The ways to find nine max rates, by the name in the table."""


def simulate(cell: Cell, algorithm: str, sweeps: int) -> Row:
    """Make some sweeps of one kind of server; the same ones for every algorithm."""
    seconds = trials = 0.0
    made: list[Runs] = []
    drawn = []
    for sweep in range(sweeps):
        servers = [cell.server(sweep, run) for run in range(PROCEDURE.rounds)]
        true_rates = [
            cell.max_rate(server.capacity, PROCEDURE.loss_ratio) for server in servers
        ]
        made.append(Runs(tuple(ALGORITHMS[algorithm](servers)), PROCEDURE.trim, in_order=True))
        drawn.append(100.0 * (made[-1].mean / trimmed_mean(true_rates, PROCEDURE.trim) - 1.0))
        seconds += sum(server.seconds for server in servers)
        trials += sum(server.trials for server in servers)
    truth = cell.trimmed_mean(PROCEDURE)
    return Row(
        seconds / sweeps,
        trials / sweeps,
        tuple(100.0 * (runs.mean / truth - 1.0) for runs in made),
        tuple(drawn),
        tuple(_covers(runs, truth) for runs in made),
        tuple(differs(made[first], made[other]) for first, other in _pairs(sweeps)),
    )


def _covers(runs: Runs, truth: float) -> bool:
    ends = interval(runs.values, runs.trim)
    return ends is not None and ends[0] <= truth <= ends[1]


def _pairs(sweeps: int) -> list[tuple[int, int]]:
    """Sweeps that were drawn independently: neighbours mirror each other."""
    return [
        (first, first + 2) for start in range(0, sweeps - 3, 4) for first in (start, start + 1)
    ]


def root_mean_square(values: Sequence[float]) -> float:
    """Root of the mean square."""
    return math.sqrt(sum(value * value for value in values) / len(values))


def standard_error(
    statistic: Callable[..., float], *samples: Sequence[float], unit: int = 2
) -> float:
    """Jackknife standard error of a statistic of samples that belong together.

    `unit` neighbouring values are left out at a time: sweeps come in mirrored
    pairs, which are not independent of each other.
    """
    count = len(samples[0]) // unit
    left_out = [
        statistic(*[[*some[: unit * i], *some[unit * (i + 1) :]] for some in samples])
        for i in range(count)
    ]
    mean = sum(left_out) / count
    return math.sqrt((count - 1) / count * sum((value - mean) ** 2 for value in left_out))
