"""Listeners of a sweep beside its own progress: several at once, and the live file."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

import msgspec

from leaselab.model.journal import Phase, RunBegun, Sampled, TrialBegun, TrialEnded
from leaselab.model.trial import Sample

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from leaselab.archive.live import LiveFeed
    from leaselab.measure.ports import Listener
    from leaselab.model.load import Load
    from leaselab.model.record import Round
    from leaselab.model.trial import Trial


class Several:
    """Tells each of several listeners."""

    def __init__(self, *listeners: Listener) -> None:
        self._listeners: Sequence[Listener] = listeners

    def phase(self, text: str) -> None:
        """Tell each."""
        for listener in self._listeners:
            listener.phase(text)

    def round_started(self, index: int) -> None:
        """Tell each."""
        for listener in self._listeners:
            listener.round_started(index)

    def trial_started(self, load: Load) -> None:
        """Tell each."""
        for listener in self._listeners:
            listener.trial_started(load)

    def trial_done(self, trial: Trial, *, replayed: bool) -> None:
        """Tell each."""
        for listener in self._listeners:
            listener.trial_done(trial, replayed=replayed)

    def round_done(self, done: Round) -> None:
        """Tell each."""
        for listener in self._listeners:
            listener.round_done(done)


class Live:
    """Writes what happens to the live file; what came of trials and runs is in the journal."""

    def __init__(self, feed: LiveFeed) -> None:
        self._feed = feed

    def phase(self, text: str) -> None:
        """Write it."""
        self._feed.write(Phase(text=text))

    def round_started(self, index: int) -> None:
        """Write it."""
        self._feed.write(RunBegun(index=index))

    def trial_started(self, load: Load) -> None:
        """Write it."""
        self._feed.write(TrialBegun(load=load))

    def trial_done(self, trial: Trial, *, replayed: bool) -> None:
        """Write that it has ended."""
        if not replayed:
            self._feed.write(TrialEnded(rate=trial.rate))

    def round_done(self, done: Round) -> None:
        """Nothing: the journal has it."""

    def sampler(self, host: str) -> Callable[[str], None]:
        """Return what takes a host's samples as they come, as the lines they are."""

        def on_line(line: str) -> None:
            with suppress(msgspec.MsgspecError, ValueError):  # what measures with it reports it
                sample = msgspec.json.decode(line, type=Sample)
                self._feed.write(Sampled(host=host, sample=sample))

        return on_line
