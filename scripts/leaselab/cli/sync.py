"""``leaselab sync``: results of other archives."""

from __future__ import annotations

import argparse
import sys
from dataclasses import asdict

from leaselab.archive.sync import sync
from leaselab.cli.options import add_json, add_results, open_store, print_answer
from leaselab.model.errors import Outcome


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "source", metavar="FOLDER|HOST:FOLDER", help="folder of results, as rsync names it"
    )
    add_results(parser)
    add_json(parser)


def run(args: argparse.Namespace) -> Outcome:
    """Copy them, and report each that does not match its checksums."""
    done = sync(open_store(args), args.source)
    for error in done.refused.values():
        print(f"leaselab: {error}", file=sys.stderr)
    words = f"{len(done.copied)} results copied, {done.present} were here already"
    if done.refused:
        words += f", {len(done.refused)} are damaged and were left out"
    print_answer(args, asdict(done), words)
    return Outcome.INVALID if done.refused else Outcome.OK
