"""What comes to a lab in some weeks: pushes, nights, weekly sets, ranges by hand.  Pure.

All chance of the demand is drawn here, before anything is simulated, so that labs of
different sizes meet the same commits and the same durations.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from leaselab.analysis.workload import DAY_H, OFFICE_FROM_H, WEEK_H, Lab


class Kind(enum.Enum):
    """Why a job was started."""

    COMMIT = "commit"
    SAMPLE = "sample"
    """Every n-th commit."""
    NIGHT = "night"
    NIGHT_DUEL = "night duel"
    WEEK_DUEL = "week duel"
    WEEK = "week"
    RANGE = "range"


TOGETHER = frozenset({Kind.NIGHT, Kind.NIGHT_DUEL, Kind.WEEK_DUEL, Kind.WEEK})
"""Kinds whose groups belong to a week as a whole, by their beginning."""


@dataclass(frozen=True, slots=True)
class Commit:
    """A commit that is measured: the newest that a poll found."""

    number: int
    pushed_h: float
    """When it was pushed; times are hours since Monday, 00:00."""
    found_h: float
    """When a poll found it."""
    skipped: int
    """Commits that came with it or since the poll before, and are not measured."""
    build_h: float
    """What building it takes (h)."""


@dataclass(frozen=True, slots=True)
class Job:
    """One scenario or experiment to be measured once."""

    kind: Kind
    ready_h: float
    """When it asks for a bench."""
    measure_h: float
    """How long it measures (h)."""
    group: int
    """Which commit, night, week or range it belongs to: its number among its kind."""
    began_h: float
    """When that began: the push, the first job of the evening or of the weekly set."""
    commit: Commit | None
    """What must be built first; None where nothing must."""

    @property
    def belongs_h(self) -> float:
        """What decides to which week it belongs: a night does as a whole."""
        return self.began_h if self.kind in TOGETHER else self.ready_h


@dataclass(frozen=True, slots=True)
class Demand:
    """All that is asked of a lab from Monday, 00:00 to `until_h`."""

    commits: tuple[Commit, ...]
    jobs: tuple[Job, ...]
    """By the time at which they ask."""


def demand(lab: Lab, until_h: float, seed: int, week: int) -> Demand:
    """Draw what is asked of a lab until a time (h); the same for the same seed and week.

    Each part has random numbers of its own: what is asked more of one leaves the others.
    """
    rngs = [np.random.default_rng([seed, week, part]) for part in range(8)]
    commits = _commits(lab, until_h, rngs[0])
    jobs = [
        *_of_commits(lab, Kind.COMMIT, lab.per_commit, commits, rngs[1]),
        *_nights(lab, Kind.NIGHT, until_h, commits, rngs[2]),
        *_ranges(lab, until_h, rngs[3]),
        *_weekly(lab, until_h, commits, rngs[4]),
        *_of_commits(lab, Kind.SAMPLE, lab.sampled, commits[:: lab.every], rngs[5]),
        *_nights(lab, Kind.NIGHT_DUEL, until_h, commits, rngs[6]),
        *_week_duels(lab, until_h, commits, rngs[7]),
    ]
    return Demand(commits, tuple(sorted(jobs, key=lambda job: job.ready_h)))


def _commits(lab: Lab, until_h: float, rng: np.random.Generator) -> tuple[Commit, ...]:
    """Pushes of a Poisson process whose rate is the hour's, as polls find them."""
    polls: dict[float, tuple[float, int]] = {}
    poll_h = lab.poll_min / 60
    now = 0.0
    while lab.most_pushes_an_hour:
        now += rng.exponential(1 / lab.most_pushes_an_hour)
        if now >= until_h:
            break
        kept = rng.random() * lab.most_pushes_an_hour < lab.pushes_an_hour(now)
        commits = int(rng.geometric(1 / lab.commits_a_push))
        if kept:
            found = math.ceil(now / poll_h) * poll_h if poll_h else now
            polls[found] = (now, polls.get(found, (0.0, 0))[1] + commits)
    return tuple(
        Commit(
            number,
            pushed,
            found,
            commits - 1,
            (lab.build_cold_min if rng.random() < lab.cold else lab.build_warm_min) / 60,
        )
        for number, (found, (pushed, commits)) in enumerate(polls.items())
    )


def _of_commits(
    lab: Lab, kind: Kind, scenarios: int, commits: Sequence[Commit], rng: np.random.Generator
) -> list[Job]:
    """A duel of each scenario for each of these commits, as soon as it is found."""
    return [
        Job(kind, commit.found_h, _duel_h(lab, rng), commit.number, commit.pushed_h, commit)
        for commit in commits
        for _ in range(scenarios)
    ]


def _nights(
    lab: Lab, kind: Kind, until_h: float, commits: Sequence[Commit], rng: np.random.Generator
) -> list[Job]:
    """Each evening's jobs, of the newest commit that was known when it began."""
    swept = kind is Kind.NIGHT
    scenarios, takes_h = (lab.nightly, _sweep_h) if swept else (lab.night_duels, _duel_h)
    jobs = []
    for night in range(int(until_h // DAY_H)):
        began = night * DAY_H + lab.night_at_h
        newest = _newest(commits, began)
        for _ in range(scenarios):
            ready = began + lab.night_over_h * rng.random()
            jobs.append(Job(kind, ready, takes_h(lab, rng), night, began, newest))
    return jobs


def _weekly(
    lab: Lab, until_h: float, commits: Sequence[Commit], rng: np.random.Generator
) -> list[Job]:
    """Each week's experiments, of the newest commit that was known when they began."""
    jobs = []
    for number, began in enumerate(_weeks(lab, until_h)):
        newest = _newest(commits, began)
        for _ in range(lab.experiments):
            took = sum(_sweep_h(lab, rng) for _ in range(lab.points))
            jobs.append(Job(Kind.WEEK, began, took, number, began, newest))
    return jobs


def _week_duels(
    lab: Lab, until_h: float, commits: Sequence[Commit], rng: np.random.Generator
) -> list[Job]:
    """Each week's duels, of the newest commit that was known when they began."""
    return [
        Job(Kind.WEEK_DUEL, began, _duel_h(lab, rng), number, began, _newest(commits, began))
        for number, began in enumerate(_weeks(lab, until_h))
        for _ in range(lab.week_duels)
    ]


def _weeks(lab: Lab, until_h: float) -> list[float]:
    """When the weekly set asks for benches, in each week (h)."""
    count = math.ceil((until_h - lab.weekly_at_h) / WEEK_H)
    return [number * WEEK_H + lab.weekly_at_h for number in range(count)]


def _newest(commits: Sequence[Commit], at_h: float) -> Commit | None:
    """The last commit that was known at a time."""
    known = [commit for commit in commits if commit.found_h <= at_h]
    return known[-1] if known else None


def _ranges(lab: Lab, until_h: float, rng: np.random.Generator) -> list[Job]:
    """Ranges by hand, at working hours as commits are; they build what they need."""
    jobs: list[Job] = []
    now = 0.0
    while lab.ranges:
        now += rng.exponential(7 * DAY_H / lab.ranges)
        if now >= until_h:
            break
        began = (now // DAY_H) * DAY_H + OFFICE_FROM_H + 10.0 * (now % DAY_H) / DAY_H
        jobs.append(
            Job(Kind.RANGE, began, rng.exponential(lab.range_h), len(jobs), began, None)
        )
    return jobs


def _duel_h(lab: Lab, rng: np.random.Generator) -> float:
    """A time of a duel (h)."""
    return _drawn_h(lab.duel_min, lab.duel_sd, rng)


def _sweep_h(lab: Lab, rng: np.random.Generator) -> float:
    """A time of nine runs (h)."""
    return _drawn_h(lab.measure_min, lab.measure_sd, rng)


def _drawn_h(mean_min: float, spread: float, rng: np.random.Generator) -> float:
    """A log-normal time (h) of a mean (min) and of a spread of its logarithm."""
    return float(rng.lognormal(math.log(mean_min / 60) - spread**2 / 2, spread))
