"""Where a host is on the test network now: its interface is found by its address.

A reboot may name interfaces in another order, and what is sent by an old name leaves on another
network.
"""

from __future__ import annotations

import ipaddress
from dataclasses import replace

import msgspec

from leaselab.lab.hosts.answers import NO_ANSWER, Link, decoded
from leaselab.lab.hosts.transport import Connection
from leaselab.model.bench import Bench, BenchHost
from leaselab.model.errors import lab_broken

_TIMEOUT_S = 20.0
_LIST = ["ip", "-json", "address", "show"]
_RESTORE = "give one its addresses again; for a local lab: ./leaselab lab up"


def placed(bench: Bench, role: str, connection: Connection) -> Bench:
    """Return a bench with the interface that has the test address of a connected host.

    Raises a broken-lab error where none has, or its link is down.
    """
    host = bench.hosts[role]
    moved = msgspec.structs.replace(host, test_interface=_interface(host, connection))
    return replace(bench, hosts={**bench.hosts, role: moved})


def _interface(host: BenchHost, connection: Connection) -> str:
    name = connection.access.name
    done = connection.run(_LIST, timeout_s=_TIMEOUT_S)
    if done.status != 0:
        raise lab_broken(
            "its addresses cannot be read",
            where=name,
            found=done.stderr.strip(),
            todo="apt-get install iproute2 there",
        )
    links = decoded(
        done.stdout,
        list[Link],
        what=f"what '{' '.join(_LIST)}' {NO_ANSWER}",
        where=name,
        todo="see which program ip is there",
    )
    has = {link.ifname: [entry.local for entry in link.addr_info] for link in links}
    having = [interface for interface, own in has.items() if host.test_address in own]
    if len(having) == 1:
        (flags,) = [link.flags for link in links if link.ifname == having[0]]
        if not {"UP", "LOWER_UP"} <= {*flags}:
            raise lab_broken(
                f"the link of {having[0]} is down",
                where=name,
                todo="look at its cable and switch",
            )
        return having[0]
    raise lab_broken(
        "not one of its interfaces has the test address",
        where=name,
        found=", ".join(f"{link} {' '.join(own)}".strip() for link, own in has.items()),
        wanted=f"{host.test_address} on one of them, such as {host.test_interface}",
        todo=_RESTORE,
    )


def sending(bench: Bench, role: str) -> list[str]:
    """Addresses from which a generator sends to the server, as the kernel writes them."""
    host = bench.hosts[role]
    aimed = bench.server.test_address or host.test_address
    own = [host.test_address, *([host.test_address6] if ":" in aimed else [])]
    return [
        str(ipaddress.ip_address(one)) for one in dict.fromkeys([*own, *bench.generator.relays])
    ]
