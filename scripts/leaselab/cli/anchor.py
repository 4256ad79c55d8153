"""``--anchor``: a fixed reference that is measured in turn with what a command measures."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from leaselab.cli.duel import PACKAGE
from leaselab.cli.source import source_of
from leaselab.model.errors import usage_error
from leaselab.run.sources import source_folder

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence
    from pathlib import Path

    from leaselab.model.source import Commit


@dataclass(frozen=True, slots=True)
class Anchor:
    """The fixed reference that was asked for."""

    commit: Commit | None
    """None: the distribution's packages."""


def add_anchor(parser: argparse.ArgumentParser) -> None:
    """Add ``--anchor``; `anchor_of` reads it."""
    parser.add_argument(
        "--anchor",
        metavar=f"REF|{PACKAGE}",
        help="a fixed reference that is measured in turn with the others, in every session: a "
        f"commit or tag of --repo, or {PACKAGE} (the distribution's server).  Ratios to it are "
        "free of the machine's drift; `leaselab review` goes by them",
    )


def anchor_of(
    args: argparse.Namespace, commits: Sequence[Commit | None], files: dict[str, Path]
) -> Anchor | None:
    """Return the anchor that was asked for; its files are added to `files`.

    Raises a usage error for one that is all there is to measure, or that does not take turns.
    """
    if args.anchor is None:
        return None
    if args.sequential:
        raise usage_error(
            "an anchor takes turns with the others: else the drift stays in its ratios",
            found="--anchor and --sequential",
            wanted="one of them",
        )
    commit = None
    if args.anchor != PACKAGE:
        repository = source_of(args)
        commit = repository.resolve(args.anchor)
        files[commit.tree] = repository.archive(commit, source_folder())
    if all(same_source(one, commit) for one in commits):
        raise usage_error(
            "the anchor is all there is to measure",
            where="--anchor",
            found=args.anchor,
            wanted="a build that others are set against",
            todo="name what to measure: --commit REF or --commits A..B",
        )
    return Anchor(commit)


def same_source(one: Commit | None, two: Commit | None) -> bool:
    """Whether two are the same commit with the same files, or both the packages."""
    return (one and (one.hash, one.tree)) == (two and (two.hash, two.tree))
