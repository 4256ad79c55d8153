"""``leaselab resume``: resume an interrupted sweep."""

from __future__ import annotations

import argparse

from leaselab.cli.options import add_json, add_recover, add_results, open_store
from leaselab.cli.outcome import show_measured
from leaselab.cli.policy import add_policy, policy_source
from leaselab.cli.progress import progress
from leaselab.cli.report import report_after
from leaselab.model.errors import Outcome
from leaselab.run.resumption import resume


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "ref",
        nargs="?",
        default="last",
        metavar="ID|last",
        help="id of an unfinished sweep, or its unique start (default: the last one)",
    )
    add_policy(parser, "a duel is judged without rules")
    add_recover(parser)
    add_results(parser)
    add_json(parser)


def run(args: argparse.Namespace) -> Outcome:
    """Measure the rest, seal, show; with ``--recover``, dead hosts are power-cycled first.

    Every unfinished point of an experiment is resumed; the outcome is that of the first that is
    not ok, of a duel that of its verdict.
    """
    store = open_store(args, existing=True)
    source = policy_source(args.policy, None)
    ended = resume(store, args.ref, progress, recovers=args.recover)
    report_after(store)
    return show_measured(store, *ended, as_json=args.json, source=source)
