"""``leaselab show``: one result, for people or as its JSON document."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leaselab.archive.schema import document_of
from leaselab.cli.options import add_json, add_results, open_store, print_json
from leaselab.model.errors import Outcome

if TYPE_CHECKING:
    import argparse

NAME = "show"
HELP = "Show one result, after checking it against its checksum."


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``show``."""
    parser.add_argument(
        "ref",
        metavar="ID|PATH|last",
        nargs="?",
        default="last",
        help="id or its unique start, path of a result, last, last~1 ... (default: last)",
    )
    parser.add_argument("--all", action="store_true", help="show latency and provenance, too")
    add_results(parser)
    add_json(parser)


def run(args: argparse.Namespace) -> Outcome:
    """Print the result.

    The outcome is that of showing it: an invalid sweep that is shown well
    ends with 0.
    """
    store = open_store(args, existing=True)
    record = store.load(args.ref)
    if args.json:
        print_json(document_of(record))
    else:
        from leaselab.report.text import print_result  # noqa: PLC0415  # rich; --json needs none

        print_result(record, store.find(args.ref), whole=args.all)
    return Outcome.OK
