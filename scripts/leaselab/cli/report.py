"""``leaselab report``: results as pages."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from leaselab.archive.disk import writing
from leaselab.archive.store import Store
from leaselab.cli.options import (
    add_json,
    add_results,
    open_store,
    print_answer,
    whole,
    without_effect,
)
from leaselab.model.errors import LeaselabError, Outcome
from leaselab.run.pair import PREVIOUS, load_previous

HELP = "Write results as pages that open from a disk: overview, history, every sweep, compare."
FOLDER = "report"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``report``."""
    parser.add_argument(
        "refs",
        metavar="ID",
        nargs="*",
        help="results, as `leaselab show` names them; two or more are compared with the first "
        "(default: the whole archive)",
    )
    parser.add_argument(
        "--against",
        metavar="ID|previous",
        help="the named results beside this one, with which they are compared; previous: the "
        "last one before them that compares, as `leaselab compare` finds it, if there is any",
    )
    parser.add_argument(
        "-o",
        "--output",
        metavar="DIR",
        type=Path,
        help="folder of the pages (default: report/ of the results; where results are named, "
        "report-ID/, after the first)",
    )
    parser.add_argument(
        "--sweeps",
        metavar="N",
        type=whole(0, 1_000_000),
        help="newest results of each scenario that have a page of their own (default: 3); "
        "pages of older ones stay until they are pruned",
    )
    add_results(parser)
    add_json(parser)


def run(args: argparse.Namespace) -> Outcome:
    """Write the pages; say where they are."""
    from leaselab.report.site.site import SWEEPS, write_site  # noqa: PLC0415  # draws; slow to import

    store = open_store(args, existing=True)
    named = f"{FOLDER}-{store.find(args.refs[0]).name}" if args.refs else FOLDER
    folder = args.output or store.root / named
    sweeps = SWEEPS if args.sweeps is None else args.sweeps
    refs = [*_baseline(store, args), *args.refs]
    with writing(folder):
        first = write_site(store, folder, refs, sweeps=sweeps).absolute()
    print_answer(args, {"path": str(first)}, first)
    return Outcome.OK


def _baseline(store: Store, args: argparse.Namespace) -> list[str]:
    """The result that the named ones are compared with, none where none was asked for."""
    if not args.refs:
        without_effect(args, "ids of results beside it", "--against")
    if args.against is None:
        return []
    if args.against != PREVIOUS:
        return [args.against]
    previous = load_previous(store, store.load(args.refs[-1]))
    return [previous.id] if previous else []


def report_after(store: Store) -> None:
    """Bring the archive's report up to date once something was measured.

    The measurement stands whatever becomes of it, so that a report that cannot
    be written, or that nobody waits for, is said and is not an error.  Nothing is written of an
    archive without a result, as of an interrupted first measurement.
    """
    try:
        if not store.index.rows(limit=1):
            return
        from leaselab.report.site.site import write_site  # noqa: PLC0415  # draws; slow to import

        first = write_site(store, store.root / FOLDER)
    except KeyboardInterrupt:
        print("leaselab: the report was not written: interrupted", file=sys.stderr)
    except Exception as error:  # noqa: BLE001  # whatever it is, the measurement stands
        reason = error if isinstance(error, LeaselabError | OSError) else repr(error)
        print(f"leaselab: the report was not written: {reason}", file=sys.stderr)
    else:
        print(f"report: {first}", file=sys.stderr)
