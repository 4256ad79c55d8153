"""``leaselab resume``: go on with a sweep that was interrupted."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING

from leaselab.cli.options import add_json, add_recover, add_results, checkout_root, open_store
from leaselab.cli.outcome import tell
from leaselab.cli.progress import progress
from leaselab.cli.recovery import recover
from leaselab.cli.report import report_after
from leaselab.lab.benches import bench_named, read_benches
from leaselab.model.errors import usage_error
from leaselab.run.experiment import finish, open_experiment, point_owner

if TYPE_CHECKING:
    import argparse

    from leaselab.archive.running import RunningSweep
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
    ended = finish(store, points, root, progress)
    report_after(store)
    return tell(store, *ended, as_json=args.json)


def _recover(running: RunningSweep) -> None:
    """Recover the bench of an unfinished sweep, by the inventory that it was begun with."""
    bench = next((dict(event.data["bench"]) for event in running.events()), {})
    place = checkout_root() / str(bench.get("inventory"))
    if not place.exists():
        raise usage_error(
            "the inventory that it was begun with is not here, and it says what switches hosts",
            where=running.id,
            found=f"no {bench.get('inventory')} in this checkout",
            todo="leaselab lab power cycle HOST -i INVENTORY, then resume without --recover",
        )
    benches = read_benches(place, checkout_root() / ".leaselab" / "inventories")
    named = str(bench["name"])
    recover(bench_named(benches, named), point_owner(running.id, named, checkout_root()))
