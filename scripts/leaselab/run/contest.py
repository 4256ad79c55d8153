"""Two tasks in turn: duels, in one layout of their functions or in several, and profiles."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from leaselab.analysis.comparison.cost import difference_of
from leaselab.analysis.comparison.profile import ProfileDifference
from leaselab.analysis.comparison.verdict import Comparison, compare, duel_of
from leaselab.analysis.duels.duel import Answer
from leaselab.analysis.duels.error_budget import error_budget
from leaselab.analysis.duels.layouts import LayoutVerdict, OverLayouts
from leaselab.archive.calibration import calibrating
from leaselab.archive.store import Store
from leaselab.measure.generators import adapter_of
from leaselab.model.contest import Contest, contest_by
from leaselab.model.errors import LeaselabError, Outcome, invalid_measurement, usage_error
from leaselab.model.identity import Conditions
from leaselab.model.procedure import COMPLETED
from leaselab.model.procedures import AnyProcedure, procedure_of
from leaselab.model.procedures.duel import DUEL, METRICS, Duel
from leaselab.model.procedures.profile import PROFILE
from leaselab.model.record import Record
from leaselab.model.speech import announce, say
from leaselab.model.text import printable
from leaselab.report.verdict.sentence import cost_words, layouts_words
from leaselab.run.experiment import Ended
from leaselab.run.session import Session
from leaselab.run.task import Task

_BUILDS = 40
"""Number of newest results whose builds are read."""


@dataclass(frozen=True, slots=True)
class InTurn:
    """Result of two tasks that were measured in turn: of a duel, or of counts."""

    comparison: Comparison
    ids: tuple[str, ...]
    """Ids of the results of A and B; only one where that does not build."""
    refused: LeaselabError | None = None
    """Why A does not build or does not start: B is not measured then, and is not at fault."""

    def checked(self, a: Task) -> Comparison:
        """Return the comparison; raises an invalid-measurement error where A was refused."""
        if self.refused is not None:
            raise invalid_measurement(
                "A does not build or does not start, so B was not measured",
                where=str(a),
                found=str(self.refused),
                wanted="a server that B can be compared with",
                todo=f"name another A, or see: leaselab show {self.ids[0]}",
            )
        return self.comparison


def in_turn(session: Session, a: Task, b: Task, slowdown: float | None = None) -> InTurn:
    """Measure two tasks in turn, and judge them; a failed build is not an error here.

    An interrupted measurement of the two is resumed.  `slowdown` is for calibrating duels: the
    share of time for which B is paused (0..1).
    Raises for a broken lab and for an interrupt: what was measured can be resumed.
    """
    sealed: list[tuple[Task, Ended]] = []

    def keep(task: Task, ended: Ended) -> None:
        sealed.append((task, ended))

    session.complete((a, b), keep, slowdown)
    records = [session.store.load(str(ended.place)) for _, ended in sealed]
    if (made := records[-1].experiment) is not None:  # counts are sealed as they are finished
        records.sort(key=lambda record: made.points.index(record.id))
    base = records[0] if len(records) > 1 else None
    refused = None
    if base is None and sealed[0][0] is a is not b:
        refused = sealed[0][1].error
    ids = tuple(record.id for record in records)
    return InTurn(compare(base, records[-1]), ids, refused)


def duel(session: Session, contest: Contest[Task], slowdown: float | None = None) -> InTurn:
    """Measure the two of a duel; parameters and errors as those of `in_turn`."""
    return in_turn(session, contest.a, contest.b, slowdown)


def planned(
    given: Mapping[str, Any],
    of: Callable[[Mapping[str, Any]], AnyProcedure] = procedure_of,
    *,
    find: float | None,
    metric: str | None,
) -> tuple[dict[str, Any], Duel]:
    """Return the parameters of a duel, and what they are.

    `of` builds the procedure of its scenario, `find` is the smallest change for the worse that
    it is to find (0..1).  Raises a usage error for a metric that no duel is about.
    """
    if metric is not None and metric not in METRICS:
        raise usage_error(
            "no duel is about this figure",
            where="--metric",
            found=metric,
            wanted=" or ".join(METRICS),
        )
    named = {"name": DUEL, "find": find, "metric": metric}
    asked = {**given, **{key: value for key, value in named.items() if value is not None}}
    plan = of(asked)
    if not isinstance(plan, Duel):
        raise AssertionError(f"{DUEL} is the name of {plan.name}")
    return asked, plan


def with_budget(store: Store, comparison: Comparison) -> Comparison:
    """Add the error budget of the bench's duels to a comparison of a duel."""
    record = comparison.other
    contest = contest_by(record.procedure, comparison.base, record)
    if comparison.verdict is None or contest is None:
        return comparison
    place = Conditions.of_record(record).place
    made = calibrating(store, record.scenario.name, place)
    return replace(comparison, budget=error_budget(made, contest.plan))


def check_layouts(session: Session, contest: Contest[Task]) -> None:
    """Raise a usage error for a server that is not built from a commit."""
    for task in (contest.a, contest.b):
        if task.commit is None or task.commit.tree not in session.files:
            raise usage_error(
                "only commits can be built in several layouts",
                where="--layouts",
                found=str(task),
                wanted="a commit of --repo",
                todo="leave --layouts out, or name a commit",
            )


def say_cost(session: Session, contest: Contest[Task], layouts: int) -> None:
    """Print the expected cost of duels of two commits in a number of layouts."""
    announce(cost_words(layouts, most_minutes(contest), _build_min(session.store)))


def most_minutes(contest: Contest[Task]) -> float:
    """The longest time that a duel takes, without deployments (min)."""
    waits = adapter_of(contest.b.scenario).waits
    return contest.plan.rounds * contest.plan.round_with_s(waits=waits) / 60


def _build_min(store: Store) -> float | None:
    """Median duration of the builds of the newest results (min), if any has one."""
    ids = [row["id"] for row in store.index.every() if row["commit"]]
    builds = [record.server.build for record in store.load_readable(ids[-_BUILDS:])]
    minutes = {
        build.key: build.seconds["total"] / 60
        for build in builds
        if build and build.key and build.seconds.get("total")
    }
    return statistics.median(minutes.values()) if minutes else None


def over_layouts(
    make: Callable[[Contest[Task]], Comparison], contest: Contest[Task], layouts: int
) -> tuple[OverLayouts, list[Comparison]]:
    """Make a duel in each layout.

    Raises what `make` raises, the error of a server that does not build or start in a layout,
    and an invalid-measurement error of a duel without a verdict.
    """
    verdicts: list[LayoutVerdict] = []
    made: list[Comparison] = []
    for seed in range(1, layouts + 1):
        a, b = replace(contest.a, layout=seed), replace(contest.b, layout=seed)
        made.append(comparison := make(replace(contest, a=a, b=b)))
        verdicts.append(_verdict(seed, comparison))
        *_, line = layouts_words(OverLayouts(tuple(verdicts[-1:])))
        announce(f"layout {seed} of {layouts}: {line}")
    return OverLayouts(tuple(verdicts)), made


def _verdict(seed: int, comparison: Comparison) -> LayoutVerdict:
    verdict = comparison.verdict.duel if comparison.verdict else None
    if comparison.error is not None:
        raise comparison.error
    if verdict is None:
        raise invalid_measurement(
            "a duel has no verdict",
            where=f"layout {seed}",
            todo=f"see: leaselab show {comparison.other.id}",
        )
    # Also where another figure is worse.
    slower = comparison.outcome is Outcome.REGRESSION
    answer = Answer.SLOWER if slower else verdict.answer
    return LayoutVerdict(seed, answer, verdict.ratio, verdict.error)


def archived_duel(session: Session, contest: Contest[Task]) -> Comparison | None:
    """The newest duel of two tasks that the archive has and that has a verdict."""
    store, earlier, plan = session.store, session.earlier, contest.plan
    commit = contest.b.commit.hash if contest.b.commit else None
    rows = store.index.rows(
        scenario=contest.b.scenario.name, commit=commit, bench=session.inventory.bench
    )
    ids = [row["id"] for row in rows if row["procedure"] == DUEL]
    for other in store.load_readable(ids):
        if other.experiment is None or not earlier.is_like(contest.b, other, plan):
            continue
        base = next(store.load_readable(other.experiment.points[:1]), None)
        if base and earlier.is_like(contest.a, base, plan):
            comparison = compare(base, other)
            if comparison.verdict is not None and comparison.verdict.duel is not None:
                return comparison
    return None


PROFILED = 0.8
"""Load of a profile relative to the completed rate of the slower server of a duel (ratio)."""
ROUNDS = 12
"""Rounds of each server in a profile with trials as short as those of a duel."""


def explain(
    session: Session, contest: Contest[Task], base: Record | None, other: Record
) -> Sequence[str]:
    """Profile the two servers of a duel, whose results are `base` and `other`.

    Returns the ids of the new results.  The load is below the completed rate of the slower
    server, with the clients and the length of the duel's trials: some servers take longer per
    client with more clients, or with new ones.  A profile in the archive is not made
    again.  It explains a verdict and does not change it: without a profile, one line on
    standard error gives the reason.
    """
    plan = contest.plan
    measured = [record for record in (base, other) if record is not None]
    rates = [record.metric(COMPLETED) for record in measured]
    known = [rate.value for rate in rates if rate and rate.value]
    if plan.starts:
        _none("a start has no load to profile under")
    elif base is None or len(known) < len((base, other)):
        _none("one of the two was not measured")
    elif _profiled(session.store, base, other) is None:
        rate = max(1, round(PROFILED * min(known)))
        clients = other.metric("clients")
        returning = round(clients.value) if clients and clients.value else 0
        load = {"rate": rate, "duration_s": plan.trial_s, "returning": returning}
        return profile(session, contest.a, contest.b, **load, rounds=ROUNDS)
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
    if duel_of(base, other):
        made = _profiled(store, base, other)
        if made is None:
            return None
        base, other = made
    return difference_of(base, other, store.read)


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
