"""``leaselab compare --list``: which commits a name or a range means."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from leaselab.cli.options import print_json, without_effect
from leaselab.cli.source import add_range, commits_of, source_of
from leaselab.model.errors import Outcome
from leaselab.report.listing import commit_lines

if TYPE_CHECKING:
    import argparse

LISTING = ("--every", "--first-parent", "--files", "--worktree")
"""Options that have no effect where commits are not listed."""
_USED = frozenset({*LISTING, "--list", "--repo", "--json"})


def add_listing(parser: argparse.ArgumentParser) -> None:
    """Add ``--list`` and what belongs to it."""
    group = parser.add_argument_group(
        "list", "show the commits of --repo that A means, before any is built"
    )
    group.add_argument(
        "--list",
        action="store_true",
        help="list them, compare nothing: A is a branch, tag or hash (default: HEAD), or a "
        "range A..B as git has it, without A",
    )
    add_range(group)
    group.add_argument(
        "--worktree", action="store_true", help="the checkout as it is, uncommitted changes too"
    )
    group.add_argument(
        "--files",
        metavar="DIR",
        type=Path,
        help="write the files of each into DIR, as TREE.tar",
    )


def list_commits(args: argparse.Namespace) -> Outcome:
    """Print them."""
    without_effect(args, "a comparison", *sorted(args.given - _USED))
    repository = source_of(args)
    commits = commits_of(repository, args.a or "HEAD", args)
    if args.files is not None:
        for commit in commits:
            repository.archive(commit, args.files)
    if args.json:
        print_json([asdict(commit) for commit in commits])
        return Outcome.OK
    for line in commit_lines(commits):
        print(line)
    return Outcome.OK
