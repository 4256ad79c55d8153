"""``leaselab list``: results newest first, the newest side by side, or scenarios."""

from __future__ import annotations

import argparse
import sys
from fnmatch import fnmatchcase

from leaselab.analysis.comparison.matrix import cell_of
from leaselab.archive.store import Store, newest_of
from leaselab.cli import options
from leaselab.cli.procedure_options import add_generator
from leaselab.model.errors import Outcome
from leaselab.report.listing import SPARE, listing
from leaselab.report.matrix import document, print_table
from leaselab.report.width import write_table

_SHOWN = 20


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "pattern",
        nargs="*",
        metavar="PATTERN",
        help="scenarios, such as v4-memfile or 'v4-*' (default: all)",
    )
    form = parser.add_mutually_exclusive_group()
    form.add_argument(
        "--table",
        action="store_true",
        help="the newest result of each scenario, side by side by the scenario's factors",
    )
    form.add_argument(
        "--scenarios", action="store_true", help="list scenarios instead of results"
    )
    parser.add_argument(
        "--server", metavar="NAME", help="with --scenarios: those of this server, such as kea"
    )
    parser.add_argument("--bench", metavar="NAME", help="only results of this bench")
    parser.add_argument(
        "--outcome",
        choices=[outcome.label for outcome in Outcome],
        help="only results with this outcome",
    )
    parser.add_argument(
        "--limit",
        metavar="N",
        type=options.whole(0, 1_000_000),
        default=_SHOWN,
        help=f"at most N results, 0 for all (default: {_SHOWN}; all with --json)",
    )
    add_generator(parser)
    options.add_results(parser)
    options.add_json(parser)


def run(args: argparse.Namespace) -> Outcome:
    """Print what was asked for."""
    options.only_with(args, "--scenarios", "--generator", "--server")
    if args.scenarios:
        options.without_effect(
            args, "a list of results", "--bench", "--outcome", "--limit", "--results"
        )
        from leaselab.cli.scenarios import print_scenarios  # noqa: PLC0415  # when asked for

        print_scenarios(args.pattern, args.generator, args.server, as_json=args.json)
        return Outcome.OK
    store = options.open_store(args, existing=True)
    options.check_patterns(store, args.pattern)
    if args.table:
        options.without_effect(args, "a list of results", "--outcome", "--limit")
        return _table(args, store)
    return _results(args, store)


def _table(args: argparse.Namespace, store: Store) -> Outcome:
    newest = newest_of(store.index, args.pattern or ["*"], args.bench)
    records = [*store.load_readable(newest)]
    if args.json:
        options.print_json(document([cell_of(record) for record in records]))
    else:
        print_table(records)
    return Outcome.OK


def _results(args: argparse.Namespace, store: Store) -> Outcome:
    """Print the index as a table, or as a JSON array."""
    limit = 0 if args.json and "--limit" not in args.given else args.limit
    several = len(args.pattern) > 1
    rows = store.index.rows(
        scenario=args.pattern[0] if args.pattern and not several else None,
        outcome=args.outcome,
        bench=args.bench,
        limit=limit + 1 if limit and not several else None,
    )
    if several:
        rows = [
            row
            for row in rows
            if any(fnmatchcase(row["scenario"] or "", pattern) for pattern in args.pattern)
        ]
    shown = rows[:limit] if limit else rows
    if args.json:
        options.print_json(shown)
        return Outcome.OK
    if shown:
        headings, body = listing(shown)
        write_table(sys.stdout, headings, body, len(headings) - 1, SPARE)
    else:
        filtered = args.pattern or args.bench or args.outcome
        print("none of these" if filtered else "none yet: `./leaselab run` makes one")
    if len(rows) > len(shown):
        print(f"leaselab: the newest {limit} are shown; --limit 0 shows all", file=sys.stderr)
    _say_unfinished(store)
    return Outcome.OK


def _say_unfinished(store: Store) -> None:
    for sweep in store.running():
        state = "running" if sweep.active else f"unfinished: `leaselab resume {sweep.id}`"
        print(f"leaselab: {sweep.id} is {state}", file=sys.stderr)
