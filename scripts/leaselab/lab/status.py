"""How the hosts of a bench are right now: asked once, over the one transport."""

from __future__ import annotations

import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from leaselab.lab import lock
from leaselab.lab.inventory import GENERATOR_GROUP, Inventory, InventoryHost
from leaselab.lab.transport import Connection, connect
from leaselab.model.bench import HostAccess
from leaselab.model.errors import LeaselabError, lab_broken

_TIMEOUT_S = 15.0

# Python is there because Ansible needs it; one program, so that one round trip is enough.
# The two files are what the server's and the generator's roles record.
_PROBE = r"""
import json, os, platform, subprocess
def recorded(path):
    try:
        with open(path, encoding="utf-8") as file:
            return json.load(file)
    except (OSError, ValueError):
        return None
print(json.dumps({
    "hostname": platform.node(),
    "os": platform.freedesktop_os_release().get("PRETTY_NAME", ""),
    "kernel": platform.release(),
    "cpus": sorted(os.sched_getaffinity(0)),
    "addresses": json.loads(subprocess.check_output(["ip", "-json", "address"], timeout=10)),
    "server": recorded("/opt/leaselab/deployed.json"),
    "generator": recorded("/opt/leaselab/generator.json"),
}))
"""


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
    """Deployed server and its version, such as ``kea 2.6.3``; empty without one."""
    scenario: str = ""
    """Scenario that server was deployed for."""
    generator: str = ""
    """Deployed generator and its version; empty without one."""

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

    @property
    def up(self) -> bool:
        """True when every host is well."""
        return all(host.well for host in self.hosts)

    @property
    def down(self) -> bool:
        """True when no host answers."""
        return not any(host.reachable for host in self.hosts)


def bench_status(
    inventory: Inventory, connector: Callable[[HostAccess], Connection] = connect
) -> BenchStatus:
    """Ask every host at once; a host that does not answer is a fact, not an error."""
    with ThreadPoolExecutor(len(inventory.hosts)) as pool:
        answers = list(pool.map(lambda host: _ask(host, connector), inventory.hosts))
    holder: dict[str, Any] | None = None
    lock_problem = ""
    for _, found, problem in answers:
        holder = holder or found
        lock_problem = lock_problem or problem
    return BenchStatus(
        inventory.bench, tuple(status for status, _, _ in answers), holder, lock_problem
    )


def _ask(
    host: InventoryHost, connector: Callable[[HostAccess], Connection]
) -> tuple[HostStatus, dict[str, Any] | None, str]:
    """Return the host, who holds the lock it keeps, and why that cannot be read."""
    access = host.access
    at = f"{access.user}@{access.address}:{access.port}"
    try:
        with connector(access) as connection:
            done = connection.run(["python3", "-c", _PROBE], timeout_s=_TIMEOUT_S)
            if done.status != 0:
                last = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
                raise lab_broken(f"python3 failed: {last}", where=access.name)
            status = read_probe(host, at, json.loads(done.stdout))
            if GENERATOR_GROUP not in host.parts:
                return status, None, ""
            try:
                return status, lock.status(connection), ""
            except LeaselabError as error:
                return status, None, str(error)
    except LeaselabError as error:
        # The name is shown beside it.
        problem = str(error).removeprefix(f"{access.name}: ")
        status = HostStatus(access.name, host.parts, at, reachable=False, problem=problem)
        silent = f"{access.name}, which keeps it, is not reachable"
        return status, None, silent if GENERATOR_GROUP in host.parts else ""


def read_probe(host: InventoryHost, at: str, answer: dict[str, Any]) -> HostStatus:
    """Judge what a host answered against what the inventory says of it."""
    wanted = [address for address in (host.test_address, host.test_address6) if address]
    places = {
        info["local"]: interface["ifname"]
        for interface in answer["addresses"]
        for info in interface.get("addr_info", [])
        if "local" in info
    }
    have = tuple(address for address in wanted if address in places)
    missing = [address for address in wanted if address not in places]
    interfaces = sorted({places[address] for address in have})
    problem = f"no interface has {', '.join(missing)}" if missing else ""
    if len(interfaces) > 1:
        problem = f"test addresses on several interfaces: {', '.join(interfaces)}"
    return HostStatus(
        name=host.access.name,
        parts=host.parts,
        at=at,
        reachable=True,
        problem=problem,
        hostname=answer["hostname"],
        os=answer["os"],
        kernel=answer["kernel"],
        cpus=tuple(answer["cpus"]),
        test_interface=", ".join(interfaces),
        test_addresses=have,
        server=_named(answer["server"]),
        scenario=str((answer["server"] or {}).get("scenario", "")),
        generator=_named(answer["generator"]),
    )


def _named(record: dict[str, Any] | None) -> str:
    return f"{record['name']} {record['version']}" if record else ""
