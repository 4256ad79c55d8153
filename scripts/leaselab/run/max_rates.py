"""The max rates of a bench in the archive, and the loads that follow from them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import msgspec

from leaselab.lab.checkout import say
from leaselab.model.errors import Outcome, usage_error
from leaselab.model.identity import Conditions, Subject
from leaselab.model.procedures import AnyProcedure
from leaselab.model.procedures.duel import Duel
from leaselab.model.procedures.max_rate import MaxRate
from leaselab.run.earlier import EarlierResults
from leaselab.run.task import Task

HEADROOM = 1.15
"""First offered load relative to the last max rate: the loss of a trial shows how far a load is
too high, while a trial without loss only shows that more is possible."""
_RECENT = 20
"""Number of newest results that are searched for the last max rate of a bench."""


@dataclass(frozen=True, slots=True)
class _MaxRateFound:
    """A max rate from the archive."""

    rate: float
    """The max rate (transactions/s)."""
    id: str
    """Id of its result."""
    of_task: bool
    """Whether it is of the same commit."""


@dataclass(frozen=True, slots=True)
class MaxRates:
    """The measured max rates of a bench, for the loads of tasks."""

    earlier: EarlierResults
    together: Sequence[Task] = ()
    """The points of the experiment that is being measured."""

    def ready(self, task: Task, procedure: AnyProcedure) -> AnyProcedure:
        """Return a procedure with its load set, or the start of its search.

        A search begins slightly above the bench's last max rate, which saves the first round's
        scouts; the round still proves its own result.  Raises a usage error where a load is a
        share of a max rate that was not measured.
        """
        known = self._max_rate_for(task, procedure)
        if isinstance(procedure, MaxRate):
            if known is None or "start_rate" in self.earlier.overrides:
                return procedure
            return msgspec.structs.replace(procedure, start_rate=round(HEADROOM * known.rate))
        if isinstance(procedure, Duel):
            if known is None or "rate" in self.earlier.overrides:
                return procedure
            rate = min(procedure.max_rate, round(procedure.over * known.rate))
            return msgspec.structs.replace(procedure, rate=rate)
        share = procedure.share_of_max_rate
        if share is None:
            return procedure
        if known is None:
            raise usage_error(
                "no max rate of this scenario is known on this bench as it is",
                where=f"scenario {task.scenario.name}",
                todo="give the load with --rate, or measure first: leaselab run "
                f"{task.scenario.name}",
            )
        of = "" if known.of_task else ": of another build, as this one has none"
        if procedure.same_load and len(self.together) > 1:
            of = ": the same load for all, by the lowest that is known"
        say(
            f"{task}: the load is {share:g} of {known.rate:.0f}/s, the max rate of "
            f"{known.id}{of}"
        )
        return procedure.at_max_rate(known.rate)

    def lacks(self, task: Task) -> bool:
        """Whether the load of a task is a share of a max rate that was not measured."""
        return self._last_max_rate(task) is None

    def _max_rate_for(self, task: Task, procedure: AnyProcedure) -> _MaxRateFound | None:
        """The max rate for a task's load: its own, or the lowest of its experiment."""
        tasks = self.together if procedure.same_load and task in self.together else (task,)
        rates = [rate for each in tasks if (rate := self._last_max_rate(each)) is not None]
        return min(rates, key=lambda known: known.rate, default=None)

    def _last_max_rate(self, task: Task) -> _MaxRateFound | None:
        """The newest max rate of a task's scenario under the same conditions; None without one.

        Results of the same commit take precedence over newer ones of other commits.
        """
        wanted = self.earlier.conditions(task.procedure(self.earlier.overrides))
        commit = task.commit.hash if task.commit else None
        rows = [
            row
            for row in reversed(self.earlier.store.index.every(task.scenario.name))
            if row["metric"] == "max_rate"
            and row["outcome"] == Outcome.OK.label
            and Conditions.of_row(row).same_lab(wanted)
        ]
        rows.sort(key=lambda row: row["commit"] != commit)
        for record in self.earlier.store.load_readable(row["id"] for row in rows[:_RECENT]):
            subject = Subject.of_record(record)
            if record.figure.value and subject.same_scenario(task.subject):
                of_task = subject.source == task.subject.source
                return _MaxRateFound(record.figure.value, record.id, of_task)
        return None
