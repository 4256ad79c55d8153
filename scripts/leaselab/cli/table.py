"""``leaselab table``: the newest results of several scenarios, side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leaselab.analysis.matrix import cell_of
from leaselab.archive.store import newest_of
from leaselab.cli.options import (
    add_json,
    add_results,
    check_patterns,
    open_store,
    print_json,
)
from leaselab.model.errors import Outcome, usage_error
from leaselab.report.matrix import document, print_table

if TYPE_CHECKING:
    import argparse

NAME = "table"
HELP = "Show the newest result of each scenario as a table."


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``table``."""
    parser.add_argument(
        "pattern",
        nargs="*",
        default=["*"],
        metavar="PATTERN",
        help="scenarios, such as v4-memfile or 'v4-*' (default: all)",
    )
    parser.add_argument("--bench", metavar="NAME", help="only results of this bench")
    parser.add_argument("--markdown", action="store_true", help="print it as Markdown")
    add_results(parser)
    add_json(parser)


def run(args: argparse.Namespace) -> Outcome:
    """Print the table."""
    if args.json and args.markdown:
        raise usage_error("--json and --markdown exclude each other", where="table")
    store = open_store(args, existing=True)
    check_patterns(store, args.pattern)
    newest = newest_of(store.index, args.pattern, args.bench)
    records = [*store.load_readable(newest)]
    if args.json:
        print_json(document([cell_of(record) for record in records]))
    else:
        print_table(records, markdown=args.markdown)
    return Outcome.OK
