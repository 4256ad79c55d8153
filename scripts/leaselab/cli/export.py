"""``leaselab export``: results for other programs."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from leaselab.cli.options import add_results, check_patterns, open_store, write_output
from leaselab.model.errors import LeaselabError, Outcome, usage_error
from leaselab.model.text import printable_lines

if TYPE_CHECKING:
    import argparse

    from leaselab.archive.row import Row
    from leaselab.archive.store import Store
    from leaselab.model.record import Record

NAME = "export"
HELP = "Write results for other programs: tables, metrics, a test report, a merge request."
FORMS = {
    "csv": "a table as CSV, of which a spreadsheet computes no cell: texts that begin like a "
    "formula have an apostrophe before them",
    "parquet": "the same table as Parquet",
    "openmetrics": "metrics for Prometheus",
    "junit": "a test report: a case for each result",
    "markdown": "the table of the newest results for a merge request",
}
LEVELS = ("results", "runs", "trials")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``export``."""
    parser.add_argument(
        "refs",
        metavar="ID",
        nargs="*",
        help="results, as `leaselab show` names them (default: all; with --junit and "
        "--markdown the newest of each scenario)",
    )
    form = parser.add_mutually_exclusive_group(required=True)
    for name, told in FORMS.items():
        form.add_argument(f"--{name}", dest="form", action="store_const", const=name, help=told)
    parser.add_argument("--scenario", metavar="PATTERN", help="only results of these scenarios")
    parser.add_argument(
        "--level",
        choices=LEVELS,
        help="with --csv and --parquet: a row for each of these (default: results)",
    )
    parser.add_argument(
        "--history",
        action="store_true",
        help="with --openmetrics: every result with its time, for backfilling; else the newest "
        "ones, for a scraper",
    )
    parser.add_argument(
        "-o", "--output", metavar="FILE", type=Path, help="write to this file, not to stdout"
    )
    add_results(parser)


def run(args: argparse.Namespace) -> Outcome:
    """Write what was asked for."""
    if args.level and args.form not in ("csv", "parquet"):
        raise usage_error("--level goes with --csv and --parquet", found=f"--{args.form}")
    if args.history and args.form != "openmetrics":
        raise usage_error("--history goes with --openmetrics", found=f"--{args.form}")
    if args.form == "parquet" and args.output is None and sys.stdout.isatty():
        raise usage_error("Parquet is not for a terminal", todo="name a file with -o")
    content = _content(args, open_store(args, existing=True))
    if args.form != "parquet":
        content = printable_lines(content.decode()).encode()
    if args.output is not None:
        write_output(args.output, content)
    else:
        sys.stdout.flush()
        sys.stdout.buffer.write(content)
        sys.stdout.buffer.flush()
    return Outcome.OK


def _content(args: argparse.Namespace, store: Store) -> bytes:
    rows = _rows(args, store)
    if args.form == "openmetrics":
        from leaselab.report.export.openmetrics import openmetrics  # noqa: PLC0415  # when asked for

        return openmetrics(rows, history=args.history)
    if args.form == "junit":
        from leaselab.report.export.junit import junit  # noqa: PLC0415

        return junit([(row, _load(store, row)) for row in _newest(args, rows)])
    if args.form == "markdown":
        from leaselab.report.export.markdown import markdown  # noqa: PLC0415

        loaded = [_load(store, row) for row in _newest(args, rows)]
        return markdown([one for one in loaded if not isinstance(one, str)]).encode()
    return _table(args, store, rows)


def _table(args: argparse.Namespace, store: Store, rows: list[Row]) -> bytes:
    from leaselab.report.export.records import (  # noqa: PLC0415
        results_table,
        runs_table,
        trials_table,
    )

    if args.level == "trials":
        loaded = ((row, _load(store, row)) for row in rows)
        table = trials_table((row, one) for row, one in loaded if not isinstance(one, str))
    else:
        table = (runs_table if args.level == "runs" else results_table)(rows)
    return table.csv().encode() if args.form == "csv" else table.parquet()


def _load(store: Store, row: Row) -> Record | str:
    """A result's record, or why it cannot be read; that is said, too."""
    try:
        return store.load(row["id"])
    except LeaselabError as error:
        store.index.say_unreadable(row["id"], error)
        return str(error)


def _rows(args: argparse.Namespace, store: Store) -> list[Row]:
    """The rows that were asked for, with all columns, oldest first.

    Raises usage_error where nothing answers to the question.
    """
    if args.refs and args.scenario:
        raise usage_error("results by their ids or by scenario", found="both", wanted="one")
    check_patterns(store, [args.scenario] if args.scenario else [])
    ids = {store.find(ref).name for ref in args.refs}
    rows = [
        row for row in store.index.every(scenario=args.scenario) if not ids or row["id"] in ids
    ]
    if not rows or len(rows) < len(ids):
        raise usage_error(
            f"no results of {args.scenario or 'this archive'}",
            where=str(store.root),
            todo="`leaselab list` shows what there is, `leaselab run` makes more",
        )
    return rows


def _newest(args: argparse.Namespace, rows: list[Row]) -> list[Row]:
    """The newest result of each scenario and procedure, however it ended; or those named."""
    if args.refs:
        return rows
    newest = {(row["scenario"] or row["id"], row["procedure"]): row for row in rows}
    return list(newest.values())
