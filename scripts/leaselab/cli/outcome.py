"""How a finished sweep is told: its result, then the reason where there is one."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from leaselab.cli.options import print_json, write_ids
from leaselab.model.errors import LeaselabError, Outcome
from leaselab.report.text import print_result

if TYPE_CHECKING:
    import argparse
    from pathlib import Path

    from leaselab.archive.store import Store


def tell(store: Store, error: LeaselabError | None, place: Path, *, as_json: bool) -> Outcome:
    """Show the sealed result and return the outcome of its sweep."""
    document = store.load(str(place))
    if as_json:
        print_json(document)
    else:
        # what went wrong is told once, below: the last thing that is read
        print_result(document, place, why=error is None)
    if error is None:
        return Outcome.OK
    sys.stdout.flush()
    print(f"leaselab: {error}", file=sys.stderr)
    return error.outcome


def tell_failure(
    store: Store, error: LeaselabError, place: Path, args: argparse.Namespace
) -> Outcome:
    """As `tell`, of a commit that came to no sweep; its result's id goes to ``--id-file``."""
    write_ids(args, place.name)
    return tell(store, error, place, as_json=args.json)
