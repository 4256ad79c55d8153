"""The page that says which results may be believed, and why."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from leaselab.analysis.credibility import Flag, flags
from leaselab.analysis.matrix import cell_of, goal_words
from leaselab.report.matrix import shown
from leaselab.report.words import meanings

NOT_OK = 100
"""Newest results without a figure that the page lists."""


def validity(
    documents: Sequence[Mapping[str, Any]], failed: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    """What the template gets: the newest results with their flags, and those that failed.

    `documents` are the newest of their scenarios, `failed` the newest rows of the index
    that came to no figure.
    """
    judged = sorted(documents, key=lambda document: str(document["scenario"]["name"]))
    return {
        "results": [_judged(document) for document in judged],
        "failed": failed[:NOT_OK],
        "all_shown": len(failed) <= NOT_OK,
        "goals": sorted({goal_words(document["goal"]) for document in judged}),
        "verdicts": {
            "good": "the figure stands",
            "doubt": "there is a figure; be careful with it, for the reason in the last column",
            "refused": "there is no figure; the last column says why",
        },
        "words": meanings(
            word
            for document in judged
            for flag in flags(document)
            for word in (flag.word, *_trial_words(document, flag))
        ),
    }


def _trial_words(document: Mapping[str, Any], flag: Flag) -> list[str]:
    """The reasons that a flag counts trials by."""
    trials = [trial for run in document["runs"] for trial in run["trials"]]
    reasons = {trial["reason"] for trial in trials if not trial["valid"]}
    return sorted(reason for reason in reasons if f" {reason}" in flag.text)


def _judged(document: Mapping[str, Any]) -> dict[str, Any]:
    found: list[Flag] = flags(document)
    levels = {flag.level for flag in found}
    verdict = next((level for level in ("refused", "doubt") if level in levels), "good")
    rate = document["summary"]["max_rate"]
    return {
        "id": document["id"],
        "scenario": document["scenario"]["name"],
        "rate": shown(cell_of(document)),
        "spread": None if rate is None else rate["spread"],
        "runs": len(document["runs"]),
        "trials": sum(len(run["trials"]) for run in document["runs"]),
        "flags": found,
        "verdict": verdict,
    }
