"""``leaselab check``, and the policy of a repository for the commands that judge by it."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from leaselab.builds.repository import Repository
from leaselab.catalog.catalogue import Catalogue
from leaselab.catalog.plain_file import given_content
from leaselab.inputs.policy import MOST_BYTES, read_policy
from leaselab.model.errors import Outcome, usage_error
from leaselab.model.policy import FILE, Clause
from leaselab.model.procedures.duel import DUEL, METRICS
from leaselab.report.verdict.rules import clause_lines
from leaselab.report.width import write_lines
from leaselab.run.policy import PolicySource
from leaselab.run.sides import BUILD, PACKAGE, Sides
from leaselab.run.task import open_source


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", type=Path, help=f"a policy, such as {FILE}")


def run(args: argparse.Namespace) -> Outcome:
    """Print what the file says, rule by rule; 2 with each of its errors."""
    text = given_content(args.file, MOST_BYTES).decode(errors="replace")
    policy, errors = read_policy(text, str(args.file), Catalogue.here().scenarios)
    for error in errors:
        print(f"leaselab: {error}", file=sys.stderr)
    if policy is None:
        return Outcome.USAGE
    write_lines(sys.stdout, [*clause_lines(policy)])
    return Outcome.OK


def add_policy(parser: argparse._ActionsContainer, default: str = "in --repo") -> None:
    """Add ``--policy``; `policy_source` reads it."""
    parser.add_argument(
        "--policy",
        metavar="FILE|REPO",
        type=Path,
        help=f"judge by this file, or by {FILE} of A in this repository (default: {default})",
    )


def repository_of(args: argparse.Namespace) -> Repository | None:
    """The repository of ``--repo``, opened once in a command; None without one."""
    if "repository" not in args:
        args.repository = open_source(args.repo) if args.repo else None
    repository: Repository | None = args.repository
    return repository


def policy_source(path: Path | None, repository: Repository | None) -> PolicySource | None:
    """Where the policy of a command is read; None where it names neither file nor repository.

    `path` is that of ``--policy``.  Raises a usage error for a file that cannot be read.
    """
    if path is None:
        return None if repository is None else PolicySource(repository)
    if path.is_dir():
        return PolicySource(open_source(str(path)))
    text = given_content(path, MOST_BYTES).decode(errors="replace")
    return PolicySource(repository, (str(path), text))


def asked(args: argparse.Namespace, procedure: str) -> list[argparse.Namespace]:
    """Return what a command measures, one after the other, as arguments for each.

    `args.scenario`, and `args.a` for what it is compared with, are those that the user named,
    else those of the policy: all its scenarios of a procedure.  Raises a usage error where
    neither names a scenario.
    """
    clauses: Sequence[Clause] = ()
    repository = repository_of(args)
    source = policy_source(args.policy, repository)
    names = (args.a or "", args.b)
    is_commit = not any("@" in name or name.startswith(BUILD) for name in names)
    if repository is not None and source is not None and is_commit and args.b != PACKAGE:
        last = Sides.commit_of(repository, args.b, None)
        first = None
        if args.a and args.a != PACKAGE:
            first = Sides.commit_of(repository, args.a, last)
        metric = (getattr(args, "metric", None) or "") if procedure == DUEL else ""
        clauses = source.clauses(first, last, procedure, args.scenario, metric)
    elif args.scenario is not None or args.a is not None:
        return [args]
    if not clauses:
        raise usage_error(
            "no scenario is named",
            where=args.repo or "",
            wanted=f"a scenario, or {FILE} with scenarios of procedure {procedure}",
        )
    return [_with_clause(args, clause) for clause in clauses]


def _with_clause(args: argparse.Namespace, clause: Clause) -> argparse.Namespace:
    """The arguments for one scenario; what the user named goes before what a clause says."""
    one = argparse.Namespace(**vars(args))
    one.scenario, one.a = clause.scenario, args.a or clause.against
    given = dict(args.set)
    if clause.metric:
        if clause.metric != METRICS[0]:
            one.metric = clause.metric
        rule = clause.rules.get(clause.metric)
        if rule is not None and args.find is None and not {"find", "metric"} & set(given):
            one.find = 100 * rule.allowed.find or None
    return one
