"""``leaselab dev archive``: verify results, print the path of one."""

from __future__ import annotations

import argparse
import sys

from leaselab.cli.options import add_json, add_results, open_store, print_answer
from leaselab.model.errors import LeaselabError, Outcome


def add_verify(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``verify``."""
    parser.add_argument("refs", metavar="ID", nargs="*", help="results (default: all)")
    add_results(parser)
    add_json(parser)


def add_where(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``where``."""
    parser.add_argument("ref", metavar="ID|last", nargs="?", default="last")
    add_results(parser)
    add_json(parser)


def verify(args: argparse.Namespace) -> Outcome:
    """Check all results, and report each damaged one."""
    store = open_store(args, existing=True)
    refs = args.refs or [row["id"] for row in store.index.rows()]
    places = [store.find(ref) for ref in refs]  # a mistyped name is an error before any check
    files = 0
    damaged, pruned, days = [], [], []
    for ref, place in zip(refs, places, strict=True):
        try:
            checked = store.verify(ref)
        except LeaselabError as error:
            damaged.append({"id": place.name, "error": str(error)})
            if place.name not in store.index.said:
                print(f"leaselab: {error}", file=sys.stderr)
            continue
        files += checked.files
        if gone := checked.pruned:
            days.append(gone.at[:10])
            pruned.append({"id": place.name, "at": gone.at, "files": len(gone.files)})
    good = len(places) - len(damaged)
    lines = [f"{good} of {len(places)} results match their checksums ({files} files)"]
    if pruned:
        span = f"{min(days)} to {max(days)}"
        lines.append(f"raw outputs of {len(pruned)} of them were pruned ({span})")
    counts = {"results": len(places), "files": files, "pruned": pruned, "damaged": damaged}
    print_answer(args, counts, "\n".join(lines))
    return Outcome.INVALID if damaged else Outcome.OK


def where(args: argparse.Namespace) -> Outcome:
    """Print the folder of a result."""
    place = str(open_store(args, existing=True).find(args.ref).absolute())
    print_answer(args, {"path": place}, place)
    return Outcome.OK
