"""What the archive has of tasks already: results, and measurements that can be gone on with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import msgspec

from leaselab.analysis.hindrances import same_settings
from leaselab.cli.task import files_of
from leaselab.model.errors import Outcome
from leaselab.model.procedures import procedure_of
from leaselab.model.record import Scenario

if TYPE_CHECKING:
    from collections.abc import Mapping

    from leaselab.archive.store import Store
    from leaselab.cli.task import Task
    from leaselab.model.procedures import AnyProcedure
    from leaselab.model.record import Record

_SETTLED = frozenset({Outcome.OK.label, Outcome.BUILD.label})
"""Outcomes of which a second measurement of the same would tell nothing new."""


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

    def unfinished(self) -> dict[str, Mapping[str, Any]]:
        """What unfinished measurements that nobody works on were begun with, by their ids."""
        return {
            sweep.id: begun
            for sweep in self.store.running()
            if not sweep.active and (begun := self.store.first_event(sweep)) is not None
        }

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
        for found in self.store.load_readable(settled):
            if not self.is_like(task, found, wanted):
                continue
            # A commit that does not build has no figure that rounds or an anchor could move.
            if found.outcome == Outcome.BUILD.label or (
                found.procedure.rounds == wanted.rounds
                and (anchor is None or self._beside(found, anchor))
            ):
                return found.id
        return ""

    def is_like(self, task: Task, found: Record, procedure: AnyProcedure) -> bool:
        """Whether a result of a task's scenario on its bench is of it, whatever its rounds.

        That is: of the same commit and files, and of the same settings and parameters in the
        same environment.  One that does not build was measured with none.
        """
        built = found.outcome != Outcome.BUILD.label
        return (
            files_of(found.source) == files_of(task.commit)
            and (not built or same_settings(found.scenario, task.scenario))
            and found.bench.environment == self.environment
            and (not built or self._measured_with(found.generator.options))
            and (not built or found.procedure.ruler() == procedure.ruler())
        )

    def _beside(self, found: Record, anchor: Task) -> bool:
        """Whether a result stands in a ratio to this anchor."""
        of = found.experiment
        if of is None or of.anchor is None or not of.interleaved:
            return False
        return self._is_made_of(of.anchor, anchor)

    def _is_made_of(self, name: str, task: Task) -> bool:
        """Whether a result is of a task's commit."""
        return any(
            files_of(found.source) == files_of(task.commit)
            for found in self.store.load_readable([name])
        )

    def is_beside(
        self,
        begun: Mapping[str, Any],
        anchor: Task,
        unfinished: Mapping[str, Mapping[str, Any]],
    ) -> bool:
        """Whether an unfinished measurement alternates with this anchor.

        `begun` is what it was begun with; `unfinished` is what that method returns.
        """
        name = (begun.get("experiment") or {}).get("anchor")
        if name is None:
            return False
        if name in unfinished:
            return self.is_of(anchor, unfinished[name]["bench"])
        return self._is_made_of(name, anchor)

    def is_of(self, task: Task, bench: Mapping[str, Any]) -> bool:
        """Whether an unfinished measurement with this bench document is of a task, here."""
        return (
            bench["name"] == self.bench
            and bench["scenario"]["name"] == task.scenario.name
            and same_settings(msgspec.convert(bench["scenario"], Scenario), task.scenario)
            and task.is_of(bench)
            and self._measured_with(bench["generator"].get("settings", {}))
            and self._same(task, bench["environment"], procedure_of(bench["procedure"]))
        )

    def _measured_with(self, settings: Mapping[str, Any]) -> bool:
        """Whether a generator with these settings is of the commit that was asked for."""
        return bool(settings.get("commit") == self.generator)

    def _same(self, task: Task, environment: str | None, procedure: AnyProcedure) -> bool:
        wanted = task.procedure(self.overrides)
        return environment == self.environment and (procedure.rounds, procedure.ruler()) == (
            wanted.rounds,
            wanted.ruler(),
        )
