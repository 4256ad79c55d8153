"""Experiments of tasks on a bench: begun, resumed, and archived."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import msgspec

from leaselab.archive.running import RunningSweep
from leaselab.catalog.checkout import checkout_root
from leaselab.measure.ports import RELOAD
from leaselab.model.bench import Bench
from leaselab.model.contest import Contest, contest_by
from leaselab.model.errors import LeaselabError, Outcome, usage_error
from leaselab.model.procedure import RELOAD_S
from leaselab.model.procedures.duel import Duel
from leaselab.model.procedures.max_rate import MAX_RATE
from leaselab.model.record import Experiment
from leaselab.model.speech import say
from leaselab.run.experiment import Ended, begin, open_experiment
from leaselab.run.measurement import Measurement, Show
from leaselab.run.task import Task, by_hosts
from leaselab.run.variants import PLACES
from leaselab.run.workplace import Workplace

_QUICK_ROUNDS = 3
"""Rounds of a max rate that is measured only as the reference of a load share."""


@dataclass(slots=True)
class Session(Workplace):
    """Bench and settings of all measurements of a command."""

    show: Show = field(kw_only=True)
    """Display of a measurement's progress, as `Measurement` has it."""
    begun: set[Task] = field(default_factory=set)
    """Tasks whose measurement was begun: from then on it can be resumed."""

    def measure(
        self,
        tasks: Sequence[Task],
        sealed: Callable[[Task, Ended], object],
        *,
        why: str | None = None,
        refused: Callable[[Task, LeaselabError], object] | None = None,
        anchor: Task | None = None,
        slowdown: float | None = None,
    ) -> None:
        """Build, deploy, tune, measure and archive; `sealed` gets each result.

        Several tasks are the points of an experiment, which alternate round by round; `why` is
        the reason why they do not (empty: on request).  `anchor` is the task that is the fixed
        reference; `slowdown` is that of `Experiment`, for a duel.  A commit that does not
        build, or whose server does not start, is a result; a duel then measures nothing.
        `refused` gets each task whose settings the hosts cannot have, and the others are
        measured; without it, the error is raised.  At the end, hosts are restored to the
        settings of their inventory; where the lab breaks they are left unchanged, so that the
        measurement can be resumed.  Raises for a broken lab, and as `Measurement.finish`.
        """
        self.together = tasks = self._with_known_rates(tasks, sealed, why, refused)
        ids = self.store.fresh_ids(*(task.scenario.name for task in tasks))
        experiment = None
        if len(tasks) > 1:
            experiment = Experiment(
                id=ids[0],
                points=tuple(ids),
                interleaved=why is None,
                why=why or "",
                anchor=ids[tasks.index(anchor)] if anchor in tasks else None,
                slowdown=slowdown,
            )
        steps = [list(zip(tasks, ids, strict=True))]
        if why is not None:
            steps = [[pair] for pair in by_hosts(steps[0])]
        for step in steps:
            try:
                self._begin({point_id: task for task, point_id in step}, experiment, sealed)
            except LeaselabError as error:
                if refused is None or not _of_hosts(step, error):
                    raise
                refused(step[0][0], error)
        self.give_back()

    def complete(
        self,
        tasks: Sequence[Task],
        sealed: Callable[[Task, Ended], object],
        slowdown: float | None = None,
    ) -> None:
        """Measure tasks in turns, or resume an unfinished experiment of exactly these.

        Some of its points may be sealed, except in a duel.  Parameters and errors as those of
        `measure`.
        """
        self.prepare(tasks[0].distribution)  # else it is not known whether it is the same lab
        wanted = (slowdown, self.procedure(tasks[0]).errors)
        for point_id, of, begun in self.earlier.experiments_of(tasks):
            slowed = begun.experiment.slowdown if begun.experiment else None
            plan = begun.bench.procedure
            whole = len(of) == len(tasks) or not plan.of_two
            if whole and (slowed, plan.errors) == wanted:
                self._go_on(point_id, of, sealed)
                return
        self.measure(tasks, sealed, slowdown=slowdown)

    def _begin(
        self,
        of: Mapping[str, Task],
        experiment: Experiment | None,
        sealed: Callable[[Task, Ended], object],
    ) -> None:
        """Deploy tasks side by side, by the ids of their points, and measure them together."""
        placed: dict[str, list[Bench]] = {}
        for point_id, task in of.items():
            self.prepare(task.distribution)
            try:
                placed[point_id] = self._beside(placed, task)
            except LeaselabError as error:
                place = self.archive(task, error, point_id, experiment)
                sealed(task, Ended(error, place))
                if self.procedure(task).of_two:
                    return
        if not placed:
            return
        if experiment is not None and len(placed) == 2:
            (a, *_), (b, *_) = placed.values()
            if (contest := contest_by(a.procedure, a, b)) is not None:
                plan = self._plan(contest, [*of.values()][1], experiment)
                both_up = min(map(len, placed.values())) > 1
                experiment = msgspec.structs.replace(experiment, both_up=both_up)
                placed = {
                    point_id: [replace(bench, procedure=plan) for bench in benches]
                    for point_id, benches in placed.items()
                }
        there = [
            dict(zip(placed, benches, strict=True))
            for benches in zip(*placed.values(), strict=False)
        ]
        elsewhere = there[1] if len(there) > 1 else {}
        points = begin(self.store, there[0], checkout_root(), experiment, elsewhere=elsewhere)
        self._finish(points, of, sealed)

    def contest(self, a: Task, b: Task) -> Contest[Task]:
        """The duel of two tasks, by the requested parameters."""
        contest = contest_by(self.procedure(b), a, b)
        if contest is None:
            raise AssertionError(f"{b} is measured by no duel")
        return contest

    def _plan(self, contest: Contest[Bench], b: Task, experiment: Experiment) -> Duel:
        """The plan of both: A's, as their load follows A and begins at its own.

        Its errors are as large as the error budget of the bench says for the scenario of B.
        Raises a usage error for a server that cannot be measured by it.
        """
        plan = contest.plan
        if plan.metric == RELOAD_S:
            _check_reload((contest.a, contest.b))
        if experiment.slowdown is None:
            budget = self.earlier.error_budget(b.scenario.name, plan)
            plan = msgspec.structs.replace(plan, wider=budget.wider) if budget else plan
        return msgspec.structs.replace(plan, seed=experiment.id)

    def _beside(self, placed: Mapping[str, Sequence[Bench]], task: Task) -> list[Bench]:
        """Deploy a task beside others; in a duel with load at both addresses, if possible."""
        keep = [bench.server.variant for benches in placed.values() for bench in benches]
        # Where A has one address only, both are up in turn, so B needs only one as well.
        places = min(map(len, placed.values()), default=self.procedure(task).places)
        return self.deployed(task, keep, PLACES[:places])

    def _finish(
        self,
        points: Sequence[RunningSweep],
        of: Mapping[str, Task],
        sealed: Callable[[Task, Ended], object],
    ) -> None:
        """Measure the rest of begun points; `sealed` gets each result that is of a task.

        `of` has the tasks by the ids of their points.
        """
        self.begun |= set(of.values())

        def ended(point: Ended) -> None:
            if point.place.name in of:
                sealed(of[point.place.name], point)

        root, lease = checkout_root(), self.bench.lease
        Measurement(self.store, root, self.show, lease, self.workshop).finish(points, ended)

    def go_on(
        self,
        task: Task,
        tasks: Sequence[Task],
        sealed: Callable[[Task, Ended], object],
        anchor: Task | None = None,
    ) -> bool:
        """Resume an unfinished measurement of the same task; False without one.

        With an `anchor`, the measurement has to alternate with it.  All unfinished points of
        its experiment are resumed; `sealed` gets each result that is of one of `tasks`.
        """
        earlier = self.earlier
        unfinished = earlier.unfinished()
        for point_id, begun in unfinished.items():
            if not earlier.is_of(task, begun.bench):
                continue
            if anchor is not None and not earlier.is_beside(begun, anchor, unfinished):
                continue
            of = {
                point: other
                for point in begun.points(point_id)
                if point in unfinished
                for other in tasks
                if earlier.is_of(other, unfinished[point].bench)
            }
            self._go_on(point_id, of, sealed)
            return True
        return False

    def _go_on(
        self, point_id: str, of: Mapping[str, Task], sealed: Callable[[Task, Ended], object]
    ) -> None:
        """Measure the rest of the experiment of a point; `of` are its unfinished points."""
        placed: dict[str, list[Bench]] = {}
        for unfinished, task in of.items():
            placed[unfinished] = self._beside(placed, task)
        self._finish(open_experiment(self.store, point_id), of, sealed)
        self.give_back()

    def _with_known_rates(
        self,
        tasks: Sequence[Task],
        sealed: Callable[[Task, Ended], object],
        why: str | None,
        refused: Callable[[Task, LeaselabError], object] | None,
    ) -> Sequence[Task]:
        """Measure the max rates for loads that are a share, where the archive has none.

        Returns the tasks whose loads are then known; `sealed` gets the results of those without
        a max rate.  `why` and `refused` are as in `measure`.
        """
        unknown = [task for task in tasks if self._lacks_rate(task)]
        if not unknown:
            return tasks
        say("first the max rates that the loads are shares of")
        overrides = {"name": MAX_RATE, "rounds": _QUICK_ROUNDS, "confirm_s": 0}
        first = replace(self, overrides=overrides, begun=set())
        failed: set[Task] = set()

        def ended(task: Task, point: Ended) -> None:
            if point.error is not None:
                failed.add(task)
                sealed(task, point)

        def left_out(task: Task, error: LeaselabError) -> None:
            failed.add(task)
            if refused is None:
                raise error
            refused(task, error)

        first.measure(unknown, ended, why=why, refused=left_out)
        return [task for task in tasks if task not in failed]

    def _lacks_rate(self, task: Task) -> bool:
        """Whether the load of a task is a share of a max rate that was not measured."""
        if self.procedure(task).share_of_max_rate is None:
            return False
        self.prepare(task.distribution)  # else it is not known whether it is the same lab
        return self.max_rates.lacks(task)


def _check_reload(benches: Sequence[Bench]) -> None:
    """Raise a usage error for a server that cannot reload its data."""
    for bench in benches:
        if RELOAD not in bench.server.capabilities:
            raise usage_error(
                f"{bench.scenario.server.kind} does not reload its data",
                where=bench.scenario.name,
                found=f"metric {RELOAD_S}",
                wanted="a server whose contract has it",
                todo="name another --metric, such as start_s",
            )


def _of_hosts(step: Sequence[tuple[Task, str]], error: LeaselabError) -> bool:
    """Whether a task was refused for its host settings, before anything was changed."""
    return len(step) == 1 and bool(step[0][0].scenario.hosts) and error.outcome is Outcome.USAGE
