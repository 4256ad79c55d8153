"""Progress display of a running sweep: live on a terminal, lines in a pipe."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import TextIO

from rich.console import Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from leaselab.cli.terminal import guarded_streams
from leaselab.measure.ports import Listener
from leaselab.model import journal
from leaselab.model.bench import Bench
from leaselab.model.moment import timestamp
from leaselab.model.procedure import MetricKind
from leaselab.model.record import Round
from leaselab.report.console import Console
from leaselab.report.live import LiveView, estimate_words, trial_words
from leaselab.report.turns import Turns
from leaselab.report.width import is_screen

REFRESHES_PER_S = 2
"""Low, as in the local lab the measured machine also draws the terminal."""


_in_turns: list[TurnsProgress] = []
"""The display that is on the screen, of points that take turns; empty without one."""


@contextmanager
def progress(bench: Bench, name: str = "", stream: TextIO | None = None) -> Iterator[Listener]:
    """Return a listener that suits the stream: live on a terminal, else plain lines.

    Points of an experiment, each with a `name`, take turns, and share one display.
    """
    stream = stream or sys.stderr
    if not is_screen(stream):
        yield PlainProgress(bench, stream, name)
        return
    if name and _in_turns:
        yield _in_turns[0].add(bench, name)
        return
    view = TurnsProgress() if name else LiveProgress(bench)
    listener = view if isinstance(view, LiveProgress) else view.add(bench, name)
    console = Console(file=stream)
    live = Live(view, console=console, refresh_per_second=REFRESHES_PER_S, transient=True)
    # What is printed meanwhile goes through rich, which would show the codes in it.
    with live, guarded_streams():
        _in_turns.extend([view] if isinstance(view, TurnsProgress) else [])
        try:
            yield listener
        finally:
            _in_turns.clear()


class PlainProgress:
    """One line for each thing that happens."""

    def __init__(self, bench: Bench, stream: TextIO, name: str = "") -> None:
        self._procedure = bench.procedure
        self._kind = _first(bench)
        self._stream = stream
        self._name = f"{name}: " if name else ""
        self._run = 0

    def __call__(
        self, entry: journal.AnyEntry | journal.LiveEntry, *, replayed: bool = False
    ) -> None:
        """Print what begins or has ended; the beginning of a trial has no line."""
        match entry:
            case journal.Phase():
                self._line(entry.text)
            case journal.RunBegun():
                self._run = entry.index
            case journal.TrialMade() | journal.Confirming():
                known = " (from the journal)" if replayed else ""
                self._line(f"{trial_words(entry.trial, self._procedure)}{known}")
            case journal.RoundDone():
                self._done(entry.round)

    def _done(self, done: Round) -> None:
        """Print the figures of the run."""
        self._run = done.index
        bracket = done.bracket
        proof = f", bracket {bracket.lower:.0f} to {bracket.upper:.0f}/s" if bracket else ""
        value = done.metrics.get(self._kind.name)
        figure = "-" if value is None else estimate_words([value], self._kind)
        if self._procedure.counts_alone:
            self._line(figure)
        else:
            trials = f"{len(done.trials)} trial{'s' * (len(done.trials) > 1)}"
            self._line(f"{self._kind.title} {figure}{proof}, {trials}")
        self._run = 0  # the phase after the last run is not a run

    def _line(self, text: str) -> None:
        prefix = f"run {self._run}/{self._procedure.rounds}: " if self._run else ""
        print(self._name + prefix + text, file=self._stream, flush=True)


class LiveProgress:
    """A small table, redrawn twice a second: the facts of a view, with two bars."""

    def __init__(self, bench: Bench) -> None:
        self._bench = bench
        self.view = LiveView(bench.name)
        self.view.begin(bench)
        self.view.phase = "connecting"

    def __call__(
        self, entry: journal.AnyEntry | journal.LiveEntry, *, replayed: bool = False
    ) -> None:
        """Take it into the view."""
        at = timestamp(now())
        match entry:
            case journal.RunBegun():
                self.view.journaled(journal.RoundBegun(index=entry.index, started_at=at))
            case journal.Phase() | journal.TrialBegun():
                self.view.happened(at, entry)
            case journal.TrialMade() | journal.Confirming():
                self.view.journaled(entry)
                self.view.last += ", from the journal" if replayed else ""
                self.view.happened(at, journal.TrialEnded(rate=entry.trial.rate))
            case journal.RoundDone():
                self.view.journaled(entry)

    def __rich__(self) -> Group:
        """Draw it; rich calls this for each refresh."""
        bench, view, at = self._bench, self.view, now()
        title = Text(f"{bench.scenario.name} on {bench.name}", style="bold")
        title.append(f"  {bench.server.name} {bench.server.version}", style="not bold")
        bars = {"bracket": ProgressBar(total=1.0, completed=view.closed, width=20)}
        return Group(title, _grid(view, view.facts(at), bars, at))


class TurnsProgress:
    """The same of points that take turns: where they stand, and what is measured now."""

    def __init__(self) -> None:
        self._turns = Turns()
        self._points: dict[str, LiveProgress] = {}

    def add(self, bench: Bench, name: str) -> Listener:
        """Add a point; what its listener gets is shown."""
        self._turns.add(name, bench)
        self._points[name] = point = LiveProgress(bench)

        def listen(
            entry: journal.AnyEntry | journal.LiveEntry, *, replayed: bool = False
        ) -> None:
            self._turns.take(name, entry, now(), old=replayed)
            point(entry, replayed=replayed)

        return listen

    def __rich__(self) -> Group:
        """Draw it; rich calls this for each refresh."""
        turns, at = self._turns, now()
        name = turns.now or next(iter(self._points))
        view = self._points[name].view
        facts = {**turns.estimates(), "now": f"{name}: {view.phase}"}
        if view.load is not None:
            facts["trial"] = view.load.words
        if view.last:
            facts["last trial"] = view.last
        return Group(Text(turns.line(at), style="bold"), _grid(view, facts, {}, at))


def _grid(
    view: LiveView, facts: Mapping[str, str], bars: Mapping[str, ProgressBar], at: datetime
) -> Table:
    """The facts, with bars beside some of them."""
    if view.load is not None:
        length = view.load.duration_s + view.procedure.wait_s
        done = ProgressBar(total=length, completed=view.trial_s(at), width=20)
        bars = {**bars, "trial": done}
    table = Table.grid(padding=(0, 2))
    for label, words in facts.items():
        row = Table.grid(padding=(0, 1))
        row.add_row(words, bars.get(label))
        table.add_row(label, row if label in bars else words)
    return table


def now() -> datetime:
    """The present moment."""
    return datetime.now(UTC)


def _first(bench: Bench) -> MetricKind:
    """The metric that the bench's procedure is about."""
    return bench.procedure.metrics(bench.scenario.transaction.plural)[0]
