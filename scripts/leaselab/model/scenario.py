"""What is measured: one server configuration and the load put on it."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from leaselab.model.errors import usage_error

DATABASES = ("mysql", "postgresql")
"""Lease backends that are databases, with a role of their own name."""


@dataclass(frozen=True, slots=True)
class MultiThreading:
    """How a server handles packets; always set, never left to its default."""

    enabled: bool = False
    threads: int = 0
    """Packet threads; 0 only where multi-threading is off."""
    queue_size: int = 0
    """Packets that may wait for a thread; 0 only where multi-threading is off."""


@dataclass(frozen=True, slots=True)
class HighAvailability:
    """A pair of servers that tell each other their leases; always set, like the threads.

    The defaults are Kea's, except where a line says why not.  DHCPv4 clients of a
    pair broadcast, as both servers have to hear them.
    """

    mode: Literal["none", "hot-standby", "load-balancing"] = "none"
    heartbeat_s: float = 1.0
    """Time between two questions whether the partner lives (s).  Kea's 10 s make a pair
    take 40 s to find together, in each run; one question a second costs nothing."""
    max_response_delay_s: float = 60.0
    """Silence after which the partner counts as unreachable (s)."""
    max_ack_delay_s: float = 10.0
    """Age of a client's retries at which it counts as unanswered (s)."""
    max_unacked_clients: int = 10
    """Unanswered clients after which an unreachable partner counts as down; 0: at once."""
    listener_threads: int = 0
    """Threads that take the partner's updates; 0 where a control agent takes them."""
    client_threads: int = 0
    """Threads that send updates to the partner; as above."""
    parked_packet_limit: int = 256
    """Replies that may wait for the partner; what comes on top is dropped.  0: no limit."""

    @property
    def pair(self) -> bool:
        """Whether there is a partner."""
        return self.mode != "none"

    @property
    def settle_s(self) -> float:
        """Time after which a pair that is not in its state will not come to it (s).

        One that starts takes four heartbeats, one that was overloaded a few more.
        """
        return 30 + 10 * self.heartbeat_s


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
    high_availability: HighAvailability = field(default_factory=HighAvailability)
    tuning: Mapping[str, Any] = field(default_factory=dict)
    """Variables of the backend's role that differ from their defaults, by name."""

    @property
    def has_database(self) -> bool:
        """Whether leases are kept in a database of their own."""
        return self.backend in DATABASES

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
        pair = self.high_availability
        if pair.pair and threading.enabled != (
            min(pair.listener_threads, pair.client_threads) > 0
        ):
            raise usage_error(
                "the pair's own threads go with multi-threading, and only with it",
                where=where,
                found=f"multi_threading {threading.enabled}, listener_threads "
                f"{pair.listener_threads}, client_threads {pair.client_threads}",
                wanted="both 1 or more with it, both 0 without",
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
