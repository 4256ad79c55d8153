"""``leaselab resume``: go on with a sweep that was interrupted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leaselab.cli.measuring import finish
from leaselab.cli.options import add_json, add_results, open_store
from leaselab.cli.outcome import tell
from leaselab.cli.report import report_after

if TYPE_CHECKING:
    import argparse

    from leaselab.model.errors import Outcome

NAME = "resume"
HELP = "go on with a sweep that was interrupted; its finished trials are kept"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument("ref", nargs="?", default="last", metavar="ID|last")
    add_results(parser)
    add_json(parser)


def run(args: argparse.Namespace) -> Outcome:
    """Measure what is left, seal, show."""
    store = open_store(args, existing=True)
    error, place = finish(store, store.open_running(args.ref))
    report_after(store)
    return tell(store, error, place, as_json=args.json)
