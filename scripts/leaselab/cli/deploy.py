"""``leaselab step deploy``: install a scenario's server on a prepared bench."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leaselab.cli.bench_options import add_inventory, asked
from leaselab.cli.options import add_id_file, add_json, add_results, open_store, print_answer
from leaselab.cli.outcome import show_failure
from leaselab.cli.procedure_options import add_generator, add_procedure, procedure_overrides
from leaselab.model.errors import LeaselabError, Outcome
from leaselab.run.preparation import built_commit, environment_of
from leaselab.run.task import Task
from leaselab.run.variants import install
from leaselab.run.workplace import Prepared, Workplace

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
    workplace = Workplace(
        open_store(args),
        inventory,
        procedure_overrides(args),
        lab=Prepared(environment_of(inventory)),
    )
    with workplace.leased(f"{NAME} {task}"):
        try:
            install(scenario, workplace.bench, procedure, args.build)
        except LeaselabError as error:
            return show_failure(workplace.store, error, workplace.archive(task, error), args)
    document = {"bench": inventory.bench, "scenario": scenario.name, "build": args.build}
    print_answer(args, document, f"{task} is deployed on {inventory.bench}")
    return Outcome.OK
