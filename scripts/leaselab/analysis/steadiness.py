"""Whether the machine itself kept its speed while a result was measured."""

from __future__ import annotations

import statistics
from typing import TYPE_CHECKING

from leaselab.model.record import GENERATOR

if TYPE_CHECKING:
    from collections.abc import Sequence

    from leaselab.model.record import Metric, Round

UNSTEADY = "unsteady"
"""Word for a result whose machine moved by more than it claims to resolve."""


def machine_speeds(rounds: Sequence[Round]) -> list[float]:
    """Speed of the servers' hosts in each round, as a share of their own mean (around 1).

    From the fixed piece of work before and after each trial: the lower quartile of a round's
    readings, as one may be disturbed for milliseconds and the fastest of few is slower than
    the fastest of many; of several hosts the slowest.  Empty where no trial has it.
    """
    times = [[_lower_quartile(seconds) for seconds in _work(one)] for one in rounds]
    if not times or not all(times):
        return []
    slowest = [max(one) for one in times]
    mean = statistics.fmean(slowest)
    return [mean / value for value in slowest]


def moved(rounds: Sequence[Round]) -> float | None:
    """How far the machine's speed moved from round to round: fastest over slowest, less 1.

    None where it was not read, or only in one round.
    """
    speeds = machine_speeds(rounds)
    return max(speeds) / min(speeds) - 1.0 if len(speeds) > 1 else None


def unsteady(rounds: Sequence[Round], metric: Metric | None, relative_width: float) -> str:
    """Why a result with this figure is unsteady, empty where it is not.

    It claims to resolve half of its interval, and no less than the width of a bracket.
    """
    by = moved(rounds)
    if by is None or metric is None or not metric.value:
        return ""
    low, high = metric.ci95 or (metric.value, metric.value)
    claimed = max((high - low) / 2 / metric.value, relative_width)
    if by <= claimed:
        return ""
    return (
        f"the machine's own speed moved by {100 * by:.1f} % from run to run, more than the "
        f"{100 * claimed:.1f} % that this figure claims to resolve"
    )


def _lower_quartile(seconds: Sequence[float]) -> float:
    if len(seconds) == 1:
        return seconds[0]
    return statistics.quantiles(seconds, n=4)[0]


def _work(one: Round) -> list[list[float]]:
    """Times of the fixed piece of work (s), a list for each host but the generator's."""
    found: dict[str, list[float]] = {}
    for trial in one.trials:
        for role, use in trial.hosts.items():
            if role != GENERATOR:
                found.setdefault(role, []).extend(use.work_s)
    return list(found.values())
