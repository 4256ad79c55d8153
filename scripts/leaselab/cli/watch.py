"""``leaselab watch``: a sweep second by second while it runs, or the build before it."""

from __future__ import annotations

import argparse
import os
import select
import sys
import termios
import time
import tty
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime

from rich.console import ConsoleOptions, Group, RenderableType, RenderResult
from rich.live import Live
from rich.measure import Measurement
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from leaselab.cli.followed import Source, find_source
from leaselab.cli.options import add_json, add_results, only_with, open_store, print_json, whole
from leaselab.model.errors import Outcome
from leaselab.model.text import printable
from leaselab.report.console import Console
from leaselab.report.live import LiveView, figure_words
from leaselab.report.width import is_screen

EVERY_S = 1.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
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
    elif is_screen(sys.stdout):
        _follow(source)
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


_BARS = "▁▂▃▄▅▆▇█"
_SHOWN = 120
"""Newest points of a line."""
_LEAVE = "q"


class Sparkline:
    """A line of bars, from the smallest value to the largest; the newest that have room."""

    def __init__(self, values: Sequence[float]) -> None:
        """`values` are oldest first, at least one."""
        self._values = values[-_SHOWN:]

    def __rich_measure__(self, *_: object) -> Measurement:
        """Say how wide it can be."""
        return Measurement(1, len(self._values))

    def __rich_console__(self, _: object, options: ConsoleOptions) -> RenderResult:
        """Draw it as wide as there is room."""
        shown = self._values[-options.max_width :]
        low = min(shown)
        step = (max(shown) - low) / (len(_BARS) - 1) or 1.0
        yield Segment("".join(_BARS[round((value - low) / step)] for value in shown))


def picture(view: LiveView, now: datetime) -> RenderableType:
    """Return facts above, and a line for each figure below."""
    facts = Table.grid(padding=(0, 2))
    for label, words in view.facts(now).items():
        facts.add_row(label, printable(words))
    lines = Table.grid(padding=(0, 1), expand=True)
    lines.add_column(no_wrap=True)
    lines.add_column(no_wrap=True, justify="right", style="bold")
    lines.add_column(ratio=1)
    lines.add_column(no_wrap=True, style="dim")
    for name, line in view.series().items():
        values = [value for _, value in line][-_SHOWN:]
        ends = f"{figure_words(min(values))} to {figure_words(max(values))}"
        lines.add_row(printable(name), figure_words(values[-1]), Sparkline(values), ends)
    leave = Text(f"{_LEAVE}  leave; the sweep goes on", style="dim")
    return Group(Text(printable(view.title), style="bold"), "", facts, "", lines, "", leave)


def _follow(source: Source) -> None:
    """Show it each second; return when it runs no more, or its user leaves."""
    with (
        _each_key(),
        Live(console=Console(), screen=True, auto_refresh=False) as live,
    ):
        while source.refresh():
            live.update(picture(source.view, datetime.now(UTC)), refresh=True)
            if _LEAVE in _keys_within(EVERY_S):
                return


@contextmanager
def _each_key() -> Iterator[None]:
    """Have a terminal give each key at once, and not show it."""
    if not sys.stdin.isatty():
        yield
        return
    before = termios.tcgetattr(sys.stdin)
    tty.setcbreak(sys.stdin)
    try:
        yield
    finally:
        termios.tcsetattr(sys.stdin, termios.TCSADRAIN, before)


def _keys_within(seconds: float) -> str:
    """Wait so long, or until there are keys: those of a terminal."""
    watched = [sys.stdin] if sys.stdin.isatty() else []
    ready, _, _ = select.select(watched, [], [], seconds)
    # past Python's buffer, which select() cannot see
    return os.read(sys.stdin.fileno(), 64).decode(errors="replace") if ready else ""
