"""One thing to be measured: a scenario, on a commit of its server or on the packaged one."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from leaselab.cli.bench_setup import build_commit, build_log, deploy, prepare
from leaselab.cli.document import goal_document
from leaselab.cli.measuring import archive_failure, begin, finish
from leaselab.lab.build import build
from leaselab.model.errors import LeaselabError, Outcome
from leaselab.model.plan import Plan
from leaselab.model.source import SHORT

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from leaselab.archive.store import Store
    from leaselab.lab.inventory import Inventory
    from leaselab.model.scenario import Scenario
    from leaselab.model.source import Commit

HEADROOM = 1.15
"""First offered load over the max rate measured last: a trial that loses something
says how much is too much, one that loses nothing only says "more"."""
_SETTLED = frozenset({Outcome.OK.label, Outcome.BUILD.label})
"""Outcomes of which a second measurement of the same would tell nothing new."""
_WHERE_BEGUN = "start_rate"
"""The one parameter that does not make another measurement."""


@dataclass(frozen=True, slots=True)
class Task:
    """A scenario and, where it is not the distribution's server, a commit."""

    scenario: Scenario
    commit: Commit | None = None
    distribution: str = ""
    """Release of what serves, where one was asked for; else the bench's own."""

    def __str__(self) -> str:
        """The scenario, the commit by its short hash, the release."""
        commit = f" at {self.commit.hash[:SHORT]}" if self.commit else ""
        return (
            f"{self.scenario.name}{commit}{' on ' * bool(self.distribution)}{self.distribution}"
        )


@dataclass(slots=True)
class Bench:
    """Where tasks are measured and kept, with what parameters; one for all of a run."""

    store: Store
    inventory: Inventory
    overrides: Mapping[str, Any]
    files: Mapping[str, Path] = field(default_factory=dict)
    """By tree: the tar of a commit's files."""
    built: dict[Commit, str | LeaselabError] = field(default_factory=dict)
    """Key of the artifact, or why there is none.  Filled as commits are built."""
    environment: str = ""
    """The lab's own state; known once it is prepared."""
    full: bool = True
    """Whether to play everything again, also where it still stands as it was left."""
    distribution: str | None = None
    """What serves there now, None before it is prepared."""
    begun: Task | None = None
    """The last task whose sweep was begun: from then on it can be resumed."""

    def prepare(self, distribution: str) -> None:
        """Bring it up and provision it, once for as long as the release stays the same."""
        if distribution != self.distribution:
            self.environment = prepare(self.inventory, distribution, full=self.full)
            self.distribution = distribution
            self.built.clear()  # for another release it is another artifact

    def measure(self, task: Task) -> tuple[LeaselabError | None, Path]:
        """Build, deploy, tune, measure and archive; return what went wrong and the result.

        A commit that does not build, or whose server does not start, is a result.
        Raises for a broken lab, and what `finish` raises.
        """
        try:
            document = self._deployed(task)
        except LeaselabError as error:
            return error, self.archive(task, error)
        running = begin(self.store, document, "bench.json")
        self.begun = task
        return finish(self.store, running)

    def go_on(self, task: Task) -> tuple[LeaselabError | None, Path] | None:
        """Go on with an unfinished sweep of the same task, as `measure`; None without one."""
        for sweep in self.store.running():
            begun = self.store.first_event(sweep)
            if sweep.active or begun is None or not self._same(task, begun["bench"]):
                continue
            self._deployed(task)
            self.begun = task
            return finish(self.store, self.store.open_running(sweep.id))
        return None

    def measured(self, task: Task) -> str:
        """Id of a result of the same commit, scenario, parameters and environment, or none."""
        commit = task.commit.hash if task.commit else None
        for row in self.store.index.rows(scenario=task.scenario.name, commit=commit):
            if row["outcome"] in _SETTLED:
                document = self.store.load(row["id"])
                bench = {**document["bench"], "scenario": document["scenario"]}
                bench |= {"server": document["server"], "goal": document["goal"]}
                if self._same(task, bench):
                    return str(row["id"])
        return ""

    def _same(self, task: Task, bench: Mapping[str, Any]) -> bool:
        """Whether a bench document, or a result written like one, is of this task."""
        source = (bench["server"].get("build") or {}).get("source") or {}
        goal = bench.get("goal") or goal_document(build(Plan, bench["plan"], "plan"))
        wanted = goal_document(build(Plan, self.overrides, "plan"))
        commit = task.commit
        wanted_source = (commit.hash, commit.tree) if commit else (None, None)
        return (
            bench["scenario"]["name"] == task.scenario.name
            and (source.get("hash"), source.get("tree")) == wanted_source
            and bench["environment"] == self.environment
            and {**goal, _WHERE_BEGUN: 0} == {**wanted, _WHERE_BEGUN: 0}
        )

    def _deployed(self, task: Task) -> dict[str, Any]:
        """Build, deploy and tune; return the bench document."""
        key = self.artifact(task)
        return deploy(
            task.scenario.name,
            self.inventory,
            self._plan(task),
            key,
            distribution=task.distribution,
            full=self.full,
        )

    def archive(self, task: Task, error: LeaselabError) -> Path:
        """Seal the result of a commit that does not build or whose server does not start.

        Raises the error again where it is of another kind, or not of a commit.
        """
        if task.commit is None or error.outcome is not Outcome.BUILD:
            raise error
        return archive_failure(
            self.store,
            error=error,
            scenario=task.scenario,
            plan=build(Plan, self.overrides, "sweep parameters"),
            commit=task.commit,
            log=build_log(task.commit) if error is self.built.get(task.commit) else None,
            inventory=self.inventory,
            environment=self.environment,
        )

    def artifact(self, task: Task) -> str:
        """Return the key of the task's artifact, none for packages.

        Raises what the build ended with; so it does for another task of the same commit.
        """
        commit = task.commit
        if commit is None:
            return ""
        if commit not in self.built:
            try:
                made = build_commit(
                    task.scenario.server,
                    commit,
                    self.files[commit.tree],
                    self.inventory,
                    self.store.build_place,
                )
            except LeaselabError as error:
                if error.outcome is not Outcome.BUILD:
                    raise
                self.built[commit] = error
            else:
                self.built[commit] = str(made["key"])
        key = self.built[commit]
        if isinstance(key, LeaselabError):
            raise key
        return key

    def _plan(self, task: Task) -> Mapping[str, Any]:
        return begun_above(self.store, task.scenario.name, self.inventory.bench, self.overrides)


def begun_above(
    store: Store, scenario: str, bench: str, overrides: Mapping[str, Any]
) -> Mapping[str, Any]:
    """Let the first run begin to look a little above a bench's last result.

    It saves the first run's scouts; what the run finds, it still proves itself.
    """
    rows = store.index.rows(scenario=scenario, outcome=Outcome.OK.label, limit=20)
    rates = [row["trimmed_mean"] for row in rows if row["bench"] == bench]
    if not rates or not rates[0]:
        return overrides
    limits = {"start_rate": round(HEADROOM * rates[0]), **overrides.get("limits", {})}
    return {**overrides, "limits": limits}
