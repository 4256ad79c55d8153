"""What measuring needs from the outside; `lab` and `archive` fill these."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from leaselab.model.observation import Foreign, Generated, HostReading, Sample, ServerStarted
from leaselab.model.trial import RunEstimate, Trial, TrialRequest


class Server(Protocol):
    """The server under test, through its contract; with its partner where it is a pair."""

    def start(self) -> ServerStarted:
        """Start clean, as deployed; return when it is ready, a pair when both are.

        Raises a server-broken error when it does not start, a broken-lab error
        when it is not what was deployed or what it stands on fails.
        """

    def trouble(self) -> str:
        """How a pair differs from the state asked for, empty when it does not."""

    def settle(self) -> None:
        """Wait until a pair is in the state asked for; raises a broken-lab error."""

    def wipe(self) -> Sequence[int]:
        """Empty the lease store; return how many leases each server had, its own first."""

    def stop(self) -> None:
        """Stop; succeeds when already stopped."""

    def sample_now(self) -> Sample:
        """Return a sample taken now.

        Raises an invalid-measurement error when the server has died.
        """

    def samples(self) -> Sequence[Sample]:
        """Return the samples that came in since the last call, oldest first."""

    def partner_samples(self) -> Sequence[Sample]:
        """Return the partner's, likewise; none where there is no partner."""


class Generator(Protocol):
    """The host that runs the traffic generator."""

    def generate(
        self, argv: Sequence[str], environment: Mapping[str, str], timeout_s: float
    ) -> Generated:
        """Run one bounded trial and return its output."""


class Host(Protocol):
    """A host that is watched from trial to trial."""

    def read(self) -> HostReading:
        """Read it now; raises a broken-lab error when it does not answer."""


class Watch(Protocol):
    """Who listens on the test network for DHCP that is not the bench's."""

    def foreign(self) -> Sequence[Foreign]:
        """Return what was heard since the last call; raises a broken-lab error."""


class Lease(Protocol):
    """The bench lock, held."""

    def renew(self) -> None:
        """Prolong it; raises a broken-lab error when it was lost."""


class Recorder(Protocol):
    """Where a running sweep is kept, so that a killed one can go on."""

    def record(self, name: str, data: Mapping[str, Any]) -> object:
        """Append one event to the journal; it is on the disk when this returns."""

    def write_bytes(self, name: str, content: bytes) -> str:
        """Keep a file beside the journal; return its name."""


class Listener(Protocol):
    """Someone who wants to see what is happening; must be quick."""

    def phase(self, text: str) -> None:
        """Something that is neither trial nor run begins."""

    def run_started(self, index: int) -> None:
        """Run `index` (from 1) begins."""

    def trial_started(self, request: TrialRequest) -> None:
        """A trial begins."""

    def trial_done(self, trial: Trial, *, replayed: bool) -> None:
        """A trial has ended, or was found in the journal."""

    def run_done(self, index: int, estimate: RunEstimate) -> None:
        """Run `index` has found its max rate."""
