"""Foreign DHCP traffic on the test network, as the generator receives it in a sweep."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from leaselab.lab.transport import Completed, Connection, Follower
from leaselab.model.bench import BenchHost
from leaselab.model.errors import lab_broken
from leaselab.model.observation import Foreign

PROGRAM = "/opt/leaselab/foreign-dhcp"
_TIMEOUT_S = 20.0


class RemoteWatch:
    """A watch that runs on the generator's host."""

    def __init__(self, follower: Follower, host: str) -> None:
        self._follower = follower
        self._host = host

    def foreign(self) -> Sequence[Foreign]:
        """Return the foreign traffic since the last call; raises a broken-lab error."""
        line = self._follower.ask(_TIMEOUT_S)
        self._follower.lines()
        if line is None:
            raise lab_broken(
                "the foreign-DHCP listener is not responding",
                where=self._host,
                found=self._follower.ended or f"nothing within {_TIMEOUT_S:.0f} s",
                wanted=f"the answer of {PROGRAM} watch",
                todo="provision the bench again: leaselab step provision",
            )
        return [Foreign(**entry) for entry in json.loads(line)["foreign"]]


@contextmanager
def watching(
    hosts: Mapping[str, BenchHost], connections: Mapping[str, Connection]
) -> Iterator[RemoteWatch]:
    """Watch the test network from the generator; `hosts` and `connections` are by role.

    It first sends a discovery for other servers, so it begins before any server of the bench
    is started.  A second place's device is known as well; without a device it sends nothing.
    """
    generator = hosts["generator"]
    own = [
        one
        for role, connection in connections.items()
        if role != "generator"
        for one in _own(hosts[role], connection)
    ]
    argv = [PROGRAM, "watch", generator.test_interface, generator.test_address, *own]
    with connections["generator"].follow(argv) as follower:
        yield RemoteWatch(follower, generator.access.name)


def _own(host: BenchHost, connection: Connection) -> Iterator[str]:
    """Yield what a host may send DHCP from, as hardware address and IPv4 address.

    Raises a broken-lab error where it has no test interface.
    """

    def hardware_address(interface: str) -> Completed:
        path = f"/sys/class/net/{interface}/address"
        return connection.run(["cat", path], timeout_s=_TIMEOUT_S)

    done = hardware_address(host.test_interface)
    if done.status != 0:
        raise lab_broken(
            "the test interface is not what it was as the server was deployed",
            where=host.access.name,
            found=done.stderr.strip(),
            wanted=host.test_interface,
            todo="deploy again",
        )
    yield f"{done.stdout.decode('ascii').strip()}/{host.test_address}"
    if host.second:
        done = hardware_address(host.second.interface)
        if done.status == 0:
            yield f"{done.stdout.decode('ascii').strip()}/{host.second.address}"
