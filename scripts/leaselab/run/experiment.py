"""An experiment as it lies on the disk: a folder and a journal for each of its points.

Each point becomes a record of its own.  Which round of which point comes next follows from how
many each has: so an experiment is resumed like a single point, from the journals alone.
"""

from __future__ import annotations

import json
from contextlib import ExitStack
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import msgspec

from leaselab.archive.published import published, published_bench
from leaselab.archive.running import BENCH_FILE, keep_access
from leaselab.lab.bench_file import parse_bench
from leaselab.measure.generators import check_fits
from leaselab.model import moment
from leaselab.model.bench import public_names
from leaselab.model.errors import LeaselabError, lab_broken, usage_error
from leaselab.model.procedures.duel import Duel
from leaselab.run.record import check_recordable, command, failed_record, own_provenance

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from leaselab.archive.running import RunningSweep
    from leaselab.archive.store import Store
    from leaselab.lab.inventory import Inventory
    from leaselab.model.procedures import AnyProcedure
    from leaselab.model.record import Experiment, Scenario
    from leaselab.model.source import Commit

"""The bench document, as a file of the result."""
BUILD_LOG = "build.log.gz"
"""The log of a build that failed, as a file of the result."""
POINT = "point"
"""First event of a point's journal: what it is."""


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
    scenario cannot hold its procedure; as `check_recordable` likewise.
    """
    begun = {
        "started_at": moment.now(),
        "experiment": msgspec.to_builtins(experiment),
        "provenance": msgspec.to_builtins(own_provenance(root, command())),
    }
    for document in (elsewhere or {}).values():
        check_recordable(parse_bench(document, where), where)
    for document in documents.values():
        bench = parse_bench(document, where)
        check_recordable(bench, where)
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
        record = failed_record(
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
        return store.seal(running, published(record, public_names(inventory.access())))


def open_experiment(store: Store, ref: str) -> list[RunningSweep]:
    """Open all unfinished points of the experiment that an unfinished point is of.

    Raises usage_error as `Store.open_running`, where one of them is being measured, too.
    """
    first = store.open_running(ref)
    begun = begun_of(first)
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


def begun_of(running: RunningSweep) -> Mapping[str, Any]:
    """Return what the first event of a point's journal says: bench, experiment, provenance.

    Raises lab_broken where the journal has no such event.
    """
    events = running.events()
    if not events or events[0].name != POINT:
        raise lab_broken(
            "the journal has no start event",
            where=str(running.path),
            todo="it was killed before it began, or by another release; remove that folder and "
            "measure again",
        )
    return events[0].data
