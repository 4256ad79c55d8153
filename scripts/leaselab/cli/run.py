"""``leaselab run``: from nothing to archived results."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from leaselab.analysis.comparison.matrix import cell_of
from leaselab.catalog.catalogue import Catalogue, measured_by
from leaselab.catalog.roles import debian_releases
from leaselab.cli import options, source
from leaselab.cli.bench_options import add_full, add_inventory, inventory_of
from leaselab.cli.outcome import show_measured
from leaselab.cli.own import (
    add_arrivals,
    add_clients,
    add_config,
    add_queries,
    load_of,
    own_scenario,
    with_load,
)
from leaselab.cli.procedure_options import (
    add_procedure,
    add_quick,
    procedure_overrides,
)
from leaselab.cli.progress import progress
from leaselab.cli.report import report_after
from leaselab.lab.hosts.inventory import Inventory
from leaselab.measure.generators import check_fits
from leaselab.model.errors import Outcome, unknown, usage_error
from leaselab.model.record import Record
from leaselab.model.scenario import Scenario
from leaselab.model.source import Commit
from leaselab.model.text import some_of
from leaselab.report.by_server import by_server_document, print_by_server
from leaselab.report.matrix import document, print_table
from leaselab.run.experiment import Ended
from leaselab.run.series import Series
from leaselab.run.session import Session
from leaselab.run.task import Task, check_server, source_folder

NAME = "run"
DEFAULT_SCENARIO = "v4-memfile"


def add_arguments(parser: argparse.ArgumentParser) -> None:
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
    which = source.add_source(parser)
    source.add_generator_source(parser)
    which.add_argument(
        "--commit",
        metavar="REF",
        help="build and measure this commit of --repo, even if it is archived",
    )
    which.add_argument(
        "--commits",
        metavar="A..B|A,B|A",
        help="measure the commits of a range, oldest first, or those named, but not again what "
        "is archived",
    )
    source.add_anchor(parser)
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
    add_arrivals(parser)
    options.add_results(parser)
    options.add_id_file(parser)
    options.add_json(parser)


def run(args: argparse.Namespace) -> Outcome:
    """Provision once; build, deploy, tune, measure and archive each; show."""
    _check_words(args)
    overrides, store = procedure_overrides(args), options.open_store(args)
    catalogue = Catalogue.here()
    own, load = own_scenario(args, catalogue), load_of(args)
    patterns = args.scenario or ([] if own else [DEFAULT_SCENARIO])
    scenarios = [*catalogue.match(patterns), *([own] if own else [])]
    if load is not None:
        scenarios = with_load(load, catalogue, scenarios)
    if args.generator is not None:
        scenarios = [measured_by(scenario, args.generator) for scenario in scenarios]
    _check_scenarios(args, scenarios)
    built = source.built_generator(args, scenarios)
    for scenario in scenarios:
        check_fits(scenario, catalogue.procedure_of(scenario, overrides))
    inventory = inventory_of(args)
    distributions = _distributions(args, inventory)
    commits, files = _commits(args, scenarios)
    generator = source.generator_source_of(args, built) if built else None
    anchored = args.anchor is not None
    anchor = source.anchor_of(args, commits, files) if anchored else None
    session = Session(
        store, inventory, catalogue, overrides, files, args.full, generator, show=progress
    )
    tasks = [
        Task(scenario, commit, distribution)
        for distribution in distributions
        for commit in commits
        for scenario in scenarios
    ]
    session.check_tasks(*tasks)
    if len(tasks) == 1:
        options.without_effect(args, "several measurements", "--sequential")
    if anchored:
        again = args.commits is None
        return _anchored(
            session, tasks, anchor, again=again, as_json=args.json, id_file=args.id_file
        )
    if len(tasks) == 1 and args.commits is None:
        return measure_shown(session, tasks, NAME, as_json=args.json, id_file=args.id_file)
    series = Series(session, tasks, again=args.commits is None)
    try:
        with session.leased(_purpose(NAME, tasks)):
            return series.measure(sequential=args.sequential)
    finally:
        servers = any(task.commit or task.distribution for task in tasks)
        _show(series.records, servers=servers, as_json=args.json)
        report_after(store)
        options.write_ids(args.id_file, *series.ids)


def _check_words(args: argparse.Namespace) -> None:
    """Raise the usage errors that the words alone decide."""
    if not args.commits or ".." not in args.commits:
        options.without_effect(args, "--commits A..B", "--every", "--first-parent")
    if args.repo is not None and not (args.commits or args.commit or args.worktree):
        raise usage_error(
            "--repo needs --commit, --commits or --worktree",
            todo="say --commit REF, --commits A..B or --worktree",
        )
    if args.anchor is not None and args.sequential:
        raise usage_error(
            "an anchor must be measured in turn with the others, or the drift of the machine "
            "stays in the ratios",
            found="--anchor and --sequential",
            wanted="one of them",
        )


def _check_scenarios(args: argparse.Namespace, scenarios: Sequence[Scenario]) -> None:
    """Raise the usage errors that the words decide once their scenarios are known."""
    several_commits = any(word in (args.commits or "") for word in ("..", ","))
    if len(scenarios) == len(args.distribution) == 1 and not several_commits:
        options.without_effect(args, "several measurements", "--sequential")
    servers = sorted({scenario.server.kind for scenario in scenarios})
    if len(servers) > 1 and (args.commits or args.commit or args.worktree):
        raise usage_error(
            "--repo needs scenarios of one server",
            found=f"those of {' and '.join(servers)}",
            wanted="one",
        )


def measure_shown(
    session: Session,
    tasks: Sequence[Task],
    command: str,
    *,
    as_json: bool,
    id_file: Path | None = None,
    slowdown: float | None = None,
) -> Outcome:
    """Measure one task alone, or a duel; show each result whole, with an error last.

    Their ids go to `id_file`.  `slowdown` is that of `Session.measure`.
    """
    sealed: list[Ended] = []
    with session.leased(_purpose(command, tasks)):
        session.measure(tasks, lambda _, ended: sealed.append(ended), slowdown=slowdown)
    last = sealed[-len(tasks) :]
    options.write_ids(id_file, *(ended.place.name for ended in last))
    report_after(session.store)
    return show_measured(session.store, *last, as_json=as_json)


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
    known = debian_releases(inventory.made_by)
    for name in asked:
        if name not in known:
            raise unknown("release", name, known, "--distribution")
    return asked


def _commits(
    args: argparse.Namespace, scenarios: Sequence[Scenario]
) -> tuple[Sequence[Commit | None], dict[str, Path]]:
    """Return the commits to be measured, and the tar of each one's files by its tree.

    The distribution's packages are one that is None.
    """
    text = args.commits or args.commit
    if text is None and not args.worktree:
        return [None], {}
    repository = source.source_of(args)
    commits = source.commits_of(repository, text or "HEAD", args)
    check_server(repository, commits[-1], scenarios[0])
    return commits, {
        commit.tree: repository.archive(commit, source_folder()) for commit in commits
    }


def _anchored(
    session: Session,
    tasks: Sequence[Task],
    commit: Commit | None,
    *,
    again: bool,
    as_json: bool,
    id_file: Path | None,
) -> Outcome:
    """Measure each scenario on each release as an experiment of its own, with its anchor."""
    groups: dict[tuple[str, str], list[Task]] = {}
    for task in tasks:
        groups.setdefault((task.distribution, task.scenario.name), []).append(task)
    done: list[Series] = []
    outcome = Outcome.OK
    try:
        with session.leased(_purpose(NAME, tasks)):
            for group in groups.values():
                others = [task for task in group if not source.same_source(task.commit, commit)]
                anchor = Task(group[0].scenario, commit, group[0].distribution)
                done.append(Series(session, others, again=again, anchor=anchor))
                ended = done[-1].measure()
                outcome = ended if outcome is Outcome.OK else outcome
    finally:
        ids = (ident for series in done for ident in series.ids)
        options.write_ids(id_file, *ids)
        records = [record for series in done for record in series.records]
        _show(records, servers=True, as_json=as_json)
        report_after(session.store)
    return outcome


def _purpose(command: str, tasks: Sequence[Task]) -> str:
    """The public purpose of the lease: the first task, and the number of further ones."""
    return f"{command} {some_of([*map(str, tasks)], 1)}"


def _show(records: Sequence[Record], *, servers: bool, as_json: bool) -> None:
    """Show what was measured; `servers`: whether several servers are, side by side."""
    if as_json:
        cells = [cell_of(record) for record in records]
        options.print_json(by_server_document(records) if servers else document(cells))
    elif records:
        (print_by_server if servers else print_table)(records)
