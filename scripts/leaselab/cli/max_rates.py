"""The max rates of a bench that the archive knows, and the loads that follow from them."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import msgspec

from leaselab.archive.running import BENCH_FILE
from leaselab.model.errors import Outcome, usage_error
from leaselab.model.procedures.duel import Duel
from leaselab.model.procedures.max_rate import MaxRate

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from leaselab.archive.store import Store
    from leaselab.cli.task import Task
    from leaselab.model.procedures import AnyProcedure

HEADROOM = 1.15
"""First offered load over the max rate measured last: a trial that loses something
says how much is too much, one that loses nothing only says "more"."""
_RECENT = 20
"""Newest results among which the last max rate of a bench is looked for."""


@dataclass(frozen=True, slots=True)
class _MaxRateFound:
    """A max rate of the archive."""

    rate: float
    """Transactions/s."""
    id: str
    """Of its result."""
    of_task: bool
    """Whether it is of the same commit or release, and not of another one."""


@dataclass(frozen=True, slots=True)
class MaxRates:
    """The max rates of a bench that were measured, for the loads of tasks."""

    store: Store
    bench: str
    overrides: Mapping[str, Any]
    """Parameters of the procedure that were asked for."""
    together: Sequence[Task] = ()
    """The points of the experiment that is being measured."""

    def ready(self, task: Task, procedure: AnyProcedure) -> AnyProcedure:
        """Return a procedure with the load that it stands for, or where its search begins.

        A search begins a little above the bench's last max rate: it saves the first round's
        scouts; what the round finds, it still proves itself.  Raises a usage error where a
        load is a share of a max rate that nobody has measured.
        """
        known = self._max_rate_for(task, procedure)
        if isinstance(procedure, MaxRate):
            if known is None or "start_rate" in self.overrides:
                return procedure
            return msgspec.structs.replace(procedure, start_rate=round(HEADROOM * known.rate))
        if isinstance(procedure, Duel):
            if known is None or "rate" in self.overrides:
                return procedure
            rate = min(procedure.max_rate, round(procedure.over * known.rate))
            return msgspec.structs.replace(procedure, rate=rate)
        share = procedure.share_of_max_rate
        if share is None:
            return procedure
        if known is None:
            raise usage_error(
                "no max rate of this scenario is known on this bench",
                where=f"scenario {task.scenario.name}",
                todo="give the load with --rate, or measure first: leaselab run "
                f"{task.scenario.name}",
            )
        of = "" if known.of_task else ": of another build or release, as this one has none"
        if procedure.same_load and len(self.together) > 1:
            of = ": the same load for all, by the lowest that is known"
        print(
            f"{task}: the load is {share:g} of {known.rate:.0f}/s, the max rate of "
            f"{known.id}{of}",
            file=sys.stderr,
            flush=True,
        )
        return procedure.at_max_rate(known.rate)

    def lacks(self, task: Task) -> bool:
        """Whether the load of a task is a share of a max rate that nobody has measured."""
        procedure = task.procedure(self.overrides)
        return procedure.share_of_max_rate is not None and self._last_max_rate(task) is None

    def _max_rate_for(self, task: Task, procedure: AnyProcedure) -> _MaxRateFound | None:
        """The max rate that a task's load follows: its own, or the lowest of its experiment."""
        tasks = self.together if procedure.same_load and task in self.together else (task,)
        found = [one for each in tasks if (one := self._last_max_rate(each)) is not None]
        return min(found, key=lambda one: one.rate, default=None)

    def _last_max_rate(self, task: Task) -> _MaxRateFound | None:
        """The newest max rate of a task's scenario on its bench; None without one.

        One of the same commit or release comes before newer ones of others.
        """
        rows = self.store.index.rows(
            scenario=task.scenario.name, outcome=Outcome.OK.label, bench=self.bench
        )
        found = None
        for row in [one for one in rows if one["metric"] == "max_rate" and one["value"]][
            :_RECENT
        ]:
            of_task = self._is_of(task, row)
            if of_task or found is None:
                found = _MaxRateFound(row["value"], row["id"], of_task)
            if of_task:
                break
        return found

    def _is_of(self, task: Task, row: Mapping[str, Any]) -> bool:
        """Whether a row of the index is of a task's commit or release."""
        if row["commit"] != (task.commit.hash if task.commit else None):
            return False
        path = self.store.root / row["path"] / BENCH_FILE
        try:
            return task.is_of(json.loads(path.read_text(encoding="utf-8")))
        except (OSError, ValueError, KeyError):
            return False  # of an older release, or imported without it
