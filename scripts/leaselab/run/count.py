"""What the two servers of a duel do for each transaction: counted before it, kept beside it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from leaselab.analysis.comparison.archived_counts import is_counted, judged
from leaselab.analysis.comparison.verdict import Comparison, compare
from leaselab.archive.store import Store
from leaselab.measure.generators import check_fits
from leaselab.model.contest import Contest
from leaselab.model.errors import LeaselabError, Outcome, usage_error
from leaselab.model.identity import Conditions, Place, Subject
from leaselab.model.procedures.cost import COST
from leaselab.model.procedures.duel import OF_CODE
from leaselab.model.record import Record
from leaselab.model.speech import announce
from leaselab.model.text import printable
from leaselab.report.verdict.sentence import closing
from leaselab.run.contest import in_turn, profiles_of
from leaselab.run.session import Session
from leaselab.run.task import Task

_ROUNDS = 2
"""Starts of each server: few, as the duel is what takes long."""


def count_first(session: Session, contest: Contest[Task]) -> None:
    """Count the two of a duel, unless the archive has counts of both, and say what they cost.

    Without counts, one line on standard error gives the reason.  Raises for a broken lab.
    """
    a, b, store = contest.a, contest.b, session.store
    asked = {"name": COST, "rounds": _ROUNDS}
    counting = replace(session, overrides=asked, begun=set(), together=())
    try:
        for task in (a, b):
            check_fits(task.scenario, counting.procedure(task))
        if not a.subject.same_scenario(b.subject):
            raise usage_error("A and B differ", wanted="a scenario with the same settings")
        session.prepare(a.distribution)  # else it is not known whether it is the same lab
        place = session.inventory.bench, session.lab.environment
        known = _newest(store, (a.subject, b.subject), place)
        if known is None:
            for task in (a, b):
                session.artifact(task)  # where one does not build, the duel is its result
        comparison = compare(*known) if known else in_turn(counting, a, b).comparison
        if comparison.error is not None:
            raise comparison.error
    except LeaselabError as error:
        if error.outcome is Outcome.LAB:
            raise
        announce(f"not counted: {printable(str(error))}")
    else:
        functions = profiles_of(store, comparison.base, comparison.other)
        announce(printable(closing(comparison, functions)))


def with_counts(store: Store, comparison: Comparison) -> Comparison:
    """Add what the archive has counted of both to a comparison of a duel."""
    base, other, verdict = comparison.base, comparison.other, comparison.verdict
    if base is None or verdict is None or verdict.duel is None:
        return comparison
    if verdict.duel.metric not in OF_CODE:
        return comparison
    subjects = Subject.of_record(base), Subject.of_record(other)
    known = _newest(store, subjects, Conditions.of_record(other).place)
    return replace(comparison, counted=judged(*known)) if known else comparison


def _newest(
    store: Store, both: tuple[Subject, Subject], place: Place
) -> tuple[Record, Record] | None:
    """The newest counts of two subjects at a place by one procedure; None without any."""
    if not both[0].same_scenario(both[1]):
        return None
    before, after = (list(_counts(store, subject, place)) for subject in both)
    pairs = (
        (a, b)
        for b in after
        for a in before
        if a.id != b.id and Conditions.of_record(a) == Conditions.of_record(b)
    )
    return next(pairs, None)


def _counts(store: Store, subject: Subject, place: Place) -> Iterator[Record]:
    """The counts of a subject at a place, the newest first."""
    commit = subject.source[0] if subject.source else None
    rows = store.index.rows(scenario=subject.scenario.name, commit=commit, bench=place[0])
    ids = [row["id"] for row in rows if row["procedure"] == COST]
    for record in store.load_readable(ids):
        same = Subject.of_record(record).is_like(subject)
        if same and Conditions.of_record(record).place == place and is_counted(record):
            yield record
