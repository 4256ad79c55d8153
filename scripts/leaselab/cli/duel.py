"""Two servers measured in turn until it is known which is faster: ``compare A B --live``."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from leaselab.analysis.layouts import OverLayouts
from leaselab.analysis.verdict import Comparison
from leaselab.archive.store import Store
from leaselab.builds.repository import Repository
from leaselab.catalog.catalogue import find_scenario
from leaselab.catalog.checkout import checkout_root
from leaselab.cli.bench_options import add_full, add_inventory, check_tasks, inventory_of
from leaselab.cli.options import add_id_file, add_layouts, number, write_ids
from leaselab.cli.procedure_options import add_parameters, procedure_overrides
from leaselab.cli.progress import progress
from leaselab.cli.report import report_after
from leaselab.cli.source import PACKAGE
from leaselab.lab.hosts.inventory import Inventory
from leaselab.measure.generators import adapter_of
from leaselab.model.errors import LeaselabError, Outcome, invalid_measurement, usage_error
from leaselab.model.procedure import COMPLETED, CPU
from leaselab.model.procedures import procedure_of
from leaselab.model.procedures.duel import DUEL, LEAST, LEAST_OTHERS, METRICS, Duel
from leaselab.model.scenario import Scenario
from leaselab.model.source import Commit
from leaselab.run.contest import check_layouts, duel, explain, over_layouts, say_cost
from leaselab.run.preparation import built_commit
from leaselab.run.session import Session
from leaselab.run.task import Task, check_server, open_source, source_folder

BUILD, WORKTREE = "build:", "worktree"
"""Words before the key of a kept build, and for the checkout of --repo as it is."""
RELEASE, BRANCH_POINT = "release", "branch-point"
"""Words for the last tag before B, and for where B's branch left the main one."""
BUDGET_MINUTES = 15.0
"""Longest time for the rounds of a duel, where none is asked for (min)."""
OPTIONS = (
    *("--find", "--budget", "--inventory", "--bench", "--full", "--generator"),
    "--set",
)
"""What `add_duel` adds, and has no effect where none is made."""


@dataclass(slots=True)
class Sides:
    """A and B: the given names, as tasks."""

    repository: Repository | None
    scenario: str
    """The scenario of what names none of its own."""
    generator: str | None = None
    """What makes the load; None for what the load's file says."""
    files: dict[str, Path] = field(default_factory=dict)
    """By tree: the tar of a commit's files."""
    built: dict[tuple[Commit, int], str | LeaselabError] = field(default_factory=dict)
    """By commit and layout: the key of its kept build."""

    def tasks(self, first: str, second: str) -> tuple[Task, Task]:
        """Return the tasks of A and B, each ``WHAT[@SCENARIO]``.

        Raises a usage error for what names none.
        """
        b = self._task(second, None)
        return self._task(first, b.commit), b

    def session(
        self, store: Store, inventory: Inventory, overrides: Mapping[str, Any], *, full: bool
    ) -> Session:
        """Return the session that measures them; parameters as its fields."""
        return Session(
            store, inventory, overrides, self.files, full=full, built=self.built, show=progress
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
        return find_scenario(checkout_root() / "scenarios", name, self.generator)

    def _commit(self, what: str, other: Commit | None) -> Commit | None:
        """Return the selected commit; None for the packages.  `other` is B's, for A."""
        if what in ("", PACKAGE):
            return None
        if what.startswith(BUILD):
            key = what.removeprefix(BUILD)
            commit = built_commit(key)
            self.built[commit, 0] = key
            return commit
        if self.repository is None:
            raise usage_error(
                "--repo is required",
                found=what,
                wanted=f"{PACKAGE}, {BUILD}KEY, or a commit of --repo",
                todo="give it with --repo URL or PATH",
            )
        commit = self._of_repository(self.repository, what, other)
        self.files[commit.tree] = self.repository.archive(commit, source_folder())
        return commit

    @staticmethod
    def _of_repository(repository: Repository, what: str, other: Commit | None) -> Commit:
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


def add_live(parser: argparse.ArgumentParser) -> None:
    """Add ``--live`` and what belongs to it."""
    group = parser.add_argument_group(
        "live",
        "deploy both and measure them in turn, until there is an answer: A and B are "
        f"WHAT[@SCENARIO], where WHAT is a branch, tag or hash of --repo, {WORKTREE} (the "
        f"checkout at --repo as it is), {BUILD}KEY (as `step build` prints it), or "
        f"{PACKAGE} (the distribution's own; also where WHAT is empty).  A may also be "
        f"{RELEASE}, the last tag before B, or "
        f"{BRANCH_POINT}, where B's branch left the main one",
    )
    group.add_argument("--live", action="store_true", help="measure them now")
    group.add_argument(
        "--profile",
        action=argparse.BooleanOptionalAction,
        help="then profile both at one load, and say which functions cost more (only where B "
        "is slower)",
    )
    add_layouts(group, "measure both")
    add_id_file(parser)
    add_duel(parser)


def add_duel(
    parser: argparse.ArgumentParser,
    *,
    also: str = "",
    budget: float = BUDGET_MINUTES,
    of: str = "the rounds",
) -> None:
    """Add where duels are made, and how; `inventory_of` and `parameters_of` read it.

    `budget` (min) is its default, and `of` what it is for; `also` is said of ``--find``.
    """
    group = parser.add_argument_group("duel")
    group.add_argument(
        "--find",
        metavar="PERCENT",
        type=number(0.01, 49.99),
        help=f"smallest change for the worse that is to be found, %%{also} (default: "
        f"{100 * LEAST_OTHERS:g})",
    )
    group.add_argument(
        "--budget",
        metavar="MINUTES",
        type=number(0.01, 525_600),
        default=budget,
        help=f"longest time for {of}, without builds and deployments (default: {budget:g})",
    )
    add_inventory(parser)
    add_full(parser)
    add_parameters(group)


def add_metric(parser: argparse._ActionsContainer, also: str = "") -> None:
    """Add ``--metric``, which `plan_of` reads; `also` is said of it."""
    finds = ", ".join(f"{name} {100 * LEAST.get(name, LEAST_OTHERS):g}" for name in METRICS)
    parser.add_argument(
        "--metric",
        metavar="NAME",
        help=f"the figure that decides, with the default of --find: {finds}{also} "
        f"(default: {METRICS[0]})",
    )


def plan_of(args: argparse.Namespace) -> tuple[dict[str, Any], Duel]:
    """Return the parameters of the duels that were asked for, and what they are.

    Raises a usage error for what cannot be.
    """
    given: dict[str, Any] = {**procedure_overrides(args), "name": DUEL}
    if args.find is not None:
        given["find"] = args.find / 100
    metric = getattr(args, "metric", None)
    if metric is not None:
        if metric not in METRICS:
            raise usage_error(
                "no duel is about this figure",
                where="--metric",
                found=metric,
                wanted=" or ".join(METRICS),
            )
        given["metric"] = metric
    plan = procedure_of(given)
    if not isinstance(plan, Duel):
        raise AssertionError(f"{DUEL} is the name of {plan.name}")
    if getattr(args, "layouts", None) and plan.metric not in (COMPLETED, CPU):
        raise usage_error(
            "layouts change how fast code is under load",
            where="--layouts",
            found=f"--metric {plan.metric}",
            wanted=f"{COMPLETED} or {CPU}",
            todo="leave --layouts out",
        )
    return given, plan


def parameters_of(args: argparse.Namespace, scenario: Scenario) -> dict[str, Any]:
    """Return the parameters of the duel that was asked for, within its budget.

    Raises a usage error for one that cannot be.
    """
    given, plan = plan_of(args)
    rounds = plan.within(60 * args.budget, waits=adapter_of(scenario).waits).rounds
    as_many = "--budget" in args.given and "rounds" not in given
    given["rounds"] = rounds if as_many else min(plan.rounds, rounds)
    return given


def live(
    args: argparse.Namespace, store: Store
) -> tuple[OverLayouts | None, Sequence[Comparison]]:
    """Measure A and B of ``compare A B --live``.

    Returns one comparison; with several layouts one for each, and what they say together.
    """
    repository = open_source(args.repo) if args.repo else None
    sides = Sides(repository, args.scenario or "", args.generator)
    first, second = sides.tasks(args.a, args.b)
    if first.scenario.hosts != second.scenario.hosts:
        raise usage_error(
            "a duel is between servers on the same hosts",
            where=f"{first.scenario.name} and {second.scenario.name}",
            found="scenarios that set these hosts differently",
            todo=f"measure them one after the other: leaselab run {first.scenario.name} "
            f"{second.scenario.name}",
        )
    inventory = inventory_of(args)
    parameters = parameters_of(args, second.scenario)
    session = sides.session(store, inventory, parameters, full=args.full)
    check_tasks(session, first, second)
    if args.layouts:
        check_layouts((first, second), session)
        say_cost(session, second, args.layouts)
    print(f"A: {first}; B: {second}", file=sys.stderr, flush=True)
    try:
        with session.leased(f"compare {first} with {second}"):
            ids: list[str] = []

            def made(a: Task, b: Task) -> Comparison:
                result = duel(session, a, b)
                ids.extend(result.ids)
                write_ids(args, *ids)
                if result.refused is not None:
                    raise invalid_measurement(
                        "A does not build or does not start, so B was not measured",
                        where=str(a),
                        found=str(result.refused),
                        wanted="a server that B can be compared with",
                        todo=f"name another A, or see: leaselab show {result.ids[0]}",
                    )
                return result.comparison

            if args.layouts:
                return over_layouts(made, first, second, args.layouts)
            comparison = made(first, second)
            slower = comparison.outcome is Outcome.REGRESSION
            if slower if args.profile is None else args.profile:
                explain(session, first, second, comparison.base, comparison.other)
    finally:
        report_after(store)
    return None, [comparison]
