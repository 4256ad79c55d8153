"""The measurement of a duel: two tasks whose servers are up at once, or in turn."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import msgspec

from leaselab.archive.ident import fresh_id
from leaselab.cli.options import checkout_root
from leaselab.cli.variants import PLACES
from leaselab.model.errors import LeaselabError
from leaselab.model.procedures.duel import Duel
from leaselab.model.record import Experiment
from leaselab.run.experiment import begin, open_experiment
from leaselab.run.part import Ended

if TYPE_CHECKING:
    from collections.abc import Callable

    from leaselab.cli.session import Session
    from leaselab.cli.task import Task
    from leaselab.model.bench import Bench
    from leaselab.model.procedures import AnyProcedure


def measure_duel(
    session: Session,
    first: Task,
    second: Task,
    sealed: Callable[[Task, Ended], object],
    slowdown: float | None = None,
) -> None:
    """Build, deploy and tune two tasks, and measure them in turn until there is an answer.

    Where their servers can be up at once they are, at two addresses, which they change
    from round to round; so each is deployed at both.  `sealed` is told each result, and so
    is what does not build or start; then nothing is measured.  `slowdown` is that of
    `Experiment`, of a duel that calibrates.  Raises as `Session.measure`.
    """
    tasks = (first, second)
    ids = [fresh_id(task.scenario.name) for task in tasks]
    experiment = Experiment(id=ids[0], points=tuple(ids), interleaved=True, slowdown=slowdown)
    of = dict(zip(ids, tasks, strict=True))

    def failed(side: int, error: LeaselabError) -> None:
        place = session.archive(tasks[side], error, ids[side], experiment)
        sealed(tasks[side], Ended(error, place))

    places = _both_deployed(session, tasks, failed)
    if not places:
        return
    # The load follows A, and begins where A's is: both have the same parameters.
    procedure = places[0][0].procedure
    benches, *others = (
        {
            point_id: replace(bench, procedure=procedure)
            for point_id, bench in zip(ids, there, strict=True)
        }
        for there in places
    )
    elsewhere = others[0] if others else {}
    experiment = msgspec.structs.replace(experiment, both_up=bool(elsewhere))
    root = checkout_root()
    points = begin(session.store, benches, root, experiment, elsewhere=elsewhere)
    session.finish(points, of, sealed)
    session.give_back()


def go_on_with_duel(
    session: Session,
    first: Task,
    second: Task,
    sealed: Callable[[Task, Ended], object],
    slowdown: float | None = None,
) -> bool:
    """Go on with an unfinished duel of the same two tasks; False without one.

    Parameters and errors as those of `measure_duel`.
    """
    session.prepare(first.distribution)  # else it is not known whether it is the same lab
    tasks = (first, second)
    wanted = (slowdown, _errors(session.procedure(first)))

    def failed(side: int, error: LeaselabError) -> None:
        sealed(tasks[side], Ended(error, session.archive(tasks[side], error)))

    for point_id, of, begun in session.earlier.experiments_of(tasks):
        slowed = begun.experiment.slowdown if begun.experiment else None
        if len(of) < len(tasks) or (slowed, _errors(begun.bench.procedure)) != wanted:
            continue
        if _both_deployed(session, tasks, failed):
            session.finish(open_experiment(session.store, point_id), of, sealed)
            session.give_back()
        return True
    return False


def _errors(plan: AnyProcedure) -> tuple[float, ...]:
    """As those of a duel; empty for another procedure."""
    return plan.errors if isinstance(plan, Duel) else ()


def _both_deployed(
    session: Session, tasks: tuple[Task, Task], failed: Callable[[int, LeaselabError], object]
) -> list[list[Bench]]:
    """Deploy two tasks, at two places where they can be up at once.

    Returns both at each place.  `failed` is called for the one that does not build or start;
    then there are none.
    """
    made: list[list[Bench]] = []
    for side, task in enumerate(tasks):
        session.prepare(task.distribution)
        keep = [bench.server.variant for there in made for bench in there]
        # Where A is at one place only they are up in turn, so B needs no more than that.
        places = PLACES[: len(made[0])] if made else PLACES
        try:
            made.append(session.deployed(task, keep, places))
        except LeaselabError as error:
            failed(side, error)
            session.give_back()
            return []
    # Both are at both places, or one after the other at the first.
    return [[first, second] for first, second in zip(*made, strict=False)]
