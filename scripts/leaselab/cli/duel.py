"""Two servers measured in turn until it is known which is faster: ``compare A B --live``."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from functools import partial
from typing import Any

from leaselab.analysis.comparison.verdict import Comparison
from leaselab.analysis.duels.layouts import OverLayouts
from leaselab.archive.store import Store
from leaselab.catalog.catalogue import Catalogue
from leaselab.cli.bench_options import add_full, add_inventory, inventory_of
from leaselab.cli.options import add_id_file, add_layouts, number, write_ids
from leaselab.cli.policy import repository_of
from leaselab.cli.procedure_options import add_parameters, procedure_overrides
from leaselab.cli.progress import progress
from leaselab.cli.report import report_after
from leaselab.measure.generators import adapter_of
from leaselab.model.contest import Contest
from leaselab.model.errors import Outcome, usage_error
from leaselab.model.procedures.duel import LEAST, LEAST_OTHERS, METRICS, OF_CODE, Duel
from leaselab.model.scenario import Scenario
from leaselab.model.source import BRANCH_POINT, RELEASE
from leaselab.run.contest import check_layouts, duel, explain, over_layouts, planned, say_cost
from leaselab.run.count import count_first
from leaselab.run.sides import BUILD, PACKAGE, WORKTREE, Sides
from leaselab.run.task import Task

BUDGET_MINUTES = 15.0
"""Longest time for the rounds of a duel, where none is asked for (min)."""
OPTIONS = (
    *("--find", "--budget", "--inventory", "--bench", "--full", "--generator"),
    "--set",
)
"""What `add_duel` adds, and has no effect where none is made."""


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
        "--cost",
        action=argparse.BooleanOptionalAction,
        help="count what both do for each transaction: instructions, system calls, "
        "allocations; a minute or two, and exact on a busy machine, but no speed.  Without "
        "--live it is all that is done, and --live begins with it unless --no-cost is given",
    )
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


def plan_of(
    args: argparse.Namespace, scenario: Scenario, catalogue: Catalogue
) -> tuple[dict[str, Any], Duel]:
    """Return the parameters of the duels that were asked for, and what they are.

    Raises a usage error for what cannot be.
    """
    find = None if args.find is None else args.find / 100
    metric = getattr(args, "metric", None)
    of = partial(catalogue.procedure_of, scenario)
    given, plan = planned(procedure_overrides(args), of, find=find, metric=metric)
    if getattr(args, "layouts", None) and plan.metric not in OF_CODE:
        raise usage_error(
            "layouts change how fast code is under load",
            where="--layouts",
            found=f"--metric {plan.metric}",
            wanted=" or ".join(OF_CODE),
            todo="leave --layouts out",
        )
    return given, plan


def parameters_of(
    args: argparse.Namespace, scenario: Scenario, catalogue: Catalogue
) -> dict[str, Any]:
    """Return the parameters of the duel that was asked for, within its budget.

    Raises a usage error for one that cannot be.
    """
    given, plan = plan_of(args, scenario, catalogue)
    rounds = plan.within(60 * args.budget, waits=adapter_of(scenario).waits).rounds
    as_many = "--budget" in args.given and "rounds" not in given
    given["rounds"] = rounds if as_many else min(plan.rounds, rounds)
    return given


def sides_of(args: argparse.Namespace, catalogue: Catalogue) -> Sides:
    """Return what A and B of ``compare`` are taken from, where both are measured."""
    return Sides(catalogue, repository_of(args), args.scenario or "", args.generator)


def live(
    args: argparse.Namespace, store: Store, catalogue: Catalogue, ids: list[str]
) -> tuple[OverLayouts | None, Sequence[Comparison]]:
    """Measure A and B of ``compare A B --live``.

    Returns one comparison; with several layouts one for each, and what they say together.
    The ids of results are added to `ids`.
    """
    sides = sides_of(args, catalogue)
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
    parameters = parameters_of(args, second.scenario, catalogue)
    session = sides.session(store, inventory, parameters, progress, full=args.full)
    session.check_tasks(first, second)
    contest = session.contest(first, second)
    if args.layouts:
        check_layouts(session, contest)
        say_cost(session, contest, args.layouts)
    print(f"A: {first}; B: {second}", file=sys.stderr, flush=True)
    try:
        with session.leased(f"compare {first} with {second}"):

            def made(contest: Contest[Task]) -> Comparison:
                result = duel(session, contest)
                ids.extend(result.ids)
                write_ids(args.id_file, *ids)
                return result.checked(contest.a)

            if args.layouts:
                return over_layouts(made, contest, args.layouts)
            if args.cost is not False and contest.plan.metric in OF_CODE:
                count_first(session, contest)
            comparison = made(contest)
            slower = comparison.outcome is Outcome.REGRESSION
            if slower if args.profile is None else args.profile:
                explain(session, contest, comparison.base, comparison.other)
    finally:
        report_after(store)
    return None, [comparison]
