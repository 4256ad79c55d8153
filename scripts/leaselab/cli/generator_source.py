"""Options that name the repository of a generator and a commit of it: ``--flame-repo``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leaselab.cli.parser import Choosing, hidden
from leaselab.cli.procedure_options import add_generator
from leaselab.lab.roles import built_generators
from leaselab.model.errors import usage_error
from leaselab.run.sources import GeneratorSource, open_source, source_folder

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from leaselab.model.record import Scenario


def add_generator_source(parser: argparse.ArgumentParser) -> None:
    """Add ``--generator``, and the options of each generator that has a recipe.

    `generator_source_of` reads them.  Help has those of a generator once it was named.
    """
    group = parser.add_argument_group("generator")
    add_generator(group, Choosing)
    for name in built_generators():
        built = f"git repository of {name}: it is built on the builder, and measured with"
        repo = group.add_argument(f"--{name}-repo", metavar="URL|PATH")
        hidden(repo, "generator", {name: built})
        commit = group.add_argument(f"--{name}-commit", metavar="REF")
        hidden(commit, "generator", {name: f"this commit of --{name}-repo (default: HEAD)"})


def generator_source_of(
    args: argparse.Namespace, scenarios: Sequence[Scenario]
) -> GeneratorSource | None:
    """Read the commit that was named; None where none was.

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
    (name,) = named[:1]
    where = getattr(args, f"{name}_repo")
    if where is None:
        raise usage_error(
            "the repository is missing",
            where=f"--{name}-repo",
            wanted=f"--{name}-repo URL or PATH",
            todo="name it",
        )
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
    repository = open_source(where)
    commit = repository.resolve(getattr(args, f"{name}_commit") or "HEAD")
    return GeneratorSource(name, commit, repository.archive(commit, source_folder()))
