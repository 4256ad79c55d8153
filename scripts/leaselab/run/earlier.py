"""What the archive has of tasks already: results, and measurements that can be gone on with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from leaselab.model.errors import Outcome
from leaselab.model.identity import Conditions, Subject

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from leaselab.archive.store import Store
    from leaselab.model.bench import Bench
    from leaselab.model.journal import Begun
    from leaselab.model.procedures import AnyProcedure
    from leaselab.model.record import Record
    from leaselab.run.task import Task

_SETTLED = frozenset({Outcome.OK.label, Outcome.BUILD.label})
"""Outcomes of which a second measurement of the same would say nothing new."""


@dataclass(frozen=True, slots=True)
class EarlierResults:
    """Results of a bench as it is now, by the parameters that were asked for."""

    store: Store
    bench: str
    environment: str
    """The lab's own state."""
    overrides: Mapping[str, Any]
    """Parameters of the procedure that were asked for."""
    generator: str | None
    """Hash of the generator's commit that tasks are measured with; None for what is there."""

    def unfinished(self) -> dict[str, Begun]:
        """What unfinished measurements that nobody works on were begun with, by their ids."""
        return {
            sweep.id: begun
            for sweep in self.store.running()
            if not sweep.active and (begun := self.store.begun(sweep)) is not None
        }

    def conditions(self, procedure: AnyProcedure) -> Conditions:
        """Those of a measurement that would be made now."""
        return Conditions.by((self.bench, self.environment), self.generator, procedure)

    def measured(self, task: Task, anchor: Task | None = None) -> str:
        """Id of a result of the same commit, settings, parameters and bench, or none.

        With an `anchor`: one that alternated with that; what does not build needs none.
        """
        commit = task.commit.hash if task.commit else None
        wanted = task.procedure(self.overrides)
        rows = self.store.index.rows(
            scenario=task.scenario.name, commit=commit, bench=self.bench
        )
        settled = (row["id"] for row in rows if row["outcome"] in _SETTLED)
        for record in self.store.load_readable(settled):
            if not self.is_like(task, record, wanted):
                continue
            # A commit that does not build has no figure that rounds or an anchor could move.
            if record.outcome == Outcome.BUILD.label or (
                record.procedure.rounds == wanted.rounds
                and (anchor is None or self._is_made_of(record.anchor or "", anchor))
            ):
                return record.id
        return ""

    def is_like(self, task: Task, record: Record, procedure: AnyProcedure) -> bool:
        """Whether a result is of a task on the bench as it is now, whatever its rounds.

        One that does not build was measured with no settings and no parameters.
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

        `begun` is what it was begun with; `unfinished` is what that method returns.
        """
        name = (begun.experiment.anchor if begun.experiment else None) or ""
        if name in unfinished:
            return self.is_of(anchor, unfinished[name].bench)
        return self._is_made_of(name, anchor)

    def experiments_of(
        self, tasks: Sequence[Task]
    ) -> Iterator[tuple[str, dict[str, Task], Begun]]:
        """Unfinished experiments of just these tasks, in their order.

        Of each: the id of an unfinished point, the tasks of all that are unfinished, and what
        that point was begun with.  Others of its points may be sealed.
        """
        unfinished = self.unfinished()

        def is_of(point: str, task: Task) -> bool:
            if point in unfinished:
                return self.is_of(task, unfinished[point].bench)
            return any(
                self.is_like(task, record, task.procedure(self.overrides))
                for record in self.store.load_readable([point])
            )

        for point_id, begun in unfinished.items():
            points = begun.experiment.points if begun.experiment else ()
            if len(points) == len(tasks) and all(map(is_of, points, tasks)):
                of = zip(points, tasks, strict=True)
                yield point_id, {at: task for at, task in of if at in unfinished}, begun

    def is_of(self, task: Task, bench: Bench) -> bool:
        """Whether an unfinished measurement on this bench is of a task, here."""
        wanted = task.procedure(self.overrides)
        return (
            Subject.of_bench(bench).is_like(task.subject)
            and Conditions.of_bench(bench) == self.conditions(wanted)
            and bench.procedure.rounds == wanted.rounds
        )
