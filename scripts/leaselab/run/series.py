"""The tasks that one command measures, alone or as an experiment, and their results."""

from __future__ import annotations

from collections.abc import Sequence

from leaselab.model.errors import LeaselabError, Outcome, server_broken
from leaselab.model.record import Record
from leaselab.model.speech import announce, say
from leaselab.model.text import some_of
from leaselab.run.experiment import Ended
from leaselab.run.record import typed_command
from leaselab.run.session import Session
from leaselab.run.task import Task, separate

_SHOWN = 5
"""Most tasks that are named before they are measured."""


class Series:
    """The tasks that one command measures, alone or as an experiment, and a table of all."""

    def __init__(
        self,
        session: Session,
        tasks: Sequence[Task],
        *,
        again: bool,
        anchor: Task | None = None,
    ) -> None:
        """`again`: repeat also archived results; `anchor`: measured with the others, first."""
        self._session = session
        self._tasks = [*([anchor] if anchor else []), *tasks]
        self._anchor = anchor
        self._again = again
        self._measured: dict[Task, Record] = {}
        self._outcome = Outcome.OK

    @property
    def ids(self) -> list[str]:
        """Ids of the results made or found so far, in the order of the tasks."""
        return [record.id for record in self.records]

    @property
    def records(self) -> list[Record]:
        """Records of the results made or found so far, in that order."""
        return [self._measured[task] for task in self._tasks if task in self._measured]

    def measure(self, *, sequential: bool = False) -> Outcome:
        """Measure all.

        A task that cannot be measured does not stop the others; a broken lab and an interrupt
        do.  The outcome is that of the first task that was not ok.
        """
        try:
            left = list(self._tasks) if self._again else self._unmeasured()
            if self._anchor is not None and not set(left) - {self._anchor}:
                left = []  # there is nothing to compare with it
            why = "" if sequential else separate(left) or None
            if left:
                say(f"{len(left)} to measure: {some_of([*map(str, left)], _SHOWN)}")
                if why:
                    say(f"one after the other: {why}")
                self._session.measure(
                    left, self._sealed, why=why, refused=self._note, anchor=self._anchor
                )
        except KeyboardInterrupt as stop:
            raise KeyboardInterrupt(*stop.args, *self._rest()) from None
        except LeaselabError as fault:
            fault.todo = "; then ".join(filter(None, (fault.todo, *self._rest())))
            raise
        return self._outcome

    def _sealed(self, task: Task, ended: Ended) -> None:
        self._measured[task] = self._session.store.load(str(ended.place))
        if ended.error is not None:
            self._note(task, ended.error)

    def _unmeasured(self) -> list[Task]:
        """The tasks without a result in the archive; unfinished ones are finished first."""
        left = []
        for task in self._tasks:
            if task in self._measured:
                continue  # with another point of its experiment
            self._session.prepare(task.distribution)
            if task == self._anchor:
                left.append(task)  # the anchor is part of every session
                continue
            known = self._session.earlier.measured(task, self._anchor)
            if known:
                say(f"{task}: measured before: {known}")
                record = self._session.store.load(known)
                self._measured[task] = record
                if record.outcome == Outcome.BUILD.label:
                    todo = f"see `leaselab show {known}`"
                    self._note(task, server_broken(record.reasons[0].text, todo=todo))
                continue
            if not self._session.go_on(task, self._tasks, self._sealed, self._anchor):
                left.append(task)
        return [task for task in left if task not in self._measured or task == self._anchor]

    def _note(self, task: Task, error: LeaselabError) -> None:
        announce(f"{task}: {error}")
        if self._outcome is Outcome.OK:
            self._outcome = error.outcome

    def _rest(self) -> list[str]:
        """Message on tasks that were not reached, if there are any.

        One whose measurement was begun can be resumed, and is not among them.
        """
        begun = self._measured.keys() | self._session.begun
        left = [task.scenario.name for task in self._tasks if task not in begun]
        if not left:
            return []
        if not self._again:
            return [f"measure the rest by the same command: {typed_command()}"]
        return [f"measure the rest, with the same options: leaselab run {' '.join(left)}"]
