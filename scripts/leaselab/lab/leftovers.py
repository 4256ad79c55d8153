"""Stopping what a command that was killed has left running on a bench."""

from __future__ import annotations

from leaselab.lab.inventory import GENERATOR_GROUP, PARTNER_GROUP, SERVER_GROUP, Inventory
from leaselab.lab.roles import lab_roles, roles_of
from leaselab.lab.server import STOP_TIMEOUT_S
from leaselab.lab.transport import connect
from leaselab.model.errors import lab_broken

_KILL_TIMEOUT_S = 15.0
_STOP_SERVER = "if test -x /opt/leaselab/server; then /opt/leaselab/server stop; fi"


def stop_leftovers(inventory: Inventory) -> None:
    """Stop traffic, then the servers, of a bench that is ours; lab broken when that fails."""
    # A generator ends by itself with its trial; this command does not wait for that.
    generators = [name for role in roles_of("generator") for name in lab_roles()[role].programs]
    stop_traffic = "; ".join(f"pkill -TERM -x {name} || test $? -eq 1" for name in generators)
    for part, script, timeout_s in (
        (GENERATOR_GROUP, f"set -e; {stop_traffic}", _KILL_TIMEOUT_S),
        (SERVER_GROUP, _STOP_SERVER, STOP_TIMEOUT_S),
        (PARTNER_GROUP, _STOP_SERVER, STOP_TIMEOUT_S),
    ):
        for host in inventory.group(part):
            with connect(host.access) as connection:
                done = connection.run(["sh", "-c", script], timeout_s=timeout_s)
            if done.status != 0:
                raise lab_broken(
                    f"what runs cannot be stopped: {done.stderr.strip()}",
                    where=host.access.name,
                    todo="see what runs there, and end it",
                )
