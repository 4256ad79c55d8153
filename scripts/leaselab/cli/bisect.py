"""``leaselab bisect``: find the commits that changed a server, by duels or by counts."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Any

from leaselab.analysis.duels.bisect import Limits
from leaselab.catalog.catalogue import Catalogue, measured_by
from leaselab.cli import options
from leaselab.cli.bench_options import inventory_of
from leaselab.cli.duel import add_duel, add_metric, plan_of
from leaselab.cli.outcome import ended, print_next
from leaselab.cli.own import add_scenario_or_files, named_scenario
from leaselab.cli.procedure_options import procedure_overrides
from leaselab.cli.progress import progress
from leaselab.cli.report import report_after
from leaselab.measure.generators import adapter_of
from leaselab.model.errors import (
    LeaselabError,
    Outcome,
    invalid_measurement,
    regression,
    server_broken,
)
from leaselab.model.procedures.cost import COST
from leaselab.model.scenario import Scenario
from leaselab.model.text import printable
from leaselab.report.searched import SearchReport, markdown_of_search, print_search
from leaselab.report.steps import after_hunt
from leaselab.run.commit_range import CommitRange
from leaselab.run.count_hunt import CountSearch
from leaselab.run.hunt import Search
from leaselab.run.preparation import environment_of
from leaselab.run.record import typed_command
from leaselab.run.session import Session
from leaselab.run.task import check_server, open_source
from leaselab.run.workplace import check_bench

NAME = "bisect"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_scenario_or_files(parser, "what is measured")
    parser.add_argument(
        "--good", metavar="REF", required=True, help="commit of --repo before the change"
    )
    parser.add_argument(
        "--bad",
        metavar="REF",
        required=True,
        help="commit that is worse; the good end is on its line of first parents",
    )
    parser.add_argument(
        "--repo",
        metavar="URL|PATH",
        required=True,
        help="git repository of the server; a URL is mirrored first",
    )
    parser.add_argument(
        "--dry-run",
        action="store_true",
        help="say what the archive knows, what is next and what it may cost; touch nothing",
    )
    parser.add_argument(
        "--no-profile",
        action="store_true",
        help="do not profile each culprit and its parent, to say which functions cost more",
    )
    options.add_layouts(parser, "then measure each culprit and its parent")
    group = parser.add_argument_group("cost")
    group.add_argument(
        "--cost",
        action="store_true",
        help="search by counts of what the server does for each transaction instead of duels: "
        "exact, so each commit is counted once, and by halving a change of 0.1 %% is named",
    )
    group.add_argument(
        "--every",
        metavar="N",
        type=options.whole(1, 1_000_000),
        help="count every Nth commit first, and name all changes between those that differ; 1 "
        "counts all.  Without it the ends alone decide where a change is: changes that cancel "
        "each other out, such as +5 and -5, are not seen",
    )
    limits = Limits()
    add_metric(parser)
    add_duel(
        parser,
        also="; a change counts from half of it on",
        budget=limits.budget_minutes,
        of="all duels since the first of the two ends, also before an interrupt",
    )
    options.add_markdown(parser, "write the comment for a merge request")
    options.add_results(parser)
    options.add_id_file(parser)
    options.add_json(parser)


def run(args: argparse.Namespace) -> Outcome:
    """Search, print, and raise an error for an exit code other than 0."""
    options.stdout_is_taken(args)
    if args.dry_run:
        idle = ("--markdown", "--id-file", "--no-profile", "--layouts", "--full", "--json")
        options.without_effect(args, "a search that measures", *idle)
    if args.cost:
        of_time = ("--no-profile", "--layouts", "--find", "--budget", "--metric")
        options.without_effect(args, "what is timed", *of_time)
    else:
        options.only_with(args, "--cost", "--every")
    catalogue = Catalogue.here()
    scenario = measured_by(named_scenario(args, catalogue), args.generator)
    search = (_counting if args.cost else _duelling)(args, catalogue, scenario)
    session = search.span.session
    if args.dry_run:
        session.lab.environment = environment_of(session.inventory)
        search.foresee()
        return Outcome.OK
    try:
        with session.leased(f"{NAME} {scenario.name}"):
            session.prepare("")
            search.run()
    except KeyboardInterrupt as stop:
        if search.end is not None and not args.json:  # only the profile is missing
            _print(args, search.report())
        raise KeyboardInterrupt(*stop.args, _again()) from None
    except LeaselabError as fault:
        if fault.outcome is Outcome.LAB:
            fault.todo = "; ".join(filter(None, (fault.todo, _again())))
        raise
    finally:
        options.write_ids(args.id_file, *search.ids)
        report_after(session.store)
    report = search.report()
    _print(args, report)
    outcome = report.searched.outcome
    raised = {
        Outcome.REGRESSION: regression,
        Outcome.INVALID: invalid_measurement,
        Outcome.BUILD: server_broken,
    }.get(outcome)
    if raised is not None:
        error = raised(printable(report.closing), where=scenario.name)
        return ended(error, document=args.json or options.stdout_is_taken(args))
    return Outcome.OK


def _duelling(args: argparse.Namespace, catalogue: Catalogue, scenario: Scenario) -> Search:
    """The search by duels that was asked for; raises a usage error for one that cannot be."""
    parameters, plan = plan_of(args, scenario, catalogue)
    waits = adapter_of(scenario).waits
    round_min = plan.round_with_s(waits=waits) / 60
    limits = Limits(plan.find, plan.rounds, round_min, args.budget, plan.metric)
    plan.within(60 * args.budget, waits=waits)  # a budget without one duel is refused
    span = _span(args, catalogue, scenario, parameters)
    profiled = not args.no_profile
    return Search(span, plan, limits, layouts=args.layouts or 0, profiled=profiled)


def _counting(
    args: argparse.Namespace, catalogue: Catalogue, scenario: Scenario
) -> CountSearch:
    """The search by counts that was asked for; raises likewise."""
    span = _span(args, catalogue, scenario, {**procedure_overrides(args), "name": COST})
    return CountSearch(span, args.every)


def _span(
    args: argparse.Namespace,
    catalogue: Catalogue,
    scenario: Scenario,
    parameters: Mapping[str, Any],
) -> CommitRange:
    """The range that is searched, by a procedure with these parameters."""
    repository = open_source(args.repo)
    commits = repository.line(args.good, args.bad)
    check_server(repository, commits[-1], scenario)
    inventory = inventory_of(args)
    check_bench(scenario, catalogue.procedure_of(scenario, parameters), inventory)
    store = options.open_store(args)
    session = Session(store, inventory, catalogue, parameters, full=args.full, show=progress)
    return CommitRange(session, scenario, repository, commits)


def _again() -> str:
    return f"the search goes on with the same command: {typed_command()}"


def _print(args: argparse.Namespace, report: SearchReport) -> None:
    """Write and print the result."""
    if args.markdown is not None:
        options.write_output(args.markdown, markdown_of_search(report).encode())

    def text() -> None:
        print_search(report)
        print_next(after_hunt(report.searched))

    options.show(args, report.document, text)
