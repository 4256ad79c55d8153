"""The calibration of a bench: duels of a server with itself, whose answer is known."""

from __future__ import annotations

from collections.abc import Iterator

from leaselab.analysis.duels.error_budget import ErrorBudget
from leaselab.model.speech import say
from leaselab.run.contest import duel
from leaselab.run.session import Session
from leaselab.run.task import Task


def calibrate(session: Session, task: Task, pairs: int, slowdown: float) -> ErrorBudget | None:
    """Make the duels that the archive lacks of each kind, in turn; return what all show.

    B is A, or stands still for a share of the time, `slowdown` (0..1).  Raises the error of the
    first duel without a verdict: the next would have none either.
    """
    contest = session.contest(task, task)
    session.prepare(task.distribution)
    for kind in _missing(budget_of(session, task, slowdown), pairs, slowdown):
        how = f"B stands still for {100 * kind:g} % of the time" if kind else "B is A"
        say(f"duel: {task}, {how}")
        error = duel(session, contest, kind).comparison.error
        if error is not None:
            raise error
    return budget_of(session, task, slowdown)


def budget_of(session: Session, task: Task, slowdown: float) -> ErrorBudget | None:
    """What the archive's duels of this scenario and bench show, as is asked now."""
    plan = session.contest(task, task).plan
    return session.earlier.error_budget(task.scenario.name, plan, slowdown)


def _missing(budget: ErrorBudget | None, pairs: int, slowdown: float) -> Iterator[float]:
    """Yield the slowdown of each remaining duel, equal and slowed ones in turn."""
    sides = (budget.equal, budget.slowed) if budget else (None, None)
    counts = {
        kind: side.duels if side else 0
        for kind, side in zip((0.0, slowdown), sides, strict=True)
    }
    while min(counts.values()) < pairs:
        kind = min(counts, key=lambda kind: counts[kind])
        counts[kind] += 1
        yield kind
