"""Servers that are measured as one: one alone, with what serves for it, or a pair."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace

import msgspec

from leaselab.lab.server import ContractServer
from leaselab.lab.transport import Connection
from leaselab.model.bench import Bench
from leaselab.model.errors import LeaselabError, Outcome, usage_error
from leaselab.model.observation import ServerStarted
from leaselab.model.record import SERVER
from leaselab.model.trial import Sample

TWO_ADDRESSES = "two-addresses"
"""The capability to run beside another variant, at another test address."""


@dataclass(frozen=True, slots=True)
class Servers:
    """The server under test and what serves with it or for it, each behind its own contract."""

    by_role: Mapping[str, ContractServer]
    """The server under test is `SERVER`; it is started last and stopped first."""
    pair: bool = False
    """Whether all share what they hold and have a state together; else the others serve for
    the server under test, and what they hold is its own to empty."""

    @property
    def _others(self) -> Mapping[str, ContractServer]:
        return {role: one for role, one in self.by_role.items() if role != SERVER}

    def start(self) -> ServerStarted:
        """Start all clean; return when all are in the state asked for.

        Raises a server-broken error when one does not start, a broken-lab error when it is
        not what was deployed or what it stands on fails.
        """
        for one in self._others.values():
            with self._no_fault_of_the_server():
                one.start()
        started = self.by_role[SERVER].start()
        self.settle()
        return started

    @contextmanager
    def _no_fault_of_the_server(self) -> Iterator[None]:
        """Have what serves for the server under test fail as a broken lab does."""
        try:
            yield
        except LeaselabError as error:
            if not self.pair and error.outcome in (Outcome.BUILD, Outcome.INVALID):
                raise replace(
                    error, outcome=Outcome.LAB, what=f"what it stands on: {error.what}"
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
        """Have all hold nothing; return how much each held, by role.

        One that holds nothing ever has no entry.
        """
        was = {role: one.reset() for role, one in self.by_role.items()}
        return {role: count for role, count in was.items() if count is not None}

    def reload(self) -> float:
        """Have the server under test read its data again; return how long it took (s)."""
        return self.by_role[SERVER].reload()

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
        """Do it to all, the server under test first; raises the first error after the last."""
        errors = []
        for one in (self.by_role[SERVER], *self._others.values()):
            try:
                act(one)
            except LeaselabError as error:
                errors.append(error)
        if errors:
            raise errors[0]

    def sample_now(self) -> Sample:
        """Return a sample of the server under test taken now.

        Raises an invalid-measurement error when any of them has died, a broken-lab error when
        that is what serves for the server under test.
        """
        for one in self._others.values():
            with self._no_fault_of_the_server():
                one.sample_now()
        return self.by_role[SERVER].sample_now()

    def samples(self) -> Mapping[str, Sequence[Sample]]:
        """Return the samples since the last call, oldest first, by role."""
        return {role: one.samples() for role, one in self.by_role.items()}


@dataclass(frozen=True, slots=True)
class Target:
    """One of two variants that are up at once."""

    servers: Servers
    """The variant alone: what is done to it leaves the other as it is."""
    bench: Bench
    """Its bench document, with a load that no other hears: `bench.server.test_address` says
    where it is asked, and `bench.scenario.load` how it is reached there."""


@contextmanager
def both_up(one: Bench, other: Bench, host: Connection) -> Iterator[tuple[Target, Target]]:
    """Start two variants that lie at the two places of one host; stop both at the end.

    `host` is that of both.  What else runs there is stopped first.  Raises a usage error for
    variants that cannot be up at once, else what `Servers.start` raises.
    """
    _refuse_both(one, other)
    with ExitStack() as stack:
        targets = [
            Target(Servers({SERVER: ContractServer(host, bench.server)}), _apart(bench))
            for bench in (one, other)
        ]
        targets[0].servers.clear()
        for target in targets:
            stack.callback(target.servers.stop)
            target.servers.start()
        yield targets[0], targets[1]


def _apart(bench: Bench) -> Bench:
    """A bench whose load reaches its own server alone."""
    load = {**bench.scenario.load, **bench.server.load_apart}
    return replace(bench, scenario=msgspec.structs.replace(bench.scenario, load=load))


def _refuse_both(one: Bench, other: Bench) -> None:
    for bench in (one, other):
        if bench.scenario.needs_partner or TWO_ADDRESSES not in bench.server.capabilities:
            raise usage_error(
                "it cannot be up at once with another variant",
                where=f"{bench.server.name}, variant {bench.server.variant}",
                found=", ".join(bench.server.capabilities) or "no capabilities",
                wanted=f"one that serves alone and declares {TWO_ADDRESSES}",
                todo="measure them one after the other",
            )
    if one.server.name != other.server.name:
        raise usage_error(
            "servers of two kinds cannot be up at once",
            found=f"{one.server.name} and {other.server.name}",
            wanted="two variants of one",
            todo="measure them one after the other",
        )
    if one.server.test_address == other.server.test_address:
        raise usage_error(
            "both variants lie at the same place",
            where=f"{one.server.variant} and {other.server.variant}",
            found=one.server.test_address,
            wanted="two test addresses",
            todo="deploy one of them to the second place: leaselab_at=2",
        )
