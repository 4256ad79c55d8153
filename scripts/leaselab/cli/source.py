"""Options that name a server's repository and commits of it, shared by what reads them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leaselab.cli.options import whole
from leaselab.cli.parser import ANY, hidden
from leaselab.model.errors import usage_error
from leaselab.run.sources import open_source

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from leaselab.lab.repository import Repository
    from leaselab.model.source import Commit


def add_commit(parser: argparse.ArgumentParser) -> argparse._ArgumentGroup:
    """Add what names one commit; `source_of` and `one_commit` read it."""
    group = _add_repository(parser)
    group.add_argument("--commit", metavar="REF", help="this commit of --repo (default: HEAD)")
    return group


def _add_repository(parser: argparse.ArgumentParser) -> argparse._ArgumentGroup:
    group = parser.add_argument_group("source")
    group.add_argument(
        "--repo",
        metavar="URL|PATH",
        help="git repository of the server; a URL is mirrored first",
    )
    group.add_argument(
        "--worktree",
        action="store_true",
        help="the checkout at PATH as it is, with uncommitted changes",
    )
    return group


def add_source(parser: argparse.ArgumentParser) -> None:
    """Add the options; `source_of` and `commits_of` read them.

    Help has ``--first-parent`` once ``--commits`` was given.
    """
    first_parent = add_range(_add_repository(parser))
    hidden(first_parent, "commits", {ANY: str(first_parent.help)})


def add_range(group: argparse._ActionsContainer) -> argparse.Action:
    """Add what chooses among the commits of a range; `commits_of` reads it.

    Returns the last of these options, ``--first-parent``.
    """
    group.add_argument(
        "--every",
        metavar="N",
        type=whole(1, 1_000_000),
        default=1,
        help="every Nth commit of a range (default: 1)",
    )
    return group.add_argument(
        "--first-parent",
        action="store_true",
        help="follow first parents only (as git log --first-parent)",
    )


def source_of(args: argparse.Namespace) -> Repository:
    """Open the repository that was named, or raise a usage error."""
    if args.repo is None:
        raise usage_error(
            "the repository is missing",
            where="--repo",
            wanted="--repo URL or PATH",
            todo="name it",
        )
    return open_source(args.repo)


def one_commit(repository: Repository, args: argparse.Namespace) -> Commit:
    """Return the commit that was named, or the checkout as it is; a usage error for both."""
    if args.worktree and args.commit is not None:
        raise usage_error(
            "--worktree and --commit exclude each other",
            found="both",
            wanted="one",
            todo="leave one out",
        )
    return repository.worktree() if args.worktree else repository.resolve(args.commit or "HEAD")


def commits_of(repository: Repository, text: str, args: argparse.Namespace) -> Sequence[Commit]:
    """Return the commits that a range, names (``A,B``) or the checkout mean.

    Those of a range come oldest first, named ones as they were named.

    Raises a usage error for what means none, and for options that do not go together.
    """
    if ".." in text and not args.worktree:
        return repository.between(text, every=args.every, first_parent=args.first_parent)
    if args.every != 1 or args.first_parent:
        raise usage_error(
            "--every and --first-parent are for a range",
            found=text,
            wanted="A..B",
            todo="name a range, or leave them out",
        )
    if args.worktree:
        return [repository.worktree()]
    return [repository.resolve(name) for name in dict.fromkeys(text.split(","))]
