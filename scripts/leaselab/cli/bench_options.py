"""Options that name a bench, and the inputs of one step of a run."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from leaselab.catalog.catalogue import Catalogue
from leaselab.catalog.checkout import checkout_root
from leaselab.cli.procedure_options import procedure_overrides
from leaselab.lab.bench.benches import bench_named, free_bench, read_benches
from leaselab.lab.bench.lease import read_hold
from leaselab.lab.hosts.inventory import Inventory
from leaselab.model.procedures import AnyProcedure
from leaselab.model.scenario import Scenario
from leaselab.run.workplace import check_bench

LAB = "docker"
"""The lab of this machine that most commands use."""


def add_inventory(parser: argparse.ArgumentParser, lab: str = LAB) -> None:
    """Add ``-i`` and ``--bench``; `inventory_of` and `benches_of` read them.

    `lab` is the lab of this machine that is meant without them.
    """
    add_place(parser, lab)
    parser.add_argument(
        "--bench",
        metavar="NAME",
        help="select a bench of the inventory (default: one that this checkout holds, else the "
        "first that is free)",
    )


def add_place(parser: argparse.ArgumentParser, lab: str = LAB) -> None:
    """Add ``-i`` alone, for a command whose argument names the bench or a host."""
    parser.add_argument(
        "-i",
        "--inventory",
        metavar="INVENTORY",
        type=Path,
        help=f"file or folder of the inventory (default: inventory/{lab} of the checkout)",
    )
    parser.set_defaults(lab=lab)


def add_full(parser: argparse.ArgumentParser) -> None:
    """Add ``--full``, read as `args.full`."""
    parser.add_argument(
        "--full",
        action="store_true",
        help="play every playbook again, also where hosts, inventory, roles and scenario are "
        "those of the last deployment and nothing has changed since",
    )


def benches_of(args: argparse.Namespace) -> tuple[Inventory, ...]:
    """Read the benches of the inventory named, the local lab by default; or the one named."""
    path = Path(args.inventory or checkout_root() / "inventory" / args.lab)
    benches = read_benches(path, checkout_root() / ".leaselab" / "inventories")
    return (bench_named(benches, args.bench),) if args.bench else benches


def inventory_of(args: argparse.Namespace) -> Inventory:
    """Read one bench: the named one; of several, one held by this checkout, else a free one."""
    benches = benches_of(args)
    held = [bench for bench in benches if read_hold(checkout_root(), bench.bench)]
    bench = held[0] if held else free_bench(benches)
    if len(benches) > 1:
        print(f"bench {bench.bench}, of {len(benches)}", file=sys.stderr, flush=True)
    return bench


def asked(args: argparse.Namespace) -> tuple[Scenario, AnyProcedure, Inventory]:
    """Read the inputs of one step of a run: scenario, procedure, bench; they are checked.

    For commands with ``SCENARIO`` and the options of `add_inventory` and `add_procedure`.
    """
    catalogue = Catalogue.here()
    scenario = catalogue.find(args.scenario, args.generator)
    procedure = catalogue.procedure_of(scenario, procedure_overrides(args))
    inventory = inventory_of(args)
    check_bench(scenario, procedure, inventory)
    return scenario, procedure, inventory
