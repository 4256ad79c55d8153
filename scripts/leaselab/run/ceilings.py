"""Scenarios that measure the ceiling of a generator, and their results."""

from __future__ import annotations

from collections.abc import Sequence

from leaselab.catalog.catalogue import Catalogue, measured_by
from leaselab.model.errors import LeaselabError, usage_error
from leaselab.model.record import Record
from leaselab.model.scenario import Scenario
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
