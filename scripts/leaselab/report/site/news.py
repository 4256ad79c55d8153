"""What changed in the days before the newest result, in sentences: the overview's answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from leaselab.analysis.history.series import Change, Point, Series, State
from leaselab.report.review.review import Period, Review
from leaselab.report.review.words import (
    build_name,
    moved_words,
    next_words,
    size_words,
    state_words,
    title_words,
    verb_words,
)
from leaselab.report.site.families import Family, Line
from leaselab.report.site.pages import experiment_page, history_page
from leaselab.report.verdict.words import interval_words

DAYS = 30
"""Days before the newest result whose changes are shown."""


@dataclass(frozen=True, slots=True)
class News:
    """One change in words, and where more is said of it."""

    scenario: str
    page: str
    """Of its history."""
    look: str
    """Worse or better where a duel confirmed it, else suspected."""
    verb: str
    """Before the size: ``is``, or ``costs``."""
    size: str
    """Such as ``3.4 % slower``."""
    interval: str
    commit: str
    """The build since which it is so."""
    before: str
    """The last build before it."""
    duel: str
    """The page of the duel that was made of it; empty without one, or where it has none."""
    sure: str
    todo: str
    """What to do next; empty for one that is settled for the better."""
    command: str
    """Of that."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The changes, and of what they are."""

    title: str
    news: tuple[News, ...]
    notes: tuple[str, ...]
    enough: bool
    """Whether a series has enough builds for a history."""


def answer(
    series: Sequence[Series],
    newest: str,
    pages: Mapping[tuple[str, str], str],
    has_page: Callable[[str], bool],
) -> Answer:
    """The changes of the last days before `newest`, the moment of the newest result.

    `pages` are the histories by scenario and metric; `has_page` says which page there is.
    """
    day = datetime.fromisoformat(newest)
    since = (day - timedelta(days=DAYS)).date().isoformat()
    words = f"the {DAYS} days before {day:%Y-%m-%d}"
    review = Review(Period(since, words=words), tuple(series))
    changes = review.of(State.CONFIRMED, State.SUSPECTED)
    changes.sort(key=lambda entry: (entry[1].state is not State.CONFIRMED, not entry[1].worse))
    news = tuple(news_of(*entry, pages, has_page) for entry in changes)
    enough = any(series.enough for series in review.series)
    return Answer(_title(review, changes), news, tuple(_notes(review)), enough)


def _title(review: Review, changes: list[tuple[Series, Change]]) -> str:
    """The answer in one line."""
    words = review.period.words
    if not changes and not any(series.enough for series in review.series):
        return "Too few builds to say what changed"
    if not changes:
        return f"Nothing changed in {words}"
    return title_words(changes, f" in {words}")


def _notes(review: Review) -> list[str]:
    few = sum(not series.enough for series in review.series)
    watched = len(review.series) - few
    accepted = len(review.of(State.ACCEPTED))
    have = "has" if few == 1 else "have"
    counted = f"{watched} series of builds are watched; {few} {have} too few builds"
    sentences = [counted] * bool(few and watched)
    refuted = len(review.of(State.REFUTED))
    sentences += [f"{refuted} suspected and refuted by a duel"] * bool(refuted)
    return [*sentences, *[f"{accepted} accepted"] * bool(accepted)]


def news_of(
    series: Series,
    change: Change,
    pages: Mapping[tuple[str, str], str],
    has_page: Callable[[str], bool],
) -> News:
    """A change in words; `pages` and `has_page` as of `answer`."""
    _, ci95 = change.size
    page = pages.get((series.scenario, series.metric), "")
    todo, command = next_words(series, change)
    duel = change.culprit.duel if change.culprit else change.duel and change.duel.ids[0]
    fought = experiment_page(duel) if duel else ""
    return News(
        scenario=series.scenario,
        verb=verb_words(change),
        page=f"{history_page(page)}.html" if page else "",
        **change_words(change, series.unit),
        interval=interval_words(ci95),
        before=_build_words(change.last_before),
        duel=f"{fought}.html" if fought and has_page(fought) else "",
        sure=_sure(change),
        todo=todo,
        command=command,
    )


def with_changes(
    families: Sequence[Family], changes: Sequence[tuple[Series, Change]]
) -> list[Family]:
    """The families of the overview with known changes, in place of ratios to anchors."""
    return [
        replace(family, lines=[_with_change(line, changes) for line in family.lines])
        for family in families
    ]


def _with_change(line: Line, changes: Sequence[tuple[Series, Change]]) -> Line:
    own = [
        (series, change)
        for series, change in changes
        if (series.scenario, series.title) == (line.cell.scenario, line.cell.title)
    ]
    if not own:
        return line
    series, change = max(own, key=lambda entry: entry[1].detected_at)
    words = change_words(change, series.unit)
    return replace(
        line,
        look=words["look"],
        word=words["size"],
        change=moved_words(change)
        if change.counted  # with a kind of what was counted it is long
        else f"{moved_words(change)} since {build_name(change.first_after)}",
        interval=interval_words(change.size[1]),
    )


def change_words(change: Change, unit: str) -> dict[str, str]:
    """Look, size and build of a change, as of `News`."""
    confirmed = "worse" if change.worse else "better"
    looks = {State.CONFIRMED: confirmed, State.SUSPECTED: "suspected"}
    return {
        "look": looks.get(change.state, "settled"),
        "size": size_words(change, unit),
        "commit": _build_words(change.first_after),
    }


def _sure(change: Change) -> str:
    if change.state is State.CONFIRMED and change.duel is not None and not change.culprit:
        return "confirmed by a duel of the builds before and after it"
    if change.state is State.SUSPECTED and change.duel is None:
        return "suspected: no duel of the builds before and after it"
    return state_words(change)


def _build_words(point: Point) -> str:
    name = build_name(point)
    return f"{name} {point.subject}".rstrip() if point.commit else name
