"""Recovery of a bench between sweeps: hosts that do not answer get their power cycled, once.

Whoever has the bench is asked first, and nobody begins on it meanwhile.  Where that cannot
be known, nothing is switched: what looks dead from here may be measuring.
"""

from __future__ import annotations

import sys
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

from leaselab.archive.bench_notes import RECOVERY, STATUS, read_note, write_note
from leaselab.cli.options import checkout_root, usual_results
from leaselab.cli.switching import switch, wait
from leaselab.lab.boot import silent
from leaselab.lab.hold import owner_under, read_hold
from leaselab.lab.inventory import GENERATOR_GROUP
from leaselab.lab.lock import BenchLock, refuse_in_use, status
from leaselab.lab.status import role_of
from leaselab.lab.transport import connect
from leaselab.model.errors import LeaselabError
from leaselab.model.moment import now

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from leaselab.lab.inventory import Inventory, InventoryHost
    from leaselab.lab.lock import Owner
    from leaselab.lab.transport import Connection

_SWITCH_S = 600
"""Time for the switches of all hosts, above their boots (s); the lock lasts for both."""


def recover(inventory: Inventory, owner: Owner | None = None) -> bool:
    """Cycle the power of hosts that do not answer, wait for them, and say so; or do nothing.

    Nothing is done where no host has a switch, all answer, none answers, or the generator,
    which keeps the lock, is away and has no switch; what is wrong is then for the caller to
    find.  `owner` is the sweep's own, where one is gone on with.  Returns whether any host
    was switched.  Raises a broken-lab error where somebody else has the bench, and for a
    host that does not come back.
    """
    if not any(host.power for host in inventory.hosts):
        return False
    dead = silent(inventory.hosts)
    keeper = inventory.only(GENERATOR_GROUP)
    doomed = [host for host in dead if host.power]
    if not doomed or _is_hidden(inventory, dead, keeper):
        return False
    if keeper in doomed:
        # Its reboot frees the lock, and then that can be asked.
        _cycle(inventory, [keeper])
        doomed.remove(keeper)
    if doomed:
        with alone(inventory, f"power cycle of {_names(doomed)}", doomed, owner):
            _cycle(inventory, doomed)
    return True


def _is_hidden(
    inventory: Inventory, dead: Sequence[InventoryHost], keeper: InventoryHost
) -> bool:
    """Whether it is unknown who has the bench, and cannot be found out; then it is said."""
    if len(dead) == len(inventory.hosts):
        if inventory.made_by:
            return True  # a lab that is down, and is brought up next
        why = "no host answers, so it may be the way there that is broken"
    elif keeper in dead and not keeper.power:
        why = f"{keeper.access.name} keeps the bench lock, does not answer and has no switch"
    elif keeper in dead and (told := last_maintenance(inventory)):
        why = f"{keeper.access.name} does not answer, and was last seen in maintenance: {told}"
    else:
        return False
    _say(
        f"bench {inventory.bench}: {_names(dead)}: no answer; nothing is switched: {why}; "
        "`leaselab lab power cycle HOST` does it by hand"
    )
    return True


def _cycle(inventory: Inventory, hosts: Sequence[InventoryHost]) -> None:
    """Cycle them one after the other; they boot side by side."""
    done = []
    for host in hosts:
        _say(f"{host.access.name} does not answer: its power is cycled")
        done.append((host, switch(inventory, host, "cycle")))
    booted: dict[str, float] = {}
    for host, switched in done:
        booted[role_of(host.parts)] = wait(host, switched)
        _say(f"{host.access.name} answers again, {booted[role_of(host.parts)]:.0f} s later")
        note = {"at": now(), "boot_s": booted}
        write_note(usual_results(), inventory.bench, RECOVERY, note)


@contextmanager
def alone(
    inventory: Inventory,
    purpose: str,
    hosts: Sequence[InventoryHost],
    owner: Owner | None = None,
) -> Iterator[None]:
    """Have the bench while hosts are switched and boot; a broken-lab error where one cannot.

    The generator itself cannot keep it while it boots: then nobody may have it before.
    A bench that was never provisioned has no lock, and nobody can have it.
    """
    keeper = inventory.only(GENERATOR_GROUP)
    root = checkout_root()
    lease = round(max(host.boot_s for host in hosts)) + _SWITCH_S
    with ExitStack() as stack:
        generator = stack.enter_context(connect(keeper.access))
        if keeper in hosts:
            hold = read_hold(root, inventory.bench)
            refuse_in_use(generator, hold.request() if hold else None)
            stack.close()
        elif _has_lock(generator):
            mine = owner or owner_under(root, inventory.bench, purpose)
            stack.enter_context(BenchLock(generator, mine, lease))
        yield


def _has_lock(generator: Connection) -> bool:
    try:
        status(generator)
    except LeaselabError:
        return False
    return True


def last_maintenance(inventory: Inventory) -> str:
    """Who had the bench in maintenance when it was last seen; empty where nobody had."""
    last = read_note(usual_results(), inventory.bench, STATUS)
    return str(last["told"]) if last is not None and last["state"] == "maintenance" else ""


def _names(hosts: Sequence[InventoryHost]) -> str:
    return ", ".join(host.access.name for host in hosts)


def _say(text: str) -> None:
    print(f"leaselab: {text}", file=sys.stderr, flush=True)
