"""``leaselab run``: from nothing to an archived result."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leaselab.cli.bench_setup import add_inventory, check, inventory_of, set_up
from leaselab.cli.measuring import begin, finish
from leaselab.cli.options import add_json, add_results, open_store
from leaselab.cli.outcome import tell
from leaselab.cli.plan_options import add_plan, plan_overrides
from leaselab.model.errors import Outcome

if TYPE_CHECKING:
    import argparse

    from leaselab.archive.store import Store

NAME = "run"
HELP = "Set up the lab, measure a scenario, archive and show the result."
DEFAULT_SCENARIO = "v4-memfile"
HEADROOM = 1.15
"""First offered load over the max rate measured last: a trial that loses something
says how much is too much, one that loses nothing only says "more"."""


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
    overrides = plan_overrides(args)
    check(args.scenario, overrides)
    inventory = inventory_of(args)
    expected = _expected_rate(store, args.scenario, inventory.bench)
    if expected is not None and args.start_rate is None:
        overrides.setdefault("limits", {})["start_rate"] = expected
    document = set_up(args.scenario, inventory, overrides)
    error, place = finish(store, begin(store, document, "bench.json"))
    return tell(store, error, place, as_json=args.json)


def _expected_rate(store: Store, scenario: str, bench: str) -> int | None:
    """Return where the first run may begin to look: a little above this bench's last result.

    It saves the first run's scouts; what the run finds, it still proves itself.
    None where there is no such result.
    """
    rows = store.index.rows(scenario=scenario, outcome=Outcome.OK.label, limit=20)
    rates = [row["trimmed_mean"] for row in rows if row["bench"] == bench]
    return round(HEADROOM * rates[0]) if rates and rates[0] else None
