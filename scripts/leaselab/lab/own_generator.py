"""leaseload's source, which is a folder of the project, and which build of it is kept."""

from __future__ import annotations

import hashlib
import io
import json
import tarfile
import tomllib
from pathlib import Path
from typing import Any

from leaselab.archive.disk import write_whole
from leaselab.lab.build_record import read_record
from leaselab.lab.roles import OWN_GENERATOR, ROLES
from leaselab.model.errors import LeaselabError

INSTALLED_BY = frozenset({OWN_GENERATOR, "responder"})
"""Roles that install what is built of it: the generator, and the server of known truth."""
_SOURCE = ROLES.parent / "load"
_NOT_BUILT = frozenset({"target", "tests", "fuzz"})
"""Folders that no program is made of."""
_MTIME = 0
"""Of all files of the tar: equal files make an equal tar."""


def pack(folder: Path) -> dict[str, Any]:
    """Pack the source into a tar below a folder; return it as a commit is described.

    `commit` has the fields of `leaselab.model.source.Commit`, with the hash of the files for
    hash and tree; `files` is the path of the tar, `server` the name of what is built.
    """
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for path in _files():
            member = tar.gettarinfo(path, str(path.relative_to(_SOURCE)))
            member.uid = member.gid = 0
            member.uname = member.gname = ""
            member.mtime, member.mode = _MTIME, 0o644
            with path.open("rb") as content:
                tar.addfile(member, content)
    source = source_hash()
    files = folder / f"{source}.tar"
    folder.mkdir(parents=True, exist_ok=True)
    write_whole(files, packed.getvalue())
    commit = {
        "repository": "load",
        "ref": "",
        "hash": source,
        "tree": source,
        "described": version(),
        "author_date": None,
        "subject": "",
        "accepted": True,
    }
    return {"server": OWN_GENERATOR, "commit": commit, "files": str(files)}


def source_hash() -> str:
    """Hash of the files that leaseload is built of (40 hexadecimal digits)."""
    digest = hashlib.sha256()
    for path in _files():
        digest.update(f"{path.relative_to(_SOURCE)}\0".encode())
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()[:40]


def version() -> str:
    """Version of the workspace, such as 0.1.0."""
    manifest = tomllib.loads((_SOURCE / "Cargo.toml").read_text(encoding="utf-8"))
    return str(manifest["workspace"]["package"]["version"])


def built_key(builds: Path) -> str:
    """Key of the build of this source that is kept below a folder; empty without one."""
    try:
        kept = json.loads((builds / f"{OWN_GENERATOR}.json").read_text(encoding="utf-8"))
        key = str(kept["key"])
    except (OSError, ValueError, KeyError, TypeError):
        return ""
    is_there = (builds / key / "artifact.tar.gz").exists()
    return key if kept.get("source") == source_hash() and is_there else ""


def is_built_for(builds: Path, architecture: str) -> bool:
    """Whether a build of this source for such machines is kept whole below a folder.

    It is statically linked, so that it runs on other releases than its builder's, too.
    """
    key = built_key(builds)
    try:
        record = read_record(builds, key)
        artifact = (builds / key / "artifact.tar.gz").read_bytes()
    except (OSError, LeaselabError):
        return False
    whole = hashlib.sha256(artifact).hexdigest() == record["artifact_sha256"]
    return whole and bool(record["builder"]["architecture"] == architecture)


def _files() -> list[Path]:
    return sorted(
        path
        for path in _SOURCE.rglob("*")
        if path.is_file() and not _NOT_BUILT & set(path.relative_to(_SOURCE).parts)
    )
