"""``leaselab dev bench generators``: what two generators can do, and whether they agree."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import Any

from leaselab.cli.bench_options import add_full, add_inventory, check, inventory_of
from leaselab.cli.options import add_json, add_results, open_store, print_json, whole
from leaselab.cli.progress import progress
from leaselab.cli.report import report_after
from leaselab.lab.catalog import find_scenario, measured_by
from leaselab.lab.checkout import checkout_root
from leaselab.lab.roles import OWN_GENERATOR
from leaselab.model.errors import Outcome, usage_error
from leaselab.model.record import Record
from leaselab.report.truth import rows_of, table
from leaselab.run.ceilings import RUNS, Measured, ceiling_tasks, measured
from leaselab.run.session import Session
from leaselab.run.task import Task

NAME = "dev bench generators"
DEFAULT_SCENARIO = "v4-memfile"
PAIR = f"{OWN_GENERATOR},perfdhcp"
SHARE = 0.5
"""Share of the lower max rate at which the latencies are compared."""
LOAD_S = 20
"""Traffic of a trial at that load (s)."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``dev bench generators``."""
    parser.add_argument(
        "scenario",
        nargs="?",
        default=DEFAULT_SCENARIO,
        help=f"the server that both load (default: {DEFAULT_SCENARIO})",
    )
    add_inventory(parser)
    add_full(parser)
    parser.add_argument(
        "--generator",
        metavar="NAME,NAME",
        type=lambda text: text.split(","),
        default=PAIR.split(","),
        help=f"the two, the one that is judged first (default: {PAIR})",
    )
    parser.add_argument(
        "--runs",
        metavar="N",
        type=whole(1, 1000),
        default=RUNS,
        help=f"number of runs (default: {RUNS})",
    )
    add_results(parser)
    add_json(parser)


def run(args: argparse.Namespace) -> Outcome:
    """Measure ceilings, max rates and latencies of both, in turn round by round; archive all.

    Where a part has no figure its ratio is null, and the reason is printed.
    """
    if len(set(args.generator)) != 2:
        raise usage_error(
            "not two generators", found=",".join(args.generator), wanted="such as " + PAIR
        )
    store, inventory = open_store(args), inventory_of(args)
    scenario = find_scenario(checkout_root() / "scenarios", args.scenario)
    tasks = [Task(measured_by(scenario, name)) for name in args.generator]
    session = Session(store, inventory, {"rounds": args.runs}, full=args.full, show=progress)
    ceilings = ceiling_tasks(scenario, args.generator)
    for task in [*ceilings, *tasks]:
        check(task.scenario, session.procedure(task), inventory)
    parts: dict[str, Sequence[Record]] = {}

    def part(name: str, overrides: dict[str, Any], tasks: Sequence[Task]) -> None:
        print(f"generators: {name}", file=sys.stderr, flush=True)
        session.overrides = {"rounds": args.runs, **overrides}
        parts[name] = _with_figures(measured(session, tasks))

    try:
        with session.leased(NAME):
            part("ceiling", {}, ceilings)
            part("max_rate", {"name": "max-rate", "confirm_s": 0}, tasks)
            rates = [record.figure.value or 0.0 for record in parts["max_rate"]]
            if len(rates) == len(tasks):
                load = {"rate": max(1, round(SHARE * min(rates))), "duration_s": LOAD_S}
                part("latency", {"name": "fixed-load", **load}, tasks)
    finally:
        document = _document(args.generator, parts)
        if args.json:
            print_json(document)
        else:
            sys.stdout.writelines(table(document["rows"]))
            sys.stdout.writelines(_words(document))
        report_after(store)
    return Outcome.OK


def _with_figures(ceilings: Measured) -> Sequence[Record]:
    """Return the results that have a figure; say why others have none."""
    for error in ceilings.errors:
        print(f"leaselab: {error}", file=sys.stderr, flush=True)
    return ceilings.records


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
    values = {kind.name: kind.value for kind in record.metrics}
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
