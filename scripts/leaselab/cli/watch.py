"""``leaselab watch``: a sweep second by second while it runs."""

from __future__ import annotations

import sys
import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from leaselab.archive.journal import is_being_written, read_journal
from leaselab.archive.live import LiveReader
from leaselab.archive.running import JOURNAL
from leaselab.cli.options import add_json, add_results, open_store, print_json
from leaselab.model.errors import Outcome, usage_error
from leaselab.report.live import LiveView, figure_words

if TYPE_CHECKING:
    import argparse

    from leaselab.archive.running import Unfinished
    from leaselab.archive.store import Store

NAME = "watch"
HELP = "Follow a sweep second by second while it runs, in the terminal or on a local page."
EVERY_S = 1.0
_PORTS = 65535


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``watch``."""
    parser.add_argument(
        "ref", metavar="ID", nargs="?", help="a running sweep (default: the newest)"
    )
    parser.add_argument(
        "--html",
        action="store_true",
        help="serve a live page on this machine's loopback address, until the sweep ends",
    )
    parser.add_argument(
        "--port", type=int, default=0, help="of that page (default: one that is free)"
    )
    add_results(parser)
    add_json(parser)


def run(args: argparse.Namespace) -> Outcome:
    """Show it until it ends."""
    store = open_store(args, existing=True)
    if args.port and not args.html:
        raise usage_error("--port goes with --html", found=str(args.port))
    if args.json and args.html:
        raise usage_error("--json and --html exclude each other", where=NAME)
    if not 0 <= args.port <= _PORTS:
        raise usage_error("no such port", found=str(args.port), wanted=f"0 to {_PORTS}")
    source = Source(_running(store, args.ref))
    if args.json:
        source.refresh()
        print_json(source.view.state(datetime.now(UTC)))
        return Outcome.OK
    if args.html:
        from leaselab.cli.watch_page import serve  # noqa: PLC0415  # draws; slow to import

        serve(source, args.port)
    elif sys.stdout.isatty():
        from leaselab.cli.watch_app import WatchApp  # noqa: PLC0415  # textual; slow to import

        WatchApp(source).run()
    else:
        _print_lines(source)
    print(f"leaselab: {source.ending()}", file=sys.stderr)
    return Outcome.OK


class Source:
    """Where the view of one sweep comes from."""

    def __init__(self, sweep: Unfinished) -> None:
        self._sweep = sweep
        self._live = LiveReader(sweep.path)
        self._seen = 0
        self._size = -1
        self.view = LiveView(sweep.id)

    def refresh(self) -> bool:
        """Take what is new; False once the sweep runs no more."""
        journal = self._sweep.path / JOURNAL
        try:
            active = is_being_written(journal)
            size = journal.stat().st_size
            events = read_journal(journal) if size != self._size else ()
        except FileNotFoundError:  # sealed
            return False
        for event in events[self._seen :]:
            self.view.journaled(event.name, event.data)
        if events:
            self._seen, self._size = len(events), size
        for one in self._live.news():
            self.view.happened(one.at, one.name, one.data)
        return active

    def ending(self) -> str:
        """How it ended, or that it goes on, and what to do next."""
        ref = self._sweep.id
        try:
            if is_being_written(self._sweep.path / JOURNAL):
                return f"{ref} goes on"
        except FileNotFoundError:
            return f"{ref} is finished: `leaselab show {ref}`"
        return f"{ref} was interrupted: `leaselab resume {ref}`"


def _running(store: Store, ref: str | None) -> Unfinished:
    active = [sweep for sweep in store.running() if sweep.active]
    found = [sweep for sweep in active if ref is None or sweep.id.startswith(ref)]
    if not found:
        raise usage_error(
            "no sweep is running" if ref is None else f"no running sweep: {ref!r}",
            where=str(store.root),
            todo="`leaselab run` starts one; `leaselab list` says what is unfinished",
        )
    if ref is not None and len(found) > 1:
        raise usage_error(
            "more than one running sweep starts so",
            found=repr(ref),
            todo=f"one of: {', '.join(sweep.id for sweep in found)}",
        )
    return found[-1]


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
