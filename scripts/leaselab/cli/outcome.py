"""How a finished sweep is shown: its result, then the reason where there is one."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from leaselab.archive.schema import document_of
from leaselab.archive.store import Store
from leaselab.cli.options import print_json, write_ids
from leaselab.model.errors import LeaselabError, Outcome
from leaselab.model.record import TOO_FEW_CLIENTS, Record
from leaselab.report.text import print_result
from leaselab.report.width import columns
from leaselab.run.experiment import Ended


def show_sealed(store: Store, *ended: Ended, as_json: bool) -> Outcome:
    """Show sealed results; return the outcome of the first that is not ok.

    As JSON it is one document: the record, of several a list of them.
    """
    records = [store.load(str(point.place)) for point in ended]
    if as_json:
        documents = [document_of(record) for record in records]
        print_json(documents if len(documents) > 1 else documents[0])
    else:
        for record, point in zip(records, ended, strict=True):
            # the error is printed once, below, as the last line
            print_result(record, point.place, why=point.error is None)
    sys.stdout.flush()
    if len(records) == 1 and not as_json:
        print(next_words(records[0], columns(sys.stderr)), file=sys.stderr)
    errors = [point.error for point in ended if point.error is not None]
    for error in errors:
        print(f"leaselab: {error}", file=sys.stderr)
    return errors[0].outcome if errors else Outcome.OK


def next_words(record: Record, most: int | None = None) -> str:
    """Possible next commands for a result, a line each.

    What they are for is beside them, where that leaves no line longer than `most`.
    """
    ref = record.id
    shows = (f"show --all {ref}", "latency and provenance")
    compares = (f"compare previous {ref}", "with the newest comparable result before it")
    again = (f"rerun {ref}", "measure it again")
    if record.outcome == Outcome.OK.label:
        steps = [shows, compares, again]
    elif any(reason.word == TOO_FEW_CLIENTS for reason in record.reasons):
        steps = [shows]  # another load is needed, of which the error says what
    else:
        steps = [shows, ("lab check", "whether the hosts are fit to measure"), again]
    width = max(len(command) for command, _ in steps)
    lines = [f"  ./leaselab {command:{width}}  {what}" for command, what in steps]
    if most and max(map(len, lines)) > most:
        lines = [f"  ./leaselab {command}" for command, _ in steps]
    return "\n".join(["next:", *lines])


def show_failure(
    store: Store, error: LeaselabError, place: Path, args: argparse.Namespace
) -> Outcome:
    """As `show_sealed`, of a commit without a sweep; its result's id goes to ``--id-file``."""
    write_ids(args, place.name)
    return show_sealed(store, Ended(error, place), as_json=args.json)
