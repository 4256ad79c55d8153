"""``leaselab archive``: verify results, say where one lies."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from leaselab.cli.options import add_json, add_results, open_store, print_json
from leaselab.model.errors import LeaselabError, Outcome

if TYPE_CHECKING:
    import argparse

NAME = "archive"
HELP = "Verify results against their checksums, say where one lies."


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the verbs of ``archive``."""
    verbs = parser.add_subparsers(dest="verb", metavar="VERB", required=True)
    verify = verbs.add_parser("verify", help="check every file of results against its checksum")
    verify.add_argument("refs", metavar="REF", nargs="*", help="results (default: all)")
    where = verbs.add_parser("where", help="print the folder of a result")
    where.add_argument("ref", metavar="REF", nargs="?", default="last")
    for verb in (verify, where):
        add_results(verb)
        add_json(verb)


def run(args: argparse.Namespace) -> Outcome:
    """Do the verb."""
    return {"verify": _verify, "where": _where}[args.verb](args)


def _verify(args: argparse.Namespace) -> Outcome:
    """Check all, say what is damaged, and go on to the end."""
    store = open_store(args, existing=True)
    refs = args.refs or [row["id"] for row in store.index.rows()]
    places = [store.find(ref) for ref in refs]  # a mistyped name ends it before the work
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
    if args.json:
        told = {"results": len(places), "files": files, "pruned": pruned, "damaged": damaged}
        print_json(told)
    else:
        good = len(places) - len(damaged)
        print(f"{good} of {len(places)} results match their checksums ({files} files)")
        if pruned:
            print(
                f"raw outputs of {len(pruned)} of them were pruned ({min(days)} to {max(days)})"
            )
    return Outcome.INVALID if damaged else Outcome.OK


def _where(args: argparse.Namespace) -> Outcome:
    place = str(open_store(args, existing=True).find(args.ref).absolute())
    if args.json:
        print_json({"path": place})
    else:
        print(place)
    return Outcome.OK
