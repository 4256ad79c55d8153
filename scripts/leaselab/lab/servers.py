"""Servers that are measured as one: one alone, or several that share what they hold."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from leaselab.lab.server import ContractServer
from leaselab.model.errors import LeaselabError
from leaselab.model.observation import ServerStarted
from leaselab.model.record import SERVER
from leaselab.model.trial import Sample


@dataclass(frozen=True, slots=True)
class Servers:
    """The server under test and those that serve with it, each behind its own contract."""

    by_role: Mapping[str, ContractServer]
    """The server under test is `SERVER`; it is started last."""

    @property
    def _others(self) -> Mapping[str, ContractServer]:
        return {role: one for role, one in self.by_role.items() if role != SERVER}

    def start(self) -> ServerStarted:
        """Start all clean; return when all are in the state asked for.

        Raises a server-broken error when one does not start, a broken-lab error when it is
        not what was deployed or what it stands on fails.
        """
        for one in self._others.values():
            one.start()
        started = self.by_role[SERVER].start()
        self.settle()
        return started

    def trouble(self) -> str:
        """How several differ from the state asked for; empty when they do not, and of one."""
        if not self._others:
            return ""
        return next(filter(None, (one.state() for one in self.by_role.values())), "")

    def settle(self) -> None:
        """Wait until several are in the state asked for; raises a broken-lab error."""
        if self._others:
            for one in self.by_role.values():
                one.settle()

    def reset(self) -> Mapping[str, int]:
        """Have all hold nothing; return how much each held, by role.

        One that holds nothing ever has no entry.
        """
        was = {role: one.reset() for role, one in self.by_role.items()}
        return {role: count for role, count in was.items() if count is not None}

    def crash(self) -> None:
        """End the server under test as a crash would; the others are not told."""
        self.by_role[SERVER].crash()

    def listing(self) -> Mapping[str, Mapping[str, str]]:
        """Return all that each holds, by role: whose it is, by what it is."""
        return {role: one.listing() for role, one in self.by_role.items()}

    def stop(self) -> None:
        """Stop all; the others also when one does not."""
        self._each(ContractServer.stop)

    def clear(self) -> None:
        """Stop every variant on the hosts, such as what a killed sweep left running."""
        self._each(ContractServer.clear)

    def _each(self, act: Callable[[ContractServer], None]) -> None:
        """Do it to all; raises the first error after the last."""
        errors = []
        for one in self.by_role.values():
            try:
                act(one)
            except LeaselabError as error:
                errors.append(error)
        if errors:
            raise errors[0]

    def sample_now(self) -> Sample:
        """Return a sample of the server under test taken now.

        Raises an invalid-measurement error when any has died.
        """
        for one in self._others.values():
            one.sample_now()
        return self.by_role[SERVER].sample_now()

    def samples(self) -> Mapping[str, Sequence[Sample]]:
        """Return the samples since the last call, oldest first, by role."""
        return {role: one.samples() for role, one in self.by_role.items()}
