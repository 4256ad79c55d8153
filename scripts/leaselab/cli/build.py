"""``leaselab step build``: build one commit of a server on the builder, or find it built."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leaselab.cli.bench_options import add_inventory, asked
from leaselab.cli.options import add_id_file, add_json, add_results, open_store, print_told
from leaselab.cli.outcome import tell_failure
from leaselab.cli.procedure_options import add_generator, add_procedure, procedure_overrides
from leaselab.cli.progress import progress
from leaselab.cli.source import add_commit, one_commit, source_of
from leaselab.model.errors import LeaselabError, Outcome
from leaselab.run.preparation import environment_of
from leaselab.run.session import Prepared, Session
from leaselab.run.sources import source_folder
from leaselab.run.task import Task

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
    session = Session(
        open_store(args),
        inventory,
        procedure_overrides(args),
        {commit.tree: repository.archive(commit, source_folder())},
        lab=Prepared(environment_of(inventory)),
        show=progress,
    )
    task = Task(scenario, commit)
    with session.leased(f"{NAME} {task}"):
        try:
            key = session.artifact(task)
        except LeaselabError as error:
            return tell_failure(session.store, error, session.archive(task, error), args)
    document = {"key": key, "commit": commit.hash, "described": commit.described}
    print_told(args, document, key)
    return Outcome.OK
