"""Profiles of two tasks: made together, and read again from the archive."""

from __future__ import annotations

import sys
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from leaselab.analysis.profile import difference, spent_of
from leaselab.model.errors import LeaselabError
from leaselab.report.listing import printable

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from leaselab.analysis.profile import ProfileDifference
    from leaselab.archive.store import Store
    from leaselab.cli.task import Session, Task
    from leaselab.model.record import Record
    from leaselab.run.experiment import Ended


def profile(session: Session, a: Task, b: Task, **parameters: Any) -> Sequence[str]:  # noqa: ANN401  # of the procedure
    """Profile two tasks in turns, at the same load; return the ids of their results, A's first.

    `parameters` are those of the procedure that differ from their defaults, such as `rate`.  A
    profile explains a verdict and does not change it: where there is none, one line on standard
    error says why, and there are no ids.
    """
    again = replace(
        session, overrides={"name": "profile", **parameters}, begun=set(), together=()
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
    """Compare the profiles of two results; None where one of them has none.

    Raises invalid_measurement where a file of theirs is missing or was changed.
    """
    if base is None:
        return None
    before, after = (spent_of(one, partial(store.read, one.id)) for one in (base, other))
    return difference(base, other, before, after)
