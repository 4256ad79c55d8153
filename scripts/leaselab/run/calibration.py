"""The calibration of a bench: ceilings of its generators, and duels whose answer is known."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from leaselab.analysis.duels.error_budget import ErrorBudget
from leaselab.catalog.catalogue import Catalogue, measured_by
from leaselab.model.errors import LeaselabError, usage_error
from leaselab.model.record import Record
from leaselab.model.scenario import Scenario
from leaselab.model.speech import say
from leaselab.run.contest import duel
from leaselab.run.experiment import Ended
from leaselab.run.session import Session
from leaselab.run.task import Task

RUNS = 3
"""Default rounds of a ceiling."""


def ceiling_tasks(
    catalogue: Catalogue,
    like: Scenario | None = None,
    generators: Sequence[str | None] = (None,),
) -> list[Task]:
    """Return the scenarios that measure the ceilings of generators, with a faster server.

    They are of every protocol, or of the transaction and transport of a scenario.  Raises a
    usage error without any.
    """
    scenarios = [
        scenario
        for scenario in catalogue.scenarios.values()
        if catalogue.procedure_of(scenario, {}).of_generator
        and (like is None or _way(scenario) == _way(like))
    ]
    if not scenarios:
        raise usage_error(
            "no scenario shows the ceiling of a generator",
            found=like.name if like else "",
            wanted="a max-rate with limit: generator, of the same transaction and transport",
        )
    return [Task(measured_by(scenario, name)) for scenario in scenarios for name in generators]


def _way(scenario: Scenario) -> tuple[object, ...]:
    """Properties besides the generator that a ceiling depends on."""
    return scenario.transaction, scenario.transport


def measured(
    session: Session, tasks: Sequence[Task]
) -> tuple[list[Record], list[LeaselabError]]:
    """Measure some tasks, in turn where they are several, and archive them.

    Returns the records with a figure, and the errors of those without one.  Raises for a broken
    lab.
    """
    ended: list[Ended] = []
    session.measure(tasks, lambda _, point: ended.append(point))
    records = [session.store.load(point.place.name) for point in ended if point.error is None]
    return records, [point.error for point in ended if point.error is not None]


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
