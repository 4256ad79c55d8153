"""``leaselab rerun``: measure again what a result measured."""

from __future__ import annotations

import argparse
import json
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from leaselab.archive.running import BENCH_FILE
from leaselab.archive.store import Store
from leaselab.catalog.catalogue import Catalogue
from leaselab.catalog.checkout import checkout_root
from leaselab.cli.bench_options import add_inventory, inventory_of
from leaselab.cli.options import add_json, add_result, add_results, open_store
from leaselab.cli.progress import progress
from leaselab.cli.run import measure_shown
from leaselab.lab.deploy.bench_file import parse_measured
from leaselab.model.bench import Bench
from leaselab.model.errors import LeaselabError, Outcome, usage_error
from leaselab.model.identity import Subject
from leaselab.model.record import Record
from leaselab.model.scenario import Scenario
from leaselab.model.source import Commit, public_address
from leaselab.run.building import is_kept
from leaselab.run.session import Session
from leaselab.run.task import GeneratorSource, Task, open_source, source_folder

NAME = "rerun"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_result(parser)
    add_inventory(parser)
    add_results(parser)
    add_json(parser)


def run(args: argparse.Namespace) -> Outcome:
    """Read the result, then measure the same again; of a duel both servers.

    Raises a usage error when the scenario of that name is another one now:
    the second figure would look like a repetition and be none.
    """
    store = open_store(args, existing=True)
    store.verify(args.ref)
    record = store.load(args.ref)
    duel = record.experiment if record.procedure.of_two else None
    catalogue = Catalogue.here()
    benches = [
        _deployed(store, catalogue, ref) for ref in (duel.points if duel else [record.id])
    ]
    before = benches[0]
    if args.inventory is None:
        # Its inventory may have several benches, of which another one may be free.
        args.bench = args.bench or record.bench.name
        args.inventory = _inventory(before.inventory, args.ref)
    overrides = msgspec.to_builtins(before.procedure)
    session = Session(
        store, inventory_of(args), catalogue, overrides, full=False, show=progress
    )
    tasks = [_task(session, bench) for bench in benches]
    known = dict(zip(tasks, benches, strict=True))
    session.check = lambda task, bench: _same_server(known[task], bench)
    slowdown = duel.slowdown if duel else None
    return measure_shown(session, tasks, NAME, as_json=args.json, slowdown=slowdown)


def _deployed(store: Store, catalogue: Catalogue, ref: str) -> Bench:
    """What a result was measured on.

    Raises a usage error where that is nothing, and for a scenario that has changed since.
    """
    path = store.find(ref) / BENCH_FILE
    if not path.exists():
        raise _not_deployed(store.load(ref))
    bench = parse_measured(json.loads(path.read_text(encoding="utf-8")), str(path))
    asked = bench.scenario
    _same(asked, catalogue.find(asked.name, asked.generator))
    return bench


def _task(session: Session, before: Bench) -> Task:
    """The task that a bench was deployed for; `session` gets what its builds are made of."""
    scenario, commit = before.scenario, None
    layout = Subject.of_bench(before).layout
    if before.server.build is not None:
        commit, files = _source(session, before.server.build, layout)
        if files is not None:
            session.files[commit.tree] = files
    if before.generator.build is not None:
        source = _source(session, before.generator.build)
        session.generator = GeneratorSource(scenario.generator, *source)
    return Task(scenario, commit, before.distribution, layout)


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


def _source(
    session: Session, build: Mapping[str, Any], layout: int = 0
) -> tuple[Commit, Path | None]:
    """The commit of a build, and the tar of its files; None where the build is kept."""
    commit = msgspec.convert(build["source"], Commit)
    if is_kept(build["key"]):
        session.kept[commit, layout] = build["key"]
        return commit, None
    if commit.dirty:
        raise usage_error(
            "it was measured from a dirty worktree, and its build is gone",
            where=public_address(commit.repository),
            found=f"no build {build['key']}",
            todo="commit the changes, then measure that commit: leaselab run --commit REF",
        )
    repository = open_source(public_address(commit.repository))
    commit = repository.resolve(commit.hash)
    return commit, repository.archive(commit, source_folder())


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


def _same_server(then: Bench, now: Bench) -> None:
    """Settings may also come from the inventory; versions may well be others."""
    was, is_now = (
        {
            "layout": Subject.of_bench(bench).layout,
            "durability": bench.server.durability.value,
            **bench.server.tuning,
            **{
                f"{name}: {key}": value
                for name, program in bench.server.beside.items()
                for key, value in program.get("variables", {}).items()
            },
        }
        for bench in (then, now)
    )
    changed = sorted(key for key in was if was[key] != is_now.get(key))
    if changed:
        raise usage_error(
            f"the server is built or tuned in another way now: {', '.join(changed)}",
            where=f"scenario {then.scenario.name}",
            found=", ".join(str(is_now.get(key)) for key in changed),
            wanted=", ".join(str(was[key]) for key in changed),
            todo="give the inventory the settings of then, or measure the new ones with: "
            f"leaselab run {then.scenario.name}",
        )
