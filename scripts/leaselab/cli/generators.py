"""``leaselab dev bench generators`` and ``dev bench truth``: how right generators are."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import Any

from leaselab.analysis.figures.truth import Judged, Truth, judge, not_measured, truth_of
from leaselab.catalog.catalogue import Catalogue, measured_by
from leaselab.catalog.roles import OWN_GENERATOR
from leaselab.cli import options
from leaselab.cli.bench_options import add_full, add_inventory, inventory_of
from leaselab.cli.progress import progress
from leaselab.cli.report import report_after
from leaselab.measure.generators import check_fits
from leaselab.measure.generators.dns.answers import is_dns
from leaselab.model.errors import LeaselabError, Outcome, unknown, usage_error
from leaselab.model.procedures import AnyProcedure
from leaselab.model.procedures.max_rate import MAX_RATE
from leaselab.model.record import Record
from leaselab.model.scenario import Scenario
from leaselab.report.truth import print_truth, rows_of, table, truth_document, truth_markdown
from leaselab.run.calibration import RUNS, ceiling_tasks, measured
from leaselab.run.session import Session
from leaselab.run.task import Task

SCENARIOS = "responder-*"
"""Those of all families whose server is the responder."""
OF_DHCP, OF_DNS = (OWN_GENERATOR, "perfdhcp"), (OWN_GENERATOR, "dnsperf")
"""Generators that fit a protocol, and need no commit of their own to be built."""
DEFAULT_SCENARIO = "v4-memfile"
PAIR = f"{OWN_GENERATOR},perfdhcp"
SHARE = 0.5
"""Share of the lower max rate at which the latencies are compared."""
LOAD_S = 20
"""Traffic of a trial at that load (s)."""


def add_generators(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "scenario",
        nargs="?",
        default=DEFAULT_SCENARIO,
        help=f"the server that both load (default: {DEFAULT_SCENARIO})",
    )
    _add_common(parser)
    parser.add_argument(
        "--generator",
        metavar="NAME,NAME",
        type=lambda text: text.split(","),
        default=PAIR.split(","),
        help=f"the two, the one that is judged first (default: {PAIR})",
    )


def _add_common(parser: argparse.ArgumentParser) -> None:
    """Add where both measure, and how often."""
    add_inventory(parser)
    add_full(parser)
    parser.add_argument(
        "--runs",
        metavar="N",
        type=options.whole(1, 1000),
        default=RUNS,
        help=f"number of runs (default: {RUNS})",
    )
    options.add_results(parser)
    options.add_json(parser)


def generators(args: argparse.Namespace) -> Outcome:
    """Measure ceilings, max rates and latencies of both, in turn round by round; archive all.

    Where a part has no figure its ratio is null, and the reason is printed.
    """
    if len(set(args.generator)) != 2:
        raise usage_error(
            "not two generators", found=",".join(args.generator), wanted="such as " + PAIR
        )
    store, inventory = options.open_store(args), inventory_of(args)
    catalogue = Catalogue.here()
    scenario = catalogue.find(args.scenario)
    tasks = [Task(measured_by(scenario, name)) for name in args.generator]
    overrides = {"rounds": args.runs}
    session = Session(store, inventory, catalogue, overrides, full=args.full, show=progress)
    ceilings = ceiling_tasks(catalogue, scenario, args.generator)
    session.check_tasks(*ceilings, *tasks)
    parts: dict[str, Sequence[Record]] = {}

    def part(name: str, overrides: dict[str, Any], tasks: Sequence[Task]) -> None:
        print(f"generators: {name}", file=sys.stderr, flush=True)
        session.overrides = {"rounds": args.runs, **overrides}
        parts[name], errors = measured(session, tasks)
        for error in errors:
            print(f"leaselab: {error}", file=sys.stderr, flush=True)

    try:
        with session.leased("dev bench generators"):
            part("ceiling", {}, ceilings)
            part("max_rate", {"name": MAX_RATE, "confirm_s": 0}, tasks)
            rates = [record.figure.value or 0.0 for record in parts["max_rate"]]
            if len(rates) == len(tasks):
                load = {"rate": max(1, round(SHARE * min(rates))), "duration_s": LOAD_S}
                part("latency", {"name": "fixed-load", **load}, tasks)
    finally:
        document = _document(args.generator, parts)
        if args.json:
            options.print_json(document)
        else:
            sys.stdout.writelines(table(document["rows"]))
            sys.stdout.writelines(_words(document))
        report_after(store)
    return Outcome.OK


def _document(generators: Sequence[str], parts: dict[str, Sequence[Record]]) -> dict[str, Any]:
    """All figures, and the first generator's over the second's (ratios, null without both)."""

    def ratio(part: str, metric: str = "") -> float | None:
        by_name = {record.generator.name: record for record in parts.get(part, ())}
        values = [
            _value(by_name[name], metric) if name in by_name else None for name in generators
        ]
        first, second = values
        return first / second if first is not None and second else None

    return {
        "benchmark": "generators",
        "generators": list(generators),
        "ceiling_ratio": ratio("ceiling"),
        "agreement": {"max_rate": ratio("max_rate"), "p50_s": ratio("latency", "p50_s")},
        "wall_ratio": ratio("max_rate", "wall_s"),
        "rows": rows_of([record for records in parts.values() for record in records]),
    }


def _value(record: Record, metric: str) -> float | None:
    """A metric of a result, the time that it took, or what it is about (no `metric`)."""
    if metric == "wall_s":
        return record.wall_s
    values = {kind.name: kind.value for kind in record.figures}
    return values[metric] if metric else record.figure.value


def _words(document: dict[str, Any]) -> list[str]:
    """The ratios in words, a line each."""
    first, second = document["generators"]
    agreement = document["agreement"]
    ratios = {
        "ceiling": document["ceiling_ratio"],
        "max rate of the server": agreement["max_rate"],
        "median latency at half of that": agreement["p50_s"],
        "seconds of the sweep": document["wall_ratio"],
    }
    return [
        f"{name}: {first} over {second} {'-' if value is None else f'{value:.3f}'}\n"
        for name, value in ratios.items()
    ]


def add_truth(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "scenario",
        nargs="*",
        default=[SCENARIOS],
        metavar="SCENARIO|PATTERN",
        help="scenarios of the responder, such as 'responder-v4-*' (default: all whose true "
        "figures can be computed from their settings)",
    )
    _add_common(parser)
    parser.add_argument(
        "--generator",
        metavar="NAME[,NAME…]",
        type=lambda text: text.split(","),
        help=f"what makes the load, each in turn (default: {', '.join(OF_DHCP)}; of DNS "
        f"{', '.join(OF_DNS)})",
    )
    options.add_markdown(parser, "write the table as a document")


def truth(args: argparse.Namespace) -> Outcome:
    """Measure each scenario with each generator, archive it, and set it beside the truth.

    A generator that this bench cannot run is left out of the rest, and its rows say why.  The
    outcome is a regression where a figure of the project's own generator is too far off.
    """
    options.stdout_is_taken(args)  # several documents are refused
    store, inventory = options.open_store(args), inventory_of(args)
    catalogue, overrides = Catalogue.here(), {"rounds": args.runs}
    session = Session(store, inventory, catalogue, overrides, full=args.full, show=progress)
    chosen = _chosen(args.scenario, args.generator, session)
    rows: list[Judged] = []
    missing: dict[str, str] = {}
    try:
        with session.leased("dev bench truth"):
            for task, truth in chosen:
                rows += _rows(session, task, truth, missing)
    finally:
        kept = all(row.within for row in rows if row.generator == OWN_GENERATOR)
        document = truth_document(rows, kept=kept)
        options.show(args, document, lambda: print_truth(rows) if rows else None)
        if args.markdown and rows:
            options.write_output(args.markdown, truth_markdown(rows, args.runs).encode())
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
    for scenario in session.catalogue.match(patterns):
        for name in OF_DNS if is_dns(scenario) else OF_DHCP:
            if generators is None or name in generators:
                task = Task(measured_by(scenario, name))
                procedure = session.procedure(task)
                truth = truth_of(task.scenario, procedure)
                if truth is not None and _can_measure(task.scenario, procedure):
                    chosen.append((task, truth))
    if not chosen:
        raise usage_error(
            "no true value is known for that",
            found=" ".join([*patterns, *(generators or ())]),
            wanted=f"scenarios {SCENARIOS} with a capacity, and generators of their protocol",
            todo=f"see what there is: leaselab list --scenarios '{SCENARIOS}'",
        )
    return chosen


def _can_measure(scenario: Scenario, procedure: AnyProcedure) -> bool:
    """Whether a scenario's generator has the procedure; flame has no fixed load.

    Raises a usage error where that is the project's own.
    """
    try:
        check_fits(scenario, procedure)
    except LeaselabError:
        if scenario.generator == OWN_GENERATOR:
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
            if generator == OWN_GENERATOR:
                raise
            missing[generator] = error.what
        return not_measured(truth, task.scenario, error.what)
    return judge(truth, session.store.load(str(places[-1])))
