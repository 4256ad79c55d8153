"""Repositories whose commits are measured, and the folder for files of commits."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from leaselab.lab.checkout import kept_folder
from leaselab.lab.repository import Repository, open_repository
from leaselab.model.source import Commit


@dataclass(frozen=True, slots=True)
class GeneratorSource:
    """A commit of a generator that is to be built and used."""

    name: str
    """The generator's, and its role's."""
    commit: Commit
    files: Path
    """The tar of its files."""


def source_folder() -> Path:
    """Folder of the files of commits for the builder."""
    return kept_folder("sources")


def open_source(where: str) -> Repository:
    """Open a repository by its path or address; errors as `open_repository`."""
    return open_repository(where, kept_folder("repositories"))
