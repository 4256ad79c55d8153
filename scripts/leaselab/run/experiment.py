"""The files of an experiment: a folder and a journal for each of its points.

Each point becomes a separate record.  The next round follows from the number of rounds of each
point, so an experiment is resumed like a single point, from the journals alone.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path

from leaselab.archive.published import published, published_bench
from leaselab.archive.running import BENCH_FILE, RunningSweep, keep_access
from leaselab.archive.store import Store
from leaselab.lab.inventory import Inventory
from leaselab.measure.generators import check_fits
from leaselab.model import moment
from leaselab.model.bench import Bench, public_names
from leaselab.model.errors import usage_error
from leaselab.model.journal import Begun
from leaselab.model.procedures.duel import Duel
from leaselab.model.record import Experiment, Record
from leaselab.run.record import check_recordable, command, own_provenance

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
        if isinstance(bench.procedure, Duel) and len(benches) != 2:
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
