"""The page of what moved: by month, with the builds around each change, and the series."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from leaselab.analysis.history.series import Change, Series, State
from leaselab.report.listing import with_unit
from leaselab.report.review.document import review_document
from leaselab.report.review.review import Review
from leaselab.report.review.table import cells, counts, notes, parts
from leaselab.report.review.words import (
    next_words,
    point_words,
    range_words,
    state_words,
    step_words,
    title_words,
)
from leaselab.report.site import vega
from leaselab.report.site.figure import Figure, figure
from leaselab.report.site.history_chart import in_six_digits
from leaselab.report.site.pages import Pages

REVIEW = ("review", "Review")
"""The page, and its words."""
_COLOURS = {
    **dict.fromkeys(State, vega.ASIDE),
    State.SUSPECTED: vega.DOUBT,
    State.CONFIRMED: vega.WORSE,
}
"""Of the lines of changes, by state; one for the better that is confirmed is green."""


def write_review(folder: Path, review: Review) -> Path:
    """Write a review as a page of its own; return it."""
    pages = Pages(folder, (REVIEW,))
    document = review_document(review)
    pages.write(REVIEW[0], "review.html", document, lambda: review_page([review], lambda _: ""))
    pages.finish()
    return folder / f"{REVIEW[0]}.html"


def review_page(
    reviews: Sequence[Review], href: Callable[[Series], str]
) -> tuple[dict[str, Any], list[Figure | None]]:
    """What the template gets, and the charts; `href` says where a series' results are.

    Each review is a section; all are of the same series.
    """
    moved = _moved(reviews)
    drawn = [
        figure(
            f"series-{place}",
            f"{series.scenario}, {series.bench}",
            _chart(series),
            note=_note(series),
        )
        for place, series in enumerate(moved)
    ]
    return {
        "answer": _answer(reviews),
        "sections": [_section(review, href) for review in reviews],
        "figures": drawn,
        "listed": [_listed(series, href) for series in (reviews[0].series if reviews else ())],
        "notes": list(dict.fromkeys(line for review in reviews for line in notes(review))),
    }, list(drawn)


def _moved(reviews: Sequence[Review]) -> list[Series]:
    """The series with a change in the reviews, each once."""
    by_id = {
        id(series): series
        for review in reviews
        for _, changes in parts(review)
        for series, _ in changes
        if series.levels  # else it is a culprit of no series
    }
    return list(by_id.values())


def _answer(reviews: Sequence[Review]) -> str:
    """How many changes there are of each kind that is to be looked at, each counted once."""
    words: list[str] = []
    found: list[tuple[Series, Change]] = []
    for state in (State.CONFIRMED, State.SUSPECTED):
        changes = {id(one[1]): one for review in reviews for one in review.of(state)}
        words += [f"{len(changes)} {state.value}"] if changes else []
        found += changes.values()
    if not found:
        return "no change is confirmed or suspected"
    return f"{title_words(found)} ({', '.join(words)})"


def _section(review: Review, href: Callable[[Series], str]) -> dict[str, Any]:
    return {
        "words": review.period.words,
        "counts": counts(review),
        "parts": [
            (title, [_row(series, change, href(series)) for series, change in changes])
            for title, changes in parts(review)
        ],
    }


def _row(series: Series, change: Change, href: str) -> dict[str, Any]:
    return {
        "cells": cells(series, change),
        "href": href,
        "state": state_words(change),
        "range": range_words(change),
        "next": next_words(series, change),
        "at": change.settled_at or change.detected_at,
        "worse": change.worse,
    }


def _listed(series: Series, href: Callable[[Series], str]) -> dict[str, Any]:
    """A series in the list of all."""
    return {
        "scenario": series.scenario,
        "href": href(series),
        "title": series.title,
        "bench": series.bench,
        "against": series.anchor or f"none, environment {series.environment or '-'}",
        "builds": len(series.points),
        "changes": len(series.changes),
        "enough": series.enough,
    }


def _note(series: Series) -> str:
    if series.of_counts:
        return (
            f"The {series.title}, counted. A dot is a build, in the order of commit dates; the "
            "grey lines are levels. At a dashed line the later build does more (red) or less "
            "(green) of anything that was counted, or what it does was accepted (grey)."
        )
    against = (
        f"Ratio of the {series.title} to {series.anchor}, measured in turn with each build."
        if series.anchor
        else f"The {series.title} itself: without an anchor, the machine's drift is in it."
    )
    return (
        f"{against} A dot is a build, in the order of commit dates, the line through it its "
        "95 % interval; the grey lines are levels. A dashed line is where a level changed: red "
        "where a duel confirmed it for the worse, green for the better, orange where it is "
        "suspected, grey where it was refuted or accepted."
    )


def _chart(series: Series) -> vega.Spec:
    """The builds side by side, their levels, and the changes between them."""
    own = with_unit(series.title, series.unit)
    axis = f"ratio to {series.anchor}" if series.anchor else own
    ends = {"domain": [0, len(series.points) + 1], "nice": False}
    x = vega.number("place", "builds, oldest first", axis={"tickMinStep": 1}, scale=ends)
    y = vega.number("value", axis)
    points = list(_points(series))
    marks = [
        {
            "place": _place(series, change),
            "colour": change_colour(change),
            "words": step_words(change),
            "range": range_words(change),
        }
        for change in series.changes
    ]
    name = f"{series.scenario} by build"
    layers = [
        vega.layer(
            list(_levels(series)),
            {"type": "rule", "color": vega.ASIDE, "strokeWidth": 2, "aria": False},
            {"x": x, "x2": {"field": "last"}, "y": y},
        ),
        vega.layer(
            marks,
            {"type": "rule", "strokeDash": [4, 3], "strokeWidth": 1.5},
            {
                "x": x,
                "color": vega.OWN_COLOUR,
                "tooltip": vega.tooltip_fields(
                    ("words", "changed by", ""), ("range", "commits", "")
                ),
            },
        ),
        vega.layer(
            [point for point in points if point["low"] is not None],
            vega.lines(1.5, color=vega.MEASURED),
            {"x": x, "y": vega.number("low", axis), "y2": {"field": "high"}},
        ),
        vega.layer(
            points,
            vega.dots(40, color=vega.MEASURED),
            {
                "x": x,
                "y": y,
                "description": {"field": "label"},
                "tooltip": vega.tooltip_fields(("label", "build", ""), ("value", axis, ".6~g")),
            },
        ),
    ]
    return vega.chart(layers, height=220, name=name)


def _place(series: Series, change: Change) -> float:
    """Position of a change on the axis: between the builds before and after it."""
    places = [series.points.index(build) for build in (change.before, change.after)]
    return 1 + sum(places) / 2


def change_colour(change: Change) -> str:
    """The colour of a change, by what is known of it."""
    if change.state is State.CONFIRMED and not change.worse:
        return vega.BETTER
    return _COLOURS[change.state]


def _points(series: Series) -> Iterator[vega.Spec]:
    for place, point in enumerate(series.points, start=1):
        low, high = point.ci95 or (None, None)
        several = f", pooled of {len(point.ids)} results" * (len(point.ids) > 1)
        yield {
            "place": place,
            "value": in_six_digits(point.value),
            "low": in_six_digits(low),
            "high": in_six_digits(high),
            "label": f"{point_words(point)}{several}",
        }


def _levels(series: Series) -> Iterator[vega.Spec]:
    for first, last in series.levels:
        values = [point.reading.value for point in series.points[first:last]]
        if values:
            level = in_six_digits(math.exp(math.fsum(values) / len(values)))
            yield {"place": first + 0.6, "last": last + 0.4, "value": level}
