"""Artifacts of builders: their records, and leaseload's, whose source is in the project.

A builder runs code of commits, so its answer is not trusted: fields of the request must come
back unchanged, and all others must have a valid form.  Root makes names of files and packages
of these fields, also on other hosts.
"""

from __future__ import annotations

import hashlib
import io
import json
import re
import tarfile
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from leaselab.archive.disk import write_whole
from leaselab.catalog.decoding import build
from leaselab.catalog.roles import OWN_GENERATOR, ROLES
from leaselab.model.errors import LeaselabError, lab_broken, usage_error

FORMAT = 3
"""Version of how artifacts are built and packed; raised with that of role build."""
KEY = re.compile(r"[0-9a-f]{24}")
_HASH = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_SHA256 = re.compile(r"[0-9a-f]{64}")
_WORD = re.compile(r"[a-z0-9][a-z0-9._+-]{0,39}")
_RELEASE = re.compile(r"[a-z0-9][a-z0-9._-]{0,29} [a-z0-9._-]{0,29}")
_ARCHITECTURE = re.compile(r"[a-z0-9_]{1,29}")
_LINE = re.compile(r"[^\x00-\x1f\x7f-\x9f\u2028\u2029]{1,200}")
_BUILDS = "/opt/leaselab/builds/"
"""Below which a build is installed on hosts, in a folder that its key names."""
_PACKAGE = re.compile(r"[a-z0-9][a-z0-9+.-]{0,99}")
"""A package's own name: neither a file nor an address, which apt would take as well."""
_VERSION = re.compile(r"[A-Za-z0-9][A-Za-z0-9.+:~-]{0,99}")


@dataclass(frozen=True, slots=True)
class Builder:
    """The host that built it."""

    distribution: str
    """Name and release, such as ``debian 13``."""
    architecture: str
    compiler: str
    """The compiler's own name for itself."""
    packages: str
    """Hash of all installed packages."""


@dataclass(frozen=True, slots=True)
class BuildRecord:
    """What is known of one build."""

    format: int
    name: str
    """The server."""
    key: str
    """By which the artifact is found again."""
    commit: str
    tree: str
    described: str
    system: str
    """Build system of the tree."""
    options: Mapping[str, Any]
    prefix: str
    """Where it is installed: a folder that the key names, and the one place it is allowed."""
    builder: Builder
    seconds: Mapping[str, float]
    """How long each phase took (s)."""
    artifact_sha256: str
    artifact_bytes: int
    runtime_packages: Mapping[str, str]
    """Packages of the libraries it was linked with: their versions on the builder."""
    cached: bool = False
    """Whether it was found built; not kept."""
    source: Mapping[str, Any] | None = None
    """The commit as the repository has it; added where the record is kept."""

    def misshapen(self) -> tuple[str, object] | None:
        """The first field without a valid form, with its value, or None."""
        shapes: list[tuple[str, object, re.Pattern[str]]] = [
            ("name", self.name, _WORD),
            ("key", self.key, KEY),
            ("commit", self.commit, _HASH),
            ("tree", self.tree, _HASH),
            ("described", self.described, _LINE),
            ("system", self.system, _WORD),
            ("prefix", self.prefix, re.compile(re.escape(f"{_BUILDS}{self.key}"))),
            ("builder: distribution", self.builder.distribution, _RELEASE),
            ("builder: architecture", self.builder.architecture, _ARCHITECTURE),
            ("builder: compiler", self.builder.compiler, _LINE),
            ("builder: packages", self.builder.packages, KEY),
            ("artifact_sha256", self.artifact_sha256, _SHA256),
            *(("seconds", phase, _LINE) for phase in self.seconds),
            *(("runtime_packages", name, _PACKAGE) for name in self.runtime_packages),
            *(("runtime_packages", text, _VERSION) for text in self.runtime_packages.values()),
        ]
        for field, value, shape in shapes:
            if not (isinstance(value, str) and shape.fullmatch(value)):
                return field, value
        return None


def check_answer(document: Any, asked: Mapping[str, Any], where: str) -> None:  # noqa: ANN401  (parsed JSON)
    """Refuse a builder's answer that is not one to what was asked of it.

    `asked` has, by the record's field, what must come back.  Raises a broken-lab error.
    """
    try:
        record = parse_record(document, where)
    except LeaselabError as error:
        raise lab_broken(
            f"the builder's answer is not the record of a build: {error.what}",
            where=error.where,
            found=error.found,
            wanted=error.wanted,
            todo="see who has access to the builder",
        ) from error
    for field, wanted in asked.items():
        found = getattr(record, field)
        if found != wanted:
            raise lab_broken(
                "the builder answered for another build",
                where=f"{where}: {field}",
                found=repr(found),
                wanted=repr(wanted),
                todo="see who has access to the builder",
            )


def parse_record(document: Any, where: str) -> BuildRecord:  # noqa: ANN401  (parsed JSON)
    """Turn a parsed record into a value; a usage error for one of another shape."""
    found = document.get("format") if isinstance(document, Mapping) else None
    if found != FORMAT:
        raise usage_error(
            "this is no record of a build as it is made now",
            where=where,
            found=f"format {found}",
            wanted=str(FORMAT),
            todo="build the commit again",
        )
    record = build(BuildRecord, document, where)
    wrong = record.misshapen()
    if wrong is not None:
        raise usage_error(
            "invalid build record",
            where=f"{where}: {wrong[0]}",
            found=repr(wrong[1]),
            todo="build the commit again",
        )
    return record


def read_record(builds: Path, key: str) -> dict[str, Any]:
    """Read the record that is kept under a key below `builds`, as it is written.

    Raises a usage error where there is none, or one of another key or of a build as they
    were made before.
    """
    path = builds / key / "build.json"
    if not KEY.fullmatch(key) or not path.exists():
        raise usage_error(
            "no such build",
            where=str(builds),
            found=repr(key),
            wanted="a key as `leaselab step build` prints it",
            todo="build the commit: leaselab step build",
        )
    try:
        document: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise usage_error(
            f"not readable: {error}", where=str(path), todo="build the commit again"
        ) from error
    record = parse_record(document, str(path))
    source = record.source or {}
    kept = (record.key, source.get("hash"), source.get("tree"))
    if kept != (key, record.commit, record.tree):
        raise usage_error(
            "the record is not of this build",
            where=str(path),
            found=str(kept),
            wanted=str((key, record.commit, record.tree)),
            todo="remove that folder and build the commit again",
        )
    return {name: document[name] for name in _KEPT if name in document}


_KEPT = tuple(field.name for field in fields(BuildRecord) if field.name != "cached")


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
