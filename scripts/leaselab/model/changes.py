"""What is known of changes beyond the results: searches by `bisect`, and what was accepted.

Both are of commits, so they outlive the results that they came from; changes.json has them.
"""

from __future__ import annotations

from typing import Annotated, Final, Literal

from msgspec import Meta

from leaselab.model.bounds import Amount, Name, Text
from leaselab.model.moment import Moment, Zoned
from leaselab.model.source import Hash
from leaselab.model.trial import Figures

VERSION: Final = 1
Reason = Annotated[str, Meta(min_length=1, max_length=1000)]


class Culprit(Figures, frozen=True, kw_only=True):
    """A commit that a search named."""

    commit: Hash
    """Full hash of it."""
    subject: Text
    """First line of its message."""
    date: Zoned | None
    """When it was added to its branch; null if unknown."""
    parent: Hash
    """The last commit before it that can be measured."""
    parent_subject: Text
    """First line of that one's message."""
    ratio: Annotated[float, Meta(gt=0)]
    """The metric after it over that before it."""
    ci95: tuple[Amount, Amount] | None
    """95 % interval of the ratio, of counts its lowest and highest; null if unknown."""
    duel: Name | None = None
    """Id of the experiment that is the last duel of the two; null where they were counted."""
    counts: tuple[Name, Name] | None = None
    """Ids of the results that counted the parent and it; null where a duel named it."""


class Search(Figures, frozen=True, kw_only=True):
    """A search for the commits of a range that made a figure worse, as it ended."""

    scenario: Name
    """What was measured."""
    bench: Name
    """The bench."""
    metric: Name
    """The metric that decided."""
    good: Hash
    """The good end."""
    bad: Hash
    """The bad end."""
    ending: Text
    """How it ended, in words."""
    further: bool
    """Whether a larger budget could find more."""
    culprits: tuple[Culprit, ...] = ()
    """The commits that it named, the oldest first."""
    at: Moment
    """When it ended (UTC)."""


class Acceptance(Figures, frozen=True, kw_only=True):
    """A change that somebody accepted."""

    scenario: Name
    """What was measured."""
    metric: Name
    """The figure that changed."""
    commit: Hash
    """The commit since which it is so, as it was known then."""
    date: Zoned | None
    """When that was added to its branch; null if unknown."""
    reason: Reason
    """Why."""
    by: Text
    """Who: the user's name in git, else the login name."""
    at: Moment
    """When (UTC)."""


class Changes(Figures, frozen=True, kw_only=True):
    """changes.json of a results folder."""

    schema_version: Literal[1] = VERSION
    """Raised when a field changes its meaning or goes away."""
    searches: tuple[Search, ...] = ()
    """The newest search of each range."""
    accepted: tuple[Acceptance, ...] = ()
    """What was accepted, the oldest first."""
