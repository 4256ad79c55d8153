"""The events of a journal and of the live file beside it.

The journal of a sweep holds what was measured: a resume starts from it.  The live file holds
the present progress.  Both have one event a line, with its name and its fields as `data`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from leaselab.model.bench import Bench
from leaselab.model.record import Experiment, Provenance, Round
from leaselab.model.trial import Load, Sample, Trial


class Entry(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="event"):
    """An event; its tag is the name."""


class Begun(Entry, frozen=True, kw_only=True, tag="point"):
    """A point was begun; the first event of its journal."""

    bench: Bench
    """The bench without access to its hosts."""
    elsewhere: Bench | None = None
    """The same bench at the second address of the server's host, where both points of a duel
    are up at once; None otherwise."""
    started_at: str
    experiment: Experiment | None = None
    """None where it is measured alone."""
    provenance: Provenance

    def points(self, own_id: str) -> tuple[str, ...]:
        """Return the ids of all points of its experiment; its own where it has none."""
        return self.experiment.points if self.experiment else (own_id,)


class RoundBegun(Entry, frozen=True, kw_only=True, tag="round"):
    """A round was begun, on a server started for it."""

    index: int
    started_at: str


class WarmUp(Entry, frozen=True, kw_only=True, tag="warm-up"):
    """A trial that does not count was made in a round, such as a warm-up."""

    index: int
    trial: Trial


class TrialMade(Entry, frozen=True, kw_only=True, tag="trial"):
    """A trial that counts was made in a round."""

    index: int
    trial: Trial


class RoundDone(Entry, frozen=True, kw_only=True, tag="round-done"):
    """A round was completed with its figures."""

    index: int
    round: Round


class Confirming(Entry, frozen=True, kw_only=True, tag="confirmation"):
    """A trial was made after the last round, to confirm the result."""

    trial: Trial


class Pause(Entry, frozen=True, kw_only=True, tag="pause"):
    """The next trial waited for a disturbed lab."""

    s: float
    reason: str


class Fault(Entry, frozen=True, kw_only=True, tag="fault"):
    """The point was interrupted and can be resumed."""

    text: str


AnyEntry = Begun | RoundBegun | WarmUp | TrialMade | RoundDone | Confirming | Pause | Fault


class Phase(Entry, frozen=True, kw_only=True, tag="phase"):
    """A phase began that is neither a trial nor a round."""

    text: str


class RunBegun(Entry, frozen=True, kw_only=True, tag="run"):
    """A round began."""

    index: int


class TrialBegun(Entry, frozen=True, kw_only=True, tag="trial"):
    """A trial began."""

    load: Load


class TrialEnded(Entry, frozen=True, kw_only=True, tag="trial-done"):
    """The trial ended; its result is in the journal."""

    rate: int


class Sampled(Entry, frozen=True, kw_only=True, tag="sample"):
    """A host was sampled."""

    host: str
    """Its role."""
    sample: Sample


class BuildStep(Entry, frozen=True, kw_only=True, tag="build"):
    """Progress of the build under way, as the builder prints it."""

    name: str
    """Name of what is built."""
    described: str
    """Words for its commit."""
    commit: str
    phase: str
    step: int | None
    steps: int | None
    """None where they are not counted."""
    doing: str
    elapsed_s: float


LiveEntry = Phase | RunBegun | TrialBegun | TrialEnded | Sampled | BuildStep


def written(entry: Entry) -> tuple[str, dict[str, Any]]:
    """Return the name and the data of an event, as written in its line."""
    data: dict[str, Any] = msgspec.to_builtins(entry)
    return data.pop("event"), data


def entry_of(name: str, data: Mapping[str, Any]) -> AnyEntry:
    """Return an event of a journal; raises msgspec.ValidationError for none of these."""
    entry: AnyEntry = msgspec.convert({**data, "event": name}, AnyEntry)
    return entry


def live_entry_of(name: str, data: Mapping[str, Any]) -> LiveEntry:
    """Return an event of a live file; raises as `entry_of`."""
    entry: LiveEntry = msgspec.convert({**data, "event": name}, LiveEntry)
    return entry
