"""``leaselab step sweep``: measure what bench.json files describe."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from leaselab.cli.options import (
    add_id_file,
    add_json,
    add_results,
    open_store,
    read_json,
    write_ids,
)
from leaselab.cli.outcome import show_sealed
from leaselab.cli.progress import progress
from leaselab.lab.bench_file import parse_bench
from leaselab.lab.checkout import checkout_root
from leaselab.lab.lease import leased
from leaselab.measure.generators import check_fits
from leaselab.model.record import GENERATOR
from leaselab.run.measurement import measure_alone
from leaselab.run.record import command

if TYPE_CHECKING:
    import argparse

    from leaselab.model.errors import Outcome

NAME = "step sweep"
HELP = "run the sweep that a bench.json describes; the bench must have been deployed"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument("bench", type=Path, metavar="BENCH.json")
    add_results(parser)
    add_id_file(parser)
    add_json(parser)


def run(args: argparse.Namespace) -> Outcome:
    """Measure, seal, show."""
    todo = "deploy and tune first: leaselab run, or ansible/site.yml"
    bench = parse_bench(read_json(str(args.bench), todo), str(args.bench))
    check_fits(bench.scenario, bench.procedure)
    command()  # one that does not parse is refused before the bench is leased
    store = open_store(args)
    store.check_room()
    root, keeper = checkout_root(), bench.hosts[GENERATOR].access
    with leased(root, bench.name, keeper, f"{NAME} {bench.scenario.name}") as lease:
        ended = measure_alone(store, bench, root, progress, lease=lease)
    write_ids(args, ended.place.name)
    return show_sealed(store, ended, as_json=args.json)
