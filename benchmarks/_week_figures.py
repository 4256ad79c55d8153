"""Figures of a table from the events of many simulated weeks.  Pure."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from benchmarks._week import Log, Ran, simulate
from leaselab.analysis.arrivals import Demand, Kind
from leaselab.analysis.delays import quantile
from leaselab.analysis.workload import WEEK_H, Lab

BEFORE_H = WEEK_H
"""A lab works for a week before the one that counts, so that it begins as one at work."""
AFTER_H = WEEK_H
"""What is not done this long after the week that counts is called infinite."""
COUNTED = (BEFORE_H, BEFORE_H + WEEK_H)
UNTIL_H = BEFORE_H + WEEK_H + AFTER_H


@dataclass(frozen=True, slots=True)
class Spread:
    """Times of one kind (h), those of all weeks together; infinite is `never within a week`."""

    median: float
    p95: float
    most: float
    weeks: tuple[float, float]
    """Between which the medians of four weeks in five lie: their 10th and 90th percentile."""


@dataclass(frozen=True, slots=True)
class Figures:
    """Figures of some weeks of one lab."""

    weeks: int
    commits: float
    """Commits measured, a week."""
    skipped: float
    """Commits never measured, as a newer one came with them, a week."""
    queue: Spread
    """Time that a commit's job waited for a bench."""
    delay: Spread
    """From the push of a commit to the last of its verdicts."""
    late: float
    """Share of the commits that had not all their verdicts when the week ended."""
    night: Spread
    """From a night's first job to the end of its last."""
    nights_late: float
    """Share of the nights that were not done when the next began."""
    catalogue: Spread
    """From the beginning of a weekly set of experiments to the end of its last."""
    used: float
    """Share of all benches' time that jobs held them."""
    away: float
    """Share of that time in which benches were known to be broken."""
    retries: float
    """Jobs that met a broken bench, a week."""


def observe(lab: Lab, asked: Callable[[int], Demand], seed: int, weeks: int) -> Figures:
    """Simulate weeks of a lab, each on its own, and return their figures.

    `asked` gives the demand of a week, until `UNTIL_H`.
    """
    logs, demands = [], []
    for week in range(weeks):
        demands.append(asked(week))
        logs.append(simulate(lab, demands[-1], COUNTED, UNTIL_H, (seed, week)))
    commits = [_groups(log, Kind.COMMIT, Kind.SAMPLE) for log in logs]
    nights = [_groups(log, Kind.NIGHT, Kind.NIGHT_DUEL) for log in logs]
    sets = [_groups(log, Kind.WEEK, Kind.WEEK_DUEL) for log in logs]
    ends = [[_last(group) for group in week.values()] for week in commits]
    night_times = [[_since_beginning(group) for group in week.values()] for week in nights]
    measured = sum(map(len, commits))
    return Figures(
        weeks=weeks,
        commits=measured / weeks,
        skipped=_mean(
            sum(c.skipped for c in item.commits if _within(c.found_h)) for item in demands
        ),
        queue=spread(
            [[_waited(ran) for group in week.values() for ran in group] for week in commits]
        ),
        delay=spread(
            [[_since_beginning(group) for group in week.values()] for week in commits]
        ),
        late=sum(end > COUNTED[1] for week in ends for end in week) / max(measured, 1),
        night=spread(night_times),
        nights_late=sum(took > 24 for week in night_times for took in week)
        / max(sum(map(len, night_times)), 1),
        catalogue=spread(
            [[_since_beginning(group) for group in week.values()] for week in sets]
        ),
        used=_mean(
            _share(((h.began_h, h.ended_h) for h in log.holds if h.job), lab) for log in logs
        ),
        away=_mean(_share(((since, to) for _, since, to in log.away), lab) for log in logs),
        retries=_mean(
            sum(not h.whole and _within(h.ended_h) for h in log.holds if h.job) for log in logs
        ),
    )


def spread(weeks: Sequence[Sequence[float]]) -> Spread:
    """Quantiles of all weeks' times (h), and the spread of the weeks; nan without any."""
    together = [time for week in weeks for time in week]
    medians = [quantile(week, 0.5) for week in weeks if week]
    return Spread(
        quantile(together, 0.5),
        quantile(together, 0.95),
        quantile(together, 1.0),
        (quantile(medians, 0.1), quantile(medians, 0.9)),
    )


def _groups(log: Log, *kinds: Kind) -> dict[int, list[Ran]]:
    """The jobs of each commit, night or weekly set of the week that counts."""
    groups: dict[int, list[Ran]] = defaultdict(list)
    for ran in log.ran:
        if ran.job.kind in kinds and _within(ran.job.belongs_h):
            groups[ran.job.group].append(ran)
    return groups


def _within(at_h: float) -> bool:
    return COUNTED[0] <= at_h < COUNTED[1]


def _waited(ran: Ran) -> float:
    return math.inf if ran.done_h is None else ran.waited_h


def _last(group: Sequence[Ran]) -> float:
    return max(math.inf if ran.done_h is None else ran.done_h for ran in group)


def _since_beginning(group: Sequence[Ran]) -> float:
    return _last(group) - group[0].job.began_h


def _share(times: Iterable[tuple[float, float]], lab: Lab) -> float:
    """Share of all benches' time in the week that counts which some times on benches cover."""
    begin, end = COUNTED
    covered = sum(max(0.0, min(to, end) - max(since, begin)) for since, to in times)
    return covered / (lab.benches * WEEK_H)


def _mean(values: Iterable[float]) -> float:
    numbers = list(values)
    return sum(numbers) / len(numbers)
