"""Where a server under test comes from: one commit of its repository."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

SHORT = 10
"""Digits of a hash that people read."""


@dataclass(frozen=True, slots=True)
class Commit:
    """One commit, named by what never moves: its full hash."""

    repository: str
    """Path or address as it was given; it holds no password."""
    ref: str
    """What was asked for: a branch, a tag, a hash; where that points may change."""
    hash: str
    """Full hash of the commit."""
    tree: str
    """Full hash of its files: two commits with the same one are the same source."""
    described: str
    """Name for people: the nearest tag, the commits since, the short hash."""
    author_date: str
    """ISO 8601, with the author's zone."""
    subject: str
    """First line of its message; any text, so never markup."""
    dirty: bool = False
    """Whether the files are a checkout's with changes that no commit has: `tree` names
    those files, `hash` the commit they started from."""


def source_of(server: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the commit that the `server` of a result was built from; empty for a package."""
    return (server["build"] or {}).get("source") or {}


def build_of(server: Mapping[str, Any]) -> tuple[str, ...]:
    """Return what tells a server's build from another: its files, commit, or package.

    Takes the `server` of a result.  Two commits with the same files are the
    same source.
    """
    files = source_of(server).get("tree") or server["commit"]
    if files:
        return server["name"], files
    return server["name"], server["version"] or "", server["package"] or ""
