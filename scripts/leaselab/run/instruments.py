"""Connected hosts of an experiment, and what measures its points on them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass

from leaselab.catalog.roles import hears_anybody
from leaselab.lab.bench.lock import BenchLock
from leaselab.lab.contract.remote import RemoteGenerator, RemoteHost, check_tuned, watching
from leaselab.lab.contract.server import ContractServer
from leaselab.lab.contract.servers import Servers
from leaselab.lab.hosts.place import placed, sending
from leaselab.lab.hosts.transport import Connection, connect
from leaselab.measure.generators import adapter_of
from leaselab.measure.point import Point, journaled
from leaselab.measure.ports import Listener, Watch
from leaselab.measure.procedures import method_of
from leaselab.measure.trials import Trials
from leaselab.model.bench import Bench
from leaselab.model.journal import Phase
from leaselab.model.record import GENERATOR
from leaselab.run.duel import DuelRounds
from leaselab.run.experiment import Part
from leaselab.run.listeners import Live
from leaselab.run.recovery import stop_traffic


@dataclass(slots=True)
class Instruments:
    """Makes the points and the duels of an experiment on its connected hosts."""

    hosts: Mapping[str, Connection]
    """By role."""
    watch: Watch | None = None
    """What notices traffic that is not the bench's."""

    @contextmanager
    def watching(self, parts: Sequence[Part]) -> Iterator[None]:
        """Watch the network for the context, where a generator of the parts needs it."""
        watched: AbstractContextManager[Watch | None] = nullcontext()
        if any(hears_anybody(part.bench.scenario.generator) for part in parts):
            known = {role: host for part in parts for role, host in part.bench.hosts.items()}
            watched = watching(known, self.hosts)
        with watched as self.watch:
            yield

    def clear(self, parts: Sequence[Part]) -> None:
        """Stop what a killed measurement left, which would prevent a start, or be served."""
        stop_traffic(self.hosts[GENERATOR])
        most = max(parts, key=lambda part: len(part.bench.servers))
        if most.point is not None:
            most.point.trials.server.clear()

    def point(self, part: Part, live: Live, listener: Listener, lock: BenchLock) -> Point:
        """Return a point that continues where its journal ends."""
        running = part.running
        trials = self.trials(part, part.bench, live)
        method = method_of(part.bench.procedure, trials.generator.capacity)
        return Point(method, trials, lock, running, listener, journaled(running.entries()))

    def trials(self, part: Part, bench: Bench, live: Live) -> Trials:
        """Return the object that makes trials of a deployed point, at one of its places."""
        servers = Servers(
            {
                role: ContractServer(self.hosts[role], server, live.sampler(role))
                for role, server in bench.servers.items()
            },
            pair=bench.scenario.partner,
        )
        interface = bench.hosts[GENERATOR].test_interface
        sender = RemoteGenerator(self.hosts[GENERATOR], interface, sending(bench, GENERATOR))
        generator = adapter_of(bench.scenario)(bench, bench.procedure, sender)
        watched = {
            role: RemoteHost(self.hosts[role], bench.hosts[role].test_interface)
            for role in (GENERATOR, *bench.servers)
        }
        watch = self.watch if hears_anybody(bench.scenario.generator) else None
        return Trials(bench, bench.procedure, servers, generator, part.running, watched, watch)

    def duel(
        self, points: tuple[Point, Point], elsewhere: tuple[Trials, Trials] | None
    ) -> DuelRounds:
        """Return the rounds of a duel; parameters as its fields."""
        return DuelRounds(points, elsewhere)


@contextmanager
def connected(parts: Sequence[Part], listener: Listener) -> Iterator[Instruments]:
    """Connect the hosts of all points, and check that their tuning is unchanged.

    The points get the interfaces that have the hosts' test addresses now.
    """
    hosts: dict[str, Connection] = {}
    with ExitStack() as stack:
        for part in parts:
            for role in (GENERATOR, *part.bench.servers):
                if role not in hosts:
                    listener(Phase(text=f"connecting to the {role}"))
                    hosts[role] = stack.enter_context(connect(part.bench.hosts[role].access))
                    check_tuned(part.bench.hosts[role], hosts[role])
                part.bench = placed(part.bench, role, hosts[role])
                if part.elsewhere is not None:
                    part.elsewhere = placed(part.elsewhere, role, hosts[role])
        yield Instruments(hosts)
