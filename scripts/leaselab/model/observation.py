"""What hosts report while a sweep runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from msgspec import Struct, field

from leaselab.model.bounds import Amount, Count


class ServerStarted(Struct, frozen=True):
    """What the server contract's `start` reported."""

    pid: Count
    version: str
    commit: str | None
    running_config_sha256: str = field(name="config_sha256")
    program_sha256: str | None = None
    """Hash of the program that runs; None where the contract has none."""
    libraries_sha256: Mapping[str, str] = {}
    """Hash of every library that it has loaded, by path."""
    confinement: str | None = None
    """AppArmor profile and mode; None where the host's kernel has no AppArmor."""
    start_s: Amount | None = None
    """From the launch of its process until it answered (s); None where the contract has
    none."""
    beside: Mapping[str, Any] = {}
    """What serves beside it, by name."""


class Reset(Struct, frozen=True):
    """What the server contract's `reset` reported."""

    held: Count | None
    """What the server holds after it; None where it holds nothing ever."""
    was: Count | None
    """What it held before; None where it holds nothing ever."""


class State(Struct, frozen=True):
    """What the server contract's `state` reported."""

    trouble: str
    """How it differs from the state asked for among several; empty where it does not."""


class Reloaded(Struct, frozen=True):
    """What the server contract's `reload` reported."""

    reload_s: Amount
    """How long it took (s)."""


@dataclass(frozen=True, slots=True)
class Sampled:
    """Where the server's CPU time went, as the contract's `profile` sampled it."""

    event: str
    """What was sampled, such as cpu-clock; it ends in ``:u`` where the kernel was left out."""
    samples: Count
    sampled_s: Amount
    """CPU time that the samples stand for (s)."""
    lost: Count
    """Samples that were taken and not kept."""
    stacks: Mapping[str, Count]
    """Samples by stack: functions from the outermost to the one that ran, by semicolons."""


@dataclass(frozen=True, slots=True)
class HostReading:
    """One reading of a host, before or after a trial; counts are since it was booted."""

    work_s: Amount
    """Time of a fixed small piece of work on the processors of what is measured (s)."""
    steal_s: Amount
    """Time for which its hypervisor gave these processors to others (s)."""
    throttled_s: Amount | None
    """Time for which its control group's limit held it back (s); None where it has none."""
    receive_errors: Count
    """Datagrams dropped for want of receive buffer, of any socket."""
    interface_drops: Count = 0
    """Packets that its interface on the test network dropped or could not send."""
    backlog_drops: Count = 0
    """Packets that its kernel dropped before any socket, as too many waited."""


@dataclass(frozen=True, slots=True)
class Foreign:
    """Messages of one kind and sender on the test network that are not the bench's."""

    kind: str
    """``reply`` of a server, or ``request`` of a client or relay."""
    message: str
    """Such as ``DHCPOFFER``."""
    mac: str
    address: str
    """IP address it came from."""
    server_id: str
    """Identifier of its server; empty without one."""
    count: int

    def __str__(self) -> str:
        """Whose it was, in words."""
        server = f", server identifier {self.server_id}" if self.server_id else ""
        times = f", {self.count} times" if self.count > 1 else ""
        return f"{self.message} from {self.address} ({self.mac}){server}{times}"


@dataclass(frozen=True, slots=True)
class Generated:
    """What the generator's process left behind."""

    status: int
    """Exit status; negative or above 128 for a signal."""
    output_gz: bytes
    """Standard output, gzip-compressed on the generator."""
    error: str
    """Standard error."""
