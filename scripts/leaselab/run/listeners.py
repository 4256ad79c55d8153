"""Listeners of a sweep: two as one, and the live file."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

import msgspec

from leaselab.archive.live import LiveFeed
from leaselab.measure.ports import Listener
from leaselab.model import journal
from leaselab.model.trial import Sample


def both(first: Listener, second: Listener) -> Listener:
    """Return a listener that forwards each event to two."""

    def forward(entry: journal.AnyEntry | journal.LiveEntry, *, replayed: bool = False) -> None:
        first(entry, replayed=replayed)
        second(entry, replayed=replayed)

    return forward


class Live:
    """Writes events to the live file; results of trials and rounds are in the journal."""

    def __init__(self, feed: LiveFeed) -> None:
        self._feed = feed

    def __call__(
        self, entry: journal.AnyEntry | journal.LiveEntry, *, replayed: bool = False
    ) -> None:
        """Write what a reader of the journal does not see."""
        match entry:
            case journal.Phase() | journal.RunBegun() | journal.TrialBegun():
                self._feed.write(entry)
            case journal.TrialMade() | journal.Confirming() if not replayed:
                self._feed.write(journal.TrialEnded(rate=entry.trial.rate))

    def sampler(self, host: str) -> Callable[[str], None]:
        """Return the function that receives the lines of a host's samples as they arrive."""

        def on_line(line: str) -> None:
            with suppress(msgspec.MsgspecError, ValueError):  # the measurement reports it
                sample = msgspec.json.decode(line, type=Sample)
                self._feed.write(journal.Sampled(host=host, sample=sample))

        return on_line
