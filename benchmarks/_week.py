"""A lab's weeks, event by event: jobs that wait for benches, builds, benches that break."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import simpy

from benchmarks._locks import Bench, Locks
from leaselab.analysis.arrivals import Commit, Demand, Job, Kind
from leaselab.analysis.workload import Lab

Process = Generator[simpy.Event, Any, Any]
_OF_COMMITS = (Kind.COMMIT, Kind.SAMPLE)


@dataclass(slots=True)
class Ran:
    """What became of a job; times are hours since Monday, 00:00."""

    job: Job
    waited_h: float = 0.0
    """Time in the queue, that of every attempt."""
    done_h: float | None = None
    """When its verdict was there; None when the simulation ended before."""
    broken: int = 0
    """Attempts that met a broken bench."""


@dataclass(frozen=True, slots=True)
class Hold:
    """A time for which a job held a bench."""

    bench: int
    began_h: float
    ended_h: float
    job: Job | None
    """None for a check of the bench."""
    whole: bool
    """Whether the bench was, to the end."""


@dataclass(slots=True)
class Log:
    """All that happened."""

    ran: list[Ran] = field(default_factory=list)
    holds: list[Hold] = field(default_factory=list)
    away: list[tuple[int, float, float]] = field(default_factory=list)
    """Bench, and from when to when it was without its label (h)."""
    ended_h: float = 0.0


def simulate(
    lab: Lab,
    asked: Demand,
    counted: tuple[float, float],
    until_h: float,
    chance: tuple[int, int],
) -> Log:
    """Simulate a lab's work.

    It ends when the time `counted` (from, to; h) is over and all jobs that belong to it are
    done, and at `until_h` at the latest.  `chance` (seed, week) says when benches break;
    those of a larger lab are those of a smaller one and some more.
    """
    return _Lab(lab, asked, counted, chance).run(until_h)


class _Lab:
    """The processes of one simulation, and their common state."""

    def __init__(
        self, lab: Lab, asked: Demand, counted: tuple[float, float], chance: tuple[int, int]
    ) -> None:
        self._lab = lab
        self._asked = asked
        self._env = simpy.Environment()
        self._log = Log()
        self._benches = [Bench(self._env, number) for number in range(lab.benches)]
        self._locks = Locks(self._env, self._benches)
        self._builder = simpy.Resource(self._env, capacity=1)
        self._builds: dict[int, simpy.Process] = {}
        self._without_label: dict[Bench, float] = {}
        self._chance = [np.random.default_rng([*chance, 9, b.number]) for b in self._benches]
        self._counted = counted
        self._open = sum(self._counts(job) for job in asked.jobs)
        self._all_done = self._env.event()

    def run(self, until_h: float) -> Log:
        env = self._env
        env.process(self._source())
        for bench in self._benches:
            env.process(self._checks(bench))
            if np.isfinite(self._lab.mtbf_h):
                env.process(self._life(bench))
        week = env.timeout(self._counted[1])
        if not self._open:
            self._all_done.succeed()
        env.run(until=(week & self._all_done) | env.timeout(until_h))
        log = self._log
        log.ended_h = env.now
        log.away += [
            (bench.number, since, env.now) for bench, since in self._without_label.items()
        ]
        return log

    def _counts(self, job: Job) -> bool:
        return self._counted[0] <= job.belongs_h < self._counted[1]

    def _source(self) -> Process:
        """Start each job when it is due."""
        for job in self._asked.jobs:
            yield self._env.timeout(max(0.0, job.ready_h - self._env.now))
            self._env.process(self._job(job))

    def _job(self, job: Job) -> Process:
        """Wait for a bench, use it; again at the end of the queue when the bench was broken."""
        env, ran = self._env, Ran(job)
        self._log.ran.append(ran)
        priority = int(self._lab.commits_first and job.kind not in _OF_COMMITS)
        while ran.done_h is None:
            asked_h = env.now
            bench = yield self._locks.any(priority)
            # the first job keeps its turn until the benches open
            yield env.timeout(self._lab.opens_h(env.now) - env.now)
            ran.waited_h += env.now - asked_h
            began_h = env.now
            whole = yield from self._use(bench, job)
            if whole:
                ran.done_h = env.now
            else:
                ran.broken += 1
                self._mark(bench)
            self._log.holds.append(Hold(bench.number, began_h, env.now, job, whole))
            self._locks.release(bench)
        if self._counts(job):
            self._open -= 1
            if not self._open:
                self._all_done.succeed()

    def _use(self, bench: Bench, job: Job) -> Process:
        """All stages of a job; its value is whether the bench was whole to their end."""
        lab, env = self._lab, self._env
        if not (yield from self._spend(bench, env.timeout(lab.prepare_min / 60))):
            return False
        if job.commit and not (yield from self._spend(bench, self._build(job.commit))):
            return False
        work = env.timeout(job.measure_h + lab.finish_min / 60)
        return (yield from self._spend(bench, work))

    def _spend(self, bench: Bench, work: simpy.Event) -> Process:
        """Wait for work on a bench; its value is False when the bench broke, or was broken."""
        yield bench.broke | work
        if not bench.broke.triggered:
            return True
        yield self._env.timeout(self._lab.notice_min / 60)
        return False

    def _build(self, commit: Commit) -> simpy.Process:
        """The build of a commit, started by its first job; one at a time."""
        if commit.number not in self._builds:
            self._builds[commit.number] = self._env.process(self._built(commit))
        return self._builds[commit.number]

    def _built(self, commit: Commit) -> Process:
        with self._builder.request() as turn:
            yield turn
            yield self._env.timeout(commit.build_h)

    def _mark(self, bench: Bench) -> None:
        """Remove the label of a broken bench, and start its repair."""
        if bench.labelled:
            bench.labelled = False
            self._without_label[bench] = self._env.now
        # it may have broken again before a check put its label back
        if not bench.under_repair:
            bench.under_repair = True
            self._env.process(self._repair(bench))

    def _repair(self, bench: Bench) -> Process:
        took_h = self._chance[bench.number].exponential(self._lab.repair_h)
        yield self._env.timeout(took_h)
        bench.under_repair = False
        bench.repaired.succeed()

    def _life(self, bench: Bench) -> Process:
        """A bench breaks, is repaired, breaks again."""
        while True:
            whole_h = self._chance[bench.number].exponential(self._lab.mtbf_h)
            yield self._env.timeout(whole_h)
            bench.broke.succeed()
            yield bench.repaired
            bench.broke, bench.repaired = self._env.event(), self._env.event()

    def _checks(self, bench: Bench) -> Process:
        """Each hour, unless the last check waits: remove or restore the bench's label."""
        env = self._env
        yield env.timeout((bench.number + 0.5) / len(self._benches))
        while True:
            due_h = env.now + 1.0
            yield self._locks.one(bench)
            began_h = env.now
            yield env.timeout(self._lab.check_min / 60)
            whole = not bench.broke.triggered
            if not whole:
                self._mark(bench)
            elif not bench.labelled:
                bench.labelled = True
                since_h = self._without_label.pop(bench)
                self._log.away.append((bench.number, since_h, env.now))
            self._log.holds.append(Hold(bench.number, began_h, env.now, None, whole))
            self._locks.release(bench)
            while due_h < env.now:
                due_h += 1.0
            yield env.timeout(due_h - env.now)
