"""The two sides of a duel, by the names that users give them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from leaselab.archive.store import Store
from leaselab.builds.repository import Repository
from leaselab.catalog.catalogue import Catalogue
from leaselab.lab.hosts.inventory import Inventory
from leaselab.model.errors import usage_error
from leaselab.model.scenario import Scenario
from leaselab.model.source import BRANCH_POINT, RELEASE, Commit
from leaselab.run.building import built_commit
from leaselab.run.measurement import Show
from leaselab.run.session import Session
from leaselab.run.task import Task, check_server, source_folder

PACKAGE = "package"
"""The distribution's own server."""
BUILD, WORKTREE = "build:", "worktree"
"""Words before the key of a kept build, and for the checkout of --repo as it is."""


@dataclass(slots=True)
class Sides:
    """A and B: the given names, as tasks."""

    catalogue: Catalogue
    repository: Repository | None
    scenario: str
    """The scenario of what names none of its own."""
    generator: str | None = None
    """What makes the load; None for what the load's file says."""
    files: dict[str, Path] = field(default_factory=dict)
    """By tree: the tar of a commit's files."""
    kept: dict[tuple[Commit, int], str] = field(default_factory=dict)
    """By commit and layout: the key of its kept build."""

    def tasks(self, first: str, second: str) -> tuple[Task, Task]:
        """Return the tasks of A and B, each ``WHAT[@SCENARIO]``.

        Raises a usage error for what names none.
        """
        b = self._task(second, None)
        return self._task(first, b.commit), b

    def session(
        self,
        store: Store,
        inventory: Inventory,
        overrides: Mapping[str, Any],
        show: Show,
        *,
        full: bool,
    ) -> Session:
        """Return the session that measures them; parameters as its fields."""
        return Session(
            store,
            inventory,
            self.catalogue,
            overrides,
            self.files,
            full=full,
            kept=self.kept,
            show=show,
        )

    def _task(self, name: str, other: Commit | None) -> Task:
        what, _, scenario = name.partition("@")
        task = Task(self._scenario(scenario or self.scenario), self._commit(what, other))
        if task.commit is not None and self.repository is not None:
            check_server(self.repository, task.commit, task.scenario)
        return task

    def _scenario(self, name: str) -> Scenario:
        if not name:
            raise usage_error(
                "no scenario was named",
                todo="give it with --scenario NAME, or after the server: WHAT@SCENARIO",
            )
        return self.catalogue.find(name, self.generator)

    def _commit(self, what: str, other: Commit | None) -> Commit | None:
        """Return the selected commit; None for the packages.  `other` is B's, for A."""
        if what in ("", PACKAGE):
            return None
        if what.startswith(BUILD):
            key = what.removeprefix(BUILD)
            commit = built_commit(key)
            self.kept[commit, 0] = key
            return commit
        if self.repository is None:
            raise usage_error(
                "--repo is required",
                found=what,
                wanted=f"{PACKAGE}, {BUILD}KEY, or a commit of --repo",
                todo="give it with --repo URL or PATH",
            )
        commit = self.commit_of(self.repository, what, other)
        self.files[commit.tree] = self.repository.archive(commit, source_folder())
        return commit

    @staticmethod
    def commit_of(repository: Repository, what: str, other: Commit | None) -> Commit:
        """Return the commit that a name means; `other` is B's, for A."""
        if what == WORKTREE:
            return repository.worktree()
        if what not in (RELEASE, BRANCH_POINT):
            return repository.resolve(what)
        if other is None:
            raise usage_error(
                f"A {what} needs a commit for B",
                found="no commit for B",
                todo="name a commit of --repo for B",
            )
        return (
            repository.last_release(other)
            if what == RELEASE
            else repository.branch_point(other)
        )
