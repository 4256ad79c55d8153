"""``leaselab table``: the newest results of several scenarios, side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leaselab.analysis.matrix import Cell, cell_of
from leaselab.cli.options import add_json, add_results, open_store, print_json
from leaselab.model.errors import Outcome, usage_error
from leaselab.report.matrix import document, print_matrix

if TYPE_CHECKING:
    import argparse

    from leaselab.archive.store import Store

NAME = "table"
HELP = "Show the newest result of each scenario side by side: backends by ways of running."


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
    cells = newest(open_store(args, existing=True), args.pattern, args.bench)
    if args.json:
        print_json(document(cells))
    else:
        print_matrix(cells, markdown=args.markdown)
    return Outcome.OK


def newest(store: Store, patterns: list[str], bench: str | None) -> list[Cell]:
    """The newest result of each scenario that a pattern names, on one bench or on all.

    One for each durability: a scenario that was measured with other settings
    does not replace what it usually is.  A commit whose server never ran has
    no place, nor has a result that cannot be read.  Raises a usage error for a
    pattern without a result.
    """
    found: dict[tuple[str, str], str] = {}
    for pattern in patterns:
        rows = [
            row
            for row in store.index.rows(scenario=pattern)
            if row["durability"] is not None and bench in (None, row["bench"])
        ]
        if not rows:
            raise usage_error(
                f"no results of {pattern}" + (f" on bench {bench}" if bench else ""),
                where="table",
                todo="`leaselab list` shows what there is, `leaselab run` makes more",
            )
        for row in rows:
            found.setdefault((row["scenario"], row["durability"]), row["id"])
    return [cell_of(store.load(ref)) for ref in found.values()]
