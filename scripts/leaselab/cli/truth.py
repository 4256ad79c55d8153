"""``leaselab dev bench truth``: figures of a server whose capacity and faults are set."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from leaselab.analysis.truth import Judged, Truth, judge, not_measured, truth_of
from leaselab.cli.bench_options import add_full, add_inventory, inventory_of
from leaselab.cli.options import (
    add_json,
    add_markdown,
    add_results,
    markdown_alone,
    open_store,
    print_json,
    whole,
    write_output,
)
from leaselab.cli.progress import progress
from leaselab.cli.report import report_after
from leaselab.lab.catalog import match_scenarios, measured_by
from leaselab.lab.checkout import checkout_root
from leaselab.lab.roles import OWN_GENERATOR
from leaselab.measure.generators import check_fits
from leaselab.measure.generators.dns_answers import is_dns
from leaselab.model.errors import LeaselabError, Outcome, unknown, usage_error
from leaselab.model.procedures import AnyProcedure
from leaselab.model.scenario import Scenario
from leaselab.report.truth import print_truth, truth_document, truth_markdown
from leaselab.run.session import Session
from leaselab.run.task import Task

NAME = "dev bench truth"
FAMILY = "responder"
OWN = OWN_GENERATOR
"""The generator whose figures have to be near enough."""
OF_DHCP, OF_DNS = (OWN, "perfdhcp"), (OWN, "dnsperf", "kxdpgun")
"""Generators that fit a protocol, and need no commit of their own to be built."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``dev bench truth``."""
    parser.add_argument(
        "scenario",
        nargs="*",
        default=[FAMILY],
        metavar="SCENARIO|PATTERN",
        help="scenarios of the responder, such as 'responder-v4-*' (default: all from whose "
        "settings something follows)",
    )
    add_inventory(parser)
    add_full(parser)
    parser.add_argument(
        "--generator",
        metavar="NAME[,NAME…]",
        type=lambda text: text.split(","),
        help=f"what makes the load, each in turn (default: {', '.join(OF_DHCP)}; of DNS "
        f"{', '.join(OF_DNS)})",
    )
    parser.add_argument(
        "--runs",
        metavar="N",
        type=whole(1, 1000),
        default=3,
        help="number of runs (default: 3)",
    )
    add_results(parser)
    add_markdown(parser, "write the table as a document")
    add_json(parser)


def run(args: argparse.Namespace) -> Outcome:
    """Measure each scenario with each generator, archive it, and set it beside the truth.

    A generator that this bench cannot run is left out of the rest, and its rows say why.  The
    outcome is a regression where a figure of the project's own generator is too far off.
    """
    alone = markdown_alone(args)
    store, inventory = open_store(args), inventory_of(args)
    session = Session(store, inventory, {"rounds": args.runs}, full=args.full, show=progress)
    chosen = _chosen(args.scenario, args.generator, session)
    rows: list[Judged] = []
    missing: dict[str, str] = {}
    try:
        with session.leased(NAME):
            for task, truth in chosen:
                rows += _rows(session, task, truth, missing)
    finally:
        kept = all(row.within for row in rows if row.generator == OWN)
        if args.json:
            print_json(truth_document(rows, kept=kept))
        elif rows and not alone:
            print_truth(rows)
        if args.markdown and rows:
            write_output(args.markdown, truth_markdown(rows, args.runs).encode())
        report_after(store)
    return Outcome.OK if kept else Outcome.REGRESSION


def _chosen(
    patterns: Sequence[str], generators: Sequence[str] | None, session: Session
) -> list[tuple[Task, Truth]]:
    """What is measured, with what is true of it; raises a usage error where that is nothing."""
    known = sorted({*OF_DHCP, *OF_DNS})
    for name in generators or ():
        if name not in known:
            raise unknown("generator", name, known, "--generator")
    chosen = []
    for scenario in match_scenarios(checkout_root() / "scenarios", patterns):
        for name in OF_DNS if is_dns(scenario) else OF_DHCP:
            if generators is None or name in generators:
                task = Task(measured_by(scenario, name))
                procedure = session.procedure(task)
                truth = truth_of(task.scenario, procedure)
                if truth is not None and _can_measure(task.scenario, procedure):
                    chosen.append((task, truth))
    if not chosen:
        raise usage_error(
            "nothing is known to be true of that",
            found=" ".join([*patterns, *(generators or ())]),
            wanted=f"scenarios of {FAMILY} with a capacity, and generators of their protocol",
            todo=f"see what there is: leaselab list --scenarios {FAMILY}",
        )
    return chosen


def _can_measure(scenario: Scenario, procedure: AnyProcedure) -> bool:
    """Whether a scenario's generator has the procedure; kxdpgun has no fixed load.

    Raises a usage error where that is the project's own.
    """
    try:
        check_fits(scenario, procedure)
    except LeaselabError:
        if scenario.generator == OWN:
            raise
        return False
    return True


def _rows(session: Session, task: Task, truth: Truth, missing: dict[str, str]) -> list[Judged]:
    """Measure a task; `missing` are the generators that cannot be run here, and why.

    Raises what breaks the lab for the project's own generator as well.
    """
    generator = task.scenario.generator
    if generator in missing:
        return not_measured(truth, task.scenario, missing[generator])
    print(f"truth: {task} with {generator}", file=sys.stderr, flush=True)
    places = []
    try:
        session.measure([task], lambda _, ended: places.append(ended.place))
    except LeaselabError as error:
        if error.outcome is Outcome.LAB:
            if generator == OWN:
                raise
            missing[generator] = error.what
        return not_measured(truth, task.scenario, error.what)
    return judge(truth, session.store.load(str(places[-1])))
