"""The measurement of an experiment: its points in turn, round by round, until sealed."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, closing
from pathlib import Path

from leaselab.archive.calibration import ceiling_for, under
from leaselab.archive.ident import fresh_id
from leaselab.archive.live import LiveFeed
from leaselab.archive.published import by_role, published
from leaselab.archive.running import RunningSweep
from leaselab.archive.store import Store
from leaselab.catalog.roles import hears_anybody
from leaselab.lab.bench.lease import Lease
from leaselab.lab.bench.lock import BenchLock, lease_s
from leaselab.lab.contract.remote import RemoteGenerator, RemoteHost, check_tuned, watching
from leaselab.lab.contract.server import ContractServer
from leaselab.lab.contract.servers import Servers
from leaselab.lab.deploy.deployment import distrust_deployment
from leaselab.lab.hosts.place import placed, sending
from leaselab.lab.hosts.transport import Connection, connect
from leaselab.measure.generators import adapter_of
from leaselab.measure.point import Point, journaled
from leaselab.measure.ports import Listener, Watch
from leaselab.measure.procedures import method_of
from leaselab.measure.trials import Trials
from leaselab.model.bench import Bench
from leaselab.model.errors import LeaselabError, Outcome, usage_error
from leaselab.model.journal import Fault, Phase
from leaselab.model.procedures.duel import Duel
from leaselab.model.record import GENERATOR
from leaselab.run.duel import DuelRounds
from leaselab.run.experiment import Ended, Part, begin, fetch_config
from leaselab.run.listeners import Live, both
from leaselab.run.record import kept_words, record_of
from leaselab.run.recovery import stop_traffic

Show = Callable[[Bench, str], AbstractContextManager[Listener]]


def measure_alone(store: Store, bench: Bench, root: Path, show: Show, *, lease: Lease) -> Ended:
    """Measure one point alone; parameters and errors as `begin`, `finish`."""
    points = begin(store, {fresh_id(bench.scenario.name): bench}, root)
    (ended,) = finish(store, points, root, show, lease=lease)
    return ended


def finish(
    store: Store,
    points: Sequence[RunningSweep],
    root: Path,
    show: Show,
    sealed: Callable[[Ended], object] = lambda _: None,
    *,
    lease: Lease,
) -> list[Ended]:
    """Measure the remaining rounds of an experiment, and seal each point as it is finished.

    `sealed` gets each sealed point.  `show(bench, name)` returns a context with the listener
    that shows a point's progress; `name` is empty for a single point.  `lease` is that of the
    bench.  When the lab breaks or the user interrupts, the error is raised, and unsealed points
    can be resumed.  An invalid measurement or a server that does not start is also a result and
    is sealed with its reason.
    """
    with ExitStack() as stack:
        for running in points:
            stack.enter_context(running)
        parts = [Part.of(running) for running in points]
        try:
            return _measure(store, parts, root, show, sealed, lease=lease)
        except BaseException as fault:
            _journal_fault(parts, fault, root)
            raise


def next_point(made: Sequence[int | None], *, interleaved: bool) -> int | None:
    """Return the next point, by the rounds that each has; None where all are finished.

    `made` has None for a finished point.  Interleaved points alternate, every other time in
    reverse order (A B B A …), so that a steady drift of the machine affects all equally;
    otherwise each is finished before the next begins.
    """
    left = [(rounds, place) for place, rounds in enumerate(made) if rounds is not None]
    if not left:
        return None
    if not interleaved:
        return left[0][1]
    fewest = min(rounds for rounds, _ in left)
    places = [place for rounds, place in left if rounds == fewest]
    return places[0] if fewest % 2 == 0 else places[-1]


def _measure(
    store: Store,
    parts: Sequence[Part],
    root: Path,
    show: Show,
    sealed: Callable[[Ended], object],
    *,
    lease: Lease,
) -> list[Ended]:
    began = time.monotonic()
    experiment = parts[0].experiment
    interleaved = experiment is None or experiment.interleaved
    with ExitStack() as stack:
        feeds: dict[str, Live] = {}
        listeners: dict[str, Listener] = {}
        for part in parts:
            name, folder = part.running.id, part.running.path
            shown = stack.enter_context(show(part.bench, part.title if experiment else ""))
            feeds[name] = Live(stack.enter_context(closing(LiveFeed(folder))))
            listeners[name] = both(shown, feeds[name])
        hosts = _connected(stack, parts, listeners[parts[0].running.id])
        held_for = experiment.id if experiment else parts[0].running.id
        longest = max(lease_s(part.bench) for part in parts)
        lock = stack.enter_context(lease.during(hosts[GENERATOR], held_for, longest))
        watch: Watch | None = None
        if any(hears_anybody(part.bench.scenario.generator) for part in parts):
            known = {role: host for part in parts for role, host in part.bench.hosts.items()}
            watch = stack.enter_context(watching(known, hosts))
        for part in parts:
            part.configs = {
                role: fetch_config(part, server, hosts[role], role)
                for role, server in part.bench.servers.items()
            }
            part.point = _point(
                part,
                hosts,
                feeds[part.running.id],
                listeners[part.running.id],
                lock=lock,
                watch=watch if hears_anybody(part.bench.scenario.generator) else None,
            )
        # What a killed measurement left running would prevent the first start, or be served.
        stop_traffic(hosts[GENERATOR])
        most = max(parts, key=lambda part: len(part.bench.servers))
        if most.point is not None:
            most.point.trials.server.clear()
        setup_s = (time.monotonic() - began) / len(parts)
        for part in parts:
            part.setup_s = setup_s

        def done(place: int) -> None:
            sealed(_seal(store, parts[place], lease.name, root))

        made = [part.point for part in parts if part.point]
        if isinstance(parts[0].bench.procedure, Duel):
            _fight(parts, hosts, feeds)
            for place in range(len(parts)):
                done(place)
        else:
            run_points(made, interleaved=interleaved, done=done)
    return [part.ended for part in parts if part.ended]


def _point(
    part: Part,
    hosts: Mapping[str, Connection],
    live: Live,
    listener: Listener,
    *,
    lock: BenchLock,
    watch: Watch | None,
) -> Point:
    """Return a point that continues where its journal ends, on connected hosts."""
    running = part.running
    trials = _trials(part.bench, running, hosts, live, watch)
    method = method_of(part.bench.procedure, trials.generator.capacity)
    return Point(method, trials, lock, running, listener, journaled(running.entries()))


def _trials(
    bench: Bench,
    running: RunningSweep,
    hosts: Mapping[str, Connection],
    live: Live,
    watch: Watch | None,
) -> Trials:
    """Return the object that makes trials of a deployed point, on connected hosts."""
    servers = Servers(
        {
            role: ContractServer(hosts[role], server, live.sampler(role))
            for role, server in bench.servers.items()
        },
        pair=bench.scenario.partner,
    )
    interface = bench.hosts[GENERATOR].test_interface
    sender = RemoteGenerator(hosts[GENERATOR], interface, sending(bench, GENERATOR))
    generator = adapter_of(bench.scenario)(bench, bench.procedure, sender)
    watched = {
        role: RemoteHost(hosts[role], bench.hosts[role].test_interface)
        for role in (GENERATOR, *bench.servers)
    }
    return Trials(bench, bench.procedure, servers, generator, running, watched, watch)


def _fight(
    parts: Sequence[Part], hosts: Mapping[str, Connection], feeds: Mapping[str, Live]
) -> None:
    """Make the rounds of a duel, from where its journals end."""
    made = [part.point for part in parts if part.point]
    if len(made) != 2:
        raise usage_error(
            "the other point of this duel is gone",
            where=parts[0].running.id,
            todo="measure again; remove that folder",
        )
    slowdown = (parts[0].experiment.slowdown if parts[0].experiment else None) or 0.0
    elsewhere = [
        _trials(part.elsewhere, part.running, hosts, feeds[part.running.id], point.trials.watch)
        for part, point in zip(parts, made, strict=True)
        if part.elsewhere is not None
    ]
    if slowdown:
        for trials in (made[1].trials, *elsewhere[1:]):
            trials.server.brake(slowdown)
    both = (elsewhere[0], elsewhere[1]) if len(elsewhere) == 2 else None
    DuelRounds((made[0], made[1]), both).run()


def run_points(
    points: Sequence[Point], *, interleaved: bool, done: Callable[[int], object]
) -> None:
    """Advance the points in turn until all are finished; `done` gets each finished point."""

    def made(point: Point) -> int | None:
        return None if point.finished else len(point.rounds)

    while (
        place := next_point([made(point) for point in points], interleaved=interleaved)
    ) is not None:
        points[place].advance()
        if points[place].finished:
            done(place)


def _seal(store: Store, part: Part, owner: str, root: Path) -> Ended:
    point = part.point
    if point is None:
        raise AssertionError("a point is sealed before it was measured")
    record = record_of(
        part.running.id,
        part.bench,
        point,
        setup_s=part.setup_s,
        started_at=part.begun.started_at,
        owner=owner,
        configs=part.configs,
        experiment=part.experiment,
        provenance=part.begun.provenance,
    )
    record = under(ceiling_for(store, record), record)
    if point.error is not None:
        _distrust(part.bench, point.error, root)
    part.ended = Ended(point.error, store.seal(part.running, published(record, part.names)))
    return part.ended


def _connected(
    stack: ExitStack, parts: Sequence[Part], listener: Listener
) -> dict[str, Connection]:
    """Connect the hosts of all points, by role, and check that their tuning is unchanged.

    The points get the interfaces that have the hosts' test addresses now.
    """
    hosts: dict[str, Connection] = {}
    for part in parts:
        for role in (GENERATOR, *part.bench.servers):
            if role not in hosts:
                listener(Phase(text=f"connecting to the {role}"))
                hosts[role] = stack.enter_context(connect(part.bench.hosts[role].access))
                check_tuned(part.bench.hosts[role], hosts[role])
            part.bench = placed(part.bench, role, hosts[role])
            if part.elsewhere is not None:
                part.elsewhere = placed(part.elsewhere, role, hosts[role])
    return hosts


def _journal_fault(parts: Sequence[Part], fault: BaseException, root: Path) -> None:
    """Journal the interruption of an experiment, and print how to resume it."""
    left = [part for part in parts if part.ended is None]
    if not left:
        return
    for part in left:
        text = by_role(kept_words(fault, part.bench.scenario), part.names)
        part.running.record(Fault(text=text or type(fault).__name__))
    go_on = f"go on with: ./leaselab resume {left[0].running.id}"
    if isinstance(fault, LeaselabError):
        _distrust(left[0].bench, fault, root)
        fault.todo = f"{fault.todo}; {go_on}" if fault.todo else go_on
    elif isinstance(fault, KeyboardInterrupt):
        fault.args = (go_on,)


def _distrust(bench: Bench, fault: LeaselabError, root: Path) -> None:
    """Make the next run deploy again where a server's host has failed."""
    serving = {bench.hosts[role].access.name for role in bench.servers}
    if fault.where in serving and fault.outcome is not Outcome.INVALID:
        distrust_deployment(root, bench.name)
