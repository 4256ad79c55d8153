"""``leaselab compare``: the verdict on two archived results."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from leaselab.analysis.verdict import THRESHOLD_PERCENT, Comparison, check_threshold, compare
from leaselab.cli.options import add_json, add_results, open_store, print_json, write_output
from leaselab.cli.pair import (
    PREVIOUS,
    VERSION,
    commit_names,
    load_named,
    load_previous,
    load_version,
)
from leaselab.model.errors import LeaselabError, Outcome, regression
from leaselab.report.listing import printable
from leaselab.report.verdict import closing, comparison_document, print_comparison

if TYPE_CHECKING:
    import argparse

NAME = "compare"
HELP = "Say whether the server of result B is slower than that of A; exit code 1 if it is."


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``compare``."""
    parser.add_argument(
        "a",
        metavar="A",
        help="what is compared with: a result as `leaselab show` names it, or `previous`, the "
        "newest one before B that compares with it and is of another server; or version:V, the "
        "newest one that compares with it of a server that reports this version",
    )
    parser.add_argument("b", metavar="B", help="what is judged: a result likewise")
    parser.add_argument(
        "--threshold",
        metavar="PERCENT",
        type=float,
        default=THRESHOLD_PERCENT,
        help=f"change of the figure that counts, %% (default: {THRESHOLD_PERCENT:g})",
    )
    parser.add_argument(
        "--repo",
        metavar="URL|PATH",
        help="A and B are branches, tags or hashes of this git repository, and stand for the "
        "newest results of these commits",
    )
    parser.add_argument("--scenario", metavar="NAME", help="with --repo: results of what")
    parser.add_argument(
        "--markdown", metavar="FILE", type=Path, help="write the comment for a merge request"
    )
    parser.add_argument("--junit", metavar="FILE", type=Path, help="write a test report")
    add_results(parser)
    add_json(parser)


def run(args: argparse.Namespace) -> Outcome:
    """Compare, write the files, print; raise what ends with another code than 0.

    The files are written whatever comes of it, once B can be read.
    """
    check_threshold(args.threshold)
    comparison = _compared(args)
    _write_files(args, comparison)
    if args.json:
        print_json(comparison_document(comparison))
    else:
        print_comparison(comparison)
    sys.stdout.flush()
    if comparison.error is not None:
        raise _printable(comparison.error)
    if comparison.outcome is Outcome.REGRESSION:
        where = comparison.other.scenario.name
        raise _printable(regression(closing(comparison), where=where))
    if comparison.verdict is None:
        print(f"leaselab: {printable(closing(comparison))}", file=sys.stderr)
    return Outcome.OK


def _compared(args: argparse.Namespace) -> Comparison:
    store = open_store(args, existing=True)
    names = commit_names(args.repo, args.scenario)
    other = load_named(store, args.b, names)
    try:
        base = (
            load_previous(store, other)
            if args.a == PREVIOUS
            else load_version(store, other, args.a.removeprefix(VERSION))
            if args.a.startswith(VERSION)
            else load_named(store, args.a, names)
        )
    except LeaselabError as error:
        # B's own failure is told first: it is one whatever A is
        alone = compare(None, other, args.threshold)
        return replace(alone, error=alone.error or error)
    return compare(base, other, args.threshold)


def _write_files(args: argparse.Namespace, comparison: Comparison) -> None:
    if args.markdown is not None:
        from leaselab.report.export.markdown import markdown_of_comparison  # noqa: PLC0415  # when asked for

        write_output(args.markdown, markdown_of_comparison(comparison).encode())
    if args.junit is not None:
        from leaselab.report.export.junit import junit_of_comparison  # noqa: PLC0415

        write_output(args.junit, junit_of_comparison(comparison))


def _printable(error: LeaselabError) -> LeaselabError:
    """The same without what moves a terminal's cursor: a subject may hold anything."""
    return replace(
        error,
        what=printable(error.what),
        where=printable(error.where),
        found=printable(error.found),
        wanted=printable(error.wanted),
    )
