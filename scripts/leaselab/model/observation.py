"""What hosts report while a sweep runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ServerStarted:
    """What the server contract's `start` reported."""

    pid: int
    version: str
    commit: str | None
    running_config_sha256: str


@dataclass(frozen=True, slots=True)
class Sample:
    """One reading of the server, about once a second (server contract `sample`)."""

    t: float
    """When it was taken (s since the epoch, the server's clock)."""
    cpu_s: float
    """CPU time the server has used since it started (s, user and system)."""
    rss_bytes: int
    udp_drops: int | None
    """Datagrams dropped at the server's sockets since they were opened; None where it has raw
    ones, of which the kernel tells nothing."""
    leases: int | None
    """Leases held; None when the server did not answer in time."""
    counters: Mapping[str, int]
    """The server's own counters by name."""
    database_cpu_s: float | None = None
    """CPU time its database has used since it started (s); None where there is none."""


@dataclass(frozen=True, slots=True)
class Generated:
    """What the generator's process left behind."""

    status: int
    """Exit status; negative or above 128 for a signal."""
    output_gz: bytes
    """Standard output, gzip-compressed on the generator."""
    error: str
    """Standard error."""
