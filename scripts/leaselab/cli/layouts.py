"""``--layouts N``: duels of two commits whose functions are linked in several orders."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import TYPE_CHECKING

from leaselab.analysis.duel import Answer
from leaselab.analysis.layouts import OverLayouts, Told
from leaselab.analysis.verdict import compare
from leaselab.cli.durations import durations
from leaselab.cli.options import whole
from leaselab.model.errors import Outcome, invalid_measurement, usage_error
from leaselab.model.procedures.duel import DUEL, Duel
from leaselab.report.layouts import cost_words, layouts_words

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Sequence

    from leaselab.analysis.verdict import Comparison
    from leaselab.cli.session import Session
    from leaselab.cli.task import Task

MOST = 50
"""Most layouts."""


def add_layouts(parser: argparse._ActionsContainer, what: str) -> None:
    """Add ``--layouts``, read as `args.layouts`; `what` is measured in each."""
    parser.add_argument(
        "--layouts",
        metavar="N",
        type=whole(2, MOST),
        help=f"{what} in so many layouts: builds whose functions are linked in another order, "
        "by lld, with seeds 1 to N; says whether the code is slower, or only its place",
    )


def check_layouts(tasks: Sequence[Task], session: Session) -> None:
    """Raise a usage error for a server that is not built of a commit's files."""
    for task in tasks:
        if task.commit is None or task.commit.tree not in session.files:
            raise usage_error(
                "only commits can be built in several layouts",
                where="--layouts",
                found=str(task),
                wanted="a commit of --repo",
                todo="leave --layouts out, or name a commit",
            )


def say_cost(session: Session, task: Task, layouts: int) -> None:
    """Say what the duels of two commits in so many layouts cost."""
    plan, scenario = session.procedure(task), task.scenario.name
    if not isinstance(plan, Duel):
        raise AssertionError(f"{plan.name} is no duel")
    build_min, _ = durations(session.store, [scenario]).get("build_warm_min", (None, ""))
    _say(cost_words(layouts, plan.rounds * plan.round_s / 60, build_min))


def over_layouts(
    make: Callable[[Task, Task], Comparison], first: Task, second: Task, layouts: int
) -> tuple[OverLayouts, list[Comparison]]:
    """Have a duel made in each layout.

    Raises what `make` raises, the error of a server that does not build or start in a layout,
    and an invalid-measurement error of a duel without a verdict.
    """
    told: list[Told] = []
    made: list[Comparison] = []
    for seed in range(1, layouts + 1):
        tasks = replace(first, layout=seed), replace(second, layout=seed)
        made.append(one := make(*tasks))
        told.append(_told(seed, one))
        *_, line = layouts_words(OverLayouts(tuple(told[-1:])))
        _say(f"layout {seed} of {layouts}: {line}")
    return OverLayouts(tuple(told)), made


def _told(seed: int, found: Comparison) -> Told:
    verdict = found.verdict.duel if found.verdict else None
    if found.error is not None:
        raise found.error
    if verdict is None:
        raise invalid_measurement("a duel has no verdict", where=f"layout {seed}")
    # Also where it is another figure that is worse.
    slower = found.outcome is Outcome.REGRESSION
    answer = Answer.SLOWER if slower else verdict.answer
    return Told(seed, answer, verdict.ratio, verdict.error)


def archived_duel(session: Session, first: Task, second: Task) -> Comparison | None:
    """The newest duel of two tasks that the archive has and that has a verdict."""
    store, earlier = session.store, session.earlier
    hashes = second.commit.hash if second.commit else ""
    rows = store.index.rows(
        scenario=second.scenario.name, commit=hashes, bench=session.inventory.bench
    )
    ids = [row["id"] for row in rows if row["procedure"] == DUEL]
    for other in store.load_readable(ids):
        if other.experiment is None or not earlier.is_like(
            second, other, session.procedure(second)
        ):
            continue
        base = next(store.load_readable(other.experiment.points[:1]), None)
        if base and earlier.is_like(first, base, session.procedure(first)):
            found = compare(base, other)
            if found.verdict is not None and found.verdict.duel is not None:
                return found
    return None


def _say(line: str) -> None:
    print(f"leaselab: {line}", file=sys.stderr, flush=True)
