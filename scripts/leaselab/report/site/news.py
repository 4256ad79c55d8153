"""What changed in the days before the newest result, in sentences: the overview's answer."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from leaselab.analysis.history import Change, Point, Series, State, duelled
from leaselab.archive.store import Store
from leaselab.model.procedure import COMPLETED
from leaselab.model.record import Record
from leaselab.model.source import SHORT, public_address
from leaselab.report.closing import pace_words
from leaselab.report.review import Period, Review, interval_words, review_of
from leaselab.report.site.pages import experiment_page, history_page

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
    store: Store,
    newest: str,
    pages: Mapping[tuple[str, str], str],
    has_page: Callable[[str], bool],
    result: Callable[[str], Record | None],
) -> Answer:
    """The changes of the last days before `newest`, the moment of the newest result.

    `pages` are the histories by scenario and metric; `has_page` says which page there is;
    `result` reads one by its id.
    """
    day = datetime.fromisoformat(newest)
    since = (day - timedelta(days=DAYS)).date().isoformat()
    words = f"the {DAYS} days before {day:%Y-%m-%d}"
    review = review_of(store, period=Period(since, words=words))
    changes = review.of(State.CONFIRMED, State.SUSPECTED)
    changes.sort(key=lambda entry: (entry[1].state is not State.CONFIRMED, not entry[1].worse))
    news = tuple(news_of(*entry, pages, has_page, result) for entry in changes)
    enough = any(series.enough for series in review.series)
    return Answer(_title(review, changes), news, tuple(_notes(review)), enough)


def _title(review: Review, changes: list[tuple[Series, Change]]) -> str:
    """The answer in one line."""
    words = review.period.words
    if not any(series.enough for series in review.series):
        return "Too few builds to say what changed"
    if not changes:
        return f"Nothing changed in {words}"
    if len(changes) == 1:
        ((series, change),) = changes
        is_ = "is" if change.state is State.CONFIRMED else "may be"
        size = pace_words(change.size[0], series.unit)
        return f"1 change in {words}: {series.scenario} {is_} {size}"
    counts = [
        (sum(change.worse for _, change in changes), "for the worse"),
        (sum(not change.worse for _, change in changes), "for the better"),
    ]
    parts = " and ".join(f"{count} {word}" for count, word in counts if count)
    counted = "change" if len(changes) == 1 else "changes"
    return f"{len(changes)} {counted} in {words}: {parts}"


def _notes(review: Review) -> list[str]:
    few = sum(not series.enough for series in review.series)
    watched = len(review.series) - few
    have = "has" if few == 1 else "have"
    counted = f"{watched} series of builds are watched; {few} {have} too few builds"
    sentences = [counted] * bool(few and watched)
    refuted = len(review.of(State.REFUTED))
    return [*sentences, *[f"{refuted} suspected and refuted by a duel"] * bool(refuted)]


def news_of(
    series: Series,
    change: Change,
    pages: Mapping[tuple[str, str], str],
    has_page: Callable[[str], bool],
    result: Callable[[str], Record | None],
) -> News:
    """A change in words; `pages`, `has_page` and `result` as of `answer`."""
    duel, confirmed = change.duel, change.state is State.CONFIRMED
    _, ci95 = change.size
    page = pages.get((series.scenario, series.metric), "")
    todo, command = _next(series, change, result, confirmed=confirmed)
    fought = experiment_page(duel.ids[0]) if duel else ""
    return News(
        scenario=series.scenario,
        page=f"{history_page(page)}.html" if page else "",
        **change_words(change, series.unit),
        interval=interval_words(ci95),
        before=_build_words(change.before),
        duel=f"{fought}.html" if fought and has_page(fought) else "",
        sure=_sure(change, confirmed=confirmed),
        todo=todo,
        command=command,
    )


def change_words(change: Change, unit: str) -> dict[str, str]:
    """Look, size and build of a change, as of `News`."""
    look = "worse" if change.worse else "better"
    return {
        "look": look if change.state is State.CONFIRMED else "suspected",
        "size": pace_words(change.size[0], unit),
        "commit": _build_words(change.after),
    }


def _sure(change: Change, *, confirmed: bool) -> str:
    if confirmed:
        return "confirmed by a duel of the builds before and after it"
    if change.duel is not None:
        return "suspected: a duel could not tell"
    return "suspected: no duel of the builds before and after it"


def repository_option(record: Record | None) -> str:
    """The option that names the repository of a result's server; empty without one."""
    if record is None or record.source is None:
        return ""
    return f" --repo {shlex.quote(public_address(record.source.repository))}"


def _next(
    series: Series,
    change: Change,
    result: Callable[[str], Record | None],
    *,
    confirmed: bool,
) -> tuple[str, str]:
    """What to do about a change, and the command; both empty where there is nothing to do."""
    metric = duelled(series.metric, series.unit)
    if not metric:
        return "", ""
    if not confirmed:
        return "have a duel settle it", "./leaselab review --confirm"
    good, bad = change.before.commit, change.after.commit
    if not change.worse or not good or not bad:
        return "", ""
    ends = f"--good {good[:SHORT]} --bad {bad[:SHORT]}"
    by = "" if metric == COMPLETED else f" --metric {metric}"
    repository = repository_option(result(change.after.ids[-1]))
    command = f"./leaselab bisect {series.scenario}{repository} {ends}{by}"
    todo = "find the commit between them and its functions"
    return f"{todo}{'' if repository else ', in the repository that --repo names'}", command


def build_name(point: Point) -> str:
    """A build by its short commit, or by its name where it is of none."""
    return point.commit[:SHORT] if point.commit else point.name


def _build_words(point: Point) -> str:
    name = build_name(point)
    return f"{name} {point.subject}".rstrip() if point.commit else name
