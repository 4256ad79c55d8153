"""``leaselab run``: from nothing to archived results."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from leaselab.analysis.matrix import Cell, cell_of
from leaselab.cli.bench_setup import add_inventory, check, deploy, inventory_of, prepare
from leaselab.cli.measuring import begin, finish
from leaselab.cli.options import add_json, add_results, checkout_root, open_store, print_json
from leaselab.cli.outcome import tell
from leaselab.cli.plan_options import add_plan, plan_overrides
from leaselab.lab.catalog import match_scenarios
from leaselab.model.errors import LeaselabError, Outcome
from leaselab.report.matrix import document, print_matrix

if TYPE_CHECKING:
    import argparse
    from pathlib import Path

    from leaselab.archive.store import Store
    from leaselab.lab.inventory import Inventory

NAME = "run"
HELP = "Set up the lab, measure scenarios, archive and show the results."
DEFAULT_SCENARIO = "v4-memfile"
HEADROOM = 1.15
"""First offered load over the max rate measured last: a trial that loses something
says how much is too much, one that loses nothing only says "more"."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``run``."""
    parser.add_argument(
        "scenario",
        nargs="*",
        default=[DEFAULT_SCENARIO],
        metavar="SCENARIO|PATTERN",
        help="what to measure, such as v4-memfile or 'v4-*'; `leaselab scenarios` lists them "
        f"(default: {DEFAULT_SCENARIO})",
    )
    add_inventory(parser)
    add_plan(parser)
    add_results(parser)
    add_json(parser)


def run(args: argparse.Namespace) -> Outcome:
    """Provision once; deploy, tune, measure and archive each; show."""
    store = open_store(args)
    overrides = plan_overrides(args)
    scenarios = match_scenarios(checkout_root() / "scenarios", args.scenario)
    inventory = inventory_of(args)
    for scenario in scenarios:
        check(scenario, overrides, inventory)
    prepare(inventory)
    names = [scenario.name for scenario in scenarios]
    if len(names) == 1:
        bench = _deploy(store, names[0], inventory, overrides)
        error, place = finish(store, begin(store, bench, "bench.json"))
        return tell(store, error, place, as_json=args.json)
    return _several(args, store, names, inventory, overrides)


def _several(
    args: argparse.Namespace,
    store: Store,
    names: list[str],
    inventory: Inventory,
    overrides: dict[str, Any],
) -> Outcome:
    """Measure one after the other and show a table of all.

    A scenario that cannot be measured does not keep the others from it; a
    broken lab and an interrupt do, and what was measured before is shown.  The
    outcome is that of the first that was not well.
    """
    cells: list[Cell] = []
    outcome = Outcome.OK
    place: Path | None
    try:
        for number, name in enumerate(names):
            print(f"{name} ({number + 1} of {len(names)})", file=sys.stderr, flush=True)
            left = names[number:]
            try:
                bench = _deploy(store, name, inventory, overrides)
                running = begin(store, bench, "bench.json")
                left = names[number + 1 :]  # from here on this one can be resumed
                error, place = finish(store, running)
            except KeyboardInterrupt as stop:
                raise KeyboardInterrupt(*stop.args, *_rest(left)) from None
            except LeaselabError as fault:
                if fault.outcome is Outcome.LAB:
                    fault.todo = "; then ".join(filter(None, (fault.todo, *_rest(left))))
                    raise
                error, place = fault, None
            if place is not None:
                cells.append(cell_of(store.load(str(place))))
            if error is not None:
                print(f"leaselab: {name}: {error}", file=sys.stderr, flush=True)
                outcome = error.outcome if outcome is Outcome.OK else outcome
    finally:
        _show(cells, as_json=args.json)
    return outcome


def _rest(names: list[str]) -> list[str]:
    """What to say of scenarios that were not come to, if there are any."""
    if not names:
        return []
    return [f"measure the rest, with the same options: leaselab run {' '.join(names)}"]


def _deploy(
    store: Store, name: str, inventory: Inventory, overrides: dict[str, Any]
) -> dict[str, Any]:
    """Deploy and tune one scenario; return its bench document."""
    expected = _expected_rate(store, name, inventory.bench)
    if expected is not None:
        limits = {"start_rate": expected, **overrides.get("limits", {})}
        overrides = {**overrides, "limits": limits}
    return deploy(name, inventory, overrides)


def _show(cells: list[Cell], *, as_json: bool) -> None:
    if as_json:
        print_json(document(cells))
    elif cells:
        print_matrix(cells)


def _expected_rate(store: Store, scenario: str, bench: str) -> int | None:
    """Return where the first run may begin to look: a little above this bench's last result.

    It saves the first run's scouts; what the run finds, it still proves itself.
    None where there is no such result.
    """
    rows = store.index.rows(scenario=scenario, outcome=Outcome.OK.label, limit=20)
    rates = [row["trimmed_mean"] for row in rows if row["bench"] == bench]
    return round(HEADROOM * rates[0]) if rates and rates[0] else None
