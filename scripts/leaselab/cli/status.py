"""``leaselab lab status``: how a bench is, or a table of all benches."""

from __future__ import annotations

import argparse
import dataclasses
from collections.abc import Sequence
from typing import Any

from leaselab.archive.bench_notes import CHECK, RECOVERY, STATUS, read_note, write_note
from leaselab.archive.disk import writing
from leaselab.archive.store import Store
from leaselab.cli.bench_options import add_inventory, benches_of
from leaselab.cli.options import add_json, add_results, open_store, print_json
from leaselab.cli.report import FOLDER
from leaselab.lab.checks.status import (
    BenchStatus,
    HostStatus,
    bench_statuses,
    role_of,
    state_of,
)
from leaselab.lab.hosts.inventory import GENERATOR_GROUP
from leaselab.model.errors import Outcome
from leaselab.model.moment import now
from leaselab.report.benches import bench_table, check_words, recovery_words, result_words

WELL = frozenset({"free", "measuring", "held", "maintenance", "down"})
"""States that are not faults."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_inventory(parser)
    parser.add_argument(
        "--page",
        action="store_true",
        help="also write them to the page Benches of the report, and print where it is",
    )
    add_results(parser)
    add_json(parser)


def run(args: argparse.Namespace) -> Outcome:
    """Query all hosts in parallel, and show the answers; 4 when a bench has a fault.

    A lab of this machine of which no host answers is down, which is a state and not a
    fault; so is maintenance.
    """
    store = open_store(args)
    benches = benches_of(args)
    up = f"leaselab lab up -i {args.inventory}" if args.inventory else "leaselab lab up"
    may_be_down = {bench.bench: up for bench in benches if bench.made_by}
    statuses = bench_statuses(benches)
    rows = [_row(store, status, may_be_down.get(status.bench, "")) for status in statuses]
    page = _page(store) if args.page else None
    if args.json:
        pages = {"page": str(page)} if page else {}
        each = [
            {"up": status.up, **dataclasses.asdict(status), **row, **pages}
            for status, row in zip(statuses, rows, strict=True)
        ]
        print_json(each[0] if len(each) == 1 else each)
    else:
        for line in _lines(statuses, rows, may_be_down):
            print(line)
        if page:
            print(page)
    return Outcome.OK if all(row["state"] in WELL for row in rows) else Outcome.LAB


def _row(store: Store, status: BenchStatus, up_command: str) -> dict[str, Any]:
    """The row of a bench, which is also stored for the page."""
    check = read_note(store.root, status.bench, CHECK)
    state, words = state_of(status, check)
    if status.down and up_command and state != "maintenance":
        state, words = "down", f"`{up_command}` brings it up"
    last = read_note(store.root, status.bench, STATUS)
    keeper = next((host for host in status.hosts if GENERATOR_GROUP in host.parts), None)
    silent = keeper is not None and not keeper.reachable
    if silent and last is not None and last["state"] == "maintenance" and state != "down":
        # A machine under repair is switched off: its mark cannot be read, but is still valid.
        state, words = "maintenance", last["detail"]
    row = {"at": now(), "state": state, "detail": words}
    hosts = [
        {"role": role_of(host.parts), "well": host.well, "answers": host.reachable}
        for host in status.hosts
    ]
    write_note(store.root, status.bench, STATUS, {**row, "hosts": hosts})
    results = store.index.rows(bench=status.bench, limit=1)
    recovery = read_note(store.root, status.bench, RECOVERY)
    last_result = results[0] if results else None
    return {**row, "check": check, "recovery": recovery, "last_result": last_result}


def _page(store: Store) -> str:
    from leaselab.report.site.site import write_benches  # noqa: PLC0415  # draws; slow to import

    folder = store.root / FOLDER
    with writing(folder):
        return str(write_benches(store, folder).absolute())


def _lines(
    statuses: Sequence[BenchStatus], rows: Sequence[dict[str, Any]], may_be_down: dict[str, str]
) -> list[str]:
    if len(statuses) > 1:
        named = zip(statuses, rows, strict=True)
        return bench_table([{"bench": status.bench, **row} for status, row in named], now())
    (status,), (row,) = statuses, rows
    lines = status_lines(status, may_be_down.get(status.bench, ""))
    if row["state"] == "maintenance" and status.maintenance is None:
        lines.append(f"maintenance: as last seen, {row['detail']}")
    lines += [f"last result: {result_words(row['last_result'], now())}"]
    lines += [f"last check: {check_words(row['check'], now())}"]
    if row["recovery"]:
        lines.append(f"last recovery: {recovery_words(row['recovery'], now())}")
    return lines


def status_lines(status: BenchStatus, up_command: str = "") -> list[str]:
    """Return the status as a person reads it.

    `up_command` brings up a lab that is made on this machine, and may therefore be down.
    """
    if status.down and up_command:
        return [f"bench {status.bench}: down; `{up_command}` brings it up"]
    word = "up" if status.up else "has a fault"
    lines = [f"bench {status.bench}: {word}"]
    for host in status.hosts:
        lines += _host_lines(host)
    if status.maintenance is not None:
        lines.append(f"maintenance: {status.maintenance}")
    if status.lock is not None:
        lines.append(
            f"lock: held by {status.lock['name']} for {status.lock['purpose']},"
            f" {status.lock['age_s']:.0f} s old, expires in {status.lock['expires_in_s']:.0f} s"
        )
    elif status.lock_problem:
        lines.append(f"lock: not known: {status.lock_problem}")
    else:
        lines.append("lock: free")
    return lines


def _host_lines(host: HostStatus) -> list[str]:
    head = f"  {host.name} ({', '.join(host.parts)}) {host.at}"
    if not host.reachable:
        return [f"{head}: NOT REACHABLE: {host.problem}"]
    cpus = ",".join(map(str, host.cpus))
    lines = [
        f"{head}: {f'WRONG: {host.problem}' if host.problem else 'ok'}",
        f"    {host.hostname}, {host.os}, Linux {host.kernel}, processors {cpus}",
    ]
    if host.test_addresses:
        lines.append(f"    test: {host.test_interface} {' '.join(host.test_addresses)}")
    if host.server:
        lines.append(f"    deployed: {host.server} for scenario {host.scenario}")
    if len(host.variants) > 1:
        lines.append(f"    variants: {', '.join(host.variants)}")
    if host.generator:
        lines.append(f"    deployed: {host.generator}")
    return lines
