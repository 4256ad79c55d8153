"""``leaselab step deploy``: install a scenario's server on a prepared bench."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leaselab.cli.bench_options import add_inventory, asked
from leaselab.cli.options import add_id_file, add_json, add_results, open_store, print_told
from leaselab.cli.outcome import tell_failure
from leaselab.cli.procedure_options import add_generator, add_procedure, procedure_overrides
from leaselab.cli.progress import progress
from leaselab.model.errors import LeaselabError, Outcome
from leaselab.run.preparation import built_commit, environment_of
from leaselab.run.session import Prepared, Session
from leaselab.run.task import Task
from leaselab.run.variants import install

if TYPE_CHECKING:
    import argparse

NAME = "step deploy"
HELP = "Install a scenario's server on a prepared bench and prove that it serves."


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``step deploy``."""
    parser.add_argument("scenario", metavar="SCENARIO")
    add_inventory(parser)
    parser.add_argument(
        "--build",
        metavar="KEY",
        default="",
        help="what `leaselab step build` built (default: the distribution's packages)",
    )
    add_procedure(parser)
    add_generator(parser)
    add_results(parser)
    add_id_file(parser)
    add_json(parser)


def run(args: argparse.Namespace) -> Outcome:
    """Install it; a build whose server does not start is archived as a result (5)."""
    scenario, procedure, inventory = asked(args)
    task = Task(scenario, built_commit(args.build) if args.build else None)
    session = Session(
        open_store(args),
        inventory,
        procedure_overrides(args),
        lab=Prepared(environment_of(inventory)),
        show=progress,
    )
    with session.leased(f"{NAME} {task}"):
        try:
            install(scenario, session.bench, procedure, args.build)
        except LeaselabError as error:
            return tell_failure(session.store, error, session.archive(task, error), args)
    document = {"bench": inventory.bench, "scenario": scenario.name, "build": args.build}
    print_told(args, document, f"{task} is deployed on {inventory.bench}")
    return Outcome.OK
