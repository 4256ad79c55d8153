"""What two servers do for each transaction, counted in turn: ``compare A B --cost``."""

from __future__ import annotations

import argparse

from leaselab.analysis.comparison.verdict import Comparison
from leaselab.archive.store import Store
from leaselab.catalog.catalogue import Catalogue
from leaselab.cli.bench_options import inventory_of
from leaselab.cli.duel import sides_of
from leaselab.cli.options import write_ids
from leaselab.cli.procedure_options import procedure_overrides
from leaselab.cli.progress import progress
from leaselab.cli.report import report_after
from leaselab.model.procedures.cost import COST
from leaselab.model.speech import announce
from leaselab.run.contest import in_turn


def count(args: argparse.Namespace, store: Store, catalogue: Catalogue) -> Comparison:
    """Count A and B of ``compare A B --cost``, and compare them."""
    sides = sides_of(args, catalogue)
    first, second = sides.tasks(args.a, args.b)
    inventory = inventory_of(args)
    overrides = {**procedure_overrides(args), "name": COST}
    session = sides.session(store, inventory, overrides, progress, full=args.full)
    session.check_tasks(first, second)
    announce(f"A: {first}; B: {second}")
    try:
        with session.leased(f"compare the cost of {first} and {second}"):
            result = in_turn(session, first, second)
            write_ids(args.id_file, *result.ids)
            return result.checked(first)
    finally:
        report_after(store)
