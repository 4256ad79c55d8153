"""``leaselab lab prune``: remove files that accumulate and are not needed any more."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import Any

from leaselab.archive.prune import (
    IDLE_DAYS,
    Freed,
    Item,
    alone,
    caches,
    clock_trouble,
    leftovers,
    may_go,
    remove,
    results,
)
from leaselab.archive.row import UNREADABLE
from leaselab.archive.store import Store
from leaselab.catalog.checkout import checkout_root
from leaselab.cli.bench_options import add_place, benches_of
from leaselab.cli.options import add_json, add_results, open_store, print_answer, whole
from leaselab.lab.deploy.playbook import run_playbook
from leaselab.lab.hosts.inventory import BUILDER_GROUP, Inventory
from leaselab.lab.hosts.transport import connect
from leaselab.model.errors import LeaselabError, Outcome, lab_broken
from leaselab.report.listing import aligned

DAYS = range(1, 3651)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--raw-days",
        metavar="N",
        type=whole(DAYS[0], DAYS[-1]),
        default=30,
        help="keep what generators printed for so many days after a result's end "
        f"({DAYS[0]} to {DAYS[-1]}, default: 30)",
    )
    parser.add_argument(
        "--unused-days",
        metavar="N",
        type=whole(DAYS[0], DAYS[-1]),
        default=30,
        help="keep builds that no result names, sources, repositories and logs for so many "
        f"days after their last use ({DAYS[0]} to {DAYS[-1]}, default: 30)",
    )
    parser.add_argument(
        "--dry-run", action="store_true", help="remove nothing, say what would be removed"
    )
    add_place(parser)
    parser.add_argument(
        "--bench", metavar="NAME", help="the builder of this bench alone (default: of all)"
    )
    add_results(parser)
    add_json(parser)


def run(args: argparse.Namespace) -> Outcome:
    """Prune results, checkout and builders; 4 where something cannot be removed.

    Nothing is removed where the clock may be far ahead: a broken-lab error.

    Items in use and builders that do not answer are left unchanged, which is reported and is
    not an error.
    """
    store = open_store(args, existing=True)
    folder = checkout_root() / ".leaselab"
    now = time.time()
    _check_clock(store, now, args.raw_days)
    freed: dict[str, Freed] = {}
    errors: list[str] = []
    left: list[str] = []

    def prune(place: Path, items: Iterable[Item], days: int) -> None:
        if not place.is_dir():
            return
        try:
            with alone(place) as free:
                if not free and not args.dry_run:
                    left.append(f"{place}: in use by another command")
                    return
                some, failed = remove(may_go(items, now, days), dry_run=args.dry_run)
        except OSError as error:
            some, failed = {}, [f"{place}: {error}"]
        errors.extend(failed)
        for kind, part in some.items():
            _add(freed, kind, part.items, part.bytes)

    prune(store.root, results(store), args.raw_days)
    prune(store.root, leftovers(store), args.unused_days)
    prune(folder, caches(store, checkout_root()), args.unused_days)
    named = sorted(store.index.builds())
    for inventory in _builders(benches_of(args), left):
        try:
            pruned = prune_builder(inventory, args.unused_days, named, dry_run=args.dry_run)
        except LeaselabError as error:
            if error.outcome is not Outcome.LAB:
                raise
            left.append(f"builder of bench {inventory.bench}: {error}")
            continue
        if pruned["busy"]:
            left.append(f"builder of bench {inventory.bench}: it builds")
        for kind, part in pruned["freed"].items():
            _add(freed, f"{kind} of builders", part["items"], part["bytes"])
    for text in (*(f"left as it is: {place}" for place in left), *errors):
        print(f"leaselab: {text}", file=sys.stderr)
    document = {
        "dry_run": args.dry_run,
        "freed": {kind: asdict(part) for kind, part in freed.items()},
        "left": left,
        "errors": errors,
    }
    print_answer(args, document, "".join(_table(freed, dry_run=args.dry_run)))
    return Outcome.LAB if errors else Outcome.OK


def _check_clock(store: Store, now: float, days: int) -> None:
    """Raise a broken-lab error where the dates of the results say that the clock is ahead."""
    ends = (
        datetime.fromisoformat(row["finished_at"]).timestamp()
        for row in store.index.rows()
        if row["outcome"] != UNREADABLE
    )
    trouble = clock_trouble(ends, now, days)
    if trouble:
        raise lab_broken(
            "nothing is removed, as the clock of this machine may be ahead",
            where=str(store.root),
            found=trouble,
            wanted=f"at most {IDLE_DAYS} days without a result",
            todo=f"set the clock; if it is right, prune once results of {days} days are there",
        )


def _add(freed: dict[str, Freed], kind: str, items: int, size: int) -> None:
    known = freed.setdefault(kind, Freed())
    known.items += items
    known.bytes += size


def _builders(benches: Sequence[Inventory], left: list[str]) -> Iterator[Inventory]:
    """A bench of each builder that answers; those that do not are `left`."""
    seen = set()
    for inventory in benches:
        for host in inventory.group(BUILDER_GROUP):
            if host.machine in seen:
                continue
            seen.add(host.machine)
            try:
                with connect(host.access):
                    pass
            except LeaselabError as error:
                left.append(f"builder of bench {inventory.bench}: {error}")
            else:
                yield inventory


def prune_builder(
    inventory: Inventory, days: int, keep: Sequence[str], *, dry_run: bool
) -> Mapping[str, Any]:
    """Play `prune`, of what was not used for so many days but for artifacts of some keys.

    Returns what that `freed` of the builder's cache, items and bytes by kind, and whether it
    was left as it is because the builder is `busy`.
    """
    variables = {"build_unused_days": days, "build_keep": keep, "build_dry_run": dry_run}
    pruned: Mapping[str, Any] = run_playbook("prune", inventory.path, variables).custom[
        "pruned"
    ]
    return pruned


def _table(freed: Mapping[str, Freed], *, dry_run: bool) -> Iterator[str]:
    rows = [(kind, str(part.items), _size(part.bytes)) for kind, part in freed.items()]
    total = _size(sum(part.bytes for part in freed.values()))
    if rows:
        yield from aligned(("kind", "items", "size"), rows, 1)
    yield f"{total} would be freed" if dry_run else f"{total} freed"


def _size(size: int) -> str:
    """Bytes in decimal units, as disks are sold."""
    value, unit = float(size), "B"
    for larger in ("kB", "MB", "GB", "TB"):
        if value < 1000:
            break
        value, unit = value / 1000, larger
    return f"{value:.0f} {unit}" if unit == "B" else f"{value:.1f} {unit}"
