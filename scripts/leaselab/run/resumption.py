"""An interrupted experiment, resumed on the bench on which it was begun."""

from __future__ import annotations

from contextlib import ExitStack

from leaselab.archive.store import Store
from leaselab.catalog.checkout import checkout_root
from leaselab.lab.bench.benches import bench_named, read_benches
from leaselab.lab.bench.lease import Lease
from leaselab.lab.hosts.inventory import Inventory
from leaselab.model.bench import Bench
from leaselab.model.errors import LeaselabError, usage_error
from leaselab.model.record import GENERATOR
from leaselab.model.speech import announce
from leaselab.run.experiment import Ended, Part, open_experiment
from leaselab.run.measurement import Measurement, Show
from leaselab.run.preparation import LeasedBench
from leaselab.run.recovery import recover, revive
from leaselab.run.workshop import Workshop, the_lab


def resume(store: Store, ref: str, show: Show, *, recovers: bool) -> list[Ended]:
    """Measure the rest of an experiment, all its unfinished points, and seal them.

    `recovers`: hosts that do not answer are power-cycled first, which needs the inventory.
    Nothing is deployed: a server that is not the one that was measured is refused.
    """
    root, workshop = checkout_root(), the_lab()
    with ExitStack() as stack:
        points = [stack.enter_context(point) for point in open_experiment(store, ref)]
        first, begun = Part.of(points[0]).bench, points[0].id
        inventory = _inventory(first, begun) if recovers else None
        if inventory is not None:
            revive(inventory)
        keeper = first.hosts[GENERATOR].access
        try:
            lease = stack.enter_context(workshop.hold(root, first.name, keeper, begun))
        except LeaselabError as fault:
            go_on = f"go on with: ./leaselab resume {begun}"
            fault.todo = "; ".join(filter(None, (fault.todo, go_on)))
            raise
        if inventory is not None:
            recover(inventory, lease)
        ended = Measurement(store, root, show, lease, workshop).finish(points)
        if any(running.begun().bench.scenario.hosts for running in points):
            _give_back(workshop, first, begun, lease)
    return ended


def _give_back(workshop: Workshop, bench: Bench, begun: str, lease: Lease) -> None:
    """Tune hosts to their inventory's settings; without it, say which command does."""
    try:
        inventory = _inventory(bench, begun)
    except LeaselabError:
        announce(
            f"hosts of bench {bench.name} keep the settings of the scenario: its inventory is "
            "not in this checkout; ansible-playbook -i INVENTORY ansible/retune.yml restores "
            "them"
        )
        return
    workshop.give_back(LeasedBench(inventory, lease))


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
