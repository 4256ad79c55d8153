"""``leaselab watch``: a sweep second by second while it runs, or the build before it."""

from __future__ import annotations

import argparse
import sys
import time
from datetime import UTC, datetime

from leaselab.cli.followed import Source, find_source
from leaselab.cli.options import add_json, add_results, only_with, open_store, print_json, whole
from leaselab.model.errors import Outcome
from leaselab.report.live import figure_words

EVERY_S = 1.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``watch``."""
    parser.add_argument(
        "ref",
        metavar="ID",
        nargs="?",
        help="a running sweep (default: the newest; without one, the build under way)",
    )
    form = parser.add_mutually_exclusive_group()
    form.add_argument(
        "--html",
        action="store_true",
        help="serve a live page on this machine's loopback address, until the sweep ends",
    )
    parser.add_argument(
        "--port",
        type=whole(0, 65535),
        default=0,
        help="of that page (default: one that is free)",
    )
    add_results(parser)
    add_json(form)


def run(args: argparse.Namespace) -> Outcome:
    """Show it until it ends."""
    store = open_store(args, existing=True)
    only_with(args, "--html", "--port")
    source = find_source(store, args.ref)
    if args.json:
        source.refresh()
        print_json(source.view.state(datetime.now(UTC)))
        return Outcome.OK
    if args.html:
        from leaselab.cli.watch_page import serve  # noqa: PLC0415  # draws; slow to import

        serve(source, args.port)
    elif sys.stdout.isatty():
        from leaselab.cli.watch_app import follow  # noqa: PLC0415  # slow to import

        follow(source)
    else:
        _print_lines(source)
    print(f"leaselab: {source.ending()}", file=sys.stderr)
    return Outcome.OK


def _print_lines(source: Source) -> None:
    """A line for each second and each change: for a pipe."""
    before = ""
    while source.refresh():
        now = datetime.now(UTC)
        newest = {name: line[-1][1] for name, line in source.view.series().items()}
        words = [f"{label} {text}" for label, text in source.view.facts(now).items() if text]
        figures = [f"{name} {figure_words(value)}" for name, value in newest.items()]
        line = "; ".join([*words, *figures])
        if line != before:
            print(f"{now:%H:%M:%S} {line}", flush=True)
        before = line
        time.sleep(EVERY_S)
