"""``leaselab run``: from nothing to archived results."""

from __future__ import annotations

import re
import shlex
import sys
from typing import TYPE_CHECKING

from leaselab.analysis.matrix import cell_of
from leaselab.cli.anchor import add_anchor, anchor_of, same_source
from leaselab.cli.bench_options import add_full, add_inventory, check, inventory_of
from leaselab.cli.generator_source import add_generator_source, generator_source_of
from leaselab.cli.options import (
    add_id_file,
    add_json,
    add_results,
    open_store,
    print_json,
    without_effect,
    write_ids,
)
from leaselab.cli.outcome import show_sealed
from leaselab.cli.own import (
    add_clients,
    add_config,
    add_queries,
    own_scenario,
    scenarios_with_load,
)
from leaselab.cli.parser import Choosing
from leaselab.cli.procedure_options import (
    add_procedure,
    add_quick,
    procedure_overrides,
)
from leaselab.cli.progress import progress
from leaselab.cli.report import report_after
from leaselab.cli.source import add_source, commits_of, source_of
from leaselab.lab.catalog import match_scenarios
from leaselab.lab.checkout import checkout_root
from leaselab.model.errors import LeaselabError, Outcome, server_broken, usage_error
from leaselab.report.by_server import by_server_document, print_by_server
from leaselab.report.matrix import document, print_table
from leaselab.run.record import command
from leaselab.run.session import Session
from leaselab.run.sources import source_folder
from leaselab.run.task import Task, separate

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence
    from pathlib import Path

    from leaselab.lab.inventory import Inventory
    from leaselab.model.record import Record, Scenario
    from leaselab.model.source import Commit
    from leaselab.run.part import Ended

NAME = "run"
HELP = "Set up the lab, measure scenarios, archive and show the results."
DEFAULT_SCENARIO = "v4-memfile"
_SUITE = re.compile(r"[a-z][a-z0-9-]*")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``run``."""
    parser.add_argument(
        "scenario",
        nargs="*",
        metavar="SCENARIO|PATTERN",
        help="what to measure, such as v4-memfile or 'v4-*'; see `leaselab list --scenarios` "
        f"(default: {DEFAULT_SCENARIO})",
    )
    add_config(parser)
    add_clients(parser)
    add_queries(parser)
    add_quick(parser)
    add_inventory(parser)
    add_source(parser)
    add_generator_source(parser)
    which = parser.add_mutually_exclusive_group()
    which.add_argument(
        "--commit",
        metavar="REF",
        help="build and measure this commit of --repo, even if it is archived",
    )
    which.add_argument(
        "--commits",
        metavar="A..B|A,B|A",
        action=Choosing,
        help="measure the commits of a range, oldest first, or those named, but not again what "
        "is archived",
    )
    add_anchor(parser)
    parser.add_argument(
        "--distribution",
        metavar="SUITE[,SUITE…]",
        type=lambda text: text.split(","),
        default=[""],
        help="Debian releases of the server containers of the local lab, such as "
        "bookworm,trixie; each with the server version that it has",
    )
    add_full(parser)
    parser.add_argument(
        "--sequential",
        action="store_true",
        help="do not interleave points: measure them one after the other; machine drift then "
        "differs between them",
    )
    add_procedure(parser)
    add_results(parser)
    add_id_file(parser)
    add_json(parser)


def run(args: argparse.Namespace) -> Outcome:
    """Provision once; build, deploy, tune, measure and archive each; show."""
    if not args.commits or ".." not in args.commits:
        without_effect(args, "--commits A..B beside it", "--every", "--first-parent")
    store = open_store(args)
    own = own_scenario(args)
    asked = [*args.scenario, *([own] if own else [])] or [DEFAULT_SCENARIO]
    asked = [*scenarios_with_load(args, asked)]
    scenarios = match_scenarios(checkout_root() / "scenarios", asked, args.generator)
    inventory = inventory_of(args)
    commits, files = _commits(args, scenarios)
    generator = generator_source_of(args, scenarios)
    overrides = procedure_overrides(args)
    anchor = anchor_of(args, commits, files)
    session = Session(store, inventory, overrides, files, args.full, generator, show=progress)
    tasks = [
        Task(scenario, commit, distribution)
        for distribution in _distributions(args, inventory)
        for commit in commits
        for scenario in scenarios
    ]
    for task in tasks:
        check(task.scenario, session.procedure(task), inventory)
    if len(tasks) == 1:
        without_effect(args, "several measurements", "--sequential")
    if anchor is not None:
        return _anchored(session, tasks, anchor.commit, args)
    if len(tasks) == 1 and args.commits is None:
        return measure_one(session, tasks[0], NAME, as_json=args.json, args=args)
    series = _Series(session, tasks, again=args.commits is None)
    try:
        with session.leased(_purpose(tasks)):
            return series.measure(sequential=args.sequential)
    finally:
        servers = any(task.commit or task.distribution for task in tasks)
        _show(series.records, servers=servers, as_json=args.json)
        report_after(store)
        write_ids(args, *series.ids)


def measure_one(
    session: Session,
    task: Task,
    command: str,
    *,
    as_json: bool,
    args: argparse.Namespace | None = None,
) -> Outcome:
    """Measure one task alone for a command, and show its result; what went wrong comes last.

    The result's id goes to the ``--id-file`` of `args`, where they have one.
    """
    sealed: list[Ended] = []
    with session.leased(f"{command} {task}"):
        session.measure([task], lambda _, ended: sealed.append(ended))
    last = sealed[-1]
    if args is not None:
        write_ids(args, last.place.name)
    report_after(session.store)
    return show_sealed(session.store, last, as_json=as_json)


def _distributions(args: argparse.Namespace, inventory: Inventory) -> Sequence[str]:
    """Return the releases asked for, an empty one where none was."""
    asked: list[str] = list(dict.fromkeys(args.distribution))
    if asked == [""]:
        return asked
    if inventory.made_by != "docker_lab":
        raise usage_error(
            "--distribution works with inventory/docker only",
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
                "--repo needs --commit, --commits or --worktree",
                todo="say --commit REF, --commits A..B or --worktree",
            )
        return [None], {}
    servers = sorted({scenario.server.kind for scenario in scenarios})
    if len(servers) > 1:
        raise usage_error(
            "--repo needs scenarios of one server",
            found=f"those of {' and '.join(servers)}",
            wanted="one",
        )
    if text is not None and args.worktree:
        raise usage_error(
            "--worktree and --commit exclude each other",
            found="both",
            wanted="one",
            todo="leave one out",
        )
    repository = source_of(args)
    commits = commits_of(repository, text or "HEAD", args)
    return commits, {
        commit.tree: repository.archive(commit, source_folder()) for commit in commits
    }


def _anchored(
    session: Session, tasks: Sequence[Task], commit: Commit | None, args: argparse.Namespace
) -> Outcome:
    """Measure each scenario on each release as an experiment of its own, with its anchor."""
    groups: dict[tuple[str, str], list[Task]] = {}
    for task in tasks:
        groups.setdefault((task.distribution, task.scenario.name), []).append(task)
    done: list[_Series] = []
    outcome = Outcome.OK
    try:
        with session.leased(_purpose(tasks)):
            for group in groups.values():
                others = [task for task in group if not same_source(task.commit, commit)]
                anchor = Task(group[0].scenario, commit, group[0].distribution)
                again = args.commits is None
                done.append(_Series(session, others, again=again, anchor=anchor))
                ended = done[-1].measure()
                outcome = ended if outcome is Outcome.OK else outcome
    finally:
        write_ids(args, *(one for series in done for one in series.ids))
        _show(
            [one for series in done for one in series.records], servers=True, as_json=args.json
        )
        report_after(session.store)
    return outcome


def _purpose(tasks: Sequence[Task]) -> str:
    """What others read of who has the bench: the first task, and how many more there are."""
    more = f" and {len(tasks) - 1} more" if len(tasks) > 1 else ""
    return f"{NAME} {tasks[0]}{more}"


def _show(records: Sequence[Record], *, servers: bool, as_json: bool) -> None:
    """Show what was measured; `servers`: whether several servers are, side by side."""
    if as_json:
        cells = [cell_of(record) for record in records]
        print_json(by_server_document(records) if servers else document(cells))
    elif records:
        (print_by_server if servers else print_table)(records)


class _Series:
    """What one command measures: one task, or several as an experiment, and a table of all."""

    def __init__(
        self,
        session: Session,
        tasks: Sequence[Task],
        *,
        again: bool,
        anchor: Task | None = None,
    ) -> None:
        """`again`: measure also what the archive has; `anchor`: beside this, as the first."""
        self._session = session
        self._tasks = [*([anchor] if anchor else []), *tasks]
        self._anchor = anchor
        self._again = again
        self._found: dict[Task, Record] = {}
        self._outcome = Outcome.OK

    @property
    def ids(self) -> list[str]:
        """Ids of what was measured, or found measured, so far, in the order of the tasks."""
        return [record.id for record in self.records]

    @property
    def records(self) -> list[Record]:
        """What was measured, or found measured, so far, in that order."""
        return [self._found[task] for task in self._tasks if task in self._found]

    def measure(self, *, sequential: bool = False) -> Outcome:
        """Measure all.

        One that cannot be measured does not keep the others from it; a broken
        lab and an interrupt do.  The outcome is that of the first that was not well.
        """
        try:
            left = list(self._tasks) if self._again else self._unmeasured()
            if self._anchor is not None and not set(left) - {self._anchor}:
                left = []  # there is nothing to be set against it
            why = "" if sequential else separate(left) or None
            if left:
                names = ", ".join(map(str, left))
                print(f"{len(left)} to measure: {names}", file=sys.stderr, flush=True)
                if why:
                    print(f"one after the other: {why}", file=sys.stderr, flush=True)
                self._session.measure(
                    left, self._sealed, why=why, refused=self._note, anchor=self._anchor
                )
        except KeyboardInterrupt as stop:
            raise KeyboardInterrupt(*stop.args, *self._rest()) from None
        except LeaselabError as fault:
            fault.todo = "; then ".join(filter(None, (fault.todo, *self._rest())))
            raise
        return self._outcome

    def _sealed(self, task: Task, ended: Ended) -> None:
        self._found[task] = self._session.store.load(str(ended.place))
        if ended.error is not None:
            self._note(task, ended.error)

    def _unmeasured(self) -> list[Task]:
        """The tasks that the archive has no result of; unfinished ones are finished first."""
        left = []
        for task in self._tasks:
            if task in self._found:
                continue  # with another point of its experiment
            self._session.prepare(task.distribution)
            if task == self._anchor:
                left.append(task)  # in every session
                continue
            known = self._session.earlier.measured(task, self._anchor)
            if known:
                print(f"{task}: measured before: {known}", file=sys.stderr, flush=True)
                record = self._session.store.load(known)
                self._found[task] = record
                if record.outcome == Outcome.BUILD.label:
                    self._note(task, server_broken(record.reasons[0].text))
                continue
            if not self._session.go_on(task, self._tasks, self._sealed, self._anchor):
                left.append(task)
        return [task for task in left if task not in self._found or task == self._anchor]

    def _note(self, task: Task, error: LeaselabError) -> None:
        print(f"leaselab: {task}: {error}", file=sys.stderr, flush=True)
        if self._outcome is Outcome.OK:
            self._outcome = error.outcome

    def _rest(self) -> list[str]:
        """What to say of tasks that were not come to, if there are any.

        One whose measurement was begun can be resumed, and is not among them.
        """
        begun = self._found.keys() | self._session.begun
        left = [task.scenario.name for task in self._tasks if task not in begun]
        if not left:
            return []
        if not self._again:
            return [f"measure the rest by the same command: {shlex.join(command())}"]
        return [f"measure the rest, with the same options: leaselab run {' '.join(left)}"]
