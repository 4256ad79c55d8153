"""Experiments of tasks on a bench: begun, resumed, and archived."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import msgspec

from leaselab.archive.ident import fresh_id
from leaselab.archive.running import RunningSweep
from leaselab.catalog.checkout import checkout_root, say
from leaselab.measure.ports import RELOAD
from leaselab.model.bench import Bench
from leaselab.model.errors import LeaselabError, Outcome, usage_error
from leaselab.model.procedure import RELOAD_S
from leaselab.model.procedures import AnyProcedure
from leaselab.model.procedures.duel import Duel
from leaselab.model.procedures.max_rate import MAX_RATE
from leaselab.model.record import Experiment
from leaselab.run.experiment import Ended, begin, open_experiment
from leaselab.run.measurement import Show, finish
from leaselab.run.task import Task, by_hosts
from leaselab.run.variants import PLACES
from leaselab.run.workplace import Workplace

_QUICK_ROUNDS = 3
"""Rounds of a max rate that is measured only as the reference of a load share."""


@dataclass(slots=True)
class Session(Workplace):
    """Bench and settings of all measurements of a command."""

    show: Show = field(kw_only=True)
    """Display of a measurement's progress, as `finish` takes it."""
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
        measurement can be resumed.  Raises for a broken lab, and what `finish` raises.
        """
        self.together = tasks = self._with_known_rates(tasks, sealed, why, refused)
        ids = [fresh_id(task.scenario.name) for task in tasks]
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
        wanted = (slowdown, _errors(self.procedure(tasks[0])))
        for point_id, of, begun in self.earlier.experiments_of(tasks):
            slowed = begun.experiment.slowdown if begun.experiment else None
            whole = len(of) == len(tasks) or not isinstance(begun.bench.procedure, Duel)
            if whole and (slowed, _errors(begun.bench.procedure)) == wanted:
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
                if isinstance(self.procedure(task), Duel):
                    return
        if not placed:
            return
        # The load of a duel follows A and begins at A's load: both have the same parameters.
        procedure = next(iter(placed.values()))[0].procedure
        if experiment is not None and isinstance(procedure, Duel):
            if procedure.metric == RELOAD_S:
                _check_reload([bench for benches in placed.values() for bench in benches])
            both_up = min(map(len, placed.values())) > 1
            if experiment.slowdown is None:
                procedure = self._as_known(of, procedure)
            procedure = msgspec.structs.replace(procedure, seed=experiment.id)
            experiment = msgspec.structs.replace(experiment, both_up=both_up)
            placed = {
                point_id: [replace(bench, procedure=procedure) for bench in benches]
                for point_id, benches in placed.items()
            }
        there = [
            dict(zip(placed, benches, strict=True))
            for benches in zip(*placed.values(), strict=False)
        ]
        elsewhere = there[1] if len(there) > 1 else {}
        points = begin(self.store, there[0], checkout_root(), experiment, elsewhere=elsewhere)
        self._finish(points, of, sealed)

    def _as_known(self, of: Mapping[str, Task], plan: Duel) -> Duel:
        """Return a duel with errors as large as the bench's error budget says.

        They are those of the scenario of B, as in the words on the budget.
        """
        *_, task = of.values()
        budget = self.earlier.error_budget(task.scenario.name, plan)
        return msgspec.structs.replace(plan, wider=budget.wider) if budget else plan

    def _beside(self, placed: Mapping[str, Sequence[Bench]], task: Task) -> list[Bench]:
        """Deploy a task beside others; in a duel with load at both addresses, if possible."""
        keep = [bench.server.variant for benches in placed.values() for bench in benches]
        plan = self.procedure(task)
        if not isinstance(plan, Duel) or plan.starts:
            return self.deployed(task, keep)
        # Where A has one address only, both are up in turn, so B needs only one as well.
        places = min(map(len, placed.values()), default=len(PLACES))
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

        finish(self.store, points, checkout_root(), self.show, ended, lease=self.bench.lease)

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


def _errors(plan: AnyProcedure) -> tuple[float, ...]:
    """Settings of a duel; empty for another procedure."""
    return plan.errors if isinstance(plan, Duel) else ()


def _of_hosts(step: Sequence[tuple[Task, str]], error: LeaselabError) -> bool:
    """Whether a task was refused for its host settings, before anything was changed."""
    return len(step) == 1 and bool(step[0][0].scenario.hosts) and error.outcome is Outcome.USAGE
