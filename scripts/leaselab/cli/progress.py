"""Progress display of a running sweep: live on a terminal, lines in a pipe."""

from __future__ import annotations

import math
import statistics
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, TextIO

from rich.console import Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from leaselab.cli.terminal import guarded_streams
from leaselab.model.bench import Bench
from leaselab.model.procedure import MetricKind, Procedure
from leaselab.model.procedures.max_rate import MaxRate
from leaselab.model.record import Round
from leaselab.model.trial import Load, Trial
from leaselab.report.console import Console
from leaselab.report.listing import span
from leaselab.report.live import CONFIRMING, estimate_words, trial_words

if TYPE_CHECKING:
    from leaselab.measure.ports import Listener

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
    """A small table, redrawn twice a second."""

    def __init__(self, bench: Bench) -> None:
        self._bench = bench
        self._phase = "connecting"
        self._trial_phase = "measuring"
        self._run = 0
        self._load: Load | None = None
        self._procedure = bench.procedure
        self._kind = _first(bench)
        self._since = time.monotonic()
        self._last = ""
        self._found: list[float] = []
        self._run_began = time.monotonic()
        self._run_times: list[float] = []
        self._confirming_since: float | None = None
        self._bracket = ClosingBracket(bench.procedure)

    def phase(self, text: str) -> None:
        """Show what begins."""
        self._phase, self._load = text, None
        if text == CONFIRMING:
            self._trial_phase, self._confirming_since = text, time.monotonic()

    def round_started(self, index: int) -> None:
        """Show which run it is."""
        self._run, self._run_began = index, time.monotonic()
        self._bracket = ClosingBracket(self._procedure)

    def trial_started(self, load: Load) -> None:
        """Show the trial's offered load and how far it is."""
        self._phase, self._load, self._since = self._trial_phase, load, time.monotonic()

    def trial_done(self, trial: Trial, *, replayed: bool) -> None:
        """Show the result of the trial."""
        known = ", from the journal" if replayed else ""
        self._last = trial_words(trial, self._procedure) + known
        self._bracket.narrow(trial)
        self._load = None

    def round_done(self, done: Round) -> None:
        """Take it into the estimate."""
        if done.index == self._run:
            self._run_times.append(time.monotonic() - self._run_began)
        value = done.metrics.get(self._kind.name)
        if value is not None:
            self._found.append(value)

    def __rich__(self) -> Group:
        """Draw it; rich calls this for each refresh."""
        bench = self._bench
        title = Text(f"{bench.scenario.name} on {bench.name}", style="bold")
        title.append(f"  {bench.server.name} {bench.server.version}", style="not bold")
        table = Table.grid(padding=(0, 2))
        table.add_row("phase", self._phase)
        table.add_row("run", f"{self._run} of {self._procedure.rounds}" if self._run else "")
        if self._load is not None:
            table.add_row("trial", self._trial(self._load))
        table.add_row("last trial", self._last)
        if self._bracket.closes:
            table.add_row("bracket", self._bracket)
        table.add_row("estimate so far", self.estimate())
        table.add_row("time left", self.time_left())
        return Group(title, table)

    def _trial(self, load: Load) -> Table:
        length = load.duration_s + self._procedure.wait_s
        row = Table.grid(padding=(0, 1))
        row.add_row(
            load.words,
            ProgressBar(total=length, completed=time.monotonic() - self._since, width=20),
        )
        return row

    def estimate(self) -> str:
        """The figure so far, and the range of the finished runs."""
        return estimate_words(self._found, self._kind, self._procedure.trim)

    def time_left(self) -> str:
        """Expected time to the end, from the runs after the first, which is the longest."""
        if not self._run_times:
            return "known after this run"
        confirming = self._procedure.confirming_s
        if self._confirming_since is not None:
            left = confirming - (time.monotonic() - self._confirming_since)
            return f"about {span(max(left, 0.0))}"
        typical = statistics.fmean(self._run_times[1:] or self._run_times)
        left = (self._procedure.rounds - len(self._found)) * typical + confirming
        if len(self._found) < self._run:
            spent = time.monotonic() - self._run_began
            if spent > typical:
                rest = f", then about {span(left - typical)}" if left > typical else ""
                return f"this run takes longer than most{rest}"
            left -= spent
        return f"about {span(left)}"


class ClosingBracket:
    """Between which loads the max rate of a run is, and how near that is to the goal."""

    def __init__(self, procedure: Procedure) -> None:
        self._procedure = procedure
        self._lower, self._upper = 0, 0
        self._widest = 0.0

    @property
    def closes(self) -> bool:
        """Whether both ends are known, of a procedure that narrows them."""
        return isinstance(self._procedure, MaxRate) and 0 < self._lower < self._upper

    def narrow(self, trial: Trial) -> None:
        """Take a trial into account."""
        if not trial.valid or self._procedure.loss_goal is None:
            return
        if self._procedure.passes(trial):
            self._lower = max(self._lower, trial.rate)
        else:
            self._upper = min(self._upper or trial.rate, trial.rate)
        if self.closes:
            self._widest = max(self._widest, self._width)

    @property
    def _width(self) -> float:
        return self._upper / self._lower - 1

    def __rich__(self) -> Table:
        """Draw a bar that is full when the bracket is as narrow as the goal."""
        goal = self._procedure.relative_width if isinstance(self._procedure, MaxRate) else 0.0
        whole = math.log(self._widest / goal) if self._widest > goal > 0 else 1.0
        done = math.log(self._widest / self._width) if self._widest > goal > 0 else 1.0
        words = f"{self._lower} to {self._upper}/s, {100 * self._width:.1f} %"
        row = Table.grid(padding=(0, 1))
        row.add_row(words, ProgressBar(total=whole, completed=min(done, whole), width=20))
        return row


def _first(bench: Bench) -> MetricKind:
    """The metric that the bench's procedure is about."""
    return bench.procedure.metrics(bench.scenario.transaction.plural)[0]
