"""What results say of a range of commits: its counts, and which commits cannot be counted."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from leaselab.analysis.comparison.archived_duels import UNBUILT, reason_of, unable
from leaselab.analysis.comparison.cost import CostVerdict, judge_cost
from leaselab.analysis.comparison.count_search import KnownCounts
from leaselab.model.errors import BELIEVED
from leaselab.model.procedures.cost import INSTRUCTIONS
from leaselab.model.record import Record

_LEAST = 2
"""Fewest starts of a count: the range of a server's own starts decides what is a change."""
_TOO_FEW = "too few of its starts were counted"


@dataclass(frozen=True, slots=True)
class CountFacts:
    """What is known of a range, and why it is not more."""

    known: KnownCounts[Record]
    reasons: Mapping[int, str] = field(default_factory=dict)
    """Why places cannot be counted."""
    unbuilt: frozenset[int] = frozenset()
    """Those of them that do not build or do not start."""
    spoiled: Mapping[int, Sequence[str]] = field(default_factory=dict)
    """Of each place: why its counts that came to nothing did so."""


def count_facts_of(hashes: Sequence[str], records: Iterable[Record]) -> CountFacts:
    """Read the counts of commits, the newest of each, and which fail.

    `hashes` are the commits by their places; `records` are of one scenario, bench, environment
    and ruler, and of these commits alone.
    """
    places = {name: place for place, name in enumerate(hashes)}
    ordered = sorted(records, key=lambda record: record.id)
    counted: dict[int, Record] = {}
    spoiled: dict[int, list[str]] = {}
    for record in ordered:
        place = places[str(record.server.commit)]
        if is_counted(record):
            counted[place] = record
        elif record.outcome != UNBUILT:
            few = record.outcome in BELIEVED
            spoiled.setdefault(place, []).append(_TOO_FEW if few else reason_of(record))
    reasons, unbuilt = unable(places, ordered, counted.keys(), spoiled)
    known = KnownCounts(len(hashes) - 1, counted, frozenset(reasons))
    return CountFacts(known, reasons, unbuilt, spoiled)


def is_counted(record: Record) -> bool:
    """Whether a result has counts by which it can be judged."""
    starts = record.values(INSTRUCTIONS)
    return record.outcome in BELIEVED and len(starts) >= _LEAST and all(starts)


def judged(base: Record, other: Record) -> CostVerdict:
    """The verdict on two counts of such facts."""
    verdict = judge_cost(base, other)
    if verdict is None:
        raise AssertionError(f"{base.id} and {other.id} have no counts")
    return verdict
