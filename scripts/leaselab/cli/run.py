"""``leaselab run``: from nothing to an archived result."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leaselab.cli.bench_setup import add_inventory, inventory_path, set_up
from leaselab.cli.measuring import begin, finish
from leaselab.cli.options import add_json, add_results, open_store
from leaselab.cli.outcome import tell
from leaselab.cli.plan_options import add_plan, plan_overrides

if TYPE_CHECKING:
    import argparse

    from leaselab.model.errors import Outcome

NAME = "run"
HELP = "Set up the lab, measure a scenario, archive and show the result."
DEFAULT_SCENARIO = "v4-memfile"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``run``."""
    parser.add_argument(
        "scenario",
        nargs="?",
        default=DEFAULT_SCENARIO,
        help=f"what to measure; `leaselab scenarios` lists them (default: {DEFAULT_SCENARIO})",
    )
    add_inventory(parser)
    add_plan(parser)
    add_results(parser)
    add_json(parser)


def run(args: argparse.Namespace) -> Outcome:
    """Provision, deploy, measure, archive, show."""
    store = open_store(args)
    document = set_up(args.scenario, inventory_path(args), plan_overrides(args))
    error, place = finish(store, begin(store, document, "bench.json"))
    return tell(store, error, place, as_json=args.json)
