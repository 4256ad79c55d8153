"""``leaselab step build``: build one commit of a server on the builder, or find it built."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leaselab.cli.bench_options import add_inventory, asked
from leaselab.cli.options import add_id_file, add_json, add_results, open_store, print_answer
from leaselab.cli.outcome import show_failure
from leaselab.cli.procedure_options import add_generator, add_procedure, procedure_overrides
from leaselab.cli.source import add_commit, one_commit, source_of
from leaselab.model.errors import LeaselabError, Outcome
from leaselab.run.preparation import environment_of
from leaselab.run.sources import source_folder
from leaselab.run.task import Task
from leaselab.run.workplace import Prepared, Workplace

if TYPE_CHECKING:
    import argparse

NAME = "step build"
HELP = (
    "Build one commit of a scenario's server on the builder; print the key of what was built."
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``step build``."""
    parser.add_argument("scenario", metavar="SCENARIO", help="which server, and what it is for")
    add_inventory(parser)
    add_commit(parser)
    add_procedure(parser)
    add_generator(parser)
    add_results(parser)
    add_id_file(parser)
    add_json(parser)


def run(args: argparse.Namespace) -> Outcome:
    """Build it and print its key; a commit that does not build is archived as a result (5)."""
    scenario, _, inventory = asked(args)
    repository = source_of(args)
    commit = one_commit(repository, args)
    workplace = Workplace(
        open_store(args),
        inventory,
        procedure_overrides(args),
        {commit.tree: repository.archive(commit, source_folder())},
        lab=Prepared(environment_of(inventory)),
    )
    task = Task(scenario, commit)
    with workplace.leased(f"{NAME} {task}"):
        try:
            key = workplace.artifact(task)
        except LeaselabError as error:
            return show_failure(workplace.store, error, workplace.archive(task, error), args)
    document = {"key": key, "commit": commit.hash, "described": commit.described}
    print_answer(args, document, key)
    return Outcome.OK
