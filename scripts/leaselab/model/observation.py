"""Values that hosts report while a sweep runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from msgspec import Struct, field

from leaselab.model.bounds import Amount, Count


class ServerStarted(Struct, frozen=True):
    """Report of the server contract's `start`."""

    pid: Count
    version: str
    commit: str | None
    running_config_sha256: str = field(name="config_sha256")
    program_sha256: str | None = None
    """Hash of the running program; None where the contract reports none."""
    libraries_sha256: Mapping[str, str] = {}
    """Hash of every loaded library, by path."""
    confinement: str | None = None
    """AppArmor profile and mode; None where the host's kernel has no AppArmor."""
    start_s: Amount | None = None
    """From the launch of its process until it answered (s); None where the contract has
    none."""
    beside: Mapping[str, Any] = {}
    """Its companion services, by name."""


class Reset(Struct, frozen=True):
    """Report of the server contract's `reset`."""

    held: Count | None
    """Number of entries that the server stores after it; None where it never stores any."""
    was: Count | None
    """Number of entries that it stored before; None where it never stores any."""


class State(Struct, frozen=True):
    """Report of the server contract's `state`."""

    trouble: str
    """How it differs from the requested state of several servers; empty where it does not."""


class Cut(Struct, frozen=True):
    """Report of the server contract's `cut`."""

    mode: Literal["connected", "hot-standby-partition", "load-balancing-partition"]
    """How the servers serve while they do not reach each other."""


class Reloaded(Struct, frozen=True):
    """Report of the server contract's `reload`."""

    reload_s: Amount
    """Duration of the reload (s)."""


class OperationKind(Struct, frozen=True):
    """What a server can be told to do while it serves."""

    does: str
    seen: str
    """How its effect is seen."""


class Operable(Struct, frozen=True):
    """Report of the server contract's `operations`."""

    operations: Mapping[str, OperationKind]


class Operated(Struct, frozen=True):
    """An operation, as the server contract's `operate` carried it out.

    Times are those of the server's clock (s since 1970-01-01 UTC).
    """

    name: str
    asked: Amount
    """When it was asked for: from then on it was prepared."""
    begun: Amount
    effect: Amount | None
    """When its effect was seen; None where it had none."""
    ended: Amount
    why: str
    """Why it had none."""
    ahead_s: float = 0.0
    """The server's clock less the engine's (s)."""
    link_changes: Count = 0
    """How often it had the link of the server's host come or go."""


UNPLACED = 123
"""Exit status of a generator that was not started: its addresses are not on its interface, or
the link is down; also where that came to pass under its traffic."""


@dataclass(frozen=True, slots=True)
class Sampled:
    """Where the server's CPU time went, as the contract's `profile` sampled it."""

    event: str
    """Sampled event, such as cpu-clock; it ends in ``:u`` where kernel code was excluded."""
    samples: Count
    sampled_s: Amount
    """CPU time that the samples stand for (s)."""
    lost: Count
    """Samples that were lost."""
    stacks: Mapping[str, Count]
    """Samples by stack: functions from the outermost to the running one, separated by
    semicolons."""
    waits: Mapping[str, Amount]
    """What its threads waited for meanwhile, by cause (s, of all threads together)."""


class FunctionCost(Struct, frozen=True):
    """What one function of a server has done, as the contract's `count` counted it."""

    object: str
    """File that it is in, without its folder."""
    name: str
    """Its name; the file in brackets for all functions of it that have none."""
    own: Count
    """Instructions of itself."""
    library: Count
    """Instructions of common libraries that it has called, without those of the allocator; 0
    of such a library's own."""
    allocator: Count
    """Instructions of the allocator that it has called itself."""
    shared: bool
    """Whether it is of such a library itself, and not the server's own."""
    inclusive: Count
    """Instructions of itself and all that it has called; more within a recursion."""
    calls: Count
    """How often it was called."""


class Counts(Struct, frozen=True):
    """What a server has done since its counter was set to zero.

    Under valgrind, functions and what is simulated; without it, all but these.
    """

    functions: tuple[FunctionCost, ...] = ()
    """Those that did anything."""
    simulated: Mapping[str, Count] = {}
    """Branches and cache misses, by the metrics' names; empty where nothing was simulated."""
    database: Mapping[str, Count] = {}
    """Queries and rows that its database has counted; empty where it has none on its host."""
    system_calls: Mapping[str, Count] = {}
    """System calls by name."""
    written_bytes: Count = 0
    """Bytes given to write and its like, sockets included."""
    page_faults: Count = 0
    """Page faults, of any kind."""
    user_s: Amount = 0.0
    system_s: Amount = 0.0
    """CPU time of its code, and of the kernel for it, before that, under the same load (s)."""


class Held(Struct, frozen=True):
    """How many entries a server holds."""

    held: Count | None
    """None where it holds none, or is too busy to say."""


class CountedStep(Struct, frozen=True):
    """Transactions that were counted, and what the server did for all of them together."""

    transactions: Count
    leases: Count
    """Clients with a lease meanwhile, each of which returns; 0 where there are none."""
    plain: Counts
    """Of a server that ran as always."""
    valgrind: Counts
    """Of one under valgrind, which changes system calls and times."""


class Counted(Struct, frozen=True):
    """A count of a server, in two of its starts."""

    steps: Mapping[str, CountedStep]
    """By their names (`leaselab.model.procedures.cost`)."""


@dataclass(frozen=True, slots=True)
class HostReading:
    """One reading of a host, before or after a trial; counters start at its boot."""

    work_s: Amount
    """Time that a fixed small computation takes on the processors of the measured program
    (s)."""
    steal_s: Amount
    """Steal time: its hypervisor ran other guests on these processors (s)."""
    throttled_s: Amount | None
    """Time for which its control group was throttled (s); None without a limit."""
    receive_errors: Count
    """Datagrams dropped for want of receive buffer, of any socket."""
    interface_drops: Count = 0
    """Packets that its interface on the test network dropped or could not send."""
    backlog_drops: Count = 0
    """Packets that its kernel dropped before any socket, as its backlog queue was full."""
    carrier_changes: Count | None = None
    """How often the link of that interface came or went; None where there is none."""


@dataclass(frozen=True, slots=True)
class Foreign:
    """Messages of one kind and sender on the test network that are not the bench's."""

    kind: str
    """``reply`` of a server, or ``request`` of a client or relay."""
    message: str
    """Such as ``DHCPOFFER``."""
    mac: str
    address: str
    """Source IP address."""
    server_id: str
    """Its server identifier; empty without one."""
    count: int

    def __str__(self) -> str:
        """Words for its sender."""
        server = f", server identifier {self.server_id}" if self.server_id else ""
        times = f", {self.count} times" if self.count > 1 else ""
        return f"{self.message} from {self.address} ({self.mac}){server}{times}"


@dataclass(frozen=True, slots=True)
class Generated:
    """Result of the generator's process."""

    status: int
    """Exit status; negative or above 128 for a signal."""
    output_gz: bytes
    """Standard output, gzip-compressed on the generator."""
    error: str
    """Standard error."""
