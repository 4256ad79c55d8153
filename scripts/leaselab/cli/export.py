"""``leaselab export``: results for other programs."""

from __future__ import annotations

import argparse
import logging
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from leaselab.archive.disk import write_whole, writing
from leaselab.archive.row import Row
from leaselab.archive.store import Store
from leaselab.cli import options
from leaselab.model.errors import LeaselabError, Outcome, internal_fault, usage_error
from leaselab.model.record import Record
from leaselab.model.text import printable_lines

if TYPE_CHECKING:
    from leaselab.report.export.records import Table

_log = logging.getLogger(__name__)
Content = TypeVar("Content")
FORMS = {
    "csv": "a table as CSV, of which a spreadsheet computes no cell: texts that begin like a "
    "formula have an apostrophe before them",
    "parquet": "the same table as Parquet, in a file for each month and scenario; those of an "
    "earlier export go",
    "openmetrics": "metrics for Prometheus",
    "junit": "a test report: a case for each result",
    "markdown": "the table of the newest results for a merge request",
}
NEWEST = ("junit", "markdown")
"""Forms of the newest results alone, unless others are named."""
LEVELS = ("results", "runs", "trials")
_RESULT = re.compile(r"^[0-9]|^last\b|^\.|/")
"""How the name of a result differs from that of a scenario."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "refs",
        metavar="ID|PATTERN",
        nargs="*",
        help="results, as `leaselab show` names them, or those of scenarios such as 'v4-*' "
        "(default: all; for --junit and --markdown the newest of each scenario)",
    )
    for name, text in FORMS.items():
        metavar, end = ("FOLDER", "") if name == "parquet" else ("FILE|-", "; - is stdout")
        parser.add_argument(f"--{name}", metavar=metavar, type=Path, help=f"{text}{end}")
    parser.add_argument(
        "--level",
        choices=LEVELS,
        default=LEVELS[0],
        help=f"with --csv and --parquet: a row for each of these (default: {LEVELS[0]})",
    )
    parser.add_argument(
        "--history",
        action="store_true",
        help="with --openmetrics: every result with its time, for backfilling; else the newest "
        "ones, for a scraper",
    )
    options.add_results(parser)


def run(args: argparse.Namespace) -> Outcome:
    """Write what was asked for, a file for each form."""
    places = {name: place for name in FORMS if (place := getattr(args, name)) is not None}
    if not places or [*places.values()].count(options.STDOUT) > 1:
        raise usage_error(
            "two forms on stdout" if places else "no form and no file for it",
            found=", ".join(f"--{name} {place}" for name, place in places.items()),
            wanted=f"one of {', '.join(f'--{name} FILE' for name in FORMS)}",
            todo="such as: leaselab export last --csv last.csv",
        )
    if not {"csv", "parquet"} & places.keys():
        options.without_effect(args, "--csv or --parquet", "--level")
    options.only_with(args, "--openmetrics", "--history")
    if places.get("parquet") == options.STDOUT:
        raise usage_error(
            "Parquet files do not go to stdout",
            where="--parquet",
            found="-",
            wanted="a folder",
            todo="such as: leaselab export --parquet lake",
        )
    store = options.open_store(args, existing=True)
    rows = _rows(args, store)
    faults: dict[str, str] = {}
    for form, place in places.items():
        if form == "parquet":
            files = _without(
                faults, rows, lambda rows: _table(args, store, rows).parquet(args.level)
            )
            _replace(place, args.level, files)
            continue
        chosen = _newest(args, rows) if form in NEWEST else rows
        content = _without(faults, chosen, partial(_content, args, form, store))
        options.write_output(place, printable_lines(content.decode()).encode())
    if faults:
        raise internal_fault(
            "the export is not complete, for a fault of leaselab",
            found="; ".join(f"{ident}: {error}" for ident, error in faults.items()),
            todo="the other results are written; report this with the output",
        )
    return Outcome.OK


def _replace(folder: Path, level: str, files: Mapping[str, bytes]) -> None:
    """Write the files of a table, and remove the others that an earlier export of it wrote."""
    with writing(folder):
        earlier = {*folder.glob(f"month=*/scenario=*/{level}.parquet")}
        folder.mkdir(exist_ok=True)
        for place, content in files.items():
            (folder / place).parent.mkdir(parents=True, exist_ok=True)
            write_whole(folder / place, content)
        for old in earlier - {folder / place for place in files}:
            old.unlink()
            with suppress(OSError):  # another level has files there
                old.parent.rmdir()
                old.parent.parent.rmdir()


def _without(
    faults: dict[str, str], rows: list[Row], content_of: Callable[[list[Row]], Content]
) -> Content:
    """The content of all rows but those that it cannot be made of, which `faults` gets."""
    try:
        return content_of(rows)
    except (LeaselabError, OSError):
        raise
    except Exception:
        for row in rows:
            try:
                content_of([row])
            except Exception as error:  # noqa: BLE001  # it ends no other
                _log.exception("the export is without %s", row["id"])
                faults[row["id"]] = repr(error)
        others = [row for row in rows if row["id"] not in faults]
        if others in (rows, []):
            raise
        return content_of(others)


def _content(args: argparse.Namespace, form: str, store: Store, rows: list[Row]) -> bytes:
    if form == "openmetrics":
        from leaselab.report.export.openmetrics import openmetrics  # noqa: PLC0415  # when asked for

        return openmetrics(rows, history=args.history)
    if form == "junit":
        from leaselab.report.export.junit import junit  # noqa: PLC0415

        return junit([(row, _load(store, row)) for row in rows])
    if form == "markdown":
        from leaselab.report.export.markdown import markdown  # noqa: PLC0415

        loaded = [_load(store, row) for row in rows]
        return markdown([record for record in loaded if not isinstance(record, str)]).encode()
    return _table(args, store, rows).csv().encode()


def _table(args: argparse.Namespace, store: Store, rows: list[Row]) -> Table:
    from leaselab.report.export.records import (  # noqa: PLC0415
        results_table,
        runs_table,
        trials_table,
    )

    if args.level == "trials":
        loaded = ((row, _load(store, row)) for row in rows)
        readable = ((row, record) for row, record in loaded if not isinstance(record, str))
        return trials_table(readable)
    if args.level == "runs":
        return runs_table(rows)
    return results_table(rows, {row["id"]: row for row in store.index.every()})


def _load(store: Store, row: Row) -> Record | str:
    """A result's record, or why it cannot be read, which is also reported."""
    try:
        return store.load(row["id"])
    except LeaselabError as error:
        store.index.say_unreadable(row["id"], error)
        return str(error)


def _rows(args: argparse.Namespace, store: Store) -> list[Row]:
    """The rows that were asked for, with all columns, oldest first.

    Raises usage_error where nothing answers to the question.
    """
    patterns, ids = _asked(args, store)
    options.check_patterns(store, patterns)
    rows = [
        row
        for row in store.index.every()
        if not args.refs
        or row["id"] in ids
        or any(fnmatchcase(row["scenario"] or "", pattern) for pattern in patterns)
    ]
    if not rows:
        raise usage_error(
            f"no results of {' '.join(patterns) or 'this archive'}",
            where=str(store.root),
            todo="`leaselab list` shows what there is, `leaselab run` makes more",
        )
    return rows


def _asked(args: argparse.Namespace, store: Store) -> tuple[list[str], set[str]]:
    """Patterns of scenarios, and ids of results; an id begins with a digit."""
    known = set(store.index.scenarios())
    patterns = [ref for ref in args.refs if ref in known or not _RESULT.search(ref)]
    return patterns, {store.find(ref).name for ref in args.refs if ref not in patterns}


def _newest(args: argparse.Namespace, rows: list[Row]) -> list[Row]:
    """The newest result of each scenario and procedure, however it ended; or those named."""
    if any(_RESULT.search(ref) for ref in args.refs):
        return rows
    newest = {(row["scenario"] or row["id"], row["procedure"]): row for row in rows}
    return list(newest.values())
