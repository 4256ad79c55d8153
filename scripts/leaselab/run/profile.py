"""Profiles of two tasks: made together, and read again from the archive."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from leaselab.analysis.profile import ProfileDifference, difference, spent_of
from leaselab.analysis.verdict import one_duel
from leaselab.archive.store import Store
from leaselab.lab.checkout import say
from leaselab.model.errors import LeaselabError
from leaselab.model.identity import Conditions
from leaselab.model.procedure import COMPLETED
from leaselab.model.procedures.duel import Duel
from leaselab.model.procedures.profile import PROFILE
from leaselab.model.record import Record
from leaselab.model.text import printable
from leaselab.run.experiment import Ended
from leaselab.run.session import Session
from leaselab.run.task import Task

PROFILED = 0.8
"""Load of a profile relative to the completed rate of the slower server of a duel (ratio)."""
ROUNDS = 12
"""Rounds of each server in a profile with trials as short as those of a duel."""


def explain(
    session: Session, a: Task, b: Task, base: Record | None, other: Record
) -> Sequence[str]:
    """Profile the two servers of a duel, whose results are `base` and `other`.

    Returns the ids of the new results.  The load is below the completed rate of the slower
    server, in trials of the same length: a longer trial would have more clients, and some
    servers take longer per client with more clients.  A profile in the archive is not made
    again.  It explains a verdict and does not change it: without a profile, one line on
    standard error gives the reason.
    """
    measured = [record for record in (base, other) if record is not None]
    rates = [record.metric(COMPLETED) for record in measured]
    known = [rate.value for rate in rates if rate and rate.value]
    if isinstance(other.procedure, Duel) and other.procedure.starts:
        _none("a start has no load to profile under")
    elif base is None or len(known) < len((a, b)):
        _none("one of the two was not measured")
    elif _profiled(session.store, base, other) is None:
        plan, rate = other.procedure, max(1, round(PROFILED * min(known)))
        if not isinstance(plan, Duel):
            raise AssertionError(f"{other.id} is of no duel")
        return profile(session, a, b, rate=rate, duration_s=plan.trial_s, rounds=ROUNDS)
    return ()


def profile(session: Session, a: Task, b: Task, **parameters: int) -> Sequence[str]:
    """Profile two tasks in turns, at the same load, or resume such a profile.

    Returns the ids of the new results.  `parameters` are those of the procedure that differ
    from their defaults, such as `rate`.  Without a profile, one line on standard error gives
    the reason.
    """
    again = replace(
        session, overrides={"name": PROFILE, **parameters}, begun=set(), together=()
    )
    ids: list[str] = []
    failed: list[str] = []

    def sealed(_: Task, ended: Ended) -> None:
        ids.append(ended.place.name)
        if ended.error is not None:
            failed.append(str(ended.error))

    try:
        again.complete([a, b], sealed)
    except LeaselabError as error:
        failed.append(str(error))
    if failed:
        _none(failed[0])
    return ids


def _none(why: str) -> None:
    say(f"no profile: {printable(why)}")


def profiles_of(store: Store, base: Record | None, other: Record) -> ProfileDifference | None:
    """Compare the profiles of two results; of a duel, those made after it; None without any.

    Raises invalid_measurement where one of their files is missing or was changed.
    """
    if base is None:
        return None
    if one_duel(base, other):
        made = _profiled(store, base, other)
        if made is None:
            return None
        base, other = made
    before, after = (spent_of(each, partial(store.read, each.id)) for each in (base, other))
    return difference(base, other, before, after)


def _profiled(store: Store, base: Record, other: Record) -> tuple[Record, Record] | None:
    """The newest profiles of the two servers of a duel, made together; None without any."""
    place = Conditions.of_record(base).place
    rows = store.index.every(base.scenario.name)
    sealed = {row["id"] for row in rows}
    for row in reversed(rows):
        if row["procedure"] != PROFILE or row["finished_at"] < other.started_at:
            continue
        if Conditions.of_row(row).place != place:
            continue
        after = next(store.load_readable([row["id"]]), None)
        points = after.experiment.points if after and after.experiment else ()
        if not after or points[-1:] != (after.id,) or len(points) != len((base, other)):
            continue
        if points[0] not in sealed:
            continue  # it was interrupted
        before = next(store.load_readable([points[0]]), None)
        if not before:
            continue
        made_of = [record.server.made_of for record in (before, after)]
        if made_of == [record.server.made_of for record in (base, other)]:
            return before, after
    return None
