"""``leaselab resume``: go on with a sweep that was interrupted."""

from __future__ import annotations

import sys
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from leaselab.cli.options import add_json, add_recover, add_results, checkout_root, open_store
from leaselab.cli.outcome import tell
from leaselab.cli.progress import progress
from leaselab.cli.recovery import recover
from leaselab.cli.report import report_after
from leaselab.cli.variants import give_back
from leaselab.lab.benches import bench_named, read_benches
from leaselab.model.errors import LeaselabError, usage_error
from leaselab.run.experiment import open_experiment
from leaselab.run.measurement import finish
from leaselab.run.owner import point_owner

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping

    from leaselab.archive.running import RunningSweep
    from leaselab.lab.inventory import Inventory
    from leaselab.model.errors import Outcome

NAME = "resume"
HELP = "go on with a sweep that was interrupted; its finished trials are kept"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument("ref", nargs="?", default="last", metavar="ID|last")
    add_recover(parser)
    add_results(parser)
    add_json(parser)


def run(args: argparse.Namespace) -> Outcome:
    """Measure what is left, seal, show; with ``--recover``, dead hosts are cycled first.

    Of an experiment every unfinished point is gone on with; its outcome is that of the first
    that was not well.
    """
    store, root = open_store(args, existing=True), checkout_root()
    points = open_experiment(store, args.ref)
    if args.recover:
        with ExitStack() as stack:
            for running in points:
                stack.enter_context(running)
            _recover(points[0])
            stack.pop_all()
    benches = [_bench(running) for running in points]
    ended = finish(store, points, root, progress)
    if any(bench.get("scenario", {}).get("hosts") for bench in benches):
        _give_back(benches[0], points[0].id)
    report_after(store)
    return tell(store, *ended, as_json=args.json)


def _give_back(bench: Mapping[str, Any], begun: str) -> None:
    """Tune hosts as their inventory says; where that is not here, say who can do it."""
    try:
        inventory = _inventory(bench, begun)
    except LeaselabError:
        print(
            f"leaselab: hosts of bench {bench['name']} keep what the scenario has set: its "
            "inventory is not in this checkout; ansible-playbook -i INVENTORY "
            "ansible/retune.yml gives it back",
            file=sys.stderr,
        )
        return
    give_back(inventory)


def _recover(running: RunningSweep) -> None:
    """Recover the bench of an unfinished sweep, by the inventory that it was begun with."""
    bench = _bench(running)
    inventory = _inventory(bench, running.id)
    recover(inventory, point_owner(running.id, str(bench["name"]), checkout_root()))


def _bench(running: RunningSweep) -> dict[str, Any]:
    """The bench document of an unfinished sweep; empty where its journal has none."""
    return next((dict(event.data["bench"]) for event in running.events()), {})


def _inventory(bench: Mapping[str, Any], begun: str) -> Inventory:
    """Read the inventory that a bench was measured by; `begun` is the id of its sweep."""
    place = checkout_root() / str(bench.get("inventory"))
    if not place.exists():
        raise usage_error(
            "the inventory that it was begun with is not here, and it says what switches hosts",
            where=begun,
            found=f"no {bench.get('inventory')} in this checkout",
            todo="leaselab lab power cycle HOST -i INVENTORY, then resume without --recover",
        )
    benches = read_benches(place, checkout_root() / ".leaselab" / "inventories")
    return bench_named(benches, str(bench["name"]))
