"""Two releases of a server: which of their results are held against each other."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from leaselab.analysis.history.anchors import Row, anchor_builds, have_common, took_turns
from leaselab.model.errors import BELIEVED
from leaselab.model.identity import Conditions
from leaselab.model.procedures.profile import PROFILE

Match = tuple[Row | None, Row]
"""What is compared with, and what is judged."""

_BETWEEN = re.compile(r"-\d+-g[0-9a-f]+$")
"""How the description of a commit ends that has no tag of its own."""


@dataclass(frozen=True, slots=True)
class Release:
    """A release of a server: a tag of its repository, or the version of a package."""

    name: str
    commit: str | None = None
    """Full hash, where it is known; else results are found by the name."""

    def has(self, row: Row) -> bool:
        """Whether a row of the index is of it; checkouts with changes are of none."""
        if row["dirty"]:
            return False
        if self.commit is not None:
            return bool(row["commit"] == self.commit)
        return self.name.casefold() in {name.casefold() for name in release_names(row)}


def release_names(row: Row) -> list[str]:
    """What the build of a row is called, the name for people first; none between releases."""
    if row["commit"]:
        described = row["described"] or ""
        untagged = row["commit"].startswith(described) or _BETWEEN.search(described)
        return [] if row["dirty"] or untagged else [described]
    if not row["version"]:
        return []
    return [f"{row['server']}-{row['version']}", str(row["version"])]


def releases_of(rows: Iterable[Row]) -> list[Release]:
    """The releases that rows are of, by the dates of their commits, packages last."""
    dates: dict[str, str] = {}
    for row in rows:
        if names := release_names(row):
            dates.setdefault(names[0], row["commit_date"] or f"~{row['started_at']}")
    return [Release(name) for name in sorted(dates, key=lambda name: (dates[name], name))]


def matches_of(rows: Sequence[Row], release: Release, against: Release) -> list[Match]:
    """One result of the release for each scenario, procedure and durability, and its base.

    `rows` are of the index, oldest first.  Of several results, one that has a base comes first,
    then points that took turns, then those with an anchor in common, then the newest.  The base
    has the same conditions (`Conditions`).  It is None where `against` has no such result.
    """
    rows = [row for row in rows if row["scenario"] and row["procedure"] != PROFILE]
    rows = [row for row in rows if not row["slowdown"]]
    anchors = anchor_builds(rows)
    theirs: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        if against.has(row) and row["outcome"] in BELIEVED:
            theirs.setdefault((_place(row), Conditions.of_row(row)), []).append(row)
    ours: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        if release.has(row):
            ours.setdefault(_place(row), []).append(row)

    def rank(match: Match) -> tuple[Any, ...]:
        base, other = match
        usable = other["outcome"] in BELIEVED
        if base is None:
            return usable, False, False, False, (other["started_at"], "")
        common = have_common(anchors, base["id"], other["id"])
        newest = (other["started_at"], base["started_at"])
        return usable, True, took_turns(base, other), common, newest

    found = []
    for place, others in ours.items():
        matches: list[Match] = [
            (base, other)
            for other in others
            for base in (*theirs.get((place, Conditions.of_row(other)), ()), None)
        ]
        found.append(max(matches, key=rank))
    return found


def _place(row: Row) -> tuple[Any, ...]:
    return row["scenario"], row["procedure"], row["durability"], row["metric"]
