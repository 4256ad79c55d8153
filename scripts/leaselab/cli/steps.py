"""``leaselab step``: what `leaselab run` does, verb by verb, for pipelines."""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict
from pathlib import Path

from leaselab.archive.disk import writing
from leaselab.archive.running import BENCH_FILE
from leaselab.catalog.catalogue import Catalogue
from leaselab.catalog.checkout import checkout_root
from leaselab.cli import options
from leaselab.cli.bench_options import add_full, add_inventory, asked, inventory_of
from leaselab.cli.outcome import show_sealed
from leaselab.cli.procedure_options import add_generator, add_procedure, procedure_overrides
from leaselab.cli.progress import progress
from leaselab.cli.source import add_commit, one_commit, source_of
from leaselab.lab.deploy.bench_file import parse_bench
from leaselab.lab.hosts.inventory import Inventory
from leaselab.measure.generators import check_fits
from leaselab.model.errors import LeaselabError, Outcome
from leaselab.model.record import GENERATOR
from leaselab.report.listing import commit_lines
from leaselab.run.building import built_commit
from leaselab.run.experiment import Ended
from leaselab.run.measurement import Measurement
from leaselab.run.preparation import environment_of
from leaselab.run.record import command
from leaselab.run.task import Task, source_folder
from leaselab.run.workplace import Prepared, Workplace
from leaselab.run.workshop import the_lab


def add_provision(parser: argparse.ArgumentParser) -> None:
    add_inventory(parser)
    add_full(parser)
    options.add_json(parser)


def provision(args: argparse.Namespace) -> Outcome:
    """Prepare the hosts of a bench, for any scenario; say what their state is called."""
    inventory = inventory_of(args)
    workshop = the_lab()
    with workshop.lease(inventory, "step provision") as bench:
        environment = workshop.prepare(bench, full=args.full)
    text = f"bench {inventory.bench} is prepared, environment {environment}"
    options.print_answer(args, {"bench": inventory.bench, "environment": environment}, text)
    return Outcome.OK


def add_source(parser: argparse.ArgumentParser) -> None:
    add_commit(parser)
    parser.add_argument(
        "--files", metavar="DIR", type=Path, help="write its files into DIR, as TREE.tar"
    )
    options.add_json(parser)


def source(args: argparse.Namespace) -> Outcome:
    """Print what a commit is, for a playbook that builds it."""
    repository = source_of(args)
    commit = one_commit(repository, args)
    if args.files is not None:
        repository.archive(commit, args.files)
    options.print_answer(args, asdict(commit), "\n".join(commit_lines([commit])))
    return Outcome.OK


def _add_scenario(parser: argparse.ArgumentParser) -> None:
    """Add what the steps of one scenario have, read by `asked`."""
    parser.add_argument("scenario", metavar="SCENARIO", help="which server, and what it is for")
    add_inventory(parser)
    add_procedure(parser)
    add_generator(parser)
    options.add_results(parser)
    options.add_json(parser)


def _add_build_key(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--build",
        metavar="KEY",
        default="",
        help="what `leaselab step build` built (default: the distribution's packages)",
    )


def _workplace(args: argparse.Namespace, inventory: Inventory) -> Workplace:
    prepared = Prepared(environment_of(inventory))
    return Workplace(
        options.open_store(args),
        inventory,
        Catalogue.here(),
        procedure_overrides(args),
        lab=prepared,
    )


def _failed(
    workplace: Workplace, task: Task, error: LeaselabError, id_file: Path, *, as_json: bool
) -> Outcome:
    """Archive a commit that cannot be served, and show that as a sealed result."""
    place = workplace.archive(task, error)
    options.write_ids(id_file, place.name)
    return show_sealed(workplace.store, Ended(error, place), as_json=as_json)


def add_build(parser: argparse.ArgumentParser) -> None:
    _add_scenario(parser)
    add_commit(parser)
    options.add_id_file(parser)


def build(args: argparse.Namespace) -> Outcome:
    """Build it and print its key; a commit that does not build is archived as a result (5)."""
    scenario, _, inventory = asked(args)
    repository = source_of(args)
    commit = one_commit(repository, args)
    workplace = _workplace(args, inventory)
    workplace.files = {commit.tree: repository.archive(commit, source_folder())}
    task = Task(scenario, commit)
    with workplace.leased(f"step build {task}"):
        try:
            key = workplace.artifact(task)
        except LeaselabError as error:
            return _failed(workplace, task, error, args.id_file, as_json=args.json)
    document = {"key": key, "commit": commit.hash, "described": commit.described}
    options.print_answer(args, document, key)
    return Outcome.OK


def add_deploy(parser: argparse.ArgumentParser) -> None:
    _add_scenario(parser)
    _add_build_key(parser)
    options.add_id_file(parser)


def deploy(args: argparse.Namespace) -> Outcome:
    """Install it; a build whose server does not start is archived as a result (5)."""
    scenario, procedure, inventory = asked(args)
    task = Task(scenario, built_commit(args.build) if args.build else None)
    workplace = _workplace(args, inventory)
    with workplace.leased(f"step deploy {task}"):
        try:
            workplace.workshop.install(scenario, workplace.bench, procedure, args.build)
        except LeaselabError as error:
            return _failed(workplace, task, error, args.id_file, as_json=args.json)
    document = {"bench": inventory.bench, "scenario": scenario.name, "build": args.build}
    options.print_answer(args, document, f"{task} is deployed on {inventory.bench}")
    return Outcome.OK


def add_tune(parser: argparse.ArgumentParser) -> None:
    _add_scenario(parser)
    _add_build_key(parser)
    parser.add_argument(
        "-o",
        "--output",
        metavar="BENCH.json",
        type=Path,
        help="what `leaselab step sweep` is given (default: .leaselab/bench.json of the "
        "checkout)",
    )


def tune(args: argparse.Namespace) -> Outcome:
    """Tune hosts and database of a deployed scenario; write what a sweep needs to know."""
    scenario, procedure, inventory = asked(args)
    task = Task(scenario, built_commit(args.build) if args.build else None)
    workplace = _workplace(args, inventory)
    procedure = workplace.max_rates.ready(task, procedure)
    path: Path = args.output or checkout_root() / ".leaselab" / BENCH_FILE
    with writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)  # of a bench as it was; nothing is to measure by it now
    with workplace.leased(f"step tune {scenario.name}"):
        tuned = workplace.workshop.tune(scenario, workplace.bench, procedure, args.build)
    document = tuned.document()
    options.write_output(path, f"{json.dumps(document, indent=1, sort_keys=True)}\n".encode())
    options.print_answer(args, document, path)
    return Outcome.OK


def add_sweep(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "bench", type=Path, metavar="BENCH.json", help="what `leaselab step tune` wrote"
    )
    options.add_results(parser)
    options.add_id_file(parser)
    options.add_json(parser)


def sweep(args: argparse.Namespace) -> Outcome:
    """Measure what a bench.json describes, seal, show."""
    todo = "deploy and tune first: leaselab run, or ansible/site.yml"
    bench = parse_bench(options.read_json(str(args.bench), todo), str(args.bench))
    check_fits(bench.scenario, bench.procedure)
    command()  # one that does not parse is refused before the bench is leased
    store = options.open_store(args)
    store.check_room()
    root, keeper, workshop = checkout_root(), bench.hosts[GENERATOR].access, the_lab()
    with workshop.hold(root, bench.name, keeper, f"step sweep {bench.scenario.name}") as lease:
        ended = Measurement(store, root, progress, lease, workshop).alone(bench)
    options.write_ids(args.id_file, ended.place.name)
    return show_sealed(store, ended, as_json=args.json)
