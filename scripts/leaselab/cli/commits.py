"""``leaselab commits``: which commits a name or a range means, before any is built."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from leaselab.cli.options import add_json, print_json
from leaselab.cli.source import add_source, commits_of, source_of
from leaselab.model.errors import Outcome
from leaselab.report.listing import commit_lines

if TYPE_CHECKING:
    import argparse

NAME = "commits"
HELP = "Show which commits of a server's repository a name or a range means."


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``commits``."""
    parser.add_argument(
        "commits",
        nargs="?",
        default="HEAD",
        metavar="REF|A..B",
        help="a branch, tag or hash, or a range as git has it: without A (default: HEAD)",
    )
    add_source(parser)
    parser.add_argument(
        "--archive",
        metavar="DIR",
        type=Path,
        help="also write the files of each into DIR, as <tree>.tar",
    )
    add_json(parser)


def run(args: argparse.Namespace) -> Outcome:
    """Print them."""
    repository = source_of(args)
    commits = commits_of(repository, args.commits, args)
    if args.archive is not None:
        for commit in commits:
            repository.archive(commit, args.archive)
    if args.json:
        print_json([asdict(commit) for commit in commits])
        return Outcome.OK
    for line in commit_lines(commits):
        print(line)
    return Outcome.OK
