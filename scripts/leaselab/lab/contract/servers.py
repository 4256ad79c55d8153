"""Servers that are measured as one: one alone, with its supporting service, or a pair."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace

import msgspec

from leaselab.lab.contract.counter import RemoteCounter
from leaselab.lab.contract.server import ContractServer
from leaselab.model.bench import Bench
from leaselab.model.errors import LeaselabError, Outcome
from leaselab.model.observation import Operated, OperationKind, Sampled, ServerStarted
from leaselab.model.record import SERVER
from leaselab.model.trial import Sample

TWO_ADDRESSES = "two-addresses"
"""The capability to run beside another variant, at another test address."""


@dataclass(frozen=True, slots=True)
class Servers:
    """The server under test with its partner or supporting service, each behind a contract."""

    by_role: Mapping[str, ContractServer]
    """The server under test is `SERVER`."""
    pair: bool = False
    """Whether all share what they hold and have a state together; else the others serve for
    the server under test, and what they hold is its own to empty."""

    @property
    def _in_order(self) -> Sequence[ContractServer]:
        """As they are started: what others need first.

        In a pair that is the server under test, whose database its partner may use.
        """
        own, others = self.by_role[SERVER], self._others.values()
        return (own, *others) if self.pair else (*others, own)

    @property
    def _others(self) -> Mapping[str, ContractServer]:
        return {role: one for role, one in self.by_role.items() if role != SERVER}

    def start(self) -> ServerStarted:
        """Start all clean; return when all are in the state asked for.

        Raises a server-broken error when one does not start, a broken-lab error when it is
        not what was deployed or a service that it depends on fails.
        """
        started = dict[ContractServer, ServerStarted]()
        for one in self._in_order:
            with self._no_fault_of_the_server(one):
                started[one] = one.start()
        self.settle()
        return started[self.by_role[SERVER]]

    @contextmanager
    def _no_fault_of_the_server(self, one: ContractServer) -> Iterator[None]:
        """Raise the errors of a supporting service as broken-lab errors."""
        is_support = not self.pair and one is not self.by_role[SERVER]
        try:
            yield
        except LeaselabError as error:
            if is_support and error.outcome in (Outcome.BUILD, Outcome.INVALID):
                raise replace(
                    error, outcome=Outcome.LAB, what=f"supporting service: {error.what}"
                ) from error
            raise

    def trouble(self) -> str:
        """How a pair differs from the state asked for; empty when it does not, or is none."""
        if not self.pair:
            return ""
        return next(filter(None, (one.state() for one in self.by_role.values())), "")

    def settle(self) -> None:
        """Wait until a pair is in the state asked for; raises a broken-lab error."""
        if self.pair:
            for one in self.by_role.values():
                one.settle()

    def reset(self) -> Mapping[str, int]:
        """Empty all servers; return how much each held, by role.

        A server that stores nothing has no entry.
        """
        was = {role: one.reset() for role, one in self.by_role.items()}
        return {role: count for role, count in was.items() if count is not None}

    def reload(self) -> float:
        """Make the server under test read its data again; return how long it took (s)."""
        return self.by_role[SERVER].reload()

    def brake(self, share: float) -> None:
        """Brake the server under test for a share of the time from its start on."""
        self.by_role[SERVER].brake(share)

    def begin_profile(self) -> None:
        """Begin to sample what the server under test runs; the others are not sampled."""
        self.by_role[SERVER].begin_profile()

    def end_profile(self) -> Sampled:
        """Return what was sampled since then."""
        return self.by_role[SERVER].end_profile()

    @contextmanager
    def counting(self, by: str) -> Iterator[RemoteCounter]:
        """Run the server under test while it is counted, beside its supporting service."""
        try:
            for other in self._others.values():
                with self._no_fault_of_the_server(other):
                    other.start()
            with self.by_role[SERVER].counting(by) as counter:
                yield counter
        finally:
            for other in self._others.values():
                other.stop()

    def crash(self, roles: Sequence[str]) -> None:
        """End some as a crash would; the others are not notified."""
        for role in roles:
            self.by_role[role].crash()

    def restart(self, roles: Sequence[str]) -> None:
        """Start them again with what they hold."""
        for role in roles:
            self.by_role[role].restart()

    def cut(self) -> str:
        """Cut all off from each other; return the mode in which they serve then."""
        return {role: one.cut() for role, one in self.by_role.items()}[SERVER]

    def rejoin(self) -> None:
        """Let all reach each other again."""
        for one in self.by_role.values():
            one.rejoin()

    def operations(self) -> Mapping[str, OperationKind]:
        """Return what can be done to the server under test while it serves, by name."""
        return self.by_role[SERVER].operations()

    def operating(self) -> AbstractContextManager[Callable[[str], Operated]]:
        """Get ready to operate the server under test; the others are left alone."""
        return self.by_role[SERVER].operating()

    def listing(self) -> Mapping[str, Mapping[str, str]]:
        """Return all that each holds that can say so, by role: whose it is, by what it is."""
        return {role: one.listing() for role, one in self.by_role.items() if one.can_list}

    def stop(self) -> None:
        """Stop all; the others also when one does not."""
        self._each(ContractServer.stop)

    def clear(self) -> None:
        """Stop every variant on the hosts, such as what a killed sweep left running."""
        self._each(ContractServer.clear)

    def _each(self, act: Callable[[ContractServer], None]) -> None:
        """Do it to all, the last started first; raises the first error after the last."""
        errors = []
        for one in reversed(self._in_order):
            try:
                act(one)
            except LeaselabError as error:
                errors.append(error)
        if errors:
            raise errors[0]

    def sample_now(self) -> Sample:
        """Return a sample of the server under test taken now.

        Raises an invalid-measurement error when any of them has died, a broken-lab error when
        it is the supporting service.
        """
        for other in self._others.values():
            with self._no_fault_of_the_server(other):
                other.sample_now()
        return self.by_role[SERVER].sample_now()

    def samples(self) -> Mapping[str, Sequence[Sample]]:
        """Return the samples since the last call, oldest first, by role."""
        return {role: one.samples() for role, one in self.by_role.items()}


def apart(bench: Bench) -> Bench:
    """Return a bench whose load reaches its own server alone, where another is up, too."""
    load = {**bench.scenario.load, **bench.server.load_apart}
    return replace(bench, scenario=msgspec.structs.replace(bench.scenario, load=load))


def can_have_company(bench: Bench) -> bool:
    """Whether its server can be up at once with another variant at the host's second place."""
    return (
        TWO_ADDRESSES in bench.server.capabilities
        and not bench.scenario.partners
        and bench.hosts[SERVER].second is not None
    )
