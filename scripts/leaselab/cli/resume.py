"""``leaselab resume``: resume an interrupted sweep."""

from __future__ import annotations

import argparse
import sys
from contextlib import ExitStack

from leaselab.catalog.checkout import checkout_root
from leaselab.cli.options import add_json, add_recover, add_results, open_store
from leaselab.cli.outcome import show_measured
from leaselab.cli.progress import progress
from leaselab.cli.report import report_after
from leaselab.lab.bench.benches import bench_named, read_benches
from leaselab.lab.bench.lease import Lease, leased
from leaselab.lab.hosts.inventory import Inventory
from leaselab.model.bench import Bench
from leaselab.model.errors import LeaselabError, Outcome, usage_error
from leaselab.model.record import GENERATOR
from leaselab.run.experiment import Part, open_experiment
from leaselab.run.measurement import finish
from leaselab.run.preparation import LeasedBench
from leaselab.run.recovery import recover, revive
from leaselab.run.variants import give_back


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument(
        "ref",
        nargs="?",
        default="last",
        metavar="ID|last",
        help="id of an unfinished sweep, or its unique start (default: the last one)",
    )
    add_recover(parser)
    add_results(parser)
    add_json(parser)


def run(args: argparse.Namespace) -> Outcome:
    """Measure the rest, seal, show; with ``--recover``, dead hosts are power-cycled first.

    Every unfinished point of an experiment is resumed; the outcome is that of the first that is
    not ok, of a duel that of its verdict.
    """
    store, root = open_store(args, existing=True), checkout_root()
    with ExitStack() as stack:
        points = [stack.enter_context(point) for point in open_experiment(store, args.ref)]
        first = Part.of(points[0]).bench
        benches = [running.begun().bench for running in points]
        inventory = _inventory(benches[0], points[0].id) if args.recover else None
        if inventory:
            revive(inventory)
        keeper = first.hosts[GENERATOR].access
        try:
            lease = stack.enter_context(leased(root, first.name, keeper, points[0].id))
        except LeaselabError as fault:
            go_on = f"go on with: ./leaselab resume {points[0].id}"
            fault.todo = "; ".join(filter(None, (fault.todo, go_on)))
            raise
        if inventory:
            recover(inventory, lease)
        ended = finish(store, points, root, progress, lease=lease)
        if any(bench.scenario.hosts for bench in benches):
            _give_back(benches[0], points[0].id, lease)
    report_after(store)
    return show_measured(args, store, *ended)


def _give_back(bench: Bench, begun: str, lease: Lease) -> None:
    """Tune hosts to their inventory's settings; without one here, print the command."""
    try:
        inventory = _inventory(bench, begun)
    except LeaselabError:
        print(
            f"leaselab: hosts of bench {bench.name} keep the settings of the scenario: its "
            "inventory is not in this checkout; ansible-playbook -i INVENTORY "
            "ansible/retune.yml restores them",
            file=sys.stderr,
        )
        return
    give_back(LeasedBench(inventory, lease))


def _inventory(bench: Bench, begun: str) -> Inventory:
    """Read the inventory that a bench was measured by; `begun` is the id of its sweep."""
    place = checkout_root() / bench.inventory
    if not place.exists():
        raise usage_error(
            "--recover needs the inventory that the sweep was started with, for its power "
            "switches",
            where=begun,
            found=f"no {bench.inventory} in this checkout",
            todo="leaselab lab power cycle HOST -i INVENTORY, then resume without --recover",
        )
    benches = read_benches(place, checkout_root() / ".leaselab" / "inventories")
    return bench_named(benches, bench.name)
