"""``leaselab bisect``: find the commit that made a server slower, by duels."""

from __future__ import annotations

import argparse

from leaselab.analysis.duels.bisect import Limits
from leaselab.catalog.catalogue import Catalogue, measured_by
from leaselab.cli import options
from leaselab.cli.bench_options import inventory_of
from leaselab.cli.duel import add_duel, add_metric, plan_of
from leaselab.cli.outcome import ended, print_next
from leaselab.cli.own import add_clients, add_config, add_queries, named_scenario
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
from leaselab.model.text import printable
from leaselab.report.bisect import (
    Hunted,
    closing,
    hunted_document,
    markdown_of_hunted,
    print_hunted,
)
from leaselab.report.steps import after_hunt
from leaselab.run.hunt import Search
from leaselab.run.preparation import environment_of
from leaselab.run.record import typed_command
from leaselab.run.session import Session
from leaselab.run.task import check_server, open_source
from leaselab.run.workplace import check_bench

NAME = "bisect"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("scenario", metavar="SCENARIO", nargs="?", help="what is measured")
    add_config(parser)
    add_clients(parser)
    add_queries(parser)
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
    catalogue = Catalogue.here()
    scenario = measured_by(named_scenario(args, catalogue), args.generator)
    parameters, plan = plan_of(args)
    waits = adapter_of(scenario).waits
    round_min = plan.round_with_s(waits=waits) / 60
    limits = Limits(plan.find, plan.rounds, round_min, args.budget, plan.metric)
    plan.within(60 * args.budget, waits=waits)  # a budget without one duel is refused
    repository = open_source(args.repo)
    commits = repository.line(args.good, args.bad)
    check_server(repository, commits[-1], scenario)
    inventory = inventory_of(args)
    check_bench(scenario, plan, inventory)
    store = options.open_store(args)
    session = Session(store, inventory, catalogue, parameters, full=args.full, show=progress)
    search = Search(session, scenario, repository, commits, plan, limits)
    if args.dry_run:
        session.lab.environment = environment_of(inventory)
        search.foresee()
        return Outcome.OK
    end = None
    try:
        with session.leased(f"{NAME} {scenario.name}"):
            session.prepare("")
            end = search.run()
            if args.layouts:
                search.lay_out(end, args.layouts)
            if not args.no_profile:
                search.explain(end)
    except KeyboardInterrupt as stop:
        if end is not None and not args.json:  # only the profile is missing
            _print_hunted(args, search.hunted(end))
        raise KeyboardInterrupt(*stop.args, _again()) from None
    except LeaselabError as fault:
        if fault.outcome is Outcome.LAB:
            fault.todo = "; ".join(filter(None, (fault.todo, _again())))
        raise
    finally:
        options.write_ids(args.id_file, *search.ids)
        report_after(store)
    hunted = search.hunted(end)
    _print_hunted(args, hunted)
    raised = {
        Outcome.REGRESSION: regression,
        Outcome.INVALID: invalid_measurement,
        Outcome.BUILD: server_broken,
    }.get(hunted.outcome)
    if raised is not None:
        error = raised(printable(closing(hunted)), where=hunted.scenario)
        return ended(error, document=args.json or options.stdout_is_taken(args))
    return Outcome.OK


def _again() -> str:
    return f"the search goes on with the same command: {typed_command()}"


def _print_hunted(args: argparse.Namespace, hunted: Hunted) -> None:
    """Write and print the result."""
    if args.markdown is not None:
        options.write_output(args.markdown, markdown_of_hunted(hunted).encode())

    def text() -> None:
        print_hunted(hunted)
        print_next(after_hunt(hunted))

    options.show(args, hunted_document(hunted), text)
