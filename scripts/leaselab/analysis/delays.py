"""How soon a drop is reported and its commit named, in weeks drawn from a seed.  Pure."""

from __future__ import annotations

import heapq
import math
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from leaselab.analysis.arrivals import Commit, Demand, Job, Kind, demand
from leaselab.analysis.workload import WEEK_H, Lab


@dataclass(frozen=True, slots=True)
class Served:
    """What became of a job; times are hours since Monday, 00:00."""

    job: Job
    began_h: float
    """When it got its bench."""
    measured_h: float
    """When it began to measure: hosts are prepared and the commit is built."""
    done_h: float
    """When its verdict was there, and the bench was free."""

    @property
    def waited_h(self) -> float:
        """Time in the queue (h)."""
        return self.began_h - self.job.ready_h


def serve(lab: Lab, asked: Demand) -> list[Served]:
    """Simulate benches that never break, which serve jobs in the order of their requests."""
    free = [0.0] * lab.benches
    built: dict[int, float] = {}
    builder_h = 0.0
    served = []
    for job in asked.jobs:
        began = lab.opens_h(max(job.ready_h, heapq.heappop(free)))
        measured = began + lab.prepare_min / 60
        if job.commit is not None:
            if job.commit.number not in built:
                builder_h = max(builder_h, measured) + job.commit.build_h
                built[job.commit.number] = builder_h
            measured = max(measured, built[job.commit.number])
        done = measured + job.measure_h + lab.finish_min / 60
        heapq.heappush(free, done)
        served.append(Served(job, began, measured, done))
    return served


def quantile(values: Sequence[float], share: float) -> float:
    """The smallest value that at least this share of them reaches or stays below; nan of none.

    Infinite values are values like others, which interpolation would not allow.
    """
    if not values:
        return math.nan
    return sorted(values)[max(0, math.ceil(share * len(values)) - 1)]


WEEKS = 40
"""Weeks drawn for the delays, each after one that does not count and before another."""
_BEFORE_H = WEEK_H
_UNTIL_H = 3 * WEEK_H
_DUELS = (Kind.COMMIT, Kind.SAMPLE, Kind.NIGHT_DUEL, Kind.WEEK_DUEL)


@dataclass(frozen=True, slots=True)
class Delay:
    """Hours from a push to something: median and 95th percentile."""

    median: float
    p95: float


def delays(lab: Lab, seed: int, weeks: int = WEEKS) -> Mapping[Kind, tuple[Delay, Delay]]:
    """By kind of duel: the delay until a drop is reported, and until its commit is named."""
    found: dict[Kind, list[tuple[float, float]]] = {kind: [] for kind in _DUELS}
    for week in range(weeks):
        asked = demand(lab, _UNTIL_H, seed, week)
        served = serve(lab, asked)
        for kind in _DUELS:
            own = [one for one in served if one.job.kind is kind and one.job.commit]
            found[kind] += _of_week(lab, asked.commits, own, served)
    return {
        kind: (_delay([reported for reported, _ in both]), _delay([named for _, named in both]))
        for kind, both in found.items()
    }


def _of_week(
    lab: Lab, commits: Sequence[Commit], own: Sequence[Served], served: Sequence[Served]
) -> Iterator[tuple[float, float]]:
    """Hours to the verdict and to the name, of each commit of the week that counts."""
    groups: dict[int, list[Served]] = {}
    for one in own:
        if one.job.commit:
            groups.setdefault(one.job.commit.number, []).append(one)
    if not groups:
        return
    measured = sorted(groups)
    previous = {later: earlier for earlier, later in pairwise(measured)}
    asked_at = [one.job.ready_h for one in served]
    for commit in commits:
        if not _BEFORE_H <= commit.pushed_h < _BEFORE_H + WEEK_H:
            continue
        place = bisect_left(measured, commit.number)
        if place == len(measured):
            yield math.inf, math.inf
            continue
        number = measured[place]
        new = commits[previous.get(number, -1) + 1 : number + 1]
        searched_h = lab.bisect_h(sum(1 + one.skipped for one in new))
        for run in _first_runs(groups[number]):
            took_h = max(run.job.measure_h, lab.drop_min / 60) + lab.finish_min / 60
            reported = run.measured_h + took_h
            named = reported
            if searched_h:
                later = bisect_left(asked_at, reported)
                waited = served[later].waited_h if later < len(served) else 0.0
                named += waited + searched_h
            yield reported - commit.pushed_h, named - commit.pushed_h


def _first_runs(jobs: Sequence[Served]) -> list[Served]:
    """The jobs of the first night or week that measured a commit: later ones repeat it."""
    first = min(job.job.group for job in jobs)
    return [job for job in jobs if job.job.group == first]


def _delay(hours: Sequence[float]) -> Delay:
    return Delay(quantile(hours, 0.5), quantile(hours, 0.95))
