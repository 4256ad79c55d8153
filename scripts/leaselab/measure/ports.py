"""What measuring needs from the outside; `lab` and `archive` fill these."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from leaselab.model.observation import Generated, Sample, ServerStarted


class Server(Protocol):
    """The server under test, through its contract."""

    def start(self) -> ServerStarted:
        """Start clean; return when it is ready."""

    def wipe(self) -> int:
        """Empty the lease store; return the leases left (0)."""

    def stop(self) -> None:
        """Stop; succeeds when already stopped."""

    def mark(self) -> None:
        """Have a sample taken now, beside the ones taken every second."""

    def samples(self) -> Sequence[Sample]:
        """Return the samples that came in since the last call, oldest first."""

    def check_alive(self) -> None:
        """Raise an invalid-measurement error when the server has died."""


class Generator(Protocol):
    """The host that runs the traffic generator."""

    def generate(
        self, argv: Sequence[str], environment: Mapping[str, str], timeout_s: float
    ) -> Generated:
        """Run one bounded trial and return its output."""


class Lease(Protocol):
    """The bench lock, held."""

    def renew(self) -> None:
        """Prolong it; raises a broken-lab error when it was lost."""


class Recorder(Protocol):
    """Where a running sweep is kept, so that a killed one can go on."""

    def append(self, event: Mapping[str, Any]) -> None:
        """Write one event to the journal, durably."""

    def save(self, name: str, data: bytes) -> None:
        """Keep a file beside the journal."""


class Listener(Protocol):
    """Someone who wants to see what is happening."""

    def on_event(self, event: Mapping[str, Any]) -> None:
        """Take one event; must be quick, as the sweep waits for it."""
