"""Whether our search keeps its promises, of which bisection is the measure."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from benchmarks._servers import Cell
from benchmarks._sweeps import Row, root_mean_square, standard_error

SECONDS_MEDIAN = 0.4
SECONDS_WORST = 0.6
RMSE_EXCESS = 0.1
BIAS = 0.3
COVERAGE = 93.0
"""Least share of 95 % intervals that hold the truth (%)."""
FALSE_ALARMS = 7.0
"""Largest share of equal pairs with p below 5 % (%)."""
CHANCE = 3.0
"""Standard errors by which a share may miss its limit: some hundred cells are looked at."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """Our search against bisection on one kind of server."""

    cell: Cell
    seconds_ratio: float
    """Our seconds over those of bisection."""
    rmse_excess: float
    """Our RMSE minus that of bisection (percentage points)."""
    rmse_excess_se: float
    bias: float
    """Against the servers drawn (%)."""
    bias_se: float
    coverage: float
    """Share of our 95 % intervals that hold the truth (%)."""
    coverage_se: float
    false_alarms: float
    """Share of pairs of sweeps of equal servers with p below 5 % (%)."""
    false_alarms_se: float


@dataclass(frozen=True, slots=True)
class Verdict:
    """One promise, and whether it was kept."""

    promise: str
    kept: bool
    found: str


def compare(cell: Cell, rows: Mapping[str, Row]) -> Comparison:
    """Compare the rows of one cell."""
    ours, other = rows["leaselab"], rows["bisection"]

    def excess(our: Sequence[float], theirs: Sequence[float]) -> float:
        return root_mean_square(our) - root_mean_square(theirs)

    errors = ours.nominal, other.nominal
    return Comparison(
        cell,
        seconds_ratio=ours.seconds / other.seconds,
        rmse_excess=excess(*errors),
        rmse_excess_se=standard_error(excess, *errors),
        bias=ours.bias,
        bias_se=standard_error(statistics.fmean, ours.drawn),
        coverage=ours.coverage,
        coverage_se=_share_error(COVERAGE, len(ours.covered)),
        false_alarms=ours.false_alarms,
        false_alarms_se=_share_error(FALSE_ALARMS, len(ours.differs)),
    )


def _share_error(percent: float, count: int) -> float:
    """Standard error of a share of so many, were it this one (percentage points)."""
    return math.sqrt(percent * (100.0 - percent) / count)


def judge(comparisons: Sequence[Comparison]) -> list[Verdict]:
    """Hold the cells against the promises.

    A cell's RMSE of some dozens of sweeps is known to a tenth of itself only: a
    cell breaks the promise when its excess is above the limit by more than twice
    its own standard error.  So does a bias, which is taken against the servers that
    were really drawn: what chance alone puts into nine draws of a capacity that
    spreads by 10 % (a standard error of 0.5 % at 60 sweeps) is no bias.
    """
    ratios = [item.seconds_ratio for item in comparisons]
    median = statistics.median(ratios)
    slowest = max(comparisons, key=lambda item: item.seconds_ratio)
    largest = max(comparisons, key=lambda item: item.rmse_excess)
    above = [item for item in comparisons if item.rmse_excess > RMSE_EXCESS]
    broken = [
        item for item in above if item.rmse_excess - 2 * item.rmse_excess_se > RMSE_EXCESS
    ]
    below = [item for item in comparisons if item.coverage < COVERAGE]
    narrow = [item for item in below if item.coverage + CHANCE * item.coverage_se < COVERAGE]
    least = min(comparisons, key=lambda item: item.coverage)
    alarmed = [item for item in comparisons if item.false_alarms > FALSE_ALARMS]
    alarming = [
        item
        for item in alarmed
        if item.false_alarms - CHANCE * item.false_alarms_se > FALSE_ALARMS
    ]
    most = max(comparisons, key=lambda item: item.false_alarms)
    biased = max(comparisons, key=lambda item: abs(item.bias))
    return [
        Verdict(
            f"at most {SECONDS_MEDIAN} of the seconds of bisection in the median cell",
            median <= SECONDS_MEDIAN,
            f"{median:.2f}",
        ),
        Verdict(
            f"never more than {SECONDS_WORST} of them",
            slowest.seconds_ratio <= SECONDS_WORST,
            f"at most {slowest.seconds_ratio:.2f} ({slowest.cell.name})",
        ),
        Verdict(
            f"RMSE at most {RMSE_EXCESS} points above that of bisection",
            not broken,
            f"at most {largest.rmse_excess:+.2f} ± {largest.rmse_excess_se:.2f} "
            f"({largest.cell.name}); {len(above)} of {len(comparisons)} cells measured above, "
            f"{len(broken)} by more than two standard errors{_names(broken)}",
        ),
        Verdict(
            f"bias within ±{BIAS} %",
            abs(biased.bias) - 2 * biased.bias_se <= BIAS,
            f"at most {biased.bias:+.2f} ± {biased.bias_se:.2f} % ({biased.cell.name})",
        ),
        Verdict(
            f"95 % intervals hold the truth in at least {COVERAGE:g} %",
            not narrow,
            f"{statistics.fmean(item.coverage for item in comparisons):.1f} % of all, at least "
            f"{least.coverage:.1f} ± {least.coverage_se:.1f} % ({least.cell.name}); "
            f"{len(below)} of {len(comparisons)} cells measured below, {len(narrow)} by more "
            f"than {CHANCE:g} standard errors{_names(narrow)}",
        ),
        Verdict(
            f"p below 5 % for at most {FALSE_ALARMS:g} % of equal pairs",
            not alarming,
            f"{statistics.fmean(item.false_alarms for item in comparisons):.1f} % of all, at "
            f"most {most.false_alarms:.1f} ± {most.false_alarms_se:.1f} % ({most.cell.name}); "
            f"{len(alarmed)} of {len(comparisons)} cells measured above, {len(alarming)} by "
            f"more than {CHANCE:g} standard errors{_names(alarming)}",
        ),
    ]


def _names(cells: Sequence[Comparison]) -> str:
    return f": {', '.join(item.cell.name for item in cells)}" if cells else ""
