"""Profiles of two tasks: made together, and read again from the archive."""

from __future__ import annotations

import sys
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from leaselab.analysis.profile import difference, spent_of
from leaselab.analysis.verdict import one_duel
from leaselab.model.errors import LeaselabError
from leaselab.report.listing import printable

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from leaselab.analysis.profile import ProfileDifference
    from leaselab.archive.store import Store
    from leaselab.cli.session import Session
    from leaselab.cli.task import Task
    from leaselab.model.record import Record
    from leaselab.run.experiment import Ended


PROFILE = "profile"
"""The procedure."""


def profile(session: Session, a: Task, b: Task, **parameters: Any) -> Sequence[str]:  # noqa: ANN401  # of the procedure
    """Profile two tasks in turns, at the same load; return the ids of their results, A's first.

    `parameters` are those of the procedure that differ from their defaults, such as `rate`.  A
    profile explains a verdict and does not change it: where there is none, one line on standard
    error says why, and there are no ids.
    """
    again = replace(
        session, overrides={"name": PROFILE, **parameters}, begun=set(), together=()
    )
    ids: dict[Task, str] = {}
    failed: list[str] = []

    def sealed(task: Task, ended: Ended) -> None:
        if ended.error is None:
            ids[task] = ended.place.name
        else:
            failed.append(str(ended.error))

    try:
        again.measure([a, b], sealed)
    except LeaselabError as error:
        failed.append(str(error))
    session.environment, session.distribution = again.environment, again.distribution
    session.generator_key = again.generator_key
    if failed or len(ids) < 2:
        why = failed[0] if failed else "one of the two was not measured"
        print(f"no profile: {printable(why)}", file=sys.stderr, flush=True)
        return []
    return [ids[a], ids[b]]


def profiles_of(store: Store, base: Record | None, other: Record) -> ProfileDifference | None:
    """Compare the profiles of two results, of a duel those made after it; None without any.

    Raises invalid_measurement where a file of theirs is missing or was changed.
    """
    if base is None:
        return None
    if one_duel(base, other):
        made = _profiled(store, base, other)
        if made is None:
            return None
        base, other = made
    before, after = (spent_of(one, partial(store.read, one.id)) for one in (base, other))
    return difference(base, other, before, after)


def _profiled(store: Store, base: Record, other: Record) -> tuple[Record, Record] | None:
    """The newest profiles of the two servers of a duel, made together; None without any."""
    bench = base.bench
    for row in reversed(store.index.every(base.scenario.name)):
        if row["procedure"] != PROFILE or row["finished_at"] < other.started_at:
            continue
        if (row["bench"], row["environment"]) != (bench.name, bench.environment):
            continue
        after = store.load(row["id"])
        points = after.experiment.points if after.experiment else ()
        if points[-1:] != (after.id,) or len(points) != len((base, other)):
            continue
        before = store.load(points[0])
        made_of = [one.server.made_of for one in (before, after)]
        if made_of == [one.server.made_of for one in (base, other)]:
            return before, after
    return None
