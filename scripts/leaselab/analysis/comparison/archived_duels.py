"""What results say of a range of commits: its duels, and which commits cannot be measured."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import msgspec

from leaselab.analysis.comparison.verdict import duel_of
from leaselab.analysis.duels.bisect import Known
from leaselab.analysis.duels.culprits import Duelled
from leaselab.analysis.duels.duel import judge
from leaselab.analysis.duels.error_budget import minutes_of
from leaselab.model.contest import Contest
from leaselab.model.errors import BELIEVED, Outcome
from leaselab.model.record import Record

FAILURES = 2
"""Measurements of a commit that came to nothing, after which it is left out."""
UNBUILT = Outcome.BUILD.label
_TOO_FEW = "too few of its rounds count"


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known of a range, and why it is not more."""

    known: Known
    reasons: Mapping[int, str] = field(default_factory=dict)
    """Why places cannot be measured."""
    unbuilt: frozenset[int] = frozenset()
    """Those of them that do not build or do not start."""
    spoiled: Mapping[tuple[int, int], Sequence[str]] = field(default_factory=dict)
    """Of any two places: why each of their duels that has no verdict has none."""


def facts_of(hashes: Sequence[str], records: Iterable[Record], find: float) -> Facts:
    """Read the duels of commits, and which fail.

    `hashes` are the commits by their places; `records` are of one scenario, bench, environment
    and ruler, and of these commits alone; `find` is the drop (0..1) by which duels are judged,
    whichever drop they were made to find.
    """
    places = {name: place for place, name in enumerate(hashes)}
    by_id = {record.id: record for record in records}
    duels: list[Duelled] = []
    spoiled: dict[tuple[int, int], list[str]] = {}
    failures: dict[int, list[str]] = {}
    for contest in _contests(by_id):
        base, other = contest.a, contest.b
        at = places[str(base.server.commit)], places[str(other.server.commit)]
        if at[0] >= at[1] or UNBUILT in (base.outcome, other.outcome):
            continue
        made = _duelled(at, contest, find)
        if isinstance(made, Duelled):
            duels.append(made)
            continue
        spoiled.setdefault(at, []).append(made)
        if base.outcome in BELIEVED:
            failures.setdefault(at[1], []).append(made)
    measured = {place for duel in duels for place in (duel.older, duel.newer)}
    reasons, unbuilt = unable(places, by_id.values(), measured, failures)
    known = Known(len(hashes) - 1, tuple(duels), frozenset(reasons))
    return Facts(known, reasons, unbuilt, spoiled)


def unable(
    places: Mapping[str, int],
    records: Iterable[Record],
    measured: Collection[int],
    failures: Mapping[int, Sequence[str]],
) -> tuple[dict[int, str], frozenset[int]]:
    """Why places cannot be measured, and which of them do not build or do not start.

    `places` are by the commits' hashes; what was `measured` all the same is known to build.
    `failures` are the reasons of measurements that came to nothing.
    """
    unbuilt = {
        place: reason_of(one)
        for one in records
        if one.outcome == UNBUILT and (place := places[str(one.server.commit)]) not in measured
    }
    spoiled = {
        place: texts[-1]
        for place, texts in failures.items()
        if len(texts) >= FAILURES and place not in measured
    }
    return {**spoiled, **unbuilt}, frozenset(unbuilt)


def _contests(by_id: Mapping[str, Record]) -> Iterable[Contest[Record]]:
    """The duels among results, oldest first."""
    for _, base in sorted(by_id.items()):
        points = base.experiment.points if base.experiment else ()
        other = by_id.get(points[-1]) if len(points) == 2 else None
        if other is not None and (contest := duel_of(base, other)) is not None:
            yield contest


def _duelled(at: tuple[int, int], contest: Contest[Record], find: float) -> Duelled | str:
    """A duel's result, or why it has none."""
    base, other = contest.a, contest.b
    for one in (base, other):
        if one.outcome not in BELIEVED:
            return reason_of(one)
    plan = msgspec.structs.replace(contest.plan, find=find)
    verdict = judge(plan, base.rounds, other.rounds)
    if verdict is None:
        return _TOO_FEW
    minutes = minutes_of(base, other)
    return replace(Duelled.of(at, base.started_at, minutes, verdict), id=base.id)


def reason_of(record: Record) -> str:
    """Why a result came to nothing."""
    return record.reasons[0].text if record.reasons else record.outcome
