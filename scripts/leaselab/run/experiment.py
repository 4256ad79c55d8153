"""An experiment: the files of its points, and each point while it is measured.

Each point has a folder and a journal, and becomes a separate record.  The next round follows
from the number of rounds of each point, so an experiment is resumed like a single point, from
the journals alone.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from leaselab.archive.published import published, published_bench
from leaselab.archive.running import BENCH_FILE, RunningSweep, keep_access, with_access
from leaselab.archive.store import Store
from leaselab.lab.contract.servers import apart
from leaselab.lab.hosts.inventory import Inventory
from leaselab.lab.hosts.transport import Connection
from leaselab.measure.generators import check_fits
from leaselab.measure.point import Point
from leaselab.model import moment
from leaselab.model.bench import Bench, ServerUnderTest, public_names
from leaselab.model.errors import LeaselabError, lab_broken, usage_error
from leaselab.model.journal import Begun
from leaselab.model.record import SERVER, Experiment, Record
from leaselab.model.server import settings_of
from leaselab.model.source import SHORT
from leaselab.run.record import KeptConfig, check_recordable, command, own_provenance


@dataclass(frozen=True, slots=True)
class Ended:
    """A point that is sealed."""

    error: LeaselabError | None
    """Error that ended it before its last round; None without one."""
    place: Path


@dataclass(slots=True)
class Part:
    """A point that is being measured."""

    running: RunningSweep
    begun: Begun
    """The first event of its journal."""
    bench: Bench
    elsewhere: Bench | None = None
    """Its bench at the host's second address; None where it is up alone."""
    point: Point | None = None
    ended: Ended | None = None
    configs: Mapping[str, KeptConfig] = field(default_factory=dict)
    """Deployed configurations as files of the result, by role."""
    setup_s: float = 0.0

    @classmethod
    def of(cls, running: RunningSweep) -> Part:
        """Return the point of a journal; raises as `RunningSweep.begun`."""
        begun = running.begun()
        bench = with_access(begun.bench, running.path)
        if begun.elsewhere is None:
            return cls(running, begun, bench)
        elsewhere = with_access(begun.elsewhere, running.path)
        return cls(running, begun, apart(bench), apart(elsewhere))

    @property
    def experiment(self) -> Experiment | None:
        """Its experiment; None where it is measured alone."""
        return self.begun.experiment

    @property
    def title(self) -> str:
        """Its name among the other points: the scenario, the commit, the release.

        The points of a duel are always A and B.
        """
        commit = self.bench.server.commit
        letter = ""
        if self.bench.procedure.of_two and self.experiment:
            letter = "AB"[self.experiment.points.index(self.running.id)] + ","
        parts = [letter, self.bench.scenario.name, f"at {commit[:SHORT]}" if commit else ""]
        parts.append(f"on {self.bench.distribution}" if self.bench.distribution else "")
        return " ".join(filter(None, parts))

    @property
    def names(self) -> dict[str, str]:
        """The public words for its hosts."""
        return public_names({role: host.access for role, host in self.bench.hosts.items()})


def fetch_config(
    part: Part, deployed: ServerUnderTest, host: Connection, role: str
) -> KeptConfig:
    """Store a server's configuration with the result; it must be the deployed one.

    Of a user's own only a hash is stored.
    """
    path, running = deployed.config_file, part.running
    done = host.run(["cat", path], timeout_s=10.0)
    digest = hashlib.sha256(done.stdout).hexdigest()
    if done.status != 0 or digest != deployed.config_sha256:
        raise lab_broken(
            f"{path} is not the configuration that was deployed for this sweep",
            where=host.access.name,
            found=digest if done.status == 0 else done.stderr.strip(),
            wanted=deployed.config_sha256,
            todo="deploy again; where a role's template has changed since, that cannot be had "
            f"again: remove {running.path} and measure again",
        )
    folder = "" if role == SERVER else f"{role}/"
    text = done.stdout.decode()
    settings = settings_of(text, deployed.variant, (deployed.build or {}).get("prefix"))
    name = f"config/{folder}{PurePosixPath(path).name}"
    return KeptConfig(
        file=None if part.bench.scenario.is_own else running.write_text(name, text),
        settings_sha256=hashlib.sha256(settings.encode()).hexdigest(),
    )


BUILD_LOG = "build.log.gz"
"""The log of a build that failed, as a file of the result."""


def begin(
    store: Store,
    benches: Mapping[str, Bench],
    root: Path,
    experiment: Experiment | None = None,
    *,
    elsewhere: Mapping[str, Bench] | None = None,
) -> list[RunningSweep]:
    """Create a folder for each point by its id, journaled before anything is touched.

    `experiment` is None for a single point; `root` is the checkout; `elsewhere` has the benches
    of the same points at the host's second address, where both points of a duel are up at once.
    Raises a usage error, and creates nothing, where a scenario's capacity is too small for its
    procedure; also raises as `check_recordable`.
    """
    started_at, provenance = moment.now(), own_provenance(root, command())
    second = {at: published_bench(bench) for at, bench in (elsewhere or {}).items()}
    for bench in (*benches.values(), *(elsewhere or {}).values()):
        check_recordable(bench)
    for bench in benches.values():
        check_fits(bench.scenario, bench.procedure)
        if bench.procedure.of_two and len(benches) != 2:
            raise usage_error(
                "a duel is between two",
                where=f"scenario {bench.scenario.name}",
                found=f"{len(benches)} to measure",
                todo="name both: leaselab compare A B --live",
            )
    made = []
    for point_id, bench in benches.items():
        running = store.create(point_id)
        made.append(running)
        keep_access(running.path, bench)
        public = published_bench(bench)
        document = json.dumps(public.document(), indent=1, sort_keys=True)
        running.write_text(BENCH_FILE, f"{document}\n")
        running.record(
            Begun(
                bench=public,
                elsewhere=second.get(point_id),
                started_at=started_at,
                experiment=experiment,
                provenance=provenance,
            )
        )
    return made


def archive_failure(
    store: Store, record: Record, log: Path | None, inventory: Inventory
) -> Path:
    """Seal the result of a commit that was not measured.

    `log` is that of its build, where the build failed.
    """
    with store.create(record.id) as running:
        if log:
            running.write_bytes(BUILD_LOG, log.read_bytes())
        return store.seal(running, published(record, public_names(inventory.access())))


def open_experiment(store: Store, ref: str) -> list[RunningSweep]:
    """Open all unfinished points of the experiment of an unfinished point.

    Raises usage_error as `Store.open_running`, also where one of them is being measured.
    """
    first = store.open_running(ref)
    points = first.begun().points(first.id)
    unfinished = {sweep.id for sweep in store.running()}
    with ExitStack() as stack:
        opened = [stack.enter_context(first)]
        opened += [
            stack.enter_context(store.open_running(point))
            for point in points
            if point in unfinished and point != first.id
        ]
        stack.pop_all()
    return sorted(opened, key=lambda running: points.index(running.id))
