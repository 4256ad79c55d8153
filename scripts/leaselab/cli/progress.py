"""What a sweep shows while it runs: live on a terminal, lines in a pipe."""

from __future__ import annotations

import statistics
import sys
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, TextIO

from rich.console import Console, Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from leaselab.report.listing import span
from leaselab.report.live import CONFIRMING, estimate_words

if TYPE_CHECKING:
    from collections.abc import Iterator

    from leaselab.measure.ports import Listener
    from leaselab.model.bench import Bench
    from leaselab.model.trial import RunEstimate, Trial, TrialRequest

REFRESHES_PER_S = 2
"""Few: the terminal is drawn by the machine that, in the local lab, is being measured."""


@contextmanager
def progress(bench: Bench, stream: TextIO = sys.stderr) -> Iterator[Listener]:
    """Return a listener that suits the stream: live on a terminal, else plain lines."""
    if not stream.isatty():
        yield PlainProgress(bench, stream)
        return
    console = Console(file=stream)
    view = LiveProgress(bench)
    with Live(view, console=console, refresh_per_second=REFRESHES_PER_S, transient=True):
        yield view


class PlainProgress:
    """One line for each thing that happens."""

    def __init__(self, bench: Bench, stream: TextIO) -> None:
        self._goal = bench.plan.goal
        self._runs = bench.plan.runs
        self._stream = stream
        self._run = 0

    def phase(self, text: str) -> None:
        """Say what begins."""
        self._line(text)

    def run_started(self, index: int) -> None:
        """Remember which run the next lines belong to."""
        self._run = index

    def trial_started(self, request: TrialRequest) -> None:
        """Nothing: the trial's end has a line."""

    def trial_done(self, trial: Trial, *, replayed: bool) -> None:
        """Say what came of it."""
        known = " (from the journal)" if replayed else ""
        self._line(f"{describe(trial, trial.passes(self._goal))}{known}")

    def run_done(self, index: int, estimate: RunEstimate) -> None:
        """Say what the run found."""
        self._run = index
        self._line(
            f"max rate {estimate.max_rate:.0f}/s, bracket "
            f"{estimate.lower.rate} to {estimate.upper.rate}/s, {len(estimate.trials)} trials"
        )
        self._run = 0  # what follows the last run is none

    def _line(self, text: str) -> None:
        prefix = f"run {self._run}/{self._runs}: " if self._run else ""
        print(prefix + text, file=self._stream, flush=True)


class LiveProgress:
    """A small table, redrawn twice a second."""

    def __init__(self, bench: Bench) -> None:
        self._bench = bench
        self._phase = "connecting"
        self._trial_phase = "measuring"
        self._run = 0
        self._request: TrialRequest | None = None
        self._since = time.monotonic()
        self._last = ""
        self._estimates: list[RunEstimate] = []
        self._run_began = time.monotonic()
        self._run_times: list[float] = []
        self._confirming_since: float | None = None

    def phase(self, text: str) -> None:
        """Show what begins."""
        self._phase, self._request = text, None
        if text == CONFIRMING:
            self._trial_phase, self._confirming_since = text, time.monotonic()

    def run_started(self, index: int) -> None:
        """Show which run it is."""
        self._run, self._run_began = index, time.monotonic()

    def trial_started(self, request: TrialRequest) -> None:
        """Show the trial's offered load and how far it is."""
        self._phase, self._request, self._since = self._trial_phase, request, time.monotonic()

    def trial_done(self, trial: Trial, *, replayed: bool) -> None:
        """Show what came of it."""
        known = ", from the journal" if replayed else ""
        self._last = describe(trial, trial.passes(self._bench.plan.goal)) + known
        self._request = None

    def run_done(self, index: int, estimate: RunEstimate) -> None:
        """Take it into the estimate."""
        if index == self._run:
            self._run_times.append(time.monotonic() - self._run_began)
        self._estimates.append(estimate)

    def __rich__(self) -> Group:
        """Draw it; rich calls this for each refresh."""
        bench = self._bench
        title = Text(f"{bench.scenario.name} on {bench.name}", style="bold")
        title.append(f"  {bench.server.name} {bench.server.version}", style="not bold")
        table = Table.grid(padding=(0, 2))
        table.add_row("phase", self._phase)
        table.add_row("run", f"{self._run} of {bench.plan.runs}" if self._run else "")
        if self._request is not None:
            table.add_row("trial", self._trial(self._request))
        table.add_row("last trial", self._last)
        table.add_row("estimate so far", self.estimate())
        table.add_row("time left", self.time_left())
        return Group(title, table)

    def _trial(self, request: TrialRequest) -> Table:
        length = request.duration_s + self._bench.plan.wait_s
        row = Table.grid(padding=(0, 1))
        row.add_row(
            f"{request.rate}/s for {request.duration_s} s",
            ProgressBar(total=length, completed=time.monotonic() - self._since, width=20),
        )
        return row

    def estimate(self) -> str:
        """Mean and range of the finished runs' max rates."""
        rates = [estimate.max_rate for estimate in self._estimates]
        if not rates:
            return "none yet"
        return estimate_words(rates)

    def time_left(self) -> str:
        """Expected time to the end, from the runs after the first, which is the longest."""
        if not self._run_times:
            return "known after this run"
        plan = self._bench.plan
        confirming = plan.confirming_trials * (plan.limits.trial_s + 1.0)
        if self._confirming_since is not None:
            left = confirming - (time.monotonic() - self._confirming_since)
            return f"about {span(max(left, 0.0))}"
        typical = statistics.fmean(self._run_times[1:] or self._run_times)
        left = (plan.runs - len(self._estimates)) * typical + confirming
        if len(self._estimates) < self._run:
            spent = time.monotonic() - self._run_began
            if spent > typical:
                rest = f", then about {span(left - typical)}" if left > typical else ""
                return f"this run takes longer than most{rest}"
            left -= spent
        return f"about {span(left)}"


def describe(trial: Trial, passes: bool) -> str:
    """Say one trial in a line."""
    verdict = "passes" if passes else "fails"
    if not trial.valid:
        verdict = f"does not count: {trial.reason}"
        verdict += f" ({trial.detail})" if trial.detail else ""
    elif trial.aborted:
        verdict = "fails, ended early"
    return (
        f"{trial.rate}/s for {trial.duration_s} s: "
        f"{trial.completed} of {trial.started} in time, "
        f"loss {100 * trial.loss_ratio:.2f} %, {verdict}"
    )
