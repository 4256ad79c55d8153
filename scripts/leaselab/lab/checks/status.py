"""The current state of the benches' hosts: asked once, over the one transport."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from leaselab.archive.ident import is_id
from leaselab.lab.bench.lock import LockStatus, Maintenance
from leaselab.lab.bench.lock import status as lock_status
from leaselab.lab.hosts.answers import NO_ANSWER, Link, decoded
from leaselab.lab.hosts.inventory import GENERATOR_GROUP, Inventory, InventoryHost
from leaselab.lab.hosts.transport import Connection, connect
from leaselab.model.bench import HostAccess
from leaselab.model.errors import LeaselabError, lab_broken
from leaselab.model.text import last_line

LIMIT_S = 30.0
"""Longest time that all hosts of all benches together have to answer (s)."""
_TIMEOUT_S = 15.0

# Python is there because Ansible needs it; one program, so that one round trip is enough.
# The files are what the roles of servers and generators record.
_PROBE = r"""
import glob, json, os, platform, subprocess
def recorded(path):
    try:
        with open(path, encoding="utf-8") as file:
            return json.load(file)
    except (OSError, ValueError):
        return None
variants = glob.glob("/opt/leaselab/variants/*/deployed.json")
variants.sort(key=lambda path: os.stat(os.path.dirname(path)).st_mtime)
generators = sorted(glob.glob("/opt/leaselab/generators/*.json"))
print(json.dumps({
    "hostname": platform.node(),
    "os": platform.freedesktop_os_release().get("PRETTY_NAME", ""),
    "kernel": platform.release(),
    "cpus": sorted(os.sched_getaffinity(0)),
    "addresses": json.loads(subprocess.check_output(["ip", "-json", "address"], timeout=10)),
    "variants": [one for one in map(recorded, variants) if one],
    "generators": [one for one in map(recorded, generators) if one],
}))
"""


class _Program(msgspec.Struct):
    """A server or generator, as its role records it."""

    name: str
    version: str

    def __str__(self) -> str:
        return f"{self.name} {self.version}"


class _Variant(_Program):
    scenario: str
    variant: str


class Probe(msgspec.Struct):
    """What the program prints that asks a host."""

    hostname: str
    os: str
    kernel: str
    cpus: tuple[int, ...]
    addresses: list[Link]
    variants: list[_Variant]
    generators: list[_Program]


@dataclass(frozen=True, slots=True)
class HostStatus:
    """One host, as it answered or did not."""

    name: str
    parts: tuple[str, ...]
    at: str
    """Where it is reached: ``user@address:port``."""
    reachable: bool
    problem: str = ""
    """Why it is not reachable, or what is wrong with its test interface."""
    hostname: str = ""
    os: str = ""
    kernel: str = ""
    cpus: tuple[int, ...] = ()
    """Processors that a program on it may use."""
    test_interface: str = ""
    test_addresses: tuple[str, ...] = ()
    """Those of the inventory's test addresses that the host really has."""
    server: str = ""
    """Server that was used last and its version, such as ``kea 2.6.3``; empty without one."""
    scenario: str = ""
    """Scenario that server was deployed for."""
    variants: tuple[str, ...] = ()
    """All variants that are deployed, the one used last at the end."""
    generator: str = ""
    """Deployed generators and their versions, by name; empty without one."""

    @property
    def well(self) -> bool:
        """True when it answers and nothing is wrong with it."""
        return self.reachable and not self.problem


@dataclass(frozen=True, slots=True)
class BenchStatus:
    """A bench and who holds it."""

    bench: str
    hosts: tuple[HostStatus, ...]
    lock: dict[str, Any] | None = None
    """Who holds the bench: name, purpose, age_s, expires_in_s; None when it is free."""
    lock_problem: str = field(default="")
    """Why the lock could not be read, as on a bench that was never provisioned."""

    maintenance: Maintenance | None = None
    """Who has taken the bench out of use; None also where its generator does not answer."""

    @property
    def up(self) -> bool:
        """True when every host is well."""
        return all(host.well for host in self.hosts)

    @property
    def down(self) -> bool:
        """True when no host answers."""
        return not any(host.reachable for host in self.hosts)


def state_of(status: BenchStatus, check: Mapping[str, Any] | None = None) -> tuple[str, str]:
    """Return a bench's state in one word, and details of it.

    The word is ``maintenance``, ``unreachable`` (no host answers), ``broken`` (one is not well,
    or the last check found errors), ``measuring``, ``held`` or ``free``.  `check` is the
    last check: `at`, `ok`, `errors` (a count) and `first` (what the first error is about).
    Hosts are named by role, as readers of a report need not know their addresses.
    """
    if status.maintenance is not None:
        return "maintenance", str(status.maintenance)
    if status.down:
        return "unreachable", "no host answers"
    ill = [
        f"{role_of(host.parts)}: {host.problem if host.reachable else 'does not answer'}"
        for host in status.hosts
        if not host.well
    ]
    if ill:
        return "broken", "; ".join(ill)
    if status.lock is not None:
        holder = f"{status.lock['name']} for {status.lock['purpose']}"
        return ("measuring" if is_id(str(status.lock["purpose"])) else "held"), holder
    if check is not None and not check["ok"]:
        return "broken", f"by its last check: {check['first']}"
    return "free", status.lock_problem


def role_of(parts: Sequence[str]) -> str:
    """The role that names a host, by the first of its parts: ``server``."""
    return parts[0].removeprefix("dhcp_")


def bench_statuses(
    benches: Sequence[Inventory],
    connector: Callable[[HostAccess], Connection] = connect,
    limit_s: float = LIMIT_S,
) -> list[BenchStatus]:
    """Ask every host of every bench at once; one that does not answer is a fact, not an error.

    What has not answered after `limit_s` (s) does not answer.
    """
    asked = [[_Asking(host, connector) for host in bench.hosts] for bench in benches]
    deadline = time.monotonic() + limit_s
    statuses = []
    for bench, hosts in zip(benches, asked, strict=True):
        answers = [one.answer(deadline, limit_s) for one in hosts]
        kept = next((answer.kept for answer in answers if answer.kept), None)
        statuses.append(
            BenchStatus(
                bench.bench,
                tuple(answer.host for answer in answers),
                kept.holder if kept else None,
                next((answer.problem for answer in answers if answer.problem), ""),
                kept.maintenance if kept else None,
            )
        )
    return statuses


@dataclass(frozen=True, slots=True)
class _Answer:
    """A host's answer, and that of its bench where it keeps the lock."""

    host: HostStatus
    kept: LockStatus | None = None
    problem: str = ""
    """Why the lock that it keeps cannot be read."""


class _Asking:
    """A host that is being asked, in a daemon thread."""

    def __init__(
        self, host: InventoryHost, connector: Callable[[HostAccess], Connection]
    ) -> None:
        self._host = host
        self._connector = connector
        self._answer: _Answer | None = None
        self._thread = threading.Thread(target=self._ask, daemon=True)
        self._thread.start()

    def answer(self, deadline: float, limit_s: float) -> _Answer:
        """Its answer, or that there was none until then (monotonic clock, s)."""
        self._thread.join(max(0.0, deadline - time.monotonic()))
        return self._answer or self._silent(f"no answer within {limit_s:.0f} s")

    def _ask(self) -> None:
        try:
            self._answer = _ask(self._host, self._connector)
        except LeaselabError as error:
            # The name is shown beside it.
            problem = str(error).removeprefix(f"{self._host.access.name}: ")
            self._answer = self._silent(problem)

    def _silent(self, problem: str) -> _Answer:
        name, parts = self._host.access.name, self._host.parts
        status = HostStatus(name, parts, self._host.access.at, reachable=False, problem=problem)
        silent = f"{name}, which keeps it, is not reachable"
        return _Answer(status, problem=silent if GENERATOR_GROUP in parts else "")


def _ask(host: InventoryHost, connector: Callable[[HostAccess], Connection]) -> _Answer:
    """Ask one host; raises what its connection ends with."""
    with connector(host.access) as connection:
        done = connection.run(["python3", "-c", _PROBE], timeout_s=_TIMEOUT_S)
        if done.status != 0:
            raise lab_broken(
                f"python3 failed: {last_line(done.stderr)}",
                where=host.access.name,
                todo="see what python3 is there",
            )
        probe = decoded(
            done.stdout,
            Probe,
            what=f"what python3 {NO_ANSWER}",
            where=host.access.name,
            todo="see that a login there prints nothing else; else provision and deploy again",
        )
        status = read_probe(host, probe)
        if GENERATOR_GROUP not in host.parts:
            return _Answer(status)
        try:
            return _Answer(status, lock_status(connection))
        except LeaselabError as error:
            return _Answer(status, problem=str(error))


def read_probe(host: InventoryHost, answer: Probe) -> HostStatus:
    """Judge what a host answered against what the inventory says of it."""
    wanted = [address for address in (host.test_address, host.test_address6) if address]
    places = {
        info.local: interface.ifname
        for interface in answer.addresses
        for info in interface.addr_info
        if info.local
    }
    have = tuple(address for address in wanted if address in places)
    missing = [address for address in wanted if address not in places]
    interfaces = sorted({places[address] for address in have})
    problem = f"no interface has {', '.join(missing)}" if missing else ""
    if len(interfaces) > 1:
        problem = f"test addresses on several interfaces: {', '.join(interfaces)}"
    newest = answer.variants[-1] if answer.variants else None
    return HostStatus(
        name=host.access.name,
        parts=host.parts,
        at=host.access.at,
        reachable=True,
        problem=problem,
        hostname=answer.hostname,
        os=answer.os,
        kernel=answer.kernel,
        cpus=answer.cpus,
        test_interface=", ".join(interfaces),
        test_addresses=have,
        server=str(newest) if newest else "",
        scenario=newest.scenario if newest else "",
        variants=tuple(one.variant for one in answer.variants),
        generator=", ".join(map(str, answer.generators)),
    )
