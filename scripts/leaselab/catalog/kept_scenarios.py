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
from msgspec import to_builtins

from leaselab.archive.disk import PRIVATE, write_whole
from leaselab.catalog.catalogue import LOADS, OWN, read_family
from leaselab.model.scenario import Scenario


class Made(NamedTuple):
    """A scenario that was made with another load."""

    name: str
    notes: list[str]
    """Lines of text: what it is, and how it differs from the file."""


def kept_beside(scenarios: Path) -> Path:
    """Return the folder of what is kept beside the folder of the catalogue; makes it."""
    folder = scenarios.parent / OWN
    folder.parent.mkdir(mode=0o755, exist_ok=True)
    for one in (folder, folder / LOADS):
        one.mkdir(mode=0o700, exist_ok=True)
        one.chmod(0o700)
    return folder


def write_family(
    folder: Path, name: str, family: Mapping[str, Any], load: Mapping[str, Any]
) -> None:
    """Write a family of one scenario and its load, each file whole or not at all.

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
        read_family(Path(draft) / f"{name}.yml")
    for path, content in files.items():
        write_whole(folder / path, content, PRIVATE)


def write_like(
    folder: Path,
    scenario: Scenario,
    procedure: Mapping[str, Any],
    load: Mapping[str, Any],
    of: str,
) -> str:
    """Write a scenario with another load, a family of its own; return its name.

    `of` says whose load it is (``clients``, ``queries``); the name ends with it and a hash.
    """
    support = to_builtins(scenario.support) if scenario.support else {}
    family = to_builtins(
        {
            "description": f"{scenario.description}, for the {of} of a file",
            "server": {"kind": scenario.server.kind, "options": scenario.server.options},
            "beside": scenario.beside,
            "hosts": scenario.hosts,
            "support": {key: support[key] for key in ("kind", "options") if key in support},
            "factors": scenario.factors,
            "across": list(scenario.across),
            "procedure": dict(procedure),
        }
    )
    whole = json.dumps([family, load], sort_keys=True)
    stem = scenario.name.partition(f"-{of}-")[0]
    digest = hashlib.sha256(whole.encode()).hexdigest()[:8]
    name = f"{stem}-{of}-{digest}"
    family["factors"] |= {of: f"{of} {digest}"}
    file = {
        "generator": scenario.generator,
        "transaction": to_builtins(scenario.transaction),
        **load,
    }
    write_family(folder, name, {**family, "load": name}, file)
    return name


def keep(folder: Path, document: object) -> str:
    """Keep a document by its content; return its hash."""
    return keep_bytes(folder, json.dumps(document, indent=1).encode(), "json")


def keep_bytes(folder: Path, content: bytes, ending: str) -> str:
    """Keep a file by its content, whole or not at all; return its hash."""
    name = hashlib.sha256(content).hexdigest()
    write_whole(folder / f"{name}.{ending}", content, PRIVATE)
    return name
