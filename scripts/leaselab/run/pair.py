"""Selection of the two results of a comparison, by the names that the user gave."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from leaselab.analysis.comparison.incompatibilities import incompatibilities
from leaselab.analysis.comparison.ratio import runs_of
from leaselab.analysis.comparison.verdict import compare, proven_rate
from leaselab.analysis.history.anchors import anchor_builds, have_common, took_turns
from leaselab.archive.row import Row
from leaselab.archive.store import Store
from leaselab.builds.repository import Repository
from leaselab.model.errors import BELIEVED, LeaselabError, Outcome, usage_error
from leaselab.model.identity import Conditions, build_of
from leaselab.model.procedures.profile import PROFILE
from leaselab.model.record import Record

PREVIOUS = "previous"
VERSION = "version:"
"""Prefix of a server's version; it selects the newest result of that version."""

_MAY_DIFFER = frozenset({"scenario", "durability"})
"""Incompatibilities that are allowed where two scenarios are compared on purpose."""


@dataclass(frozen=True, slots=True)
class CommitNames:
    """Names of a repository's commits, each of which selects a result of one scenario."""

    repository: Repository
    scenario: str


def commit_names(repository: Repository | None, scenario: str | None) -> CommitNames | None:
    """Return the names of a repository's commits; None where results are named.

    Raises a usage error for one of the two without the other.
    """
    if repository is None and scenario is None:
        return None
    if repository is None or scenario is None:
        raise usage_error(
            "--repo and --scenario go together",
            found="--repo alone" if repository is not None else "--scenario alone",
            wanted="--repo and --scenario, or neither",
        )
    return CommitNames(repository, scenario)


def load_named(
    store: Store,
    ref: str,
    names: CommitNames | None,
    beside: Record | None = None,
    against: str | None = None,
) -> Record:
    """The record of a result; with `names`, `ref` is a branch, a tag or a hash.

    A commit may have several results: the selected one is of the experiment of `beside`, else
    of its anchor, else of its bench and procedure, else the newest.  With `against`, another
    commit, it is the newest that is comparable with a result of that commit, if any; pairs with
    a common anchor take precedence.  A profile is selected only without other results.

    Raises a usage error for a name without a result, and what `Store.load` raises.
    """
    if names is None:
        try:
            store.find(ref)
        except LeaselabError as error:
            error.todo += "; for a commit give --repo and --scenario"
            raise
        return store.load(ref)
    rows = _of_commit(store, ref, names)
    anchors = anchor_builds(store.index.every(names.scenario))
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
    """The newest comparable result of another server before `other`.

    Results with a common anchor take precedence, with the anchor's own last.  The result has a
    figure and an interval, or was faster than its bench and that suffices for a verdict, and
    the same scenario, bench, environment and procedure.  An unreadable result is reported and
    skipped.  None without such a result.
    """
    rows = store.index.every(other.scenario.name)
    anchors = anchor_builds(rows)

    def rank(row: Row) -> tuple[bool, bool]:
        common = have_common(anchors, row["id"], other.id)
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
    """The newest result, comparable with `other`, of a server that reports a version.

    The version is fixed, such as a release, so that the comparison shows the sum of all
    changes.  Results with a common anchor take precedence.  Raises a usage error without any.
    """
    rows = store.index.every(other.scenario.name)
    anchors = anchor_builds(rows)
    ids = [
        row["id"]
        for row in reversed(rows)
        if row["version"] == version and row["id"] != other.id and row["outcome"] in BELIEVED
    ]
    ids.sort(key=lambda ident: not have_common(anchors, ident, other.id))
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
    """The newest comparable results of two scenarios; None without any.

    They have the same server, bench, environment and procedure, and each has a figure; points
    of one experiment take precedence over newer ones of two.  Settings of the scenarios and
    durabilities may differ.  An unreadable result is reported and skipped.
    """
    # Sorting is stable: the newest stay first among those that alternated, and the others.
    both = sorted(_alike(store, point, base), key=lambda pair: not took_turns(*pair))
    for rows in both:
        read = [*store.load_readable(row["id"] for row in rows)]
        if len(read) < len(rows):
            continue
        newest, other = read
        if all(each.what in _MAY_DIFFER for each in incompatibilities(other, newest)):
            return newest, other
    return None


def _alike(store: Store, point: str, base: str) -> Iterator[tuple[Row, Row]]:
    """Results of `point`, newest first, each with one of `base` whose row agrees with it.

    That is the result of the same experiment, else the newest.
    """

    def same(row: Row) -> tuple[object, ...]:
        return row["metric"], Conditions.of_row(row), *build_of(row)

    bases: dict[tuple[object, ...], list[Row]] = {}
    for row in _with_figure(store, base):
        bases.setdefault(same(row), []).append(row)
    for row in _with_figure(store, point):
        alike = bases.get(same(row), [])
        if alike:
            yield row, next((other for other in alike if took_turns(row, other)), alike[0])


def _with_figure(store: Store, scenario: str) -> Iterator[Row]:
    """Rows of a scenario, newest first."""
    for row in reversed(store.index.every(scenario)):
        if row["outcome"] in BELIEVED and row["value"]:
            yield row


def _has_figure(record: Record, other: Record) -> bool:
    """Whether a result is comparable: it has a figure, or a sufficient bound."""
    runs = runs_of(record)
    if runs is not None:
        return runs.kept > 1
    return proven_rate(record) is not None and compare(record, other).verdict is not None


def _candidates(rows: Sequence[Row], other: Record) -> Iterator[Row]:
    """Candidate rows before `other`, newest first: most are excluded unread."""
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
            todo=f"measure it: {shlex.join(again)}; or add --live to measure both now",
        )
    return rows


def _compared_by(store: Store, ref: str, names: CommitNames) -> list[Row]:
    """All results of a commit; none where the commit or a result is missing."""
    try:
        return _of_commit(store, ref, names)
    except LeaselabError:
        return []  # reported where the commit itself is requested


def _conditions(row: Row) -> tuple[object, ...]:
    """Conditions and metric, which two compared results have in common."""
    return Conditions.of_row(row), row["metric"]


def _farther(
    row: Row, beside: Record | None, anchors: Mapping[str, object]
) -> tuple[bool, ...]:
    """Sort key of a commit's results, which come newest first: the least is selected."""
    without = row["outcome"] not in BELIEVED
    if beside is None:
        return (without,)
    experiment = beside.experiment.id if beside.experiment else None
    conditions = Conditions.of_record(beside)
    return (
        without,
        experiment is None or row["experiment"] != experiment,
        not have_common(anchors, row["id"], beside.id),
        Conditions.of_row(row).place != conditions.place,
        Conditions.of_row(row) != conditions,
    )
