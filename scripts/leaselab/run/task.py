"""A task to measure: a scenario, with a commit of its server or the packaged server.

Also the repositories that commits are of, and the folder of their files.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

from leaselab.builds.repository import Repository, open_repository
from leaselab.catalog.checkout import kept_folder
from leaselab.catalog.releases import check_release, tagged
from leaselab.catalog.roles import RECIPES, apart
from leaselab.model.errors import usage_error
from leaselab.model.identity import Subject
from leaselab.model.scenario import Scenario
from leaselab.model.source import SHORT, Commit

_LOOKED_AT = re.compile(r'"\$1/([\w./-]+)"')


@dataclass(frozen=True, slots=True)
class GeneratorSource:
    """A commit of a generator that is to be built and used."""

    name: str
    """The generator's, and its role's."""
    commit: Commit
    files: Path | None
    """The tar of its files; None where its build is kept."""


def source_folder() -> Path:
    """Folder of the files of commits for the builder."""
    return kept_folder("sources")


def open_source(where: str) -> Repository:
    """Open a repository by its path or address; errors as `open_repository`."""
    return open_repository(where, kept_folder("repositories"))


def check_server(repository: Repository, commit: Commit, scenario: Scenario) -> None:
    """Raise a usage error for a commit that is of another server than a scenario measures.

    The recipes say of which one it is; what none of them knows may be the server's.
    """
    wanted = scenario.server.kind
    recipes = {path.name: path for path in RECIPES.iterdir()}
    if wanted in recipes and not _is_of(repository, commit, recipes.pop(wanted)):
        for kind, recipe in recipes.items():
            if _is_of(repository, commit, recipe):
                raise usage_error(
                    f"this repository is of {kind}, and {scenario.name} measures {wanted}",
                    where=repository.name,
                    todo=f"`leaselab list --scenarios --server {kind}` has its scenarios",
                )


def _is_of(repository: Repository, commit: Commit, recipe: Path) -> bool:
    """Whether a recipe takes a commit, by the files that it looks at."""
    with TemporaryDirectory() as folder:
        for name in set(_LOOKED_AT.findall(recipe.read_text(encoding="utf-8"))):
            text = repository.file(commit, name)
            if text is not None:
                place = Path(folder, name)
                place.parent.mkdir(parents=True, exist_ok=True)
                place.write_text(text, encoding="utf-8")
        done = subprocess.run(
            ["sh", str(recipe), "identify", folder], capture_output=True, check=False
        )
    return done.returncode == 0


@dataclass(frozen=True, slots=True)
class Task:
    """A scenario and, unless it is the distribution's server, a commit."""

    scenario: Scenario = field(hash=False)  # it has dictionaries
    commit: Commit | None = None
    distribution: str = ""
    """Requested distribution release of the servers' hosts; empty for the bench's default."""
    layout: int = 0
    """Seed of the order in which the commit's functions are linked; 0 for the linker's own."""

    def __post_init__(self) -> None:
        """Refuse a commit whose tag is of a release that does not take the configuration."""
        if self.commit is not None:
            release = tagged(self.commit.described)
            check_release(self.scenario.name, self.scenario.server.options, release)

    def __str__(self) -> str:
        """The scenario, the commit by its short hash, the release."""
        commit = f" at {self.commit.hash[:SHORT]}" if self.commit else ""
        layout = f" in layout {self.layout}" if self.layout else ""
        release = f" on {self.distribution}" if self.distribution else ""
        return f"{self.scenario.name}{commit}{layout}{release}"

    @property
    def subject(self) -> Subject:
        """The subject of its results."""
        return Subject.of_commit(self.scenario, self.commit, self.layout)


def separate(tasks: Sequence[Task]) -> str:
    """Return why tasks cannot be deployed together on a bench; empty where they can."""
    if len({task.distribution for task in tasks}) > 1:
        return "the bench has one host for servers, and each release needs its own"
    return apart(task.scenario for task in tasks)


def by_hosts(steps: Sequence[tuple[Task, str]]) -> list[tuple[Task, str]]:
    """Group tasks that need the same host settings, so that these are changed less often."""
    needs = [(task.distribution, task.scenario.hosts) for task, _ in steps]
    return [
        steps[place]
        for place in sorted(range(len(steps)), key=lambda at: needs.index(needs[at]))
    ]
