"""A host of a bench, as its roles read it: part of a record."""

from __future__ import annotations

from typing import Any

from leaselab.model.bounds import Amount, Count, Processors
from leaselab.model.trial import Description


class Nic(Description, frozen=True, kw_only=True):
    """The card of a test interface."""

    driver: str | None = None
    """The kernel's driver of it."""
    firmware: str | None = None
    """Version of its firmware."""
    speed_mbps: Count | None = None
    """Speed of the link (Mbit/s)."""
    duplex: str | None = None
    """Of the link: full or half."""
    mtu: Count | None = None
    """Largest packet (bytes)."""
    numa_node: Count | None = None
    """NUMA node it is at; null where the kernel names none."""
    rings: dict[str, int | None] | None = None
    """Descriptors of its rings: rx, tx, and the largest there can be."""
    channels: dict[str, int | None] | None = None
    """Its queues: rx, tx, combined, and the most there can be."""
    coalescing: dict[str, Any] | None = None
    """How long it holds interrupts back: microseconds, frames, and whether they adapt."""
    offloads: dict[str, bool] | None = None
    """Whether each offload is on, by the kernel's name, of those that are on or can be."""


class HostSetting(Description, frozen=True, kw_only=True):
    """A setting that a host was asked to have."""

    asked: Any = None
    """What was asked for."""
    found: Any = None
    """As it was read back; null where the host has none."""
    why: str | None = None
    """Why the host has no such setting, or what the kernel refused; else null."""


class Host(Description, frozen=True, kw_only=True):
    """A host of the bench, known by its role; older results have the first fields alone."""

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
    """CPU frequency governors of its processors, parted by commas; null where there is none."""
    os: str | None = None
    """Distribution and version."""
    test_interface: str | None = None
    """Interface on the test network."""
    test_address: str | None = None
    """Its address there."""
    test_address6: str | None = None
    """Its IPv6 address there."""
    architecture: str | None = None
    """Of its processors, such as x86_64."""
    virtualization: str | None = None
    """What it runs in, such as docker or kvm; NA on a machine of its own."""
    governors: dict[str, str] | None = None
    """Processors by governor, in the kernel's list form."""
    cpu_count: Count | None = None
    """Processors that are on."""
    processors: Count | None = None
    """How many of them its work may use."""
    cpu_limit: Amount | None = None
    """How many processors' worth of time its work may use; null without a limit."""
    smt: str | None = None
    """Several threads on a core, as the kernel says it: on, off, forceoff, notsupported or
    notimplemented."""
    turbo: bool | None = None
    """Whether its processors may run above their nominal clock."""
    microcode: str | None = None
    """Version of its processors' microcode."""
    clocksource: str | None = None
    """The kernel's clock source."""
    command_line: str | None = None
    """The kernel's command line; values that name a place or a secret are three dots."""
    mitigations: dict[str, str | None] | None = None
    """By weakness of the processor: what the kernel does about it, in its own words."""
    sysctls: dict[str, str | None] | None = None
    """Settings of the kernel's network, by name."""
    nic: Nic | None = None
    """The test interface's card."""
    tuning: dict[str, HostSetting] | None = None
    """What role host_tuning asked for, by variable; null where the host was left as it is."""
