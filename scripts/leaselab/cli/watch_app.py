"""The terminal view of ``leaselab watch``."""

from __future__ import annotations

import os
import select
import sys
import termios
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

from leaselab.cli.followed import Source
from leaselab.model.text import printable
from leaselab.report.console import Console
from leaselab.report.live import LiveView, figure_words

EVERY_S = 1.0
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


def follow(source: Source) -> None:
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
