"""Whether hosts answer by SSH, and how long one takes to do so after its power was switched."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

from leaselab.lab.hosts.inventory import InventoryHost
from leaselab.lab.hosts.transport import Connection, NoAnswerError, connect
from leaselab.model.bench import HostAccess
from leaselab.model.errors import LeaselabError, lab_broken

SECOND_LOOK_S = 3.0
"""A host that does not answer is asked again after this (s): one lost packet is no fault."""
_PAUSE_S = 1.0
_TIMEOUT_S = 15.0
# The kernel's boot, and the start of the first process: containers share a kernel.
_BOOT = "cat /proc/sys/kernel/random/boot_id && cut -d ' ' -f 22 /proc/1/stat"

Connector = Callable[[HostAccess], Connection]


def silent(
    hosts: Sequence[InventoryHost],
    connector: Connector = connect,
    sleep: Callable[[float], None] = time.sleep,
) -> list[InventoryHost]:
    """Return the hosts that do not answer, twice in a row.

    One that answers and refuses, by its key or its sudo, is alive: a power cycle does not help.
    """
    for pause in (0.0, SECOND_LOOK_S):
        if hosts:
            sleep(pause)
            with ThreadPoolExecutor(len(hosts)) as pool:
                answers = list(pool.map(lambda host: _answers(host, connector), hosts))
            hosts = [host for host, there in zip(hosts, answers, strict=True) if not there]
    return list(hosts)


def _answers(host: InventoryHost, connector: Connector) -> bool:
    try:
        with connector(host.access):
            return True
    except NoAnswerError:
        return False
    except LeaselabError:
        return True


def boot_of(access: HostAccess, connector: Connector = connect) -> str:
    """Identifier of a host's boot, another one after each boot; empty where it has none."""
    try:
        with connector(access) as connection:
            return boot(connection)
    except LeaselabError:
        return ""


def wait_for_boot(
    access: HostAccess,
    limit_s: float,
    before: str = "",
    since: float | None = None,
    connector: Connector = connect,
) -> float:
    """Wait until a host answers, in another boot than `before`; return how long it took (s).

    Both count from `since`, by the monotonic clock; from now by default.  Raises a broken-lab
    error after `limit_s` (s), with what the host said last.
    """
    began = time.monotonic() if since is None else since
    while True:
        try:
            with connector(access) as connection:
                if not before or boot(connection) not in ("", before):
                    return time.monotonic() - began
            last = "it answers, and was not booted since"
        except LeaselabError as error:
            last = error.what
        if time.monotonic() - began > limit_s:
            raise lab_broken(
                f"it does not answer by SSH within {limit_s:g} s of its power being switched",
                where=access.name,
                found=last,
                wanted="a host that boots by itself when it gets power",
                todo="look at its console; leaselab_power_boot_s in the inventory is the limit",
            )
        time.sleep(_PAUSE_S)


def boot(connection: Connection) -> str:
    """Return the boot id of a connected host, empty where it cannot be read.

    Raises a broken-lab error where the host does not answer.
    """
    done = connection.run(["sh", "-c", _BOOT], timeout_s=_TIMEOUT_S)
    return done.stdout.decode(errors="replace") if done.status == 0 else ""
