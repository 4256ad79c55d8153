"""Two servers that share their leases, measured as one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from leaselab.lab.server import ContractServer
from leaselab.model.errors import LeaselabError
from leaselab.model.observation import Sample, ServerStarted


@dataclass(frozen=True, slots=True)
class ServerPair:
    """The server under test and its partner, each behind its own contract."""

    server: ContractServer
    partner: ContractServer

    def start(self) -> ServerStarted:
        """Start both clean; return when both are in the state asked for."""
        self.partner.start()
        started = self.server.start()
        self.settle()
        return started

    def trouble(self) -> str:
        """How the pair differs from the state asked for, empty when it does not."""
        return self.server.state() or self.partner.state()

    def settle(self) -> None:
        """Wait until both are in the state asked for; raises a broken-lab error."""
        self.server.wait_for_pair()
        self.partner.wait_for_pair()

    def crash(self) -> None:
        """End the server as a crash would; its partner is not told."""
        self.server.crash()

    def leases(self) -> tuple[Mapping[str, str], Mapping[str, str]]:
        """Return the client of every lease by address, the server's and the partner's."""
        return self.server.leases(), self.partner.leases()

    def wipe(self) -> Sequence[int]:
        """Empty both stores; return how many leases the server and the partner had."""
        return (*self.server.wipe(), *self.partner.wipe())

    def stop(self) -> None:
        """Stop both; the second also when the first does not."""
        try:
            self.server.stop()
        except LeaselabError:
            with suppress(LeaselabError):  # the first error is the one to tell
                self.partner.stop()
            raise
        self.partner.stop()

    def sample_now(self) -> Sample:
        """Return a sample of the server taken now.

        Raises an invalid-measurement error when one of the two has died.
        """
        self.partner.sample_now()
        return self.server.sample_now()

    def samples(self) -> Sequence[Sample]:
        """Return the server's samples since the last call, oldest first."""
        return self.server.samples()

    def partner_samples(self) -> Sequence[Sample]:
        """Return the partner's samples since the last call, oldest first."""
        return self.partner.samples()
