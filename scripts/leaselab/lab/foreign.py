"""DHCP on the test network that is not the bench's, as the generator hears it in a sweep."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from leaselab.lab.transport import Connection, Follower
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
        """Return what was heard since the last call; raises a broken-lab error."""
        line = self._follower.ask(_TIMEOUT_S)
        self._follower.lines()
        if line is None:
            raise lab_broken(
                "the watch for foreign DHCP does not answer",
                where=self._host,
                found=self._follower.ended or f"nothing within {_TIMEOUT_S:.0f} s",
                wanted=f"the answer of {PROGRAM} watch",
                todo="provision the bench again: leaselab provision",
            )
        return [Foreign(**entry) for entry in json.loads(line)["foreign"]]


@contextmanager
def watching(
    hosts: Mapping[str, BenchHost], connections: Mapping[str, Connection]
) -> Iterator[RemoteWatch]:
    """Watch the test network from the generator; `hosts` and `connections` are by role.

    It asks for other servers first, so it begins before any server of the bench is started.
    """
    generator = hosts["generator"]
    own = [
        f"{hardware_address}/{address}"
        for role, connection in connections.items()
        if role != "generator"
        for hardware_address in (_hardware_address(hosts[role], connection),)
        for address in (hosts[role].test_address, *hosts[role].other_addresses)
    ]
    argv = [PROGRAM, "watch", generator.test_interface, generator.test_address, *own]
    with connections["generator"].follow(argv) as follower:
        yield RemoteWatch(follower, generator.access.name)


def _hardware_address(host: BenchHost, connection: Connection) -> str:
    """Return that of a host's test interface; raises a broken-lab error where there is none."""
    path = f"/sys/class/net/{host.test_interface}/address"
    done = connection.run(["cat", path], timeout_s=_TIMEOUT_S)
    if done.status != 0:
        raise lab_broken(
            "the test interface is not what it was as the server was deployed",
            where=host.access.name,
            found=done.stderr.strip(),
            wanted=host.test_interface,
            todo="deploy again",
        )
    return done.stdout.decode("ascii").strip()
