"""Commits as lines of text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leaselab.model.source import SHORT

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from leaselab.model.source import Commit


def commit_lines(commits: Sequence[Commit]) -> Iterator[str]:
    """One line a commit: short hash, day, subject."""
    for commit in commits:
        changed = " (with uncommitted changes)" if commit.dirty else ""
        day = commit.author_date[:10]
        yield f"{commit.hash[:SHORT]}  {day}  {printable(commit.subject)}{changed}"


def printable(text: str) -> str:
    """Return a text that somebody else wrote without what moves a terminal's cursor."""
    return "".join(
        letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in text
    )
