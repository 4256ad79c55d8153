"""Progress display of a running sweep: live on a terminal, lines in a pipe."""

from __future__ import annotations

import sys
from collections.abc import Iterator
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
from leaselab.model.bench import Bench
from leaselab.model.journal import (
    Phase,
    RoundBegun,
    RoundDone,
    TrialBegun,
    TrialEnded,
    TrialMade,
)
from leaselab.model.moment import timestamp
from leaselab.model.procedure import MetricKind
from leaselab.model.record import Round
from leaselab.model.trial import Load, Trial
from leaselab.report.console import Console
from leaselab.report.live import LiveView, estimate_words, trial_words

REFRESHES_PER_S = 2
"""Low, as in the local lab the measured machine also draws the terminal."""


@contextmanager
def progress(bench: Bench, name: str = "", stream: TextIO | None = None) -> Iterator[Listener]:
    """Return a listener that suits the stream: live on a terminal, else plain lines.

    Points of an experiment, each with a `name`, take turns: they have lines.
    """
    stream = stream or sys.stderr
    if name or not stream.isatty():
        yield PlainProgress(bench, stream, name)
        return
    console = Console(file=stream)
    view = LiveProgress(bench)
    live = Live(view, console=console, refresh_per_second=REFRESHES_PER_S, transient=True)
    # What is printed meanwhile goes through rich, which would show the codes in it.
    with live, guarded_streams():
        yield view


class PlainProgress:
    """One line for each thing that happens."""

    def __init__(self, bench: Bench, stream: TextIO, name: str = "") -> None:
        self._procedure = bench.procedure
        self._kind = _first(bench)
        self._stream = stream
        self._name = f"{name}: " if name else ""
        self._run = 0

    def phase(self, text: str) -> None:
        """Print the phase that begins."""
        self._line(text)

    def round_started(self, index: int) -> None:
        """Remember which run the next lines belong to."""
        self._run = index

    def trial_started(self, load: Load) -> None:
        """Nothing: the trial's end has a line."""

    def trial_done(self, trial: Trial, *, replayed: bool) -> None:
        """Print the result of the trial."""
        known = " (from the journal)" if replayed else ""
        self._line(f"{trial_words(trial, self._procedure)}{known}")

    def round_done(self, done: Round) -> None:
        """Print the figures of the run."""
        self._run = done.index
        bracket = done.bracket
        proof = f", bracket {bracket.lower:.0f} to {bracket.upper:.0f}/s" if bracket else ""
        value = done.metrics.get(self._kind.name)
        figure = "-" if value is None else estimate_words([value], self._kind)
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

    def phase(self, text: str) -> None:
        """Show what begins."""
        self.view.happened(timestamp(now()), Phase(text=text))

    def round_started(self, index: int) -> None:
        """Show which run it is."""
        self.view.journaled(RoundBegun(index=index, started_at=timestamp(now())))

    def trial_started(self, load: Load) -> None:
        """Show the trial's offered load and how far it is."""
        self.view.happened(timestamp(now()), TrialBegun(load=load))

    def trial_done(self, trial: Trial, *, replayed: bool) -> None:
        """Show the result of the trial."""
        self.view.journaled(TrialMade(index=self.view.run, trial=trial))
        self.view.last += ", from the journal" if replayed else ""
        self.view.happened(timestamp(now()), TrialEnded(rate=trial.rate))

    def round_done(self, done: Round) -> None:
        """Take it into the estimate."""
        self.view.journaled(RoundDone(index=done.index, round=done))

    def __rich__(self) -> Group:
        """Draw it; rich calls this for each refresh."""
        bench, view, at = self._bench, self.view, now()
        title = Text(f"{bench.scenario.name} on {bench.name}", style="bold")
        title.append(f"  {bench.server.name} {bench.server.version}", style="not bold")
        bars = {"bracket": ProgressBar(total=1.0, completed=view.closed, width=20)}
        if view.load is not None:
            length = view.load.duration_s + view.procedure.wait_s
            bars["trial"] = ProgressBar(total=length, completed=view.trial_s(at), width=20)
        table = Table.grid(padding=(0, 2))
        for label, words in view.facts(at).items():
            row = Table.grid(padding=(0, 1))
            row.add_row(words, bars.get(label))
            table.add_row(label, row if label in bars else words)
        return Group(title, table)


def now() -> datetime:
    """The present moment."""
    return datetime.now(UTC)


def _first(bench: Bench) -> MetricKind:
    """The metric that the bench's procedure is about."""
    return bench.procedure.metrics(bench.scenario.transaction.plural)[0]
