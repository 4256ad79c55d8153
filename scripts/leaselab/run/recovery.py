"""Recovery of a bench between sweeps: leftovers are stopped, dead hosts power-cycled once.

The bench lock is checked first and held meanwhile.  Where the holder is unknown, nothing is
switched: a host that does not answer this machine may be measuring.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass

from leaselab.archive.bench_notes import RECOVERY, STATUS, read_note, write_note
from leaselab.catalog.checkout import checkout_root, usual_results
from leaselab.catalog.roles import lab_roles, roles_of
from leaselab.lab.bench.lease import Lease, leased
from leaselab.lab.bench.lock import NoLockError
from leaselab.lab.checks.status import role_of
from leaselab.lab.contract.server import STOP_TIMEOUT_S
from leaselab.lab.deploy.playbook import run_playbook
from leaselab.lab.hosts.boot import boot_of, silent, wait_for_boot
from leaselab.lab.hosts.inventory import (
    GENERATOR_GROUP,
    PARTNER_GROUP,
    SERVER_GROUP,
    Inventory,
    InventoryHost,
)
from leaselab.lab.hosts.transport import Connection, connect
from leaselab.model.errors import lab_broken
from leaselab.model.moment import now
from leaselab.model.speech import announce

_SWITCH_S = 600
"""Time for the switches of all hosts, above their boots (s); the lock lasts for both."""


@dataclass(frozen=True, slots=True)
class Switched:
    """The recovery of one host."""

    before: str
    """Its power before, ``on`` or ``off``."""
    now: str
    """Its power as read back."""
    boot: str = ""
    """Its boot id before; empty where it did not answer."""
    at: float = 0.0
    """Time of the switch (monotonic clock)."""


def switch(inventory: Inventory, host: InventoryHost, verb: str) -> Switched:
    """Switch a host and read the state back; the caller has checked the bench lock.

    Raises a usage error for an invalid variable of the inventory, and a broken-lab error with
    the message of the power switch.
    """
    boot = boot_of(host.access) if verb == "cycle" else ""
    asked = {"power_host": host.access.name, "power_action": verb, "power_force": True}
    state = run_playbook("power", inventory.path, asked).custom["power"]
    return Switched(state["before"], state["now"], boot, time.monotonic())


def wait(host: InventoryHost, switched: Switched) -> float:
    """Wait until the host answers by SSH; return the time since it was switched (s)."""
    return wait_for_boot(host.access, host.boot_s, switched.boot, switched.at)


def revive(inventory: Inventory) -> bool:
    """Cycle the power of a generator that does not answer; return whether it answers now.

    Its reboot frees the lock, which can then be checked.  Nothing is done without a power
    switch, or where the holder of the bench is unknown; the caller then reports the fault.
    """
    keeper = inventory.only(GENERATOR_GROUP)
    if not any(host.power for host in inventory.hosts):
        return False
    dead = silent(inventory.hosts)
    if keeper not in dead:
        return True
    if _is_hidden(inventory, dead, keeper) or not keeper.power:
        return False
    _cycle(inventory, [keeper])
    return True


def recover(inventory: Inventory, lease: Lease) -> None:
    """Cycle the power of hosts that do not answer, wait for them, and report it.

    Raises a broken-lab error for a host that does not come back.
    """
    if not any(host.power for host in inventory.hosts):
        return
    keeper = inventory.only(GENERATOR_GROUP)
    doomed = [host for host in silent(inventory.hosts) if host.power and host != keeper]
    if doomed:
        lease.renew(_longest_s(doomed))
        _cycle(inventory, doomed)
        lease.renew()


def recover_alone(inventory: Inventory) -> None:
    """Recover a bench that is not leased yet; raises where another user has it."""
    if revive(inventory):
        with _leased(inventory, "power cycle") as lease:
            recover(inventory, lease)


def _is_hidden(
    inventory: Inventory, dead: Sequence[InventoryHost], keeper: InventoryHost
) -> bool:
    """Whether the holder of the bench cannot be determined; then that is reported."""
    if len(dead) == len(inventory.hosts):
        if inventory.made_by:
            return True  # the lab is down, and is brought up next
        why = "no host answers, so the network to the bench may be down"
    elif keeper in dead and not keeper.power:
        why = f"{keeper.access.name} keeps the bench lock, does not answer and has no switch"
    elif keeper in dead and (holder := last_maintenance(inventory)):
        why = (
            f"{keeper.access.name} does not answer, and was last seen in maintenance: {holder}"
        )
    else:
        return False
    announce(
        f"bench {inventory.bench}: {_names(dead)}: no answer; no host was power-cycled: "
        f"{why}; to do it by hand: `leaselab lab power cycle HOST`"
    )
    return True


def _cycle(inventory: Inventory, hosts: Sequence[InventoryHost]) -> None:
    """Cycle their power one after the other; they boot in parallel."""
    done = []
    for host in hosts:
        announce(f"{host.access.name} does not answer: its power is cycled")
        done.append((host, switch(inventory, host, "cycle")))
    booted: dict[str, float] = {}
    for host, switched in done:
        booted[role_of(host.parts)] = wait(host, switched)
        announce(f"{host.access.name} answers again, {booted[role_of(host.parts)]:.0f} s later")
        note = {"at": now(), "boot_s": booted}
        write_note(usual_results(), inventory.bench, RECOVERY, note)


@contextmanager
def alone(inventory: Inventory, purpose: str, hosts: Sequence[InventoryHost]) -> Iterator[None]:
    """Lease the bench while hosts are switched and boot; raises a broken-lab error otherwise.

    The generator cannot hold its lock while it boots: the bench must be free before.
    """
    with _leased(inventory, purpose) as lease:
        if inventory.only(GENERATOR_GROUP) not in hosts:
            lease.renew(_longest_s(hosts))
            yield
            return
    yield


def _leased(inventory: Inventory, purpose: str) -> AbstractContextManager[Lease]:
    """The state of a bench; one that was never provisioned has no lock and cannot be leased."""

    def take(lease: Lease) -> None:
        with suppress(NoLockError):
            lease.take()

    keeper = inventory.only(GENERATOR_GROUP).access
    return leased(checkout_root(), inventory.bench, keeper, purpose, take)


def _longest_s(hosts: Sequence[InventoryHost]) -> int:
    """Longest time to switch and boot the hosts (s)."""
    return round(max(host.boot_s for host in hosts)) + _SWITCH_S


def last_maintenance(inventory: Inventory) -> str:
    """Words for a bench's maintenance when it was last seen; empty without maintenance."""
    last = read_note(usual_results(), inventory.bench, STATUS)
    return str(last["detail"]) if last is not None and last["state"] == "maintenance" else ""


def _names(hosts: Sequence[InventoryHost]) -> str:
    return ", ".join(host.access.name for host in hosts)


_KILL_TIMEOUT_S = 15.0
_STOP_SERVER = "if test -x /opt/leaselab/server; then /opt/leaselab/server stop; fi"


def stop_leftovers(inventory: Inventory) -> None:
    """Stop traffic, then the servers, of a bench that is ours; lab broken when that fails."""
    for host in inventory.group(GENERATOR_GROUP):
        with connect(host.access) as connection:
            stop_traffic(connection)
    for part in (SERVER_GROUP, PARTNER_GROUP):
        for host in inventory.group(part):
            with connect(host.access) as connection:
                _stop(connection, _STOP_SERVER, STOP_TIMEOUT_S)


def stop_traffic(connection: Connection) -> None:
    """Stop a generator that a killed command has left; lab broken when that fails.

    It ends by itself with its trial, which may last a minute.
    """
    generators = [name for role in roles_of("generator") for name in lab_roles()[role].programs]
    stops = "; ".join(f"pkill -TERM -x {name} || test $? -eq 1" for name in generators)
    _stop(connection, f"set -e; {stops}", _KILL_TIMEOUT_S)


def _stop(connection: Connection, script: str, timeout_s: float) -> None:
    done = connection.run(["sh", "-c", script], timeout_s=timeout_s)
    if done.status != 0:
        raise lab_broken(
            f"cannot stop leftover processes: {done.stderr.strip()}",
            where=connection.access.name,
            todo="see what runs there, and end it",
        )
