"""What two servers do for each transaction, counted in turn."""

from __future__ import annotations

import argparse

from leaselab.analysis.comparison.verdict import Comparison
from leaselab.archive.store import Store
from leaselab.catalog.catalogue import Catalogue
from leaselab.cli.bench_options import add_full, add_inventory, inventory_of
from leaselab.cli.duel import sides_of
from leaselab.cli.options import add_id_file, add_json, add_results, open_store, write_ids
from leaselab.cli.outcome import Showing, add_documents, show_each
from leaselab.cli.own import add_scenario_or_files, scenario_of
from leaselab.cli.policy import add_policy, asked
from leaselab.cli.procedure_options import add_parameters, procedure_overrides
from leaselab.cli.progress import progress
from leaselab.cli.report import report_after
from leaselab.cli.source import add_commit
from leaselab.model.errors import Outcome, usage_error
from leaselab.model.procedures.cost import COST
from leaselab.model.source import BRANCH_POINT, RELEASE
from leaselab.model.speech import announce
from leaselab.run.contest import in_turn
from leaselab.run.sides import PACKAGE, WORKTREE

LAB = "namespaces"
"""The lab of this machine that needs no container engine."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_scenario_or_files(parser, "what is counted")
    group = add_commit(parser)
    group.add_argument(
        "--against",
        metavar="REF",
        help=f"the commit before, {RELEASE} for the last tag, or {PACKAGE} (default: "
        f"{BRANCH_POINT}, where the branch left the main one; on the main one, its parent)",
    )
    add_inventory(parser, LAB)
    add_full(parser)
    add_parameters(parser, COST, "rounds=4")
    add_policy(parser)
    add_documents(parser)
    add_results(parser)
    add_id_file(parser)
    add_json(parser)


def run(args: argparse.Namespace) -> Outcome:
    """Count, write the files, print; raise an error for an exit code other than 0."""
    if args.repo is None:
        raise usage_error(
            "no repository of the server is named",
            wanted="--repo URL or PATH",
            todo="of packages: leaselab run SCENARIO --procedure cost",
        )
    catalogue, store = Catalogue.here(), open_store(args)
    made = scenario_of(args, catalogue)
    args.scenario = made.name if made is not None else args.scenario
    args.a = args.against
    args.b = WORKTREE if args.worktree else args.commit or "HEAD"
    return count_each(args, store, catalogue)


def count_each(args: argparse.Namespace, store: Store, catalogue: Catalogue) -> Outcome:
    """Count A and B in each scenario that `asked` names, and show the verdicts."""
    ids: list[str] = []
    showing, each = Showing.of(args, store), asked(args, COST)
    return show_each(showing, each, lambda one: _count(one, store, catalogue, ids))


def _count(
    args: argparse.Namespace, store: Store, catalogue: Catalogue, ids: list[str]
) -> Comparison:
    """Count A and B, by the names that `Sides.tasks` takes, and compare them."""
    sides = sides_of(args, catalogue)
    first, second = sides.tasks(args.a, args.b)
    inventory = inventory_of(args)
    overrides = {**procedure_overrides(args), "name": COST}
    session = sides.session(store, inventory, overrides, progress, full=args.full)
    session.check_tasks(first, second)
    announce(f"A: {first}; B: {second}")
    try:
        with session.leased(f"compare the cost of {first} and {second}"):
            result = in_turn(session, first, second)
            ids.extend(result.ids)
            write_ids(args.id_file, *ids)
            return result.checked(first)
    finally:
        report_after(store)
