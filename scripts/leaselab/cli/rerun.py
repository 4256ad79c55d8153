"""``leaselab rerun``: measure again what a result measured."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from leaselab.cli.bench_setup import (
    add_inventory,
    build_commit,
    deploy,
    inventory_of,
    is_kept,
    prepare,
)
from leaselab.cli.measuring import BENCH_FILE, begin, finish
from leaselab.cli.options import add_json, add_results, checkout_root, open_store
from leaselab.cli.outcome import tell
from leaselab.cli.report import report_after
from leaselab.cli.source import open_source, source_folder
from leaselab.lab.bench_file import parse_bench
from leaselab.lab.catalog import find_scenario
from leaselab.model.errors import usage_error

if TYPE_CHECKING:
    import argparse

    from leaselab.lab.inventory import Inventory
    from leaselab.model.bench import Bench
    from leaselab.model.errors import Outcome
    from leaselab.model.scenario import Scenario

NAME = "rerun"
HELP = "Measure again what a result measured: its scenario and parameters, on its bench."


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``rerun``."""
    parser.add_argument("ref", metavar="ID|PATH|last", nargs="?", default="last")
    add_inventory(parser)
    add_results(parser)
    add_json(parser)


def run(args: argparse.Namespace) -> Outcome:
    """Read what was measured, then do the same again.

    Raises a usage error when the scenario of that name is another one now:
    the second figure would look like a repetition and be none.
    """
    store = open_store(args, existing=True)
    store.verify(args.ref)
    path = store.find(args.ref) / BENCH_FILE
    before = parse_bench(json.loads(path.read_text(encoding="utf-8")), str(path))
    _same(before.scenario, find_scenario(checkout_root() / "scenarios", before.scenario.name))
    args.inventory = args.inventory or Path(before.inventory)
    inventory = inventory_of(args)
    prepare(inventory, before.distribution)
    key = _build_again(before, inventory)
    document = deploy(
        before.scenario.name,
        inventory,
        asdict(before.plan),
        key,
        distribution=before.distribution,
    )
    _same_tuning(before, parse_bench(document, "bench.json"))
    error, place = finish(store, begin(store, document, BENCH_FILE))
    report_after(store)
    return tell(store, error, place, as_json=args.json)


def _build_again(before: Bench, inventory: Inventory) -> str:
    """Return the key of what was measured, built anew where that is gone; none for packages."""
    build = before.server.build
    if build is None:
        return ""
    if is_kept(build["key"]):
        return str(build["key"])
    source = build["source"]
    if source["dirty"]:
        raise usage_error(
            "it was a checkout with changes that no commit has, and what was built is not kept",
            where=source["repository"],
            found=f"no build {build['key']}",
        )
    repository = open_source(source["repository"])
    commit = repository.resolve(source["hash"])
    files = repository.archive(commit, source_folder())
    return str(build_commit(before.server.name, commit, files, inventory)["key"])


def _same(then: Scenario, now: Scenario) -> None:
    was, is_now = asdict(then), asdict(now)
    changed: list[Any] = [key for key in was if was[key] != is_now[key]]
    if changed:
        key = changed[0]
        raise usage_error(
            f"the scenario has changed since: {', '.join(changed)}",
            where=f"scenario {then.name}",
            found=str(is_now[key]),
            wanted=str(was[key]),
            todo=f"measure the new one with: leaselab run {then.name}",
        )


def _same_tuning(then: Bench, now: Bench) -> None:
    """Settings may also come from the inventory; versions may well be others."""
    was, is_now = (
        {
            "durability": server.durability.value,
            **{key: value for key, value in server.tuning.items() if key != "database"},
            **(server.tuning.get("database") or {}).get("variables", {}),
        }
        for server in (then.server, now.server)
    )
    changed = sorted(key for key in was if was[key] != is_now.get(key))
    if changed:
        raise usage_error(
            f"the server is tuned in another way now: {', '.join(changed)}",
            where=f"scenario {then.scenario.name}",
            found=", ".join(str(is_now.get(key)) for key in changed),
            wanted=", ".join(str(was[key]) for key in changed),
            todo="give the inventory the settings of then, or measure the new ones with: "
            f"leaselab run {then.scenario.name}",
        )
