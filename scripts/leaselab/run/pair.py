"""Which two results are compared: as somebody named them."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from typing import TYPE_CHECKING

from leaselab.analysis.history import build_of
from leaselab.analysis.incompatibilities import incompatibilities
from leaselab.analysis.ratio import runs_of
from leaselab.analysis.verdict import compare, proven_rate
from leaselab.model.errors import BELIEVED, LeaselabError, Outcome, usage_error
from leaselab.model.identity import Conditions
from leaselab.model.procedures.profile import PROFILE
from leaselab.run.sources import open_source

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from leaselab.archive.row import Row
    from leaselab.archive.store import Store
    from leaselab.lab.repository import Repository
    from leaselab.model.record import Record

PREVIOUS = "previous"
VERSION = "version:"
"""Before the version of a server, whose newest result is meant."""

_MAY_DIFFER = frozenset({"scenario", "durability"})
"""Incompatibilitys that two scenarios which are compared on purpose may have."""


@dataclass(frozen=True, slots=True)
class CommitNames:
    """Names of a repository's commits, each of which stands for a result of one scenario."""

    repository: Repository
    scenario: str


def commit_names(repo: str | None, scenario: str | None) -> CommitNames | None:
    """Open the repository whose names are meant; None where results are named.

    Raises a usage error for one of the two without the other, and what
    `open_repository` raises.
    """
    if repo is None and scenario is None:
        return None
    if repo is None or scenario is None:
        raise usage_error(
            "a commit's result is found by repository and scenario",
            found="--repo alone" if repo is not None else "--scenario alone",
            wanted="--repo and --scenario, or neither",
        )
    return CommitNames(open_source(repo), scenario)


def load_named(
    store: Store,
    ref: str,
    names: CommitNames | None,
    beside: Record | None = None,
    against: str | None = None,
) -> Record:
    """The record of a result; with `names`, `ref` is a branch, a tag or a hash.

    A commit may have several results: the one meant is of the experiment of `beside`, else of
    its anchor, else of its bench and procedure, else the newest.  With `against`, another
    commit, it is the newest of which that one has a result that compares with it, if there is
    any; those with an anchor in common come first.  A profile is meant only where there is
    nothing else.

    Raises a usage error for what names none, and what `Store.load` raises.
    """
    if names is None:
        return store.load(ref)
    rows = _of_commit(store, ref, names)
    anchors = _anchors(store.index.every(names.scenario))
    if against is not None:
        others = _compared_by(store, against, names)
        shared = {anchors.get(row["id"]) for row in others} - {None}
        compared = {_conditions(row) for row in others}
        rows.sort(
            key=lambda row: (
                row["procedure"] == PROFILE,
                _conditions(row) not in compared,
                anchors.get(row["id"]) not in shared,
            )
        )
    return store.load(str(min(rows, key=lambda row: _farther(row, beside, anchors))["id"]))


def load_previous(store: Store, other: Record) -> Record | None:
    """The newest result of another server before `other` that it can be compared with.

    Those with an anchor in common come first, and of these the anchor's own last.  It has a
    figure and an interval, or was faster than its bench and that suffices for a verdict, and
    the same scenario, bench, environment and procedure.  One that cannot be read is said and
    passed over.  None where there is none.
    """
    rows = store.index.every(other.scenario.name)
    anchors = _anchors(rows)

    def rank(row: Row) -> tuple[bool, bool]:
        common = _common(row["id"], other.id, anchors)
        return not common, common and row["id"] == row["anchor"]

    # Sorting is stable: the newest stay first.
    candidates = sorted(_candidates(rows, other), key=rank)
    for record in store.load_readable(row["id"] for row in candidates):
        if (
            record.server.made_of != other.server.made_of
            and not incompatibilities(record, other)
            and _has_figure(record, other)
        ):
            return record
    return None


def load_version(store: Store, other: Record, version: str) -> Record:
    """The newest result that compares with `other` of a server that reports a version.

    A fixed one, such as a release, against which changes add up.  Those with an anchor in
    common come first.  Raises a usage error where there is none.
    """
    rows = store.index.every(other.scenario.name)
    anchors = _anchors(rows)
    ids = [
        row["id"]
        for row in reversed(rows)
        if row["version"] == version and row["id"] != other.id and row["outcome"] in BELIEVED
    ]
    ids.sort(key=lambda ident: not _common(ident, other.id, anchors))
    for record in store.load_readable(ids):
        if not incompatibilities(record, other):
            return record
    raise usage_error(
        f"no result of version {version} compares with it",
        where=other.id,
        wanted="one of its scenario, bench, environment and goal",
        todo=f"measure that version there: leaselab run {other.scenario.name}",
    )


def load_pair(store: Store, point: str, base: str) -> tuple[Record, Record] | None:
    """The newest results of two scenarios that can be held against each other; None without.

    They are of one server, bench, environment and procedure, and each has a figure; points of
    one experiment come before newer ones of two.  What the scenarios say, and what a server
    promises of its leases, may differ.  One that cannot be read is said and passed over.
    """
    # Sorting is stable: the newest stay first among those that alternated, and the others.
    both = sorted(_alike(store, point, base), key=lambda pair: not _together(*pair))
    for rows in both:
        read = [*store.load_readable(row["id"] for row in rows)]
        if len(read) < len(rows):
            continue
        newest, other = read
        if all(each.what in _MAY_DIFFER for each in incompatibilities(other, newest)):
            return newest, other
    return None


def _alike(store: Store, point: str, base: str) -> Iterator[tuple[Row, Row]]:
    """Each result of `point`, newest first, with one of `base` whose row agrees with it.

    That is the one of its experiment, else the newest.
    """

    def same(row: Row) -> tuple[object, ...]:
        return row["metric"], Conditions.of_row(row), *build_of(row)

    bases: dict[tuple[object, ...], list[Row]] = {}
    for row in _with_figure(store, base):
        bases.setdefault(same(row), []).append(row)
    for row in _with_figure(store, point):
        alike = bases.get(same(row), [])
        if alike:
            yield row, next((other for other in alike if _together(row, other)), alike[0])


def _with_figure(store: Store, scenario: str) -> Iterator[Row]:
    """Rows of a scenario, newest first."""
    for row in reversed(store.index.every(scenario)):
        if row["outcome"] in BELIEVED and row["value"]:
            yield row


def _together(row: Row, two: Row) -> bool:
    return row["experiment"] is not None and bool(row["experiment"] == two["experiment"])


def _has_figure(record: Record, other: Record) -> bool:
    """Whether a result can be compared with: it has a figure, or proves enough without."""
    runs = runs_of(record)
    if runs is not None:
        return runs.kept > 1
    return proven_rate(record) is not None and compare(record, other).verdict is not None


def _anchors(rows: Sequence[Row]) -> dict[str, tuple[object, ...]]:
    """By the id of each result that has an anchor: that one's build and conditions."""
    known = {row["id"]: row for row in rows}
    return {
        ident: (*build_of(base), *_conditions(base))
        for ident, row in known.items()
        if (base := known.get(row["anchor"])) is not None
    }


def _common(ident: str, other: str, anchors: Mapping[str, object]) -> bool:
    """Whether two results have an anchor in common."""
    return ident in anchors and anchors[ident] == anchors.get(other)


def _candidates(rows: Sequence[Row], other: Record) -> Iterator[Row]:
    """Rows before `other` that may be it, newest first: most are left out unread."""
    moment = (other.started_at, other.id)
    conditions = Conditions.of_record(other)
    for row in reversed(rows):
        if (
            (row["started_at"], row["id"]) < moment
            and (row["outcome"] in BELIEVED or row["outcome"] == Outcome.INVALID.label)
            and Conditions.of_row(row) == conditions
        ):
            yield row


def _of_commit(store: Store, ref: str, names: CommitNames) -> list[Row]:
    """The results of a commit, the newest first; a usage error where there is none."""
    commit = names.repository.resolve(ref)
    rows = [
        row
        for row in reversed(store.index.every(names.scenario))
        if (row["scenario"], row["commit"]) == (names.scenario, commit.hash)
        and not row["dirty"]
    ]
    if not rows:
        again = ["leaselab", "run", names.scenario]
        again += ["--repo", names.repository.name, "--commit", ref]
        raise usage_error(
            f"no result of {names.scenario} for {ref}",
            where=str(store.root),
            found=f"none of commit {commit.hash}",
            todo=f"measure it: {shlex.join(again)}",
        )
    return rows


def _compared_by(store: Store, ref: str, names: CommitNames) -> list[Row]:
    """All results of a commit; none where the commit or a result is missing."""
    try:
        return _of_commit(store, ref, names)
    except LeaselabError:
        return []  # that is said where the commit itself is asked for


def _conditions(row: Row) -> tuple[object, ...]:
    """In what two results agree that are compared."""
    return Conditions.of_row(row), row["metric"]


def _farther(
    row: Row, beside: Record | None, anchors: Mapping[str, object]
) -> tuple[bool, ...]:
    """Sorts the results of a commit, of which the newest come first: the least is meant."""
    without = row["outcome"] not in BELIEVED
    if beside is None:
        return (without,)
    experiment = beside.experiment.id if beside.experiment else None
    conditions = Conditions.of_record(beside)
    return (
        without,
        experiment is None or row["experiment"] != experiment,
        not _common(row["id"], beside.id, anchors),
        Conditions.of_row(row).place != conditions.place,
        Conditions.of_row(row) != conditions,
    )
