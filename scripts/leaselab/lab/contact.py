"""The engine's own way to a host, tried once: does it open, whose clock and address is it.

Ansible's way is another program with other settings; each can fail without the other.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from leaselab.lab import lock
from leaselab.lab.inventory import GENERATOR_GROUP, InventoryHost
from leaselab.lab.transport import Connection, connect
from leaselab.model.bench import HostAccess
from leaselab.model.errors import LeaselabError, lab_broken

_TIMEOUT_S = 15.0
_ASK = ["sh", "-c", 'date +%s.%N && id -u && echo "$SSH_CONNECTION"']


@dataclass(frozen=True, slots=True)
class Contact:
    """What one connection to a host told."""

    error: LeaselabError | None = None
    """Why there is no connection; nothing else is known then."""
    clock_offset_s: float = 0.0
    """The host's clock less this machine's (s)."""
    clock_uncertainty_s: float = 0.0
    """The offset is true within this, half the time the question took (s)."""
    uid: int = 0
    """Of the login."""
    management_address: str = ""
    """The host's own address that the connection ended at; empty when it does not tell."""
    holder: dict[str, Any] | None = None
    """Who holds the bench lock that this host keeps, None when free or not the keeper."""


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
            connection.run(["true"], timeout_s=_TIMEOUT_S)
            before = time.time()
            done = connection.run(_ASK, timeout_s=_TIMEOUT_S)
            after = time.time()
            lines = done.stdout.decode(errors="replace").splitlines()
            if done.status != 0 or len(lines) != 3:
                raise lab_broken(
                    "login gives no usable shell",
                    where=host.access.name,
                    found=done.stderr.strip() or repr(done.stdout[:200]),
                    wanted="date, id and nothing else printed",
                    todo="let the shell's start-up files print nothing",
                )
            holder = _holder(connection) if GENERATOR_GROUP in host.parts else None
    except LeaselabError as error:
        return Contact(error=error)
    return Contact(
        clock_offset_s=float(lines[0]) - (before + after) / 2,
        clock_uncertainty_s=(after - before) / 2,
        uid=int(lines[1]),
        management_address=_server_address(lines[2]),
        holder=holder,
    )


def _holder(connection: Connection) -> dict[str, Any] | None:
    try:
        return lock.status(connection)
    except LeaselabError:
        return None  # never provisioned: there is no lock yet, and nobody can hold it


def _server_address(ssh_connection: str) -> str:
    """Third field of SSH_CONNECTION, without the zone of a link-local address."""
    fields = ssh_connection.split()
    return fields[2].partition("%")[0] if len(fields) == 4 else ""
