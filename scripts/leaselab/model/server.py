"""A measured server, its build, and its name in results."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from typing import Annotated, Any

from msgspec import Meta

from leaselab.model.bounds import END, Amount, Count, File
from leaselab.model.source import SHORT, Commit, Hash
from leaselab.model.text import printable
from leaselab.model.trial import Description

Sha256 = Annotated[str, Meta(pattern=f"^[0-9a-f]{{64}}{END}")]
_NONE = "-"


class Durability(enum.Enum):
    """Where a lease is stored when its client receives it, strongest first.

    Rates of different durabilities are not comparable: the disk makes a difference of up to a
    factor of ten.
    """

    SYNCED = "synced"
    """On the disk: survives loss of power."""
    WRITTEN = "written"
    """In the operating system's cache: survives the end of the server and its database, but not
    of their host."""
    BUFFERED = "buffered"
    """In the database's memory: survives the end of the server, but not of the database."""
    MEMORY = "memory"
    """In the server's memory only: lost with the server's end."""


class Build(Description, frozen=True, kw_only=True):
    """Source and build of a server; one that does not build has only its source."""

    source: Commit | None = None
    """The commit."""
    key: str | None = None
    """Name of the artifact in the builder's cache: hash of commit, tree, options, recipe,
    prefix and builder."""
    system: str | None = None
    """Build system of the tree, such as autotools or meson."""
    options: dict[str, Any] = {}
    """Options of the recipe, by name, such as cxxflags."""
    prefix: str | None = None
    """Installation prefix, which is compiled in."""
    builder: dict[str, Any] = {}
    """Release, architecture, compiler and a hash of all packages of the host that built it."""
    seconds: dict[str, Amount] = {}
    """Duration of each phase of the build, and of the whole build (total) (s)."""
    artifact_sha256: Sha256 | None = None
    """SHA-256 of the artifact that was installed."""
    artifact_bytes: Count | None = None
    """Its size (bytes)."""
    runtime_packages: dict[str, Any] = {}
    """Packages of the libraries it was linked with, by name: their versions on the builder."""


class Beside(Description, frozen=True, kw_only=True):
    """A companion service of a server, such as its database."""

    name: str = ""
    """Its kind, such as mysql; empty if unknown."""
    version: str = ""
    """Version it reports."""
    confinement: str | None = None
    """AppArmor profile and mode that confined it; null where its kernel has no AppArmor."""
    variables: dict[str, Any] = {}
    """Its settings as read back."""


class Server(Description, frozen=True, kw_only=True):
    """A measured server."""

    name: str
    """Server, such as kea."""
    version: str | None = None
    """Version it reports; null where it never ran."""
    commit: Hash | None = None
    """Commit it was built from; null for a package."""
    package: str | None = None
    """Package and version it was installed from; null when built from source."""
    build: Build | None = None
    """Its build; null for a package."""
    config_file: File | None = None
    """Its configuration, by its path within the result."""
    config_sha256: Sha256 | None = None
    """SHA-256 of that file."""
    config_settings_sha256: Sha256 | None = None
    """SHA-256 of that file without the names of variant and build: two builds with the same
    settings have the same."""
    running_config_sha256: Sha256 | None = None
    """SHA-256 of the configuration as the running server reported it."""
    variant: str | None = None
    """Name of its variant on its host, which its file names contain."""
    program: str | None = None
    """Path of its program on its host; null where it is not known."""
    program_sha256: Sha256 | None = None
    """SHA-256 of that program; every start was compared with it."""
    libraries_sha256: dict[str, Sha256] = {}
    """SHA-256 of every library that it had loaded, by path."""
    confinement: str | None = None
    """AppArmor profile and mode that confined it; null where its kernel has no AppArmor."""
    durability: str | None = None
    """Durability that it guaranteed, according to its settings as read back.
    synced: on the disk before the client was answered; written: in the operating system's
    cache; buffered: in the memory of its database; memory: in its own memory only.  Null where
    it never ran."""
    holds: str = ""
    """What `Sample.held` counts, in one word, such as leases; empty where it stores nothing."""
    tuning: dict[str, Any] = {}
    """Settings that can affect a result, as read back from its host."""
    beside: dict[str, Beside] = {}
    """Its companion services by name, such as database."""

    @property
    def made_of(self) -> tuple[str, ...]:
        """The identity of its build: its files, commit, or package.

        Two commits with the same files are the same source.
        """
        source = self.build.source if self.build else None
        files = source.tree if source else self.commit
        if files:
            return self.name, files
        return self.name, self.version or "", self.package or ""


def settings_of(config: str, variant: str | None, prefix: str | None) -> str:
    """Return a server's configuration without the names of its variant and build.

    Both are in paths, such as that of its log, and differ between builds.
    """
    for name, stands_for in ((variant, "VARIANT"), (prefix, "PREFIX")):
        if name:
            config = config.replace(name, stands_for)
    return config


def server_name(server: Server | Mapping[str, Any]) -> str:
    """Server, version and, where it was built from one, the commit: ``kea 2.6.3 (1a2b3c4d5e)``.

    Takes the server of a record, or an index row.
    """
    if isinstance(server, Server):
        name, version, commit = server.name, server.version, server.commit
    else:
        name, version, commit = server["server"], server["version"], server["commit"]
    parts = [name or _NONE, version or "", f"({commit[:SHORT]})" if commit else ""]
    return printable(" ".join(part for part in parts if part))
