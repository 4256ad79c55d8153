"""``leaselab run``: from nothing to archived results."""

from __future__ import annotations

import re
import shlex
import sys
from typing import TYPE_CHECKING, Any

from leaselab.analysis.matrix import cell_of
from leaselab.cli.bench_setup import (
    add_full,
    add_inventory,
    check,
    inventory_of,
)
from leaselab.cli.measuring import command
from leaselab.cli.options import (
    add_id_file,
    add_json,
    add_results,
    checkout_root,
    open_store,
    print_json,
    write_ids,
)
from leaselab.cli.outcome import tell
from leaselab.cli.plan_options import add_plan, plan_overrides
from leaselab.cli.report import report_after
from leaselab.cli.source import add_source, commits_of, source_folder, source_of
from leaselab.cli.task import Bench, Task
from leaselab.lab.catalog import match_scenarios
from leaselab.model.errors import LeaselabError, Outcome, server_broken, usage_error
from leaselab.report.by_server import by_server_document, print_by_server
from leaselab.report.matrix import document, print_matrix

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence
    from pathlib import Path

    from leaselab.lab.inventory import Inventory
    from leaselab.model.scenario import Scenario
    from leaselab.model.source import Commit

NAME = "run"
HELP = "Set up the lab, measure scenarios, archive and show the results."
DEFAULT_SCENARIO = "v4-memfile"
_SUITE = re.compile(r"[a-z][a-z0-9-]*")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``run``."""
    parser.add_argument(
        "scenario",
        nargs="*",
        default=[DEFAULT_SCENARIO],
        metavar="SCENARIO|PATTERN",
        help="what to measure, such as v4-memfile or 'v4-*'; `leaselab scenarios` lists them "
        f"(default: {DEFAULT_SCENARIO})",
    )
    add_inventory(parser)
    add_source(parser)
    which = parser.add_mutually_exclusive_group()
    which.add_argument(
        "--commit", metavar="REF", help="build and measure this commit of --repo, always anew"
    )
    which.add_argument(
        "--commits",
        metavar="A..B|A,B",
        help="measure the commits of a range, oldest first, or those named, but not again what "
        "is archived",
    )
    parser.add_argument(
        "--distribution",
        metavar="SUITE[,SUITE…]",
        type=lambda text: text.split(","),
        default=[""],
        help="Debian releases of what serves in the local lab, one after the other, such as "
        "bookworm,trixie; each with the server version that it has",
    )
    add_full(parser)
    add_plan(parser)
    add_results(parser)
    add_id_file(parser)
    add_json(parser)


def run(args: argparse.Namespace) -> Outcome:
    """Provision once; build, deploy, tune, measure and archive each; show."""
    store = open_store(args)
    overrides = plan_overrides(args)
    scenarios = match_scenarios(checkout_root() / "scenarios", args.scenario)
    inventory = inventory_of(args)
    for scenario in scenarios:
        check(scenario, overrides, inventory)
    commits, files = _commits(args, scenarios)
    tasks = [
        Task(scenario, commit, distribution)
        for distribution in _distributions(args, inventory)
        for commit in commits
        for scenario in scenarios
    ]
    bench = Bench(store, inventory, overrides, files, full=args.full)
    if len(tasks) == 1 and args.commits is None:
        bench.prepare(tasks[0].distribution)
        error, place = bench.measure(tasks[0])
        write_ids(args, place.name)
        report_after(store)
        return tell(store, error, place, as_json=args.json)  # what went wrong comes last
    series = _Series(bench, tasks, again=args.commits is None)
    try:
        outcome = series.measure(as_json=args.json)
    finally:
        write_ids(args, *series.ids)
    report_after(store)
    return outcome


def _distributions(args: argparse.Namespace, inventory: Inventory) -> Sequence[str]:
    """Return the releases asked for, an empty one where none was."""
    asked: list[str] = list(dict.fromkeys(args.distribution))
    if asked == [""]:
        return asked
    if inventory.made_by != "docker_lab":
        raise usage_error(
            "only the lab of containers is made of the release that is asked for",
            where=str(inventory.path),
            found="--distribution",
            wanted="inventory/docker",
        )
    wrong = [name for name in asked if not _SUITE.fullmatch(name)]
    if wrong:
        raise usage_error(
            "not the name of a release", found=repr(wrong[0]), wanted="such as bookworm"
        )
    return asked


def _commits(
    args: argparse.Namespace, scenarios: Sequence[Scenario]
) -> tuple[Sequence[Commit | None], dict[str, Path]]:
    """Return the commits to be measured, and the tar of each one's files by its tree.

    The distribution's packages are one that is None.
    """
    text = args.commits or args.commit
    if text is None and not args.worktree:
        if args.repo is not None:
            raise usage_error(
                "a repository was named, and nothing of it",
                todo="say --commit REF, --commits A..B or --worktree",
            )
        return [None], {}
    servers = sorted({scenario.server for scenario in scenarios})
    if len(servers) > 1:
        raise usage_error(
            "scenarios of one server go with its repository",
            found=f"those of {' and '.join(servers)}",
            wanted="one",
        )
    if text is not None and args.worktree:
        raise usage_error("the checkout or a commit", found="both", wanted="one")
    if args.commits and not any(sign in args.commits for sign in ("..", ",")):
        raise usage_error("not a range of commits", found=args.commits, wanted="A..B or A,B")
    repository = source_of(args)
    commits = commits_of(repository, text or "HEAD", args)
    return commits, {
        commit.tree: repository.archive(commit, source_folder()) for commit in commits
    }


class _Series:
    """Several measurements, one after the other, and a table of all."""

    def __init__(self, bench: Bench, tasks: Sequence[Task], *, again: bool) -> None:
        """`again`: measure also what the archive has."""
        self._bench = bench
        self._tasks = tasks
        self._again = again
        self._documents: list[dict[str, Any]] = []
        self._outcome = Outcome.OK

    def measure(self, *, as_json: bool) -> Outcome:
        """Measure all and show what came of it.

        One that cannot be measured does not keep the others from it; a broken
        lab and an interrupt do, and what was measured before is shown.  The
        outcome is that of the first that was not well.
        """
        try:
            for number, task in enumerate(self._tasks):
                count = f"({number + 1} of {len(self._tasks)})"
                print(f"{task} {count}", file=sys.stderr, flush=True)
                try:
                    error = self._measure(task)
                except KeyboardInterrupt as stop:
                    raise KeyboardInterrupt(*stop.args, *self._rest(number)) from None
                except LeaselabError as fault:
                    if fault.outcome is Outcome.LAB:
                        todo = (fault.todo, *self._rest(number))
                        fault.todo = "; then ".join(filter(None, todo))
                        raise
                    error = fault
                if error is not None:
                    print(f"leaselab: {task}: {error}", file=sys.stderr, flush=True)
                    if self._outcome is Outcome.OK:
                        self._outcome = error.outcome
        finally:
            self._show(as_json=as_json)
        return self._outcome

    @property
    def ids(self) -> list[str]:
        """Ids of what was measured, or found measured, so far."""
        return [str(document["id"]) for document in self._documents]

    def _measure(self, task: Task) -> LeaselabError | None:
        """Measure one, or find it measured; return what went wrong with it."""
        store = self._bench.store
        self._bench.prepare(task.distribution)
        known = "" if self._again else self._bench.measured(task)
        if known:
            print(f"measured before: {known}", file=sys.stderr, flush=True)
            document = store.load(known)
            self._documents.append(document)
            if document["outcome"] == Outcome.BUILD.label:
                return server_broken(document["reasons"][0]["text"])
            return None
        going_on = None if self._again else self._bench.go_on(task)
        error, place = going_on or self._bench.measure(task)
        self._documents.append(store.load(str(place)))
        return error

    def _rest(self, number: int) -> list[str]:
        """What to say of tasks that were not come to, if there are any.

        One whose sweep was begun can be resumed, and is not among them.
        """
        if not self._again:
            return [f"measure the rest by the same command: {shlex.join(command())}"]
        begun = self._bench.begun is self._tasks[number]
        left = [task.scenario.name for task in self._tasks[number + begun :]]
        if not left:
            return []
        return [f"measure the rest, with the same options: leaselab run {' '.join(left)}"]

    def _show(self, *, as_json: bool) -> None:
        servers = any(task.commit or task.distribution for task in self._tasks)
        cells = [cell_of(document) for document in self._documents]
        if as_json:
            print_json(by_server_document(self._documents) if servers else document(cells))
        elif servers and cells:
            print_by_server(self._documents)
        elif cells:
            print_matrix(cells)
