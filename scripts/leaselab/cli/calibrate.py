"""``leaselab calibrate``: ceilings of a bench's generators, error rates of its duels."""

from __future__ import annotations

import argparse
import sys

from leaselab.analysis.duels.error_budget import ErrorBudget
from leaselab.catalog.catalogue import Catalogue
from leaselab.cli import options
from leaselab.cli.bench_options import inventory_of
from leaselab.cli.duel import OPTIONS, add_duel, parameters_of
from leaselab.cli.progress import progress
from leaselab.cli.report import report_after
from leaselab.model.errors import LeaselabError, Outcome, lab_broken, usage_error
from leaselab.model.record import Record
from leaselab.model.source import BRANCH_POINT, RELEASE
from leaselab.report.truth import rows_of, table
from leaselab.report.verdict.document import budget_document
from leaselab.report.verdict.table import budget_words
from leaselab.run.calibration import RUNS, calibrate, ceiling_tasks, measured
from leaselab.run.session import Session
from leaselab.run.sides import PACKAGE, Sides
from leaselab.run.task import open_source

NAME = "calibrate"
DEFAULT_SCENARIO = "v4-memfile"
CEILINGS = frozenset({"--inventory", "--bench", "--full", "--generator"})
"""Options of duels that ceilings have, too."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "scenario",
        nargs="?",
        help="the ceiling for this one (default: for each protocol), or what the duels are of "
        f"(default: {DEFAULT_SCENARIO})",
    )
    parser.add_argument(
        "--error-budget",
        action="store_true",
        help="measure how often duels are wrong, instead of ceilings: compare a server with "
        "itself, and with itself slowed down by --slowdown; verdicts on this bench report it",
    )
    parser.add_argument(
        "--pairs",
        metavar="N",
        type=options.whole(1, 1000),
        default=10,
        help="duels of each kind; those that the archive has count (default: 10)",
    )
    parser.add_argument(
        "--slowdown",
        metavar="PERCENT",
        type=options.number(0.01, 49.99),
        default=3.0,
        help="share of the time for which the slower server is paused, %% (default: 3)",
    )
    parser.add_argument(
        "--server",
        metavar="WHAT",
        default=PACKAGE,
        help=f"the server: {PACKAGE}, build:KEY, or a commit of --repo (default: {PACKAGE})",
    )
    parser.add_argument("--repo", metavar="URL|PATH", help="git repository of the server")
    parser.add_argument(
        "--strict",
        action="store_true",
        help="exit code 4 if any of these duels is wrong: as a canary of the bench, with "
        "`--pairs 1 --slowdown 10`, and --results of its own as duels of the archive count",
    )
    add_duel(parser)
    options.add_results(parser)
    options.add_json(parser)


def run(args: argparse.Namespace) -> Outcome:
    """Measure ceilings, or make duels whose answer is known, and print the outcome."""
    idle = {*OPTIONS, "--pairs", "--slowdown", "--server", "--repo", "--strict"} - CEILINGS
    options.only_with(args, "--error-budget", *sorted(idle))
    return _error_budget(args) if args.error_budget else _ceilings(args)


def _ceilings(args: argparse.Namespace) -> Outcome:
    """Measure the ceilings of generators with a faster server, and archive them.

    Raises the error of the first without a figure, after all were measured.
    """
    store, inventory = options.open_store(args), inventory_of(args)
    catalogue, like = Catalogue.here(), None
    if args.scenario is not None:
        like = catalogue.find(args.scenario, args.generator)
    tasks = ceiling_tasks(catalogue, like, [like.generator if like else args.generator])
    session = Session(
        store, inventory, catalogue, {"rounds": RUNS}, full=args.full, show=progress
    )
    session.check_tasks(*tasks)
    records: list[Record] = []
    errors: list[LeaselabError] = []
    try:
        with session.leased(NAME):
            for task in tasks:
                print(f"ceiling: {task}", file=sys.stderr, flush=True)
                made, failed = measured(session, [task])
                records += made
                errors += failed
    finally:
        rows = rows_of(records)
        if args.json:
            options.print_json({"ceilings": rows})
        elif rows:
            sys.stdout.writelines(table(rows))
        report_after(store)
    if errors:
        raise errors[0]
    return Outcome.OK


def _error_budget(args: argparse.Namespace) -> Outcome:
    """Make the duels that the archive lacks, in turn, and print how often all are right.

    Raises the error of the first without a verdict: the next would have none either.
    """
    if args.server in (RELEASE, BRANCH_POINT):
        raise usage_error("both servers are the same", found=args.server, wanted="a commit")
    store, inventory = options.open_store(args), inventory_of(args)
    repository = open_source(args.repo) if args.repo else None
    catalogue = Catalogue.here()
    sides = Sides(catalogue, repository, args.scenario or DEFAULT_SCENARIO, args.generator)
    task, _ = sides.tasks(args.server, args.server)
    parameters = parameters_of(args, task.scenario, catalogue)
    session = sides.session(store, inventory, parameters, progress, full=args.full)
    session.check_tasks(task)
    try:
        with session.leased(f"{NAME} {task}"):
            budget = calibrate(session, task, args.pairs, args.slowdown / 100)
    finally:
        report_after(store)
    words = budget_words(budget, task.scenario.name)
    options.print_answer(args, budget_document(budget), words)
    if args.strict:
        _check_right(budget, inventory.bench)
    return Outcome.OK


def _check_right(budget: ErrorBudget | None, bench: str) -> None:
    """Raise a broken-lab error for a bench any of whose duels was wrong, or came to nothing."""
    equal, slowed = (budget.equal, budget.slowed) if budget else (None, None)
    if not equal or not slowed or equal.slower or slowed.slower < slowed.duels:
        found = [
            f"{side.slower} of {side.duels}" if side else "none" for side in (equal, slowed)
        ]
        raise lab_broken(
            "duels of this bench are wrong",
            where=bench,
            found=f"{found[0]} of equal servers called slower, {found[1]} slowed ones",
            wanted="none, and all",
            todo="look for what else runs there; `leaselab lab check` inspects its hosts",
        )
