"""``leaselab step provision``: prepare the hosts of a bench, for any scenario."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leaselab.cli.bench_options import add_full, add_inventory, inventory_of
from leaselab.cli.options import add_json, print_answer
from leaselab.model.errors import Outcome
from leaselab.run.preparation import leased, prepare

if TYPE_CHECKING:
    import argparse

NAME = "step provision"
HELP = "Prepare the hosts of a bench, for any scenario; brings the local lab up."


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``step provision``."""
    add_inventory(parser)
    add_full(parser)
    add_json(parser)


def run(args: argparse.Namespace) -> Outcome:
    """Prepare them; say what their state is called."""
    inventory = inventory_of(args)
    with leased(inventory, NAME) as bench:
        environment = prepare(bench, full=args.full)
    text = f"bench {inventory.bench} is prepared, environment {environment}"
    print_answer(args, {"bench": inventory.bench, "environment": environment}, text)
    return Outcome.OK
