"""Verdicts as a code quality report, which GitLab shows at the lines of a merge request."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from leaselab.analysis.comparison.profile import ProfileDifference
from leaselab.analysis.comparison.verdict import Comparison
from leaselab.model.errors import Outcome
from leaselab.model.text import bounded
from leaselab.report.profile import spent_words
from leaselab.report.verdict.sentence import closing

Place = tuple[str, int]
"""A file of the commit and a line of it, from 1 on."""
FUNCTIONS = 5
"""Functions that a report has: those that grew most."""
NOWHERE: Place = (".", 1)
"""The place of what is of no line: the format demands a file."""
_LETTERS = 500


def code_quality(
    judged: Iterable[tuple[Comparison, ProfileDifference | None]],
    place_of: Callable[[Comparison, str], Place | None],
) -> bytes:
    """A finding for each function that made a verdict worse, and for each other failure.

    `place_of` returns where the commit of a comparison's B defines a function, by its name.  A
    finding without a place is of file ``.``; its text has the verdict, which names the commit.
    """
    findings = [
        finding
        for comparison, profiles in judged
        if comparison.outcome is not Outcome.OK
        for finding in _findings(comparison, profiles, place_of)
    ]
    return f"{json.dumps(findings, indent=1)}\n".encode()


def _findings(
    comparison: Comparison,
    profiles: ProfileDifference | None,
    place_of: Callable[[Comparison, str], Place | None],
) -> Iterator[dict[str, Any]]:
    grown = profiles.grown[:FUNCTIONS] if profiles else ()
    regressed = comparison.outcome is Outcome.REGRESSION
    placed = [
        (function, place)
        for function in grown
        if regressed and (place := place_of(comparison, function.name)) is not None
    ]
    text, scenario = closing(comparison, profiles), comparison.other.scenario.name
    yield _finding(comparison, "", f"{scenario}: {text}", placed[0][1] if placed else NOWHERE)
    for function, place in placed[1:]:
        words = spent_words(function, profiles) if profiles else ""
        yield _finding(comparison, function.name, f"{scenario}: {words}", place)


def _finding(comparison: Comparison, name: str, text: str, place: Place) -> dict[str, Any]:
    """One finding; its fingerprint is that of the same finding on another commit."""
    scenario, check = comparison.other.scenario.name, f"leaselab-{comparison.word}"
    same = "\0".join((scenario, comparison.other.procedure.name, comparison.word, name))
    return {
        "description": bounded(text, _LETTERS),
        "check_name": check.replace(" ", "-"),
        "fingerprint": hashlib.sha256(same.encode()).hexdigest(),
        "severity": "minor" if name else "major",
        "location": {"path": place[0], "lines": {"begin": place[1]}},
    }
