"""The state of a host: its speed and losses by trial, and whether its tuning still holds."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from leaselab.lab.transport import Connection
from leaselab.model.bench import BenchHost
from leaselab.model.bounds import misfit
from leaselab.model.errors import lab_broken
from leaselab.model.observation import HostReading
from leaselab.model.text import last_line

TIMEOUT_S = 20.0
# Some 3 ms of arithmetic and system calls, eight times: the fastest of them is not what an
# interrupt made of it.  Nothing is installed for it, as hosts have Python for Ansible.
_PROGRAM = """
import json, os, sys, time

def work():
    began = time.perf_counter()
    total = 0
    for number in range(40000):
        total += number * number % 7
    for _ in range(5000):
        os.getppid()
    return time.perf_counter() - began

def lines(path):
    try:
        with open(path) as file:
            return [line.split() for line in file]
    except OSError:
        return []

allowed = {f"cpu{number}" for number in os.sched_getaffinity(0)}
ticks = sum(int(row[8]) for row in lines("/proc/stat") if row and row[0] in allowed)
group = lines("/sys/fs/cgroup/cpu.stat")
throttled = [int(row[1]) for row in group if row[0] == "throttled_usec"]
udp = [row for row in lines("/proc/net/snmp") if row[0] == "Udp:"]
errors = int(dict(zip(*udp))["RcvbufErrors"]) if len(udp) == 2 else 0
errors += sum(int(row[1]) for row in lines("/proc/net/snmp6") if row[0] == "Udp6RcvbufErrors")
backlog = sum(int(row[1], 16) for row in lines("/proc/net/softnet_stat"))
drops = 0
for row in lines("/proc/net/dev")[2:]:
    name, _, first = row[0].partition(":")
    if name == sys.argv[1]:
        figures = ([first] if first else []) + row[1:]
        drops = sum(int(figures[place]) for place in (2, 3, 10, 11))
print(json.dumps({
    "work_s": min(work() for _ in range(8)),
    "steal_s": ticks / os.sysconf("SC_CLK_TCK"),
    "throttled_s": throttled[0] / 1e6 if throttled else None,
    "receive_errors": errors,
    "interface_drops": drops,
    "backlog_drops": backlog,
}))
"""


class RemoteHost:
    """A host that is measured, or measures."""

    def __init__(self, connection: Connection, interface: str) -> None:
        """`interface` is its interface on the test network."""
        self._connection = connection
        self._interface = interface

    def read(self) -> HostReading:
        """Read it now; some 50 ms.  Raises a broken-lab error when it does not answer."""
        argv = ["python3", "-c", _PROGRAM, self._interface]
        done = self._connection.run(argv, timeout_s=TIMEOUT_S)
        if done.status != 0:
            raise lab_broken(
                "the host cannot be read before a trial",
                where=self._connection.access.name,
                found=last_line(done.stderr),
                todo="see that python3 runs there; the sweep can be resumed when it does",
            )
        try:
            return msgspec.json.decode(done.stdout, type=HostReading)
        except msgspec.MsgspecError as error:
            raise lab_broken(
                f"the reading of the host is none: {misfit(error)}",
                where=self._connection.access.name,
                found=repr(done.stdout[:80]),
                todo="see what python3 is there; the sweep can be resumed when it is well",
            ) from error


NOTE = "/run/leaselab-host-tuning/tuned.json"
"""What role host_tuning read back when it tuned the host last; removed when it restores it."""
_TIMEOUT_S = 20.0


def check_tuned(host: BenchHost, connection: Connection) -> None:
    """Raise a broken-lab error where a host that was tuned for this sweep no longer is.

    Its first runs would be of one machine, the rest of another.
    """
    wanted = host.facts.get("tuning")
    if not wanted:
        return
    note = connection.run(["cat", NOTE], timeout_s=_TIMEOUT_S)
    gone = note.status != 0
    state: Mapping[str, Any] = {} if gone else json.loads(note.stdout)
    other = [name for name in wanted if gone or state.get(name) != wanted[name]]
    if not other and state.keys() == wanted.keys():
        return
    raise lab_broken(
        "the host is no longer tuned as it was for this sweep",
        where=host.access.name,
        found=f"no {NOTE}: it was rebooted, or its settings were restored"
        if gone
        else _words(state, other),
        wanted=_words(wanted, other),
        todo="tune it again: leaselab step tune SCENARIO, or ansible/tune.yml",
    )


def _words(tuning: Mapping[str, Any], names: Iterable[str]) -> str:
    """Settings as they were read back, by name."""
    return ", ".join(f"{name} {(tuning.get(name) or {}).get('found')}" for name in names)
