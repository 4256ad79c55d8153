"""A review as text and as Markdown."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TextIO

from leaselab.analysis.comparison.ratio import Basis
from leaselab.analysis.history.detectors import LEARNT
from leaselab.analysis.history.series import Change, Series, State
from leaselab.report.listing import escaped, markdown_table
from leaselab.report.review.review import Review
from leaselab.report.review.words import (
    NO_ANCHOR,
    build_name,
    moved_words,
    next_words,
    point_words,
    shape_words,
    state_words,
)
from leaselab.report.verdict.cost import closing_words
from leaselab.report.verdict.words import interval_words
from leaselab.report.width import write_lines, write_table

HEADINGS = ("scenario", "changed by", "95 % interval", "what", "last before", "first after")


def notes(review: Review) -> list[str]:
    """Notes on the figures."""
    lines = []
    timed = [series for series in review.series if not series.of_counts]
    enough = {series.scenario for series in timed if series.enough}
    short = {series.scenario for series in timed} - enough
    if short:
        lines.append(
            f"a history needs {LEARNT + 1} builds of a scenario; these have fewer: "
            f"{', '.join(sorted(short))}"
        )
    changed = [series for series, _ in review.of(*State)]
    if any(not (series.anchor or series.of_counts) for series in changed):
        lines.append(f"{Basis.SESSIONS.value}: {NO_ANCHOR}")
    if any(change.moved_lab for _, change in review.of(*State)):
        lines.append("† the environment of the lab is another one after it")
    return lines


def headline(review: Review) -> str:
    """The period, the metric if one was named, and what there is of it."""
    by = f", by {review.metric}" if review.metric else ""
    return f"{review.period.words}{by}: {counts(review)}"


def counts(review: Review) -> str:
    """How many changes of each kind there are, and of how much."""
    changes = ", ".join(f"{len(review.of(state))} {state.value}" for state in State)
    builds = sum(len(series.points) for series in review.series)
    return f"{changes}; {len(review.series)} series with {builds} build{'s' * (builds != 1)}"


def cells(series: Series, change: Change) -> list[str]:
    """A change as a row below `HEADINGS`."""
    _, ci95 = change.size
    drifts = not series.anchor and change.measured is not State.CONFIRMED
    rests = f" {Basis.SESSIONS.value}" if drifts else ""
    return [
        series.scenario,
        f"{moved_words(change)}{'†' * change.moved_lab}",
        interval_words(ci95),
        f"{shape_words(change)}{rests}",
        point_words(change.last_before),
        point_words(change.first_after),
    ]


_PARTS = (
    ("Changes", (State.CONFIRMED,)),
    ("Suspected, not measured again yet", (State.SUSPECTED,)),
    ("Refuted by a duel", (State.REFUTED,)),
    ("Accepted", (State.ACCEPTED,)),
)
"""Sections of a review, and what stands in them."""


def parts(review: Review) -> list[tuple[str, list[tuple[Series, Change]]]]:
    """The sections that have something in them."""
    return [(title, series) for title, states in _PARTS if (series := review.of(*states))]


def print_review(review: Review, stream: TextIO | None = None) -> None:
    """Print it; stdout unless given."""
    stream = stream or sys.stdout
    if not review.series:
        stream.write(
            "none yet: `./leaselab run SCENARIO --repo DIR --commits A..B` makes some\n"
        )
        return
    write_lines(stream, [headline(review)])
    for title, changes in parts(review):
        stream.write(f"\n{title}\n")
        write_table(stream, HEADINGS, (cells(*change) for change in changes), len(HEADINGS))
        write_lines(stream, said(changes))
    remarks = notes(review)
    write_lines(stream, ["", *remarks] if remarks else [])


def said(changes: Sequence[tuple[Series, Change]]) -> list[str]:
    """What is known of each change of a section, and what to do next."""
    lines = []
    for series, change in changes:
        todo, command = next_words(series, change)
        since = build_name(change.first_after)
        known = state_words(change)
        if change.counted is not None and change.accepted is None:
            counted, before = change.counted, build_name(change.last_before)
            sentence = closing_words(counted.verdict, since, before, counted.functions)
            known = sentence.removesuffix(".")
        lines.append(f"{series.scenario} since {since}: {known}")
        if todo:
            lines[-1] += f"; next, {todo}: {command}"
    return lines


def markdown_of_review(review: Review) -> str:
    """The same in Markdown: confirmed changes, and apart from them those only suspected."""
    lines = [
        f"## What moved: {escaped(review.period.words)}\n",
        f"\n{escaped(headline(review))}\n",
    ]
    if not review.of(State.CONFIRMED):
        lines.append("\nNo change was confirmed.\n")
    for title, changes in parts(review):
        lines.append(f"\n### {title}\n\n")
        lines += markdown_table(HEADINGS, (cells(*change) for change in changes), len(HEADINGS))
        lines += ["\n", *(f"- {escaped(line)}\n" for line in said(changes))]
    lines += [f"\n{escaped(line)}\n" for line in notes(review)]
    return "".join(lines)
