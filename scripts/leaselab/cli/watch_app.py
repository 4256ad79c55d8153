"""The terminal view of ``leaselab watch``."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, ClassVar

from textual.app import App
from textual.binding import Binding
from textual.containers import Horizontal, VerticalScroll
from textual.widgets import Footer, Label, Sparkline, Static

from leaselab.model.text import printable
from leaselab.report.live import figure_words

if TYPE_CHECKING:
    from textual.app import ComposeResult

    from leaselab.cli.followed import Source

_SHOWN = 120
"""Newest points of a line."""


class WatchApp(App[None]):
    """Facts above, a line for each figure below; ends with the sweep."""

    CSS = """
    #title { text-style: bold; padding: 0 1; }
    #facts { padding: 0 1; height: auto; }
    .line { height: 3; padding: 0 1; }
    .line Label { width: 21; }
    .line .now { width: 10; text-align: right; padding-right: 1; text-style: bold; }
    .line .range { width: 18; padding-left: 1; color: $text-muted; }
    Sparkline { width: 1fr; height: 2; }
    """
    BINDINGS: ClassVar = [Binding("q", "quit", "Leave; the sweep goes on")]

    def __init__(self, source: Source) -> None:
        """`source` is asked once a second."""
        super().__init__()
        self._source = source

    def compose(self) -> ComposeResult:
        """Title, facts, lines and the keys."""
        yield Static(id="title", markup=False)
        yield Static(id="facts", markup=False)
        yield VerticalScroll(id="lines")
        yield Footer()

    async def on_mount(self) -> None:
        """Show it now, and each second."""
        await self.tick()
        self.set_interval(1.0, self.tick)

    async def tick(self) -> None:
        """Show what is new; leave when the sweep runs no more."""
        if not self._source.refresh():
            self.exit()
            return
        view = self._source.view
        self.query_one("#title", Static).update(printable(view.title))
        facts = view.facts(datetime.now(UTC))
        width = max(map(len, facts))
        text = "\n".join(
            f"{label:{width}}  {printable(words)}" for label, words in facts.items()
        )
        self.query_one("#facts", Static).update(text)
        for name, line in view.series().items():
            await self._show(name, [value for _, value in line[-_SHOWN:]])

    async def _show(self, name: str, values: list[float]) -> None:
        place = f"line-{''.join(letter for letter in name if letter.isalnum())}"
        found = self.query(f"#{place}")
        if not found:
            row = Horizontal(
                Label(printable(name), markup=False),
                Label(classes="now", markup=False),
                Sparkline(values),
                Label(classes="range", markup=False),
                id=place,
                classes="line",
            )
            await self.query_one("#lines").mount(row)
        row_ = self.query_one(f"#{place}")
        row_.query_one(Sparkline).data = values
        row_.query_one(".now", Label).update(figure_words(values[-1]))
        row_.query_one(".range", Label).update(
            f"{figure_words(min(values))} to {figure_words(max(values))}"
        )
