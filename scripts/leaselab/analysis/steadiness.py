"""Whether machine and server stayed the same while a result was measured.

A fixed piece of work shows changes of the machine: a processor that runs at another speed.  The
server's CPU time for each transaction shows all else, such as other programs' use of its
caches: a trend of it over the rounds is one of the server or the machine, and of no figure.
"""

from __future__ import annotations

import itertools
import math
import statistics
from collections.abc import Sequence

from leaselab.model.record import GENERATOR, Metric, Round

UNSTEADY = "unsteady"
"""Word for a result whose machine or server moved by more than it claims to resolve."""
TREND = 0.02
"""Chance of a trend among rounds in random order (0..1) below which there is one."""


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
    by, trend, seen = moved(rounds), cpu_trend(rounds), []
    if by is not None and by > claimed:
        seen.append(f"the machine's own speed moved by {100 * by:.1f} % from run to run")
    if trend is not None and abs(trend[1] / trend[0] - 1.0) > claimed:
        seen.append(
            "the server's CPU time per transaction went from {:.3g} to {:.3g} µs over the "
            "runs".format(*trend)
        )
    if not seen:
        return ""
    return (
        f"{' and '.join(seen)}, more than the {100 * claimed:.1f} % that this figure claims "
        "to resolve"
    )


def cpu_trend(rounds: Sequence[Round]) -> tuple[float, float] | None:
    """CPU time per transaction in the first and in the last round, by a line (us).

    Kendall's test against the order of the rounds, and the line of Theil and Sen.  None where
    the test sees no trend, which it cannot in fewer than five rounds.
    """
    values = [value for round_ in rounds if (value := round_.metrics.get("cpu_us"))]
    compared = list(itertools.combinations(enumerate(values), 2))
    falls = sum(late < early for (_, early), (_, late) in compared)
    rises = sum(late > early for (_, early), (_, late) in compared)
    if 2.0 * _chance(len(values), min(falls, rises) + len(compared) - falls - rises) >= TREND:
        return None
    slope = statistics.median(
        (late - early) / (after - before) for (before, early), (after, late) in compared
    )
    reach = slope * (len(values) - 1) / 2.0
    middle = statistics.median(values)
    return middle - reach, middle + reach


def _chance(count: int, most: int) -> float:
    """Share of the orders of so many values that have at most `most` inversions (0..1)."""
    orders = [1]
    for number in range(2, count + 1):
        longer = [0] * (len(orders) + number - 1)
        for place, many in enumerate(orders):
            for more in range(number):
                longer[place + more] += many
        orders = longer
    return sum(orders[: most + 1]) / math.factorial(count)


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
