"""The metrics of a result, parted into those of the whole and those of each step."""

from __future__ import annotations

from typing import NamedTuple

from leaselab.model.procedure import of_step
from leaselab.model.record import Metric, Record


class Step(NamedTuple):
    """A step of a procedure."""

    title: str
    """Such as ``step 1 (10000/s)``."""
    metrics: tuple[Metric, ...]
    """In the order of `Steps.headings`."""


class Steps(NamedTuple):
    """The steps of a result; none where its procedure has none."""

    headings: tuple[tuple[str, str], ...]
    """Title and unit of each metric that every step has."""
    steps: tuple[Step, ...]


def steps_of(record: Record) -> Steps:
    """Return the metrics of each step, in order."""
    steps = []
    for number, title in enumerate(record.procedure.steps, start=1):
        names = (of_step(metric.name, number) for metric in record.metrics)
        metrics = tuple(metric for name in names if (metric := record.metric(name)))
        steps.append(Step(title, metrics))
    first = steps[0] if steps else Step("", ())
    headings = tuple(
        (metric.title.removesuffix(f" in {first.title}"), metric.unit)
        for metric in first.metrics
    )
    return Steps(headings, tuple(steps))


def whole_of(record: Record) -> tuple[Metric, ...]:
    """Return the metrics that are not of a step, the one of the procedure first."""
    of_steps = {metric.name for step in steps_of(record).steps for metric in step.metrics}
    return tuple(metric for metric in record.metrics if metric.name not in of_steps)
