"""Options that name repositories and commits: of servers, of generators, of an anchor."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from leaselab.builds.repository import Repository
from leaselab.catalog.roles import built_generators
from leaselab.cli.options import print_answer, whole, without_effect
from leaselab.cli.procedure_options import add_generator
from leaselab.model.errors import Outcome, usage_error
from leaselab.model.scenario import Scenario
from leaselab.model.source import Commit
from leaselab.report.listing import commit_lines
from leaselab.run.sides import PACKAGE
from leaselab.run.task import GeneratorSource, open_source, source_folder

LISTING = ("--every", "--first-parent", "--worktree")
"""Options that have no effect where commits are not listed."""


def add_commit(parser: argparse.ArgumentParser) -> argparse._ArgumentGroup:
    """Add what names one commit, and return its group; `source_of` and `one_commit` read it."""
    group, either = _add_repository(parser)
    either.add_argument("--commit", metavar="REF", help="this commit of --repo (default: HEAD)")
    return group


def _add_repository(
    parser: argparse.ArgumentParser,
) -> tuple[argparse._ArgumentGroup, argparse._MutuallyExclusiveGroup]:
    """Add repository and checkout; return their group, and what excludes the checkout."""
    group = parser.add_argument_group("source")
    group.add_argument(
        "--repo",
        metavar="URL|PATH",
        help="git repository of the server; a URL is mirrored first",
    )
    either = group.add_mutually_exclusive_group()
    either.add_argument(
        "--worktree",
        action="store_true",
        help="the checkout at PATH as it is, with uncommitted changes",
    )
    return group, either


def add_source(parser: argparse.ArgumentParser) -> argparse._MutuallyExclusiveGroup:
    """Add the options for `source_of` and `commits_of`; return what excludes a checkout."""
    group, either = _add_repository(parser)
    _add_range(group)
    return either


def _add_range(group: argparse._ActionsContainer) -> None:
    """Add what chooses among the commits of a range; `commits_of` reads it."""
    group.add_argument(
        "--every",
        metavar="N",
        type=whole(1, 1_000_000),
        default=1,
        help="every Nth commit of a range (default: 1)",
    )
    group.add_argument(
        "--first-parent",
        action="store_true",
        help="of a range, follow first parents only (as git log --first-parent)",
    )


def source_of(args: argparse.Namespace) -> Repository:
    """Open the repository that was named, or raise a usage error."""
    return _open(args.repo, "--repo")


def _open(where: str | None, option: str) -> Repository:
    if where is None:
        raise usage_error(
            "no repository is named",
            wanted=f"{option} URL or PATH",
        )
    return open_source(where)


def one_commit(repository: Repository, args: argparse.Namespace) -> Commit:
    """Return the commit that was named, or the checkout as it is."""
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
    _add_range(group)
    group.add_argument(
        "--worktree", action="store_true", help="the checkout as it is, uncommitted changes too"
    )


def list_commits(args: argparse.Namespace) -> Outcome:
    """Print them."""
    without_effect(
        args, "a comparison", *sorted(args.given - {*LISTING, "--list", "--repo", "--json"})
    )
    repository = source_of(args)
    commits = commits_of(repository, args.a or "HEAD", args)
    print_answer(args, [asdict(commit) for commit in commits], "\n".join(commit_lines(commits)))
    return Outcome.OK


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
) -> Commit | None:
    """Return the commit of the anchor, None for packages; its files are added to `files`.

    It is the fixed reference that is measured in turn with what a command measures.  Raises a
    usage error for one that is all there is to measure.
    """
    commit = None
    if args.anchor != PACKAGE:
        repository = source_of(args)
        commit = repository.resolve(args.anchor)
        files[commit.tree] = repository.archive(commit, source_folder())
    if all(same_source(measured, commit) for measured in commits):
        raise usage_error(
            "the anchor and everything to measure are the same build",
            where="--anchor",
            found=args.anchor,
            wanted="another build to compare with the anchor",
            todo="name what to measure: --commit REF or --commits A..B",
        )
    return commit


def same_source(a: Commit | None, b: Commit | None) -> bool:
    """Whether two are the same commit with the same files, or both the packages."""
    return (a and (a.hash, a.tree)) == (b and (b.hash, b.tree))


def add_generator_source(parser: argparse.ArgumentParser) -> None:
    """Add ``--generator``, and the options of each generator that has a recipe.

    `generator_source_of` reads them.
    """
    group = parser.add_argument_group("generator")
    add_generator(group)
    for name in built_generators():
        group.add_argument(
            f"--{name}-repo",
            metavar="URL|PATH",
            help=f"with --generator {name}: its git repository; it is built on the builder",
        )
        group.add_argument(
            f"--{name}-commit",
            metavar="REF",
            help=f"this commit of --{name}-repo (default: HEAD)",
        )


def built_generator(args: argparse.Namespace, scenarios: Sequence[Scenario]) -> str | None:
    """The generator that is to be built; None where no commit or repository of one was named.

    Raises a usage error for one that a scenario is not measured with, and where it would be
    built on another release than that of the generator's host.
    """
    named = [
        name
        for name in built_generators()
        if getattr(args, f"{name}_repo") or getattr(args, f"{name}_commit")
    ]
    if not named:
        return None
    name = named[0]
    for scenario in scenarios:
        if scenario.generator != name:
            raise usage_error(
                f"{name} is not what this scenario is measured with",
                where=f"scenario {scenario.name}",
                found=scenario.generator,
                wanted=name,
                todo=f"take a load with the key generator: {name} (scenarios/loads)",
            )
    if any(args.distribution):
        raise usage_error(
            f"--{name}-repo and --distribution exclude each other",
            found=f"--{name}-repo and --distribution",
            wanted="one of them",
            todo="leave one out",
        )
    return name


def generator_source_of(args: argparse.Namespace, name: str) -> GeneratorSource:
    """Read the commit of a generator that was named, for `built_generator`."""
    repository = _open(getattr(args, f"{name}_repo"), f"--{name}-repo")
    commit = repository.resolve(getattr(args, f"{name}_commit") or "HEAD")
    return GeneratorSource(name, commit, repository.archive(commit, source_folder()))
