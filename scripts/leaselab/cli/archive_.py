"""``leaselab archive``: verify results, rebuild the index."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from leaselab.cli.options import add_json, add_results, open_store, print_json
from leaselab.model.errors import LeaselabError, Outcome

if TYPE_CHECKING:
    import argparse

NAME = "archive"
HELP = "Verify results against their checksums, find them, rebuild the index from them."


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the verbs of ``archive``."""
    verbs = parser.add_subparsers(dest="verb", metavar="VERB", required=True)
    verify = verbs.add_parser("verify", help="check every file of results against its checksum")
    verify.add_argument("refs", metavar="REF", nargs="*", help="results (default: all)")
    reindex = verbs.add_parser("reindex", help="make the index anew from the results")
    where = verbs.add_parser("where", help="print the folder of a result")
    where.add_argument("ref", metavar="REF", nargs="?", default="last")
    for verb in (verify, reindex, where):
        add_results(verb)
        add_json(verb)


def run(args: argparse.Namespace) -> Outcome:
    """Do the verb."""
    return {"verify": _verify, "reindex": _reindex, "where": _where}[args.verb](args)


def _verify(args: argparse.Namespace) -> Outcome:
    """Check all, say what is damaged, and go on to the end."""
    store = open_store(args, existing=True)
    refs = args.refs or [row["id"] for row in store.index.rows()]
    places = [store.find(ref) for ref in refs]  # a mistyped name ends it before the work
    files = 0
    damaged = []
    for ref, place in zip(refs, places, strict=True):
        try:
            files += store.verify(ref)
        except LeaselabError as error:
            damaged.append({"id": place.name, "error": str(error)})
            if place.name not in store.index.said:
                print(f"leaselab: {error}", file=sys.stderr)
    if args.json:
        print_json({"results": len(places), "files": files, "damaged": damaged})
    else:
        good = len(places) - len(damaged)
        print(f"{good} of {len(places)} results match their checksums ({files} files)")
    return Outcome.INVALID if damaged else Outcome.OK


def _reindex(args: argparse.Namespace) -> Outcome:
    count = open_store(args, existing=True).index.rebuild()
    if args.json:
        print_json({"results": count})
    else:
        print(f"{count} results in the index")
    return Outcome.OK


def _where(args: argparse.Namespace) -> Outcome:
    place = str(open_store(args, existing=True).find(args.ref).absolute())
    if args.json:
        print_json({"path": place})
    else:
        print(place)
    return Outcome.OK
