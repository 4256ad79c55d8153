"""The changes of an archive in a period, by what is known of them."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from leaselab.analysis.history.series import Change, Series, State

_MONTH = re.compile(r"\d{4}-(0[1-9]|1[0-2])")


@dataclass(frozen=True, slots=True)
class Period:
    """From when until when; ISO 8601 in UTC, compared as text."""

    since: str = ""
    until: str = "9999"
    """The first moment after the period."""
    words: str = "the whole archive"

    def has(self, moment: str) -> bool:
        """Whether a moment is in the period."""
        return self.since <= moment < self.until


@dataclass(frozen=True, slots=True)
class Review:
    """The series of an archive, and their changes in a period."""

    period: Period
    series: tuple[Series, ...]
    metric: str | None = None
    """The only figure of the series; None for that of each procedure."""
    older: bool = True
    """Whether it includes changes from before the period that are still suspected or were
    settled in it."""

    def of(self, *states: State) -> list[tuple[Series, Change]]:
        """The changes of the period that are in one of these states, by scenario and age."""
        return [
            (series, change)
            for series in self.series
            for change in sorted(series.changes, key=lambda change: change.detected_at)
            if change.state in states
            and (self.period.has(change.detected_at) or (self.older and self._news(change)))
        ]

    def _news(self, change: Change) -> bool:
        """Whether a change from before the period was not settled before it."""
        if change.detected_at >= self.period.until:
            return False
        if change.state is State.ACCEPTED:
            return False
        return change.state is State.SUSPECTED or self.period.has(change.settled_at)

    @property
    def months(self) -> list[Review]:
        """The same by month, the newest first; the months in which nothing moved are none.

        Where there is no change at all it is one of the whole period.
        """
        months = sorted(
            {change.detected_at[:7] for series in self.series for change in series.changes},
            reverse=True,
        )
        return [replace(self, period=month(name), older=False) for name in months] or [self]


def month(text: str) -> Period:
    """A month, as YYYY-MM.  Raises ValueError for what is none."""
    if not _MONTH.fullmatch(text):
        raise ValueError(f"not a month: {text}")
    year, number = (int(part) for part in text.split("-"))
    following = f"{year + number // 12:04}-{number % 12 + 1:02}"
    return Period(f"{text}-01", f"{following}-01", text)


def failing(review: Review) -> bool:
    """Whether a change for the worse is confirmed, and nobody accepted it."""
    return any(change.worse for _, change in review.of(State.CONFIRMED))
