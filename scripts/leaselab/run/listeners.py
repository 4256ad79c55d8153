"""Listeners of a sweep beside its own progress: several at once, and the live file."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from leaselab.archive.live import LiveFeed
    from leaselab.measure.ports import Listener
    from leaselab.model.load import Load
    from leaselab.model.record import Round
    from leaselab.model.trial import Trial


_SAMPLED = {"t", "cpu_s", "rss_bytes", "udp_drops", "held"}
"""What a sample must have for a view to show it."""


class Several:
    """Tells each of several listeners."""

    def __init__(self, *listeners: Listener) -> None:
        self._listeners: Sequence[Listener] = listeners

    def phase(self, text: str) -> None:
        """Tell each."""
        for one in self._listeners:
            one.phase(text)

    def round_started(self, index: int) -> None:
        """Tell each."""
        for one in self._listeners:
            one.round_started(index)

    def trial_started(self, load: Load) -> None:
        """Tell each."""
        for one in self._listeners:
            one.trial_started(load)

    def trial_done(self, trial: Trial, *, replayed: bool) -> None:
        """Tell each."""
        for one in self._listeners:
            one.trial_done(trial, replayed=replayed)

    def round_done(self, done: Round) -> None:
        """Tell each."""
        for one in self._listeners:
            one.round_done(done)


class Live:
    """Writes what happens to the live file; what came of trials and runs is in the journal."""

    def __init__(self, feed: LiveFeed) -> None:
        self._feed = feed

    def phase(self, text: str) -> None:
        """Write it."""
        self._feed.write("phase", text=text)

    def round_started(self, index: int) -> None:
        """Write it."""
        self._feed.write("run", index=index)

    def trial_started(self, load: Load) -> None:
        """Write it."""
        self._feed.write("trial", **asdict(load))

    def trial_done(self, trial: Trial, *, replayed: bool) -> None:
        """Write that it has ended."""
        if not replayed:
            self._feed.write("trial-done", rate=trial.rate)

    def round_done(self, done: Round) -> None:
        """Nothing: the journal has it."""

    def sampler(self, host: str) -> Callable[[str], None]:
        """Return what takes a host's samples as they come, as the lines they are."""

        def heard(line: str) -> None:
            try:
                sample = json.loads(line)
            except ValueError:
                return  # whoever measures with it says so
            if isinstance(sample, dict) and sample.keys() >= _SAMPLED:
                self._feed.write("sample", host=host, sample=sample)

        return heard
