"""Whether machine and server stayed the same while a result was measured.

A fixed piece of work shows changes of the machine: a processor that runs at another speed.  The
server's CPU time for each transaction shows all else, such as other programs' use of its
caches: a trend of it over the rounds is one of the server or the machine, and of no figure.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from leaselab.analysis.figures.statistics import trend
from leaselab.model.record import GENERATOR, Metric, Round

UNSTEADY = "unsteady"
"""Word for a result whose machine or server moved by more than it claims to resolve."""


def machine_speeds(rounds: Sequence[Round]) -> list[float]:
    """Speed of the servers' hosts in each round, as a share of their own mean (around 1).

    From the fixed piece of work before and after each trial: the lower quartile of a round's
    readings, as one may be disturbed for milliseconds and the fastest of few is slower than
    the fastest of many; of several hosts the slowest.  Empty where no trial has it.
    """
    times = [[_lower_quartile(seconds) for seconds in _work(round_)] for round_ in rounds]
    if not times or not all(times):
        return []
    slowest = [max(time) for time in times]
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
    if metric is None or not metric.value:
        return ""
    low, high = metric.ci95 or (metric.value, metric.value)
    claimed = max((high - low) / 2 / metric.value, relative_width)
    by, seen = moved(rounds), []
    if by is not None and by > claimed:
        seen.append(f"the machine's own speed moved by {100 * by:.1f} % from run to run")
    cost, figure = trend_of(rounds, "cpu_us", 0), trend_of(rounds, metric.name, metric.trim)
    if cost is not None and abs(cost[1] / cost[0] - 1.0) > claimed:
        seen.append(
            "the server's CPU time per transaction went from {:.3g} to {:.3g} µs over the "
            "runs".format(*cost)
        )
    if figure is not None and abs(change := (figure[1] - figure[0]) / metric.value) > claimed:
        seen.append(
            f"the {metric.title} {'rose' if change > 0 else 'fell'} by {100 * abs(change):.1f} "
            "% during the sweep; another sweep can differ by that much"
        )
    if not seen:
        return ""
    return (
        f"{' and '.join(seen)}: more than the {100 * claimed:.1f} % that this figure claims to "
        "resolve"
    )


def trend_of(rounds: Sequence[Round], name: str, trim: int) -> tuple[float, float] | None:
    """A metric at the first and at the last round, by a line; None where it has no trend."""
    values = [value for round_ in rounds if (value := round_.metrics.get(name))]
    found = trend(values, trim)
    return None if found is None else found.ends


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
