"""A host of a bench, as its roles read it: part of a record."""

from __future__ import annotations

from typing import Any

from leaselab.model.bounds import Amount, Count, Processors
from leaselab.model.trial import Description


class Nic(Description, frozen=True, kw_only=True):
    """The network card of a test interface."""

    driver: str | None = None
    """Its kernel driver."""
    firmware: str | None = None
    """Version of its firmware."""
    speed_mbps: Count | None = None
    """Speed of the link (Mbit/s)."""
    duplex: str | None = None
    """Duplex mode of the link: full or half."""
    mtu: Count | None = None
    """Largest packet (bytes)."""
    numa_node: Count | None = None
    """Its NUMA node; null where the kernel reports none."""
    rings: dict[str, int | None] | None = None
    """Descriptors of its rings: rx, tx, and their maximum."""
    channels: dict[str, int | None] | None = None
    """Its queues: rx, tx, combined, and their maximum."""
    coalescing: dict[str, Any] | None = None
    """Its interrupt coalescing: microseconds, frames, and whether it is adaptive."""
    offloads: dict[str, bool] | None = None
    """Whether each offload is on, by the kernel's name; those that cannot be switched on are
    left out."""


class HostSetting(Description, frozen=True, kw_only=True):
    """A setting requested for a host."""

    asked: Any = None
    """Requested value."""
    found: Any = None
    """Value as read back; null where the host has no such setting."""
    why: str | None = None
    """Why the host has no such setting, or why the kernel refused the value; else null."""


class Host(Description, frozen=True, kw_only=True):
    """A host of the bench, identified by its role."""

    hostname: str | None = None
    """Null in results: hosts are named by their roles."""
    kernel: str | None = None
    """Release of its kernel."""
    cpu_model: str | None = None
    """Its processor."""
    cpus_allowed: Processors | None = None
    """Processors its work may use, in the kernel's list form such as 0-3,8."""
    memory_bytes: Count | None = None
    """Its memory (bytes)."""
    governor: str | None = None
    """CPU frequency governors of its processors, separated by commas; null without any."""
    os: str | None = None
    """Distribution and version."""
    test_interface: str | None = None
    """Interface on the test network."""
    test_address: str | None = None
    """Its IPv4 address there."""
    test_address6: str | None = None
    """Its IPv6 address there."""
    architecture: str | None = None
    """Architecture of its processors, such as x86_64."""
    virtualization: str | None = None
    """Virtualization that it runs in, such as docker or kvm; NA on bare metal."""
    governors: dict[str, str] | None = None
    """Processors by governor, in the kernel's list form."""
    cpu_count: Count | None = None
    """Processors that are online."""
    processors: Count | None = None
    """How many of them its work may use."""
    cpu_limit: Amount | None = None
    """CPU limit of its control group (processors); null without a limit."""
    smt: str | None = None
    """Simultaneous multithreading as the kernel reports it: on, off, forceoff, notsupported or
    notimplemented."""
    turbo: bool | None = None
    """Whether its processors may run above their nominal clock rate."""
    microcode: str | None = None
    """Version of its processors' microcode."""
    clocksource: str | None = None
    """The kernel's clock source."""
    command_line: str | None = None
    """The kernel's command line; values that are a path or a secret are replaced by three
    dots."""
    mitigations: dict[str, str | None] | None = None
    """The kernel's mitigation of each processor vulnerability, in the kernel's words."""
    sysctls: dict[str, str | None] | None = None
    """Settings of the kernel's network, by name."""
    nic: Nic | None = None
    """The test interface's card."""
    tuning: dict[str, HostSetting] | None = None
    """What role host_tuning requested, by variable; null where the host was not tuned."""
