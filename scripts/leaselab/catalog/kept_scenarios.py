"""Scenarios made of a user's files, and what they are made of, kept by its content.

Such files may hold secrets: nobody but their owner reads what is kept, whatever the umask.
"""

from __future__ import annotations

import hashlib
import json
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from leaselab.archive.disk import PRIVATE, write_whole
from leaselab.catalog.family import LOADS, Family, read_family
from leaselab.model.scenario import Scenario

OWN = ".leaselab/own"
"""Folder of a checkout: scenarios that were made of users' files."""


class Made(NamedTuple):
    """A scenario that was made with another load."""

    scenario: Scenario
    notes: list[str]
    """Lines of text: what it is, and how it differs from the file."""


def kept_beside(checkout: Path) -> Path:
    """Return the folder of what is kept of users' files; makes it."""
    folder = checkout / OWN
    folder.parent.mkdir(mode=0o755, exist_ok=True)
    for one in (folder, folder / LOADS):
        one.mkdir(mode=0o700, exist_ok=True)
        one.chmod(0o700)
    return folder


def write_family(
    folder: Path, name: str, family: Mapping[str, Any], load: Mapping[str, Any]
) -> Family:
    """Write a family of one scenario and its load, each file whole or not at all; return it.

    Raises a usage error, and writes nothing, where they could not be read back.
    """
    files = {
        path: yaml.safe_dump(content, sort_keys=False).encode()
        for path, content in ((f"{LOADS}/{name}.yml", load), (f"{name}.yml", family))
    }
    with tempfile.TemporaryDirectory(dir=folder, prefix=".") as draft:
        (Path(draft) / LOADS).mkdir()
        for path, content in files.items():
            (Path(draft) / path).write_bytes(content)
        made = read_family(Path(draft) / f"{name}.yml")
    for path, content in files.items():
        write_whole(folder / path, content, PRIVATE)
    return made


def keep(folder: Path, document: object) -> str:
    """Keep a document by its content; return its hash."""
    return keep_bytes(folder, json.dumps(document, indent=1).encode(), "json")


def keep_bytes(folder: Path, content: bytes, ending: str) -> str:
    """Keep a file by its content, whole or not at all; return its hash."""
    name = hashlib.sha256(content).hexdigest()
    write_whole(folder / f"{name}.{ending}", content, PRIVATE)
    return name
