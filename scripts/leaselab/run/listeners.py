"""Listeners of a sweep: a list of several, and the live file."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress

import msgspec

from leaselab.archive.live import LiveFeed
from leaselab.measure.ports import Listener
from leaselab.model.journal import Phase, RunBegun, Sampled, TrialBegun, TrialEnded
from leaselab.model.record import Round
from leaselab.model.trial import Load, Sample, Trial


class Several:
    """Forwards each event to several listeners."""

    def __init__(self, *listeners: Listener) -> None:
        self._listeners: Sequence[Listener] = listeners

    def phase(self, text: str) -> None:
        """Forward the phase to each listener."""
        for listener in self._listeners:
            listener.phase(text)

    def round_started(self, index: int) -> None:
        """Forward the start of a round to each listener."""
        for listener in self._listeners:
            listener.round_started(index)

    def trial_started(self, load: Load) -> None:
        """Forward the start of a trial to each listener."""
        for listener in self._listeners:
            listener.trial_started(load)

    def trial_done(self, trial: Trial, *, replayed: bool) -> None:
        """Forward the end of a trial to each listener."""
        for listener in self._listeners:
            listener.trial_done(trial, replayed=replayed)

    def round_done(self, done: Round) -> None:
        """Forward the end of a round to each listener."""
        for listener in self._listeners:
            listener.round_done(done)


class Live:
    """Writes events to the live file; results of trials and runs are in the journal."""

    def __init__(self, feed: LiveFeed) -> None:
        self._feed = feed

    def phase(self, text: str) -> None:
        """Write the phase."""
        self._feed.write(Phase(text=text))

    def round_started(self, index: int) -> None:
        """Write the start of the round."""
        self._feed.write(RunBegun(index=index))

    def trial_started(self, load: Load) -> None:
        """Write the start of the trial."""
        self._feed.write(TrialBegun(load=load))

    def trial_done(self, trial: Trial, *, replayed: bool) -> None:
        """Write the end of the trial."""
        if not replayed:
            self._feed.write(TrialEnded(rate=trial.rate))

    def round_done(self, done: Round) -> None:
        """Do nothing: the journal has it."""

    def sampler(self, host: str) -> Callable[[str], None]:
        """Return the function that receives the lines of a host's samples as they arrive."""

        def on_line(line: str) -> None:
            with suppress(msgspec.MsgspecError, ValueError):  # the measurement reports it
                sample = msgspec.json.decode(line, type=Sample)
                self._feed.write(Sampled(host=host, sample=sample))

        return on_line
