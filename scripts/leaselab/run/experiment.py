"""An experiment: points, a procedure, rounds, measured round by round and sealed.

Each point is a folder and a journal of its own, and becomes a record of its own.  Which round
of which point comes next follows from how many each has: so an experiment is resumed like a
single point, from the journals alone.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import secrets
import shlex
import sys
import time
from contextlib import ExitStack, closing
from dataclasses import dataclass, field, replace
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

import msgspec

from leaselab.archive.ident import fresh_id
from leaselab.archive.live import LiveFeed
from leaselab.archive.published import by_role, published, published_bench
from leaselab.archive.running import keep_access, with_access
from leaselab.lab.bench_file import parse_bench
from leaselab.lab.deployment import distrust_deployment
from leaselab.lab.foreign import watching
from leaselab.lab.generator import RemoteGenerator
from leaselab.lab.hold import owner_under
from leaselab.lab.host_reading import RemoteHost
from leaselab.lab.host_tuning import check_tuned
from leaselab.lab.lock import BenchLock, Owner, lease_s
from leaselab.lab.roles import hears_anybody
from leaselab.lab.server import ContractServer
from leaselab.lab.servers import Servers, apart
from leaselab.lab.transport import connect
from leaselab.measure.generators import adapter_of, check_fits
from leaselab.measure.point import Point, read_journal
from leaselab.measure.procedures import method_of
from leaselab.measure.trials import Trials
from leaselab.model import moment
from leaselab.model.bench import public_names
from leaselab.model.errors import LeaselabError, Outcome, lab_broken, usage_error
from leaselab.model.procedures.duel import Duel
from leaselab.model.record import GENERATOR, SERVER, Experiment, Provenance
from leaselab.model.server import settings_of
from leaselab.model.source import SHORT, public_address
from leaselab.run.duel import Fight
from leaselab.run.listeners import Live, Several
from leaselab.run.record import KeptConfig, failed_record, own_provenance, record_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from contextlib import AbstractContextManager
    from pathlib import Path

    from leaselab.archive.running import RunningSweep
    from leaselab.archive.store import Store
    from leaselab.lab.inventory import Inventory
    from leaselab.lab.transport import Connection
    from leaselab.measure.ports import Listener, Watch
    from leaselab.model.bench import Bench, ServerUnderTest
    from leaselab.model.procedures import AnyProcedure
    from leaselab.model.record import Scenario
    from leaselab.model.source import Commit

    Show = Callable[[Bench, str], AbstractContextManager[Listener]]

BENCH_FILE = "bench.json"
"""The bench document, as a file of the result."""
BUILD_LOG = "build.log.gz"
"""The log of a build that failed, as a file of the result."""
POINT, FAULT = "point", "fault"
"""Journal events of a point as a whole: what it is, and what stopped it for now."""


@dataclass(frozen=True, slots=True)
class Ended:
    """A point that is sealed."""

    error: LeaselabError | None
    """What ended it for good before its last round; None when nothing did."""
    place: Path


def begin(
    store: Store,
    documents: Mapping[str, Mapping[str, Any]],
    where: str,
    root: Path,
    experiment: Experiment | None = None,
    *,
    elsewhere: Mapping[str, Mapping[str, Any]] | None = None,
) -> list[RunningSweep]:
    """Create a folder for each bench document by its id, journaled before anything is touched.

    `experiment` is what the points are of, None for one alone; `root` is the checkout;
    `elsewhere` has the documents of the same points at the host's second place, where both
    points of a duel are up at once.  Raises a usage error, and creates nothing, where a
    scenario cannot hold its procedure.
    """
    begun = {
        "started_at": moment.now(),
        "experiment": msgspec.to_builtins(experiment),
        "provenance": msgspec.to_builtins(own_provenance(root, command())),
    }
    for document in documents.values():
        bench = parse_bench(document, where)
        check_fits(bench.scenario, bench.procedure)
        if isinstance(bench.procedure, Duel) and len(documents) != 2:
            raise usage_error(
                "a duel is between two",
                where=f"scenario {bench.scenario.name}",
                found=f"{len(documents)} to measure",
                todo="name both: leaselab compare A B --live",
            )
    made = []
    for point_id, document in documents.items():
        running = store.create(point_id)
        made.append(running)
        access = {role: host["access"] for role, host in document["hosts"].items()}
        keep_access(running.path, access)
        public = published_bench(document)
        running.write_text(BENCH_FILE, json.dumps(public, indent=1, sort_keys=True) + "\n")
        second = (elsewhere or {}).get(point_id)
        event = {"elsewhere": published_bench(second)} if second else {}
        running.record(POINT, {"bench": public, **event, **begun})
    return made


def measure_alone(
    store: Store, document: Mapping[str, Any], where: str, root: Path, show: Show
) -> Ended:
    """Measure the one point of a bench document; parameters and errors as `begin`, `finish`."""
    point_id = fresh_id(document["scenario"]["name"])
    (ended,) = finish(store, begin(store, {point_id: document}, where, root), root, show)
    return ended


def archive_failure(
    store: Store,
    point_id: str,
    *,
    error: LeaselabError,
    scenario: Scenario,
    procedure: AnyProcedure,
    commit: Commit,
    log: Path | None,
    inventory: Inventory,
    environment: str,
    experiment: Experiment | None,
    root: Path,
) -> Path:
    """Seal the result of a commit that came to no measurement.

    `log` is that of its build, where that is what failed.  Where the playbook's own
    output lies on this machine is of no use to whoever reads the result elsewhere.
    """
    error = replace(error, todo=f"its whole log: {BUILD_LOG} of the result" if log else "")
    with store.create(point_id) as running:
        if log:
            running.write_bytes(BUILD_LOG, log.read_bytes())
        found = failed_record(
            running.id,
            scenario=scenario,
            procedure=procedure,
            commit=commit,
            inventory=inventory,
            environment=environment,
            error=error,
            started_at=moment.now(),
            experiment=experiment,
            provenance=own_provenance(root, command()),
        )
        return store.seal(running, published(found, public_names(inventory.access())))


def open_experiment(store: Store, ref: str) -> list[RunningSweep]:
    """Open all unfinished points of the experiment that an unfinished point is of.

    Raises usage_error as `Store.open_running`, where one of them is being measured, too.
    """
    first = store.open_running(ref)
    begun = _begun(first)
    points = (begun.get("experiment") or {}).get("points", [first.id])
    unfinished = {sweep.id for sweep in store.running()}
    with ExitStack() as stack:
        opened = [stack.enter_context(first)]
        opened += [
            stack.enter_context(store.open_running(one))
            for one in points
            if one in unfinished and one != first.id
        ]
        stack.pop_all()
    return sorted(opened, key=lambda one: points.index(one.id))


def finish(
    store: Store,
    points: Sequence[RunningSweep],
    root: Path,
    show: Show,
    sealed: Callable[[Ended], object] = lambda _: None,
) -> list[Ended]:
    """Measure what is left of an experiment, and seal each point as it is finished.

    `sealed` is told each point that is.  `show(bench, name)` returns a context with the
    listener that shows a point's progress; `name` is empty where there is but one.  When the
    lab breaks, or the user interrupts, what is not sealed stays as it is and can be resumed:
    that error is raised.  An invalid measurement or a server that does not start is a result
    as well and is sealed with its reason.
    """
    with ExitStack() as stack:
        for running in points:
            stack.enter_context(running)
        parts = [_Part.of(running) for running in points]
        try:
            return _measure(store, parts, root, show, sealed)
        except BaseException as fault:
            _tell(parts, fault, root)
            raise


@dataclass(slots=True)
class _Part:
    """A point that is being measured."""

    running: RunningSweep
    begun: Mapping[str, Any]
    """What the first event of its journal says."""
    bench: Bench
    elsewhere: Bench | None = None
    """The same at the host's second place; None where it is up alone."""
    point: Point | None = None
    ended: Ended | None = None
    configs: Mapping[str, KeptConfig] = field(default_factory=dict)
    """By role: the configuration as deployed, as a file of the result."""
    setup_s: float = 0.0

    @classmethod
    def of(cls, running: RunningSweep) -> _Part:
        begun = _begun(running)

        def read(name: str) -> Bench:
            return parse_bench(with_access(begun[name], running.path), str(running.path))

        if "elsewhere" not in begun:
            return cls(running, begun, read("bench"))
        return cls(running, begun, apart(read("bench")), apart(read("elsewhere")))

    @property
    def experiment(self) -> Experiment | None:
        """The experiment that it is of; None where it is measured alone."""
        given = self.begun.get("experiment")
        return msgspec.convert(given, Experiment) if given else None

    @property
    def title(self) -> str:
        """What tells it from the other points: the scenario, the commit, the release.

        The points of a duel are A and B, whatever they are.
        """
        commit = self.bench.server.commit
        letter = ""
        if isinstance(self.bench.procedure, Duel) and self.experiment:
            letter = "AB"[self.experiment.points.index(self.running.id)] + ","
        parts = [letter, self.bench.scenario.name, f"at {commit[:SHORT]}" if commit else ""]
        parts.append(f"on {self.bench.distribution}" if self.bench.distribution else "")
        return " ".join(filter(None, parts))

    @property
    def names(self) -> dict[str, str]:
        """The words by which others know its hosts."""
        return public_names({role: host.access for role, host in self.bench.hosts.items()})


def next_point(made: Sequence[int | None], *, interleaved: bool) -> int | None:
    """Return which point comes next, by the rounds that each has; None where all are finished.

    `made` has None for a finished point.  Interleaved points take turns, every other time
    backwards (A B B A …), so that a steady drift of the machine falls on all alike; else each
    is finished before the next begins.
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
    parts: Sequence[_Part],
    root: Path,
    show: Show,
    sealed: Callable[[Ended], object],
) -> list[Ended]:
    began = time.monotonic()
    experiment = parts[0].experiment
    interleaved = experiment is None or experiment.interleaved
    with ExitStack() as stack:
        shown = {
            part.running.id: stack.enter_context(
                show(part.bench, part.title if experiment else "")
            )
            for part in parts
        }
        feeds = {
            part.running.id: Live(stack.enter_context(closing(LiveFeed(part.running.path))))
            for part in parts
        }
        listeners = {
            part.running.id: Several(shown[part.running.id], feeds[part.running.id])
            for part in parts
        }
        first = listeners[parts[0].running.id]
        hosts = _connected(stack, parts, first)
        held_for = experiment.id if experiment else parts[0].running.id
        owner = point_owner(held_for, parts[0].bench.name, root)
        longest = max(lease_s(part.bench) for part in parts)
        lock = stack.enter_context(BenchLock(hosts[GENERATOR], owner, longest))
        watch: Watch | None = None
        if any(hears_anybody(part.bench.scenario.generator) for part in parts):
            known = {role: one for part in parts for role, one in part.bench.hosts.items()}
            watch = stack.enter_context(watching(known, hosts))
        for part in parts:
            part.configs = {
                role: _fetch_config(part.running, server, hosts[role], role)
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
        # What a killed measurement left running would refuse the first start.
        most = max(parts, key=lambda part: len(part.bench.servers))
        if most.point is not None:
            most.point.trials.server.clear()
        setup_s = (time.monotonic() - began) / len(parts)
        for part in parts:
            part.setup_s = setup_s

        def done(place: int) -> None:
            sealed(_seal(store, parts[place], owner, root))

        made = [part.point for part in parts if part.point]
        if isinstance(parts[0].bench.procedure, Duel):
            _fight(parts, hosts, feeds)
            for place in range(len(parts)):
                done(place)
        else:
            run_points(made, interleaved=interleaved, done=done)
    return [part.ended for part in parts if part.ended]


def _point(
    part: _Part,
    hosts: Mapping[str, Connection],
    live: Live,
    listener: Listener,
    *,
    lock: BenchLock,
    watch: Watch | None,
) -> Point:
    """Return a point that goes on where its journal ends, on connected hosts."""
    running = part.running
    trials = _trials(part.bench, running, hosts, live, watch)
    journal = read_journal([(one.name, one.data) for one in running.events()])
    method = method_of(part.bench.procedure, trials.generator.capacity)
    return Point(method, trials, lock, running, listener, journal)


def _trials(
    bench: Bench,
    running: RunningSweep,
    hosts: Mapping[str, Connection],
    live: Live,
    watch: Watch | None,
) -> Trials:
    """Return what makes trials of a point as it lies there, on connected hosts."""
    servers = Servers(
        {
            role: ContractServer(hosts[role], server, live.sampler(role))
            for role, server in bench.servers.items()
        },
        pair=bench.scenario.partner,
    )
    generator = adapter_of(bench.scenario)(
        bench, bench.procedure, RemoteGenerator(hosts[GENERATOR])
    )
    watched = {role: RemoteHost(hosts[role]) for role in (GENERATOR, *bench.servers)}
    return Trials(bench, bench.procedure, servers, generator, running, watched, watch)


def _fight(
    parts: Sequence[_Part], hosts: Mapping[str, Connection], feeds: Mapping[str, Live]
) -> None:
    """Make the rounds of a duel, from where its journals end."""
    made = [part.point for part in parts if part.point]
    if len(made) != 2:
        raise usage_error(
            "the other point of this duel is gone",
            where=parts[0].running.id,
            todo="measure anew; remove that folder",
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
    Fight((made[0], made[1]), both).run()


def run_points(
    points: Sequence[Point], *, interleaved: bool, done: Callable[[int], object]
) -> None:
    """Advance the points in turn until all are finished; `done` is told each that is."""

    def made(point: Point) -> int | None:
        return None if point.finished else len(point.rounds)

    while (
        place := next_point([made(point) for point in points], interleaved=interleaved)
    ) is not None:
        points[place].advance()
        if points[place].finished:
            done(place)


def _seal(store: Store, part: _Part, owner: Owner, root: Path) -> Ended:
    point = part.point
    if point is None:
        raise AssertionError("a point is sealed before it was measured")
    found = record_of(
        part.running.id,
        part.bench,
        point,
        setup_s=part.setup_s,
        started_at=part.begun["started_at"],
        owner=owner.name,
        configs=part.configs,
        experiment=part.experiment,
        provenance=msgspec.convert(part.begun["provenance"], Provenance),
    )
    if point.error is not None:
        _distrust(part.bench, point.error, root)
    part.ended = Ended(point.error, store.seal(part.running, published(found, part.names)))
    return part.ended


def _connected(
    stack: ExitStack, parts: Sequence[_Part], listener: Listener
) -> dict[str, Connection]:
    """Connect the hosts of all points, by role, and see that they are tuned as they were."""
    hosts: dict[str, Connection] = {}
    for part in parts:
        for role in (GENERATOR, *part.bench.servers):
            if role not in hosts:
                listener.phase(f"connecting to the {role}")
                hosts[role] = stack.enter_context(connect(part.bench.hosts[role].access))
                check_tuned(part.bench.hosts[role], hosts[role])
    return hosts


def _tell(parts: Sequence[_Part], fault: BaseException, root: Path) -> None:
    """Journal what stopped an experiment for now, and say how it goes on."""
    left = [part for part in parts if part.ended is None]
    if not left:
        return
    for part in left:
        told = by_role(str(fault), part.names) or type(fault).__name__
        part.running.record(FAULT, {"text": told})
    go_on = f"go on with: leaselab resume {left[0].running.id}"
    if isinstance(fault, LeaselabError):
        _distrust(left[0].bench, fault, root)
        fault.todo = f"{fault.todo}; {go_on}" if fault.todo else go_on
    elif isinstance(fault, KeyboardInterrupt):
        fault.args = (go_on,)


def _begun(running: RunningSweep) -> Mapping[str, Any]:
    events = running.events()
    if not events or events[0].name != POINT:
        raise lab_broken(
            "the journal does not say what was to be measured",
            where=str(running.path),
            todo="it was killed before it began, or by another release; remove that folder and "
            "measure anew",
        )
    return events[0].data


def _distrust(bench: Bench, fault: LeaselabError, root: Path) -> None:
    """Have the next run deploy again where what failed is a host that serves."""
    serving = {bench.hosts[role].access.name for role in bench.servers}
    if fault.where in serving and fault.outcome is not Outcome.INVALID:
        distrust_deployment(root, bench.name)


def _fetch_config(
    running: RunningSweep, deployed: ServerUnderTest, host: Connection, role: str
) -> KeptConfig:
    """Keep a server's configuration with the result; it must be the one deployed."""
    path = deployed.config_file
    done = host.run(["cat", path], timeout_s=10.0)
    found = hashlib.sha256(done.stdout).hexdigest()
    if done.status != 0 or found != deployed.config_sha256:
        raise lab_broken(
            f"{path} is not the configuration that was deployed for this sweep",
            where=host.access.name,
            found=found if done.status == 0 else done.stderr.strip(),
            wanted=deployed.config_sha256,
            todo="deploy again",
        )
    folder = "" if role == SERVER else f"{role}/"
    text = done.stdout.decode()
    settings = settings_of(text, deployed.variant, (deployed.build or {}).get("prefix"))
    return KeptConfig(
        file=running.write_text(f"config/{folder}{PurePosixPath(path).name}", text),
        settings_sha256=hashlib.sha256(settings.encode()).hexdigest(),
    )


def point_owner(held_for: str, bench: str, root: Path) -> Owner:
    """Name this process as who has a bench for an experiment, also where it goes on with it."""
    return owner_under(root, bench, held_for, _lock_token(held_for, root))


def _lock_token(held_for: str, root: Path) -> str:
    """Return the same token whenever this checkout goes on with this experiment.

    So a resumed one takes over the lock its killed self left, while nobody
    who only reads results can.
    """
    path = root / ".leaselab" / "lock-secret"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        draft = path.with_name(f"lock-secret.{os.getpid()}")
        with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT, 0o600), "w") as file:
            file.write(secrets.token_hex(32))
        draft.rename(path)
    secret = path.read_text(encoding="ascii").encode()
    return hmac.new(secret, held_for.encode(), hashlib.sha256).hexdigest()


def command() -> list[str]:
    """Return the command as the user gave it, without what may be a secret of an address."""
    given = shlex.split(os.environ.get("LEASELAB_COMMAND", "")) or ["leaselab", *sys.argv[1:]]
    return [public_address(word) for word in given]
