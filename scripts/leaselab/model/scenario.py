"""What is measured: one server configuration and the load put on it."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass, field
from typing import Literal

from leaselab.model.errors import usage_error


@dataclass(frozen=True, slots=True)
class MultiThreading:
    """How a server handles packets; always set, never left to its default."""

    enabled: bool = False
    threads: int = 0
    """Packet threads; 0 only where multi-threading is off."""
    queue_size: int = 0
    """Packets that may wait for a thread; 0 only where multi-threading is off."""


@dataclass(frozen=True, slots=True)
class Pool:
    """The one subnet and the one pool clients are served from."""

    subnet: str
    """CIDR prefix; must overlap no network of the lab."""
    range: str
    """``first - last`` or a prefix, as the server's configuration writes it."""

    @property
    def size(self) -> int:
        """Number of addresses in the pool."""
        if "/" in self.range:
            return ipaddress.ip_network(self.range).num_addresses
        first, _, last = self.range.partition("-")
        return (
            int(ipaddress.ip_address(last.strip()))
            - int(ipaddress.ip_address(first.strip()))
            + 1
        )


@dataclass(frozen=True, slots=True)
class Scenario:
    """One server configuration and its load, by name."""

    name: str
    description: str
    family: Literal[4, 6]
    server: str
    """Which server role serves it, such as ``kea``."""
    backend: str
    """Lease backend, such as ``memfile``."""
    pool: Pool
    multi_threading: MultiThreading = field(default_factory=MultiThreading)
    lease_lifetime_s: int = 86_400
    """Valid lifetime of a lease (s); longer than any sweep."""
    memfile_persist: bool = True
    """Whether memfile writes each lease to disk (Kea's default)."""

    def __post_init__(self) -> None:
        """Refuse what no server could be configured with."""
        where = f"scenario {self.name}"
        if self.family not in (4, 6):
            raise usage_error(
                "unknown address family", where=where, found=str(self.family), wanted="4 or 6"
            )
        threading = self.multi_threading
        if threading.enabled and (threading.threads < 1 or threading.queue_size < 1):
            raise usage_error(
                "multi-threading needs its threads and queue size",
                where=where,
                found=f"threads {threading.threads}, queue_size {threading.queue_size}",
                wanted="both 1 or more",
            )
        try:
            version = ipaddress.ip_network(self.pool.subnet).version
            size = self.pool.size
        except ValueError as error:
            raise usage_error(f"pool is not usable: {error}", where=where) from error
        if version != self.family or size < 1:
            raise usage_error(
                "pool does not fit the address family",
                where=where,
                found=f"{self.pool.subnet}, {size} addresses",
                wanted=f"an IPv{self.family} pool",
            )
