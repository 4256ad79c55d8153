"""``leaselab rerun``: measure again what a result measured."""

from __future__ import annotations

import argparse
import json
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from leaselab.archive.running import BENCH_FILE
from leaselab.archive.store import Store
from leaselab.cli.bench_options import add_inventory, inventory_of
from leaselab.cli.options import add_json, add_result, add_results, open_store
from leaselab.cli.outcome import show_sealed
from leaselab.cli.progress import progress
from leaselab.cli.report import report_after
from leaselab.lab.bench_file import parse_measured
from leaselab.lab.catalog import find_scenario
from leaselab.lab.checkout import checkout_root
from leaselab.model.bench import Bench
from leaselab.model.errors import LeaselabError, Outcome, usage_error
from leaselab.model.record import Record
from leaselab.model.scenario import Scenario
from leaselab.model.source import public_address
from leaselab.run.experiment import Ended
from leaselab.run.measurement import measure_alone
from leaselab.run.preparation import LeasedBench, build_commit, is_kept, leased, prepare
from leaselab.run.task import open_source, source_folder
from leaselab.run.variants import deploy, give_back

NAME = "rerun"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``rerun``."""
    add_result(parser)
    add_inventory(parser)
    add_results(parser)
    add_json(parser)


def run(args: argparse.Namespace) -> Outcome:
    """Read the result, then measure the same again.

    Raises a usage error when the scenario of that name is another one now:
    the second figure would look like a repetition and be none.
    """
    store = open_store(args, existing=True)
    store.verify(args.ref)
    record = store.load(args.ref)
    path = store.find(args.ref) / BENCH_FILE
    if not path.exists():
        raise _not_deployed(record)
    before = parse_measured(json.loads(path.read_text(encoding="utf-8")), str(path))
    scenarios, asked = checkout_root() / "scenarios", before.scenario
    _same(asked, find_scenario(scenarios, asked.name, asked.generator))
    if args.inventory is None:
        # Its inventory may have several benches, of which another one may be free.
        args.bench = args.bench or record.bench.name
        args.inventory = _inventory(before.inventory, args.ref)
    inventory = inventory_of(args)
    store.check_room()
    with leased(inventory, f"{NAME} {before.scenario.name}") as bench:
        ended = _measure(store, before, bench)
    report_after(store)
    return show_sealed(store, ended, as_json=args.json)


def _measure(store: Store, before: Bench, bench: LeasedBench) -> Ended:
    """Prepare, build, deploy and measure the same again; restore the hosts."""
    prepare(bench, before.distribution, full=False)
    server = before.server
    key = _build_again(server.name, server.build, bench, store)
    tool = before.scenario.generator
    generator_key = _build_again(tool, before.generator.build, bench, store)
    [deployed] = deploy(
        before.scenario,
        bench,
        before.procedure,
        key,
        generator_build=generator_key,
        distribution=before.distribution,
        full=False,
    )
    _same_tuning(before, deployed)
    ended = measure_alone(store, deployed, checkout_root(), progress, lease=bench.lease)
    if before.scenario.hosts:
        give_back(bench)
    return ended


def _not_deployed(record: Record) -> LeaselabError:
    """The refusal of a result that has no bench document, as nothing was deployed for it."""
    again = ["leaselab", "run", record.scenario.name]
    if record.source:
        again += ["--repo", record.source.repository, "--commit", record.source.hash]
    return usage_error(
        "it cannot be measured again: its server was never deployed",
        where=f"result {record.id}",
        found=f"{record.outcome}, no {BENCH_FILE}",
        wanted="a result of a server that was deployed",
        todo=f"build and measure it with: {shlex.join(again)}",
    )


def _inventory(name: str, ref: str) -> Path:
    """Return where the inventory of a result lies, whose name is its place in a checkout."""
    path = checkout_root() / name
    if not path.exists():
        raise usage_error(
            "the inventory that it was measured with is not here",
            where=f"result {ref}",
            found=f"no {name} in this checkout",
            todo="name it with -i",
        )
    return path


def _build_again(
    name: str, build: Mapping[str, Any] | None, bench: LeasedBench, store: Store
) -> str:
    """Return the key of what was measured, or measured with, built again where that is gone.

    `name` is that of the server or generator, `build` what is known of its build; the key is
    empty for packages.
    """
    if build is None:
        return ""
    if is_kept(build["key"]):
        return str(build["key"])
    source = build["source"]
    if source["dirty"]:
        raise usage_error(
            "it was measured from a dirty worktree, and its build is gone",
            where=public_address(source["repository"]),
            found=f"no build {build['key']}",
            todo="commit the changes, then measure that commit: leaselab run --commit REF",
        )
    repository = open_source(public_address(source["repository"]))
    commit = repository.resolve(source["hash"])
    files = repository.archive(commit, source_folder())
    made = build_commit(name, commit, files, bench, store)
    return str(made["key"])


def _same(then: Scenario, now: Scenario) -> None:
    was, is_now = then.beside_another(now), now.beside_another(then)
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
            **server.tuning,
            **{
                f"{name}: {key}": value
                for name, program in server.beside.items()
                for key, value in program.get("variables", {}).items()
            },
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
