"""`leaselab dev bench operations`: what clients notice of each operation on each real server.

The lab measures each scenario once, with all operations of its server one after the other.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks._shown import Table, add_markdown, show
from leaselab.archive.store import Store
from leaselab.catalog.catalogue import Catalogue
from leaselab.catalog.checkout import checkout_root
from leaselab.model.procedures.operate import Operate
from leaselab.model.record import Record
from leaselab.model.server import server_name

OF_ANY = ("link-down", "link-loss", "pause-100ms", "pause-1s", "pause-5s", "restart")
_OF_FILE = ("full-disk", "slow-disk")
_OF_ZONES = (
    *("rotate-log", "reload", "add-zones", "remove-zones"),
    *("transfer", "transfer-in", "transfer-in-changes"),
)
_OF_SIGNED = (*_OF_ZONES, "roll-keys")
_OF_KEA = (
    *("rotate-log", "reload", "config-set"),
    *("add-subnets", "remove-subnets", "reclaim"),
)
_OF_DATABASE = ("fetch-subnets", "backup-database", "restart-database", "slow-disk")
OPERATIONS = {
    "v4-memfile": (*_OF_KEA, "lease-cleanup", "full-disk"),
    "v4-mysql": (*_OF_KEA, *_OF_DATABASE),
    "v4-postgresql": (*_OF_KEA, *_OF_DATABASE),
    "v4-dnsmasq-file": ("reload", *_OF_FILE),
    "v4-dhcpd": _OF_FILE,
    "bind9-delegations-size-10000-threads-1": _OF_SIGNED,
    "bind9-recursive-cold": ("rotate-log", "flush", "blocklist"),
    "unbound-recursive-cold": ("rotate-log", "reload", "reload-keep-cache", "blocklist"),
    "nsd-delegations-size-10000": _OF_ZONES,
    "knot-delegations-size-10000": _OF_SIGNED,
    "powerdns-lmdb-warm-up": ("flush",),
}
"""Scenarios, and the operations that only their servers have."""
RATE = 300
SLOWER = {"v4-dnsmasq-file": 100, "v4-dhcpd": 100}
"""Loads of those that wait for the disk before each answer (1/s)."""
OPERATE = Operate.__struct_config__.tag
OK, INVALID = 0, 3


@dataclass(frozen=True, slots=True)
class Row:
    """What clients noticed of an operation; times in seconds, None where it is not known."""

    scenario: str
    server: str
    operation: str
    stall_s: float | None = None
    usual_gap_s: float | None = None
    recovered_s: float | None = None
    effect_s: float | None = None
    late: int | None = None
    lost: int | None = None
    rss_bytes: int | None = None
    rate: int | None = None
    """The load (transactions/s)."""
    why: str = ""
    """Why it had no effect, or why there are no figures."""


def main(argv: Sequence[str]) -> int:
    """Measure; returns 0 where each operation had its effect."""
    args = _options(argv)
    rows: list[Row] = []
    for scenario in args.scenario or OPERATIONS:
        rows += _rows(args, scenario)
        show([_table(rows)], args.markdown, _reasons(rows))
    if args.json:
        print(json.dumps({"benchmark": "operations", "rows": [*map(asdict, rows)]}))
    return INVALID if any(row.why for row in rows) else OK


def _options(argv: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="leaselab dev bench operations", description=__doc__)
    parser.add_argument("scenario", nargs="*", help=f"some of {', '.join(OPERATIONS)}")
    of_files = ", ".join(f"{name}: {rate}" for name, rate in SLOWER.items())
    usual = f"load (1/s; default: {RATE}; {of_files})"
    parser.add_argument("--rate", type=int, help=usual)
    parser.add_argument("--every", type=int, default=15, help="spacing (s; default: 15)")
    parser.add_argument("--inventory", default="inventory/docker", help="default: %(default)s")
    parser.add_argument("--results", type=Path, default=Path("results"), help="the archive")
    parser.add_argument(
        "--made", action="store_true", help="measure only what the archive has no result of"
    )
    parser.add_argument("--json", action="store_true", help="one JSON document at the end")
    add_markdown(parser)
    args = parser.parse_args(argv)
    if not OPERATIONS.keys() >= set(args.scenario):
        parser.error("a scenario that is none of these")
    return args


def _rows(args: argparse.Namespace, scenario: str) -> list[Row]:
    """Measure a scenario; the rows of its operations, or of what prevented them."""
    store = Store(args.results)
    made = [row["id"] for row in store.index.every(scenario) if row["procedure"] == OPERATE]
    if args.made and made:
        return rows_of(store.load(made[-1]))
    names = (*OF_ANY, *OPERATIONS[scenario])
    rate = args.rate or SLOWER.get(scenario, RATE)
    settings = (
        *(f"operations={','.join(names)}", "rounds=1", f"rate={rate}"),
        *("before_s=3", f"every_s={args.every}"),
    )
    with tempfile.TemporaryDirectory() as folder:
        ids = Path(folder, "ids")
        launcher = str(checkout_root() / "leaselab")
        words = [launcher, "run", scenario, "--procedure", "operate", "-i", args.inventory]
        words += [word for setting in settings for word in ("--set", setting)]
        words += ["--generator", "leaseload"]
        words += ["--results", str(args.results), "--id-file", str(ids)]
        done = subprocess.run(words, stdout=subprocess.DEVNULL, check=False)
        made = ids.read_text(encoding="utf-8").split() if ids.exists() else []
    if not made:
        kind = Catalogue.here().find(scenario).server.kind
        return [Row(scenario, kind, "-", why=f"nothing was measured: exit {done.returncode}")]
    return rows_of(store.load(made[-1]))


def rows_of(record: Record) -> list[Row]:
    """What a result says of each operation; where none happened, why."""
    trials = [trial for round_ in record.rounds for trial in round_.trials if trial.operations]
    scenario, server = record.scenario.name, server_name(record.server)
    if not trials:
        why = "; ".join(reason.text for reason in record.reasons) or record.outcome
        return [Row(scenario, server, "-", why=why)]
    usual = trials[-1].figures.get("usual_gap_s")
    return [
        Row(
            *(scenario, server, one.name, one.stall_s, usual, one.recovered_s, one.effect_s),
            *(one.late, one.lost, one.rss_bytes, trials[-1].rate, one.why),
        )
        for one in trials[-1].operations
    ]


def _table(rows: Sequence[Row]) -> Table:
    table = Table(
        "What clients notice of operations",
        "One trial each. Longest time without an answer, beside that of the time "
        "before; time until latency is as before, and until the effect was seen; transactions "
        "late and lost; highest memory.",
    )
    for heading in ("scenario", "server", "operation"):
        table.add_column(heading)
    of_time = ("stall ms", "usual ms", "recovery s", "effect s")
    for heading in ("load /s", *of_time, "late", "lost", "MiB"):
        table.add_column(heading, "right")
    for row in rows:
        table.add_row(
            row.scenario,
            row.server,
            row.operation,
            _figure(row.rate),
            _figure(row.stall_s, 1000),
            _figure(row.usual_gap_s, 1000),
            _figure(row.recovered_s, 1, 2),
            _figure(row.effect_s, 1, 3),
            _figure(row.late),
            _figure(row.lost),
            _figure(row.rss_bytes, 2**-20),
        )
    return table


def _figure(value: float | None, times: float = 1, places: int = 0) -> str:
    return "-" if value is None else f"{times * value:.{places}f}"


def _reasons(rows: Sequence[Row]) -> list[str]:
    return [f"{row.scenario}, {row.operation}: {row.why}" for row in rows if row.why]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
