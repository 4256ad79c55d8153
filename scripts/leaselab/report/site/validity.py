"""The page that says which results may be believed, and why."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from leaselab.analysis.credibility import Flag, flags
from leaselab.analysis.matrix import cell_of
from leaselab.report.matrix import shown
from leaselab.report.words import meanings

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from leaselab.model.record import Record

NOT_OK = 100
"""Newest results without a figure that the page lists."""


def validity(records: Sequence[Record], failed: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """What the template gets: the newest results with their flags, and those that failed.

    `records` are the newest of their scenarios, `failed` the newest rows of the index
    that came to no figure.
    """
    judged = sorted(records, key=lambda record: record.scenario.name)
    titles = {record.figure.title for record in judged}
    return {
        "results": [_judged(record) for record in judged],
        "heading": titles.pop() if len(titles) == 1 else "",
        "units": sorted({record.figure.unit for record in judged}),
        "failed": failed[:NOT_OK],
        "all_shown": len(failed) <= NOT_OK,
        "goals": sorted({record.procedure.words for record in judged}),
        "verdicts": {
            "good": "the figure stands",
            "doubt": "there is a figure; be careful with it, for the reason in the last column",
            "refused": "there is no figure; the last column says why",
        },
        "words": meanings(
            word
            for record in judged
            for flag in flags(record)
            for word in (flag.word, *_trial_words(record, flag))
        ),
    }


def _trial_words(record: Record, flag: Flag) -> list[str]:
    """The reasons that a flag counts trials by."""
    reasons = {trial.reason for trial in record.trials if not trial.valid}
    return sorted(reason for reason in reasons if f" {reason}" in flag.text)


def _judged(record: Record) -> dict[str, Any]:
    found = flags(record)
    levels = {flag.level for flag in found}
    return {
        "id": record.id,
        "scenario": record.scenario.name,
        "figure": shown(cell_of(record)),
        "measured": cell_of(record).value is not None,
        "unit": record.figure.unit,
        "spread": record.figure.spread,
        "runs": len(record.rounds),
        "trials": len(list(record.trials)),
        "flags": found,
        "verdict": next((level for level in ("refused", "doubt") if level in levels), "good"),
    }
