"""Existing results of tasks: what was measured, what can be resumed, and loads by max rates."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from leaselab.analysis.duels.error_budget import ErrorBudget, error_budget
from leaselab.archive.calibration import calibrating
from leaselab.archive.store import Store
from leaselab.catalog.catalogue import Catalogue
from leaselab.model.bench import Bench
from leaselab.model.errors import Outcome, usage_error
from leaselab.model.identity import Conditions, Subject
from leaselab.model.journal import Begun
from leaselab.model.procedure import COMPLETED
from leaselab.model.procedures import AnyProcedure
from leaselab.model.procedures.duel import DUEL, Duel
from leaselab.model.procedures.max_rate import MaxRate
from leaselab.model.record import Record
from leaselab.model.speech import say
from leaselab.run.task import Task

_SETTLED = frozenset({Outcome.OK.label, Outcome.BUILD.label})
"""Outcomes that a repeated measurement would not change."""


@dataclass(frozen=True, slots=True)
class EarlierResults:
    """Results of a bench in its present state, with the requested parameters."""

    store: Store
    bench: str
    environment: str
    """The lab's own state."""
    catalogue: Catalogue
    overrides: Mapping[str, Any]
    """Requested parameters of the procedure."""
    generator: str | None
    """Hash of the generator's commit for the tasks; None for the installed generator."""

    def procedure(self, task: Task) -> AnyProcedure:
        """The procedure of a task, with the requested parameters."""
        return self.catalogue.procedure_of(task.scenario, self.overrides)

    def unfinished(self) -> dict[str, Begun]:
        """First events of unfinished measurements that no process runs, by their ids."""
        return {
            sweep.id: begun
            for sweep in self.store.running()
            if not sweep.active and (begun := self.store.begun(sweep)) is not None
        }

    def conditions(self, procedure: AnyProcedure) -> Conditions:
        """Conditions of a measurement that is made now."""
        return Conditions.by((self.bench, self.environment), self.generator, procedure)

    def error_budget(
        self, scenario: str, plan: Duel, slowdown: float | None = None
    ) -> ErrorBudget | None:
        """What is known of such duels of a scenario; `slowdown` as of `error_budget`.

        Any build of the server counts, as the scatter is that of the bench.
        """
        made = calibrating(self.store, scenario, self.conditions(plan).place)
        return error_budget(made, plan, slowdown)

    def measured(self, task: Task, anchor: Task | None = None) -> str:
        """Id of a result of the same commit, settings, parameters and bench, or None.

        With an `anchor`, the result has to have alternated with it, unless it does not build.
        """
        commit = task.commit.hash if task.commit else None
        wanted = self.procedure(task)
        rows = self.store.index.rows(
            scenario=task.scenario.name, commit=commit, bench=self.bench
        )
        settled = (row["id"] for row in rows if row["outcome"] in _SETTLED)
        for record in self.store.load_readable(settled):
            if not self.is_like(task, record, wanted):
                continue
            # A commit that does not build has no figure that rounds or an anchor could affect.
            if record.outcome == Outcome.BUILD.label or (
                record.procedure.rounds == wanted.rounds
                and (anchor is None or self._is_made_of(record.anchor or "", anchor))
            ):
                return record.id
        return ""

    def is_like(self, task: Task, record: Record, procedure: AnyProcedure) -> bool:
        """Whether a result is of a task on the bench in its present state; rounds may differ.

        The result of a commit that does not build has no settings and no parameters.
        """
        subject, conditions = Subject.of_record(record), Conditions.of_record(record)
        wanted = self.conditions(procedure)
        if record.outcome == Outcome.BUILD.label:
            same = subject.source == task.subject.source
            return same and conditions.place == wanted.place
        return subject.is_like(task.subject) and conditions == wanted

    def _is_made_of(self, name: str, task: Task) -> bool:
        """Whether there is a result of this id, and it is of a task's commit."""
        return bool(name) and any(
            Subject.of_record(record).source == task.subject.source
            for record in self.store.load_readable([name])
        )

    def is_beside(self, begun: Begun, anchor: Task, unfinished: Mapping[str, Begun]) -> bool:
        """Whether an unfinished measurement alternates with this anchor.

        `begun` is its first event; `unfinished` is the value of that method.
        """
        name = (begun.experiment.anchor if begun.experiment else None) or ""
        if name in unfinished:
            return self.is_of(anchor, unfinished[name].bench)
        return self._is_made_of(name, anchor)

    def experiments_of(
        self, tasks: Sequence[Task]
    ) -> Iterator[tuple[str, dict[str, Task], Begun]]:
        """Unfinished experiments of exactly these tasks, in their order.

        For each: the id of an unfinished point, the tasks of all unfinished points, and the
        first event of that point.  Other points may be sealed.
        """
        unfinished = self.unfinished()

        def is_of(point: str, task: Task) -> bool:
            if point in unfinished:
                return self.is_of(task, unfinished[point].bench)
            return any(
                self.is_like(task, record, self.procedure(task))
                for record in self.store.load_readable([point])
            )

        for point_id, begun in unfinished.items():
            points = begun.experiment.points if begun.experiment else ()
            if len(points) == len(tasks) and all(map(is_of, points, tasks)):
                of = zip(points, tasks, strict=True)
                yield point_id, {at: task for at, task in of if at in unfinished}, begun

    def is_of(self, task: Task, bench: Bench) -> bool:
        """Whether an unfinished measurement on this bench is of a task, here."""
        wanted = self.procedure(task)
        return (
            Subject.of_bench(bench).is_like(task.subject)
            and Conditions.of_bench(bench) == self.conditions(wanted)
            and bench.procedure.rounds == wanted.rounds
        )


HEADROOM = 1.15
"""First offered load relative to the last max rate: the loss of a trial shows how far a load is
too high, while a trial without loss only shows that more is possible."""
_RECENT = 20
"""Number of newest results that are searched for the last max rate of a bench."""


@dataclass(frozen=True, slots=True)
class MaxRates:
    """The max rates of a bench, and what its duels completed, for the loads of tasks."""

    earlier: EarlierResults
    together: Sequence[Task] = ()
    """The points of the experiment that is being measured."""

    def ready(self, task: Task, procedure: AnyProcedure) -> AnyProcedure:
        """Return a procedure with its load set, or the start of its search.

        A search begins slightly above the bench's last max rate, which saves the first round's
        scouts; the round still proves its own result.  That of a duel begins likewise above
        what the last duel completed, where that is newer.  Raises a usage error where a load is
        a share of a max rate that was not measured.
        """
        if isinstance(procedure, Duel):
            return self._ready_duel(task, procedure)
        known = self._max_rate_for(task, procedure)
        max_rate = _rate(known) if known else 0.0
        if isinstance(procedure, MaxRate):
            if known is None or "start_rate" in self.earlier.overrides:
                return procedure
            return msgspec.structs.replace(procedure, start_rate=round(HEADROOM * max_rate))
        share = procedure.share_of_max_rate
        if share is None:
            return procedure
        if known is None:
            raise usage_error(
                "no max rate of this scenario is known on this bench as it is",
                where=f"scenario {task.scenario.name}",
                todo="give the load with --set rate=N, or measure first: leaselab run "
                f"{task.scenario.name}",
            )
        is_own = Subject.of_record(known).source == task.subject.source
        of = "" if is_own else ": of another build, as this one has none"
        if procedure.same_load and len(self.together) > 1:
            of = ": the same load for all, by the lowest that is known"
        say(
            f"{task}: the load is {share:g} of {max_rate:.0f}/s, the max rate of {known.id}{of}"
        )
        return procedure.at_max_rate(max_rate)

    def _ready_duel(self, task: Task, plan: Duel) -> Duel:
        known = self._last(task, ("max_rate", COMPLETED))
        if known is None or "rate" in self.earlier.overrides:
            return plan
        rate = min(plan.max_rate, round(plan.over * _rate(known)))
        return msgspec.structs.replace(plan, rate=rate)

    def lacks(self, task: Task) -> bool:
        """Whether the load of a task is a share of a max rate that was not measured."""
        return self._last(task) is None

    def _max_rate_for(self, task: Task, procedure: AnyProcedure) -> Record | None:
        """The result whose max rate a load is of: its own, or the lowest of its experiment."""
        tasks = self.together if procedure.same_load and task in self.together else (task,)
        known = [record for each in tasks if (record := self._last(each)) is not None]
        return min(known, key=_rate, default=None)

    def _last(self, task: Task, metrics: Sequence[str] = ("max_rate",)) -> Record | None:
        """The newest result of a task's scenario under the same conditions, if any.

        That is one with a max rate, or a duel, by which of these it is about.  Results of the
        same commit take precedence over newer ones of other commits.
        """
        wanted = self.earlier.conditions(self.earlier.procedure(task))
        commit = task.commit.hash if task.commit else None
        rows = [
            row
            for row in reversed(self.earlier.store.index.every(task.scenario.name))
            if row["metric"] in metrics
            and (row["metric"] != COMPLETED or row["procedure"] == DUEL)
            and row["outcome"] == Outcome.OK.label
            and Conditions.of_row(row).same_lab(wanted)
        ]
        rows.sort(key=lambda row: row["commit"] != commit)
        for record in self.earlier.store.load_readable(row["id"] for row in rows[:_RECENT]):
            if record.figure.value and Subject.of_record(record).same_scenario(task.subject):
                return record
        return None


def _rate(record: Record) -> float:
    """The max rate of a result, or what was completed in it (transactions/s)."""
    return record.figure.value or 0.0
