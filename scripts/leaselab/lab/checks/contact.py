"""Tries the engine's own connection to a host once: whether it opens, clock and address.

Ansible connects by another program with other settings; each can fail without the other.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from leaselab.lab.bench import lock
from leaselab.lab.hosts.inventory import GENERATOR_GROUP, InventoryHost
from leaselab.lab.hosts.transport import Connection, connect
from leaselab.model.bench import HostAccess
from leaselab.model.errors import LeaselabError, lab_broken

_TIMEOUT_S = 15.0
_NOBODY = lock.LockStatus(None, None)
_ASK = ["sh", "-c", 'date +%s.%N && echo "$SSH_CONNECTION"']


@dataclass(frozen=True, slots=True)
class Contact:
    """Facts from one connection to a host."""

    error: LeaselabError | None = None
    """Why there is no connection; nothing else is known then."""
    clock_offset_s: float = 0.0
    """The host's clock less this machine's (s)."""
    clock_uncertainty_s: float = 0.0
    """The offset is true within this, half the time the question took (s)."""
    uid: int = 0
    """That commands run with: of the login, or what sudo makes of it."""
    management_address: str = ""
    """The host's own address that the connection ended at; empty where that is unknown."""
    holder: dict[str, Any] | None = None
    """Who holds the bench lock that this host keeps, None when free or not the keeper."""
    maintenance: lock.Maintenance | None = None
    """Who has the bench in maintenance, by the same host."""


def contact_all(
    hosts: Sequence[InventoryHost], connector: Callable[[HostAccess], Connection] = connect
) -> dict[str, Contact]:
    """Contact every host at the same time; by inventory name."""
    with ThreadPoolExecutor(len(hosts)) as pool:
        contacts = list(pool.map(lambda host: contact(host, connector), hosts))
    return dict(zip((host.access.name for host in hosts), contacts, strict=True))


def contact(
    host: InventoryHost, connector: Callable[[HostAccess], Connection] = connect
) -> Contact:
    """Contact one host; one that does not answer is a fact, not an error."""
    try:
        with connector(host.access) as connection:
            # The first command on a connection waits for the login's own start-up.
            uid = connection.run(["id", "-u"], timeout_s=_TIMEOUT_S).stdout
            before = time.time()
            # As the login: sudo takes its own time, and SSH_CONNECTION away.
            done = connection.run(_ASK, timeout_s=_TIMEOUT_S, as_login=True)
            after = time.time()
            lines = done.stdout.decode(errors="replace").splitlines()
            if done.status != 0 or len(lines) != 2 or not uid.strip().isdigit():
                raise lab_broken(
                    "login gives no usable shell",
                    where=host.access.name,
                    found=done.stderr.strip() or repr((uid + done.stdout)[:200]),
                    wanted="id, date and nothing else printed",
                    todo="make the shell's start-up files silent",
                )
            kept = _kept(connection) if GENERATOR_GROUP in host.parts else _NOBODY
    except LeaselabError as error:
        return Contact(error=error)
    return Contact(
        clock_offset_s=float(lines[0]) - (before + after) / 2,
        clock_uncertainty_s=(after - before) / 2,
        uid=int(uid),
        management_address=_server_address(lines[1]),
        holder=kept.holder,
        maintenance=kept.maintenance,
    )


def _kept(connection: Connection) -> lock.LockStatus:
    try:
        return lock.status(connection)
    except lock.NoLockError:
        return _NOBODY  # never provisioned: there is no lock yet that a command could hold


def _server_address(ssh_connection: str) -> str:
    """Third field of SSH_CONNECTION, without the zone of a link-local address."""
    fields = ssh_connection.split()
    return fields[2].partition("%")[0] if len(fields) == 4 else ""
