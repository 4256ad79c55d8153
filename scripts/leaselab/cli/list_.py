"""``leaselab list``: the results, newest first."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from leaselab.cli.options import (
    add_json,
    add_results,
    check_patterns,
    open_store,
    print_json,
    whole,
)
from leaselab.model.errors import Outcome
from leaselab.report.listing import listing

if TYPE_CHECKING:
    import argparse

    from leaselab.archive.store import Store

NAME = "list"
HELP = "List the results, newest first."
_SHOWN = 20


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``list``."""
    parser.add_argument("--scenario", metavar="GLOB", help="only these, such as 'v4-*'")
    parser.add_argument(
        "--outcome",
        choices=[outcome.label for outcome in Outcome],
        help="only those that ended so",
    )
    parser.add_argument(
        "--limit",
        metavar="N",
        type=whole(0, 1_000_000),
        help=f"at most N, 0 for all (default: {_SHOWN}; all with --json)",
    )
    add_results(parser)
    add_json(parser)


def run(args: argparse.Namespace) -> Outcome:
    """Print the index as a table, or as a JSON array."""
    limit = args.limit if args.limit is not None else (0 if args.json else _SHOWN)
    store = open_store(args, existing=True)
    check_patterns(store, [args.scenario] if args.scenario else [])
    rows = store.index.rows(
        scenario=args.scenario, outcome=args.outcome, limit=limit + 1 if limit else None
    )
    shown = rows[:limit] if limit else rows
    if args.json:
        print_json(shown)
        return Outcome.OK
    for line in listing(shown):
        print(line)
    if len(rows) > len(shown):
        print(f"leaselab: the newest {limit} are shown; --limit 0 shows all", file=sys.stderr)
    _say_unfinished(store)
    return Outcome.OK


def _say_unfinished(store: Store) -> None:
    for sweep in store.running():
        state = "running" if sweep.active else f"unfinished: `leaselab resume {sweep.id}`"
        print(f"leaselab: {sweep.id} is {state}", file=sys.stderr)
