"""Whether the machine itself kept its speed while a sweep was measured."""

from __future__ import annotations

import statistics
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from leaselab.analysis.statistics import Estimate

UNSTEADY = "unsteady"
"""Word for a result whose machine moved by more than it claims to resolve."""
_SERVING = ("server", "partner")


def machine_speeds(runs: Sequence[Mapping[str, Any]]) -> list[float]:
    """Speed of the servers' hosts in each run, as a share of their own mean (around 1).

    From the fixed piece of work before and after each trial: the lower quartile of a run's
    readings, as one may be disturbed for milliseconds and the fastest of few is slower than
    the fastest of many; of two hosts the slower.  Empty where no trial has it.
    """
    times = [
        [
            _lower_quartile(seconds)
            for role in _SERVING
            if (seconds := [value for trial in run["trials"] for value in _work(trial, role)])
        ]
        for run in runs
    ]
    if not times or not all(times):
        return []
    slowest = [max(one) for one in times]
    mean = statistics.fmean(slowest)
    return [mean / value for value in slowest]


def moved(runs: Sequence[Mapping[str, Any]]) -> float | None:
    """How far the machine's speed moved from run to run: fastest over slowest, less 1.

    None where it was not read, or only in one run.
    """
    speeds = machine_speeds(runs)
    return max(speeds) / min(speeds) - 1.0 if len(speeds) > 1 else None


def unsteady(
    runs: Sequence[Mapping[str, Any]], rate: Estimate | None, relative_width: float
) -> str:
    """Why a result is unsteady, empty where it is not.

    It claims to resolve half of its interval, and no less than the width of a bracket.
    """
    by = moved(runs)
    if by is None or rate is None:
        return ""
    half = (rate.ci95[1] - rate.ci95[0]) / 2 / rate.trimmed_mean if rate.ci95 else 0.0
    claimed = max(half, relative_width)
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


def _work(trial: Mapping[str, Any], role: str) -> Sequence[float]:
    use = (trial.get("hosts") or {}).get(role)
    return use["work_s"] if use else ()
