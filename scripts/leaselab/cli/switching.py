"""Using a host's power switch: playbook `power`, then the wait for its answer by SSH."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from leaselab.cli.playbook import run_playbook
from leaselab.lab.boot import boot_of, wait_for_boot

if TYPE_CHECKING:
    from leaselab.lab.inventory import Inventory, InventoryHost


@dataclass(frozen=True, slots=True)
class Switched:
    """What was done to one host."""

    before: str
    """Its power as it was found, ``on`` or ``off``."""
    now: str
    """As it was read back."""
    boot: str = ""
    """What told the boot that it was in from others; empty where it did not answer."""
    at: float = 0.0
    """When that was done, by the monotonic clock."""


def switch(inventory: Inventory, host: InventoryHost, verb: str) -> Switched:
    """Switch a host and read the state back; the caller has asked the bench lock.

    Raises a usage error for what cannot be used of the inventory's variable, and a
    broken-lab error with the words of what switches the host.
    """
    boot = boot_of(host.access) if verb == "cycle" else ""
    asked = {"power_host": host.access.name, "power_action": verb, "power_force": True}
    told = run_playbook("power", inventory.path, asked).custom["power"]
    return Switched(told["before"], told["now"], boot, time.monotonic())


def wait(host: InventoryHost, switched: Switched) -> float:
    """Wait until it answers by SSH; return how long it took since it was switched (s)."""
    return wait_for_boot(host.access, host.boot_s, switched.boot, switched.at)
