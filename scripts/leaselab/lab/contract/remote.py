"""What a measurement reaches on hosts: the generator, its watch for foreign DHCP, readings."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import msgspec

from leaselab.lab.hosts.answers import NO_ANSWER, decoded
from leaselab.lab.hosts.transport import Completed, Connection, Follower
from leaselab.model.bench import BenchHost
from leaselab.model.errors import LeaselabError, lab_broken
from leaselab.model.observation import UNPLACED, Foreign, Generated, HostReading
from leaselab.model.text import last_line

_WATCH = "/opt/leaselab/foreign-dhcp"
"""The program that listens for foreign DHCP."""
_PROVISION_AGAIN = "provision the bench again: leaselab step provision"
_TIMEOUT_S = 20.0
LOAD_S = 600.0
"""Longest load of a generator that is given loads line by line (s)."""
STEP = "step"
"""What it prints where it waits for a line before it sends a message."""
GRACE_S = 15.0
"""Time beyond its own bound after which a command counts as hanging (s)."""
TURN = "/run/leaselab-generator"
"""Folder on the generator's host that the running generator locks.  Other users may write
neither to it nor to its parent folder: none can take its name, or put a link in its place."""


# perfdhcp flushes after each line: into a pipe that is a switch to the reader and back for
# every packet, into a file in memory it costs next to nothing. The file is removed in any
# case. A generator of an engine that was killed ends by itself, and this one waits for that:
# two generators at once would spoil each other's trials.  What it sends has to leave on the
# interface that has its addresses: before the traffic the name may be that of another one, and
# losses while the link is down are not the server's.
_PLACED = """
placed() {
  local address have= carrier=0
  read -r carrier 2>/dev/null < "/sys/class/net/$interface/carrier"
  if [[ $carrier == 1 ]]; then have=$(ip -oneline address show dev "$interface"); fi
  for address in $addresses; do
    if [[ $have != *" $address/"* ]]; then
      have=$(ip -brief address show to "$address" 2>&1)
      echo "$address is not on $interface with its link up (found ${have:-it on none})" >&2
      exit UNPLACED
    fi
  done
}
""".replace("UNPLACED", str(UNPLACED))
_TURN = """
mkdir --mode=0700 "$1" 2>/dev/null
if ! [[ -d $1 && ! -L $1 && -O $1 && $(stat --format=%a "$1") == 700 ]]; then
  found=$(stat --format='%F of %U, mode %a' "$1" 2>&1)
  wanted="a folder of $(id -un), mode 700"
  echo "$1 is not the generator's (found $found, wanted $wanted); remove it" >&2
  exit 125
fi
exec 9< "$1" || exit 125
if ! flock --wait "$2" 9; then echo "another generator does not end" >&2; exit 125; fi
interface=$3 addresses=$4
shift 4
"""
_SCRIPT = f"""{_PLACED}{_TURN}
output=$(mktemp --tmpdir=/dev/shm leaselab.XXXXXXXX) || exit 125
trap 'rm -f "$output"' EXIT
placed
"$@" > "$output"
status=$?
placed
if [[ $(stat --file-system --format=%a /dev/shm) == 0 ]]; then
  echo "no space left in /dev/shm" >&2
fi
gzip -1 < "$output"
exit "$status"
"""
# What takes loads line by line prints little, and its caller waits for each line.
_SERVE = f"""{_PLACED}{_TURN}
placed
exec "$@"
"""


# A datagram has the kernel ask for the hardware address of a host, which every host says; what
# it was before would be believed for a while.
_REACH = """
ip neighbor flush to "$1" dev "$2"
(echo > "/dev/udp/$1/9") 2>/dev/null
while (( SECONDS < 10 )); do
  neighbor=$(ip neighbor show to "$1" dev "$2")
  case $neighbor in *REACHABLE*) exit;; *FAILED*) break;; esac
  sleep 0.1
done
echo "${neighbor:-nothing}"
"""


class RemoteGenerator:
    """Runs a generator's command line on its host."""

    def __init__(
        self, connection: Connection, interface: str, addresses: Sequence[str], turn: str = TURN
    ) -> None:
        """Traffic leaves on an interface, which has to have the addresses that it is from.

        `turn` is the folder that is locked meanwhile; it is made where it is not there.
        """
        self._connection = connection
        self._interface = interface
        self._addresses = " ".join(addresses)
        self._turn = turn

    def generate(
        self, argv: Sequence[str], environment: Mapping[str, str], timeout_s: float
    ) -> Generated:
        """Run `argv`, killed after `timeout_s` (s), and return what it printed.

        The output of a 5 s trial is several megabytes of times.  It is
        compressed on the host, after the traffic, so that it crosses the wire
        once and is archived as it is.
        """
        limit = ["timeout", "--kill-after=2", f"{timeout_s:.0f}"]
        bounded = [*limit, *_in_environment(argv, environment)]
        done = self._connection.run(
            [
                *("bash", "-c", _SCRIPT, "generate", self._turn, f"{timeout_s:.0f}"),
                *(self._interface, self._addresses, *bounded),
            ],
            timeout_s=2 * timeout_s + GRACE_S,
        )
        return Generated(done.status, done.stdout, done.stderr.strip())

    @contextmanager
    def serving(
        self, argv: Sequence[str], environment: Mapping[str, str]
    ) -> Iterator[RemoteLoads]:
        """Run `argv`, which takes loads line by line, for the context."""
        script = ["bash", "-c", _SERVE, "serve", self._turn, f"{_TIMEOUT_S:.0f}"]
        own = [self._interface, self._addresses, *_in_environment(argv, environment)]
        with self._connection.follow([*script, *own]) as follower:
            yield RemoteLoads(follower, self._connection.access.name)

    def clock_ahead_s(self) -> float:
        """Return the clock of its host less this machine's (s), within half of a reply."""
        before = time.time()
        done = self._connection.run(["date", "+%s.%N"], timeout_s=_TIMEOUT_S)
        return float(done.stdout) - (before + time.time()) / 2

    def unreached(self, address: str) -> str:
        """Return what the host has of an address that no host answers for; empty if one does.

        Not the server is asked, but the kernel of its host.
        """
        argv = ["bash", "-c", _REACH, "reach", address, self._interface]
        return self._connection.run(argv, timeout_s=_TIMEOUT_S).stdout.decode().strip()


def _in_environment(argv: Sequence[str], environment: Mapping[str, str]) -> list[str]:
    """Return the command line that runs another one with further environment variables."""
    return ["env", *(f"{name}={value}" for name, value in environment.items()), *argv]


class RemoteLoads:
    """A running generator, as `leaselab.measure.ports.Loads`."""

    def __init__(self, follower: Follower, host: str) -> None:
        self._follower = follower
        self._host = host

    def offer(self, load: str, step: Callable[[], None] | None = None) -> Mapping[str, Any]:
        """Offer a load, by the generator's words for it; return its report."""
        answer = self._said(load if step is None else f"{load} --step")
        while step is not None and STEP in answer:
            step()
            answer = self._said("")
        if why := answer.get("error"):
            raise self._broken("the generator refuses a load", str(why), load)
        return answer

    def _said(self, line: str) -> dict[str, Any]:
        answer = self._follower.say(line, LOAD_S)
        self._follower.lines()
        if answer is None:
            ended = self._follower.ended
            silent = f"nothing within {LOAD_S:.0f} s"
            words = silent if ended is None else last_line(ended)
            raise self._broken("the generator does not answer", words, "the report of its load")
        return decoded(
            answer,
            dict[str, Any],
            what=f"what the generator {NO_ANSWER}",
            where=self._host,
            todo=_PROVISION_AGAIN,
        )

    def _broken(self, what: str, said: str, wanted: str) -> LeaselabError:
        return lab_broken(
            what, where=self._host, found=said, wanted=wanted, todo=_PROVISION_AGAIN
        )


class _Seen(msgspec.Struct):
    """What the program that listens for foreign DHCP prints."""

    foreign: list[Foreign]


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
            ended = self._follower.ended
            silent = f"nothing within {_TIMEOUT_S:.0f} s"
            raise lab_broken(
                "the foreign-DHCP listener is not responding",
                where=self._host,
                found=silent if ended is None else ended or "its connection was closed",
                wanted=f"the answer of {_WATCH} watch",
                todo=_PROVISION_AGAIN,
            )
        return decoded(
            line,
            _Seen,
            what=f"what {_WATCH} watch {NO_ANSWER}",
            where=self._host,
            todo=_PROVISION_AGAIN,
        ).foreign


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
    argv = [_WATCH, "watch", generator.test_interface, generator.test_address, *own]
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


# Some 3 ms of arithmetic and system calls, eight times: the fastest of them is not what an
# interrupt made of it.  Nothing is installed for it, as hosts have Python for Ansible.
_READING = """
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
changes = lines("/sys/class/net/%s/carrier_changes" % sys.argv[1])
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
    "carrier_changes": int(changes[0][0]) if changes else None,
}))
"""


class RemoteHost:
    """A host that is measured, or measures."""

    def __init__(self, connection: Connection, interface: str) -> None:
        """`interface` is its interface on the test network."""
        self._connection = connection
        self._interface = interface
        self._last: HostReading | None = None

    def read(self, link_changes: int = 0) -> HostReading:
        """Read it now; some 50 ms.

        Raises a broken-lab error when it does not answer, or when its link was up and down
        since it was read last, more often than it was made to: what was lost meanwhile the
        server has not lost.
        """
        argv = ["python3", "-c", _READING, self._interface]
        done = self._connection.run(argv, timeout_s=_TIMEOUT_S)
        if done.status != 0:
            raise lab_broken(
                "the host cannot be read before a trial",
                where=self._connection.access.name,
                found=last_line(done.stderr),
                todo="see that python3 runs there; the sweep can be resumed when it does",
            )
        now = decoded(
            done.stdout,
            HostReading,
            what="the reading of the host is invalid",
            where=self._connection.access.name,
            todo="see what python3 is there; then resume the sweep",
        )
        last, self._last = self._last, now
        if last is None or last.carrier_changes is None:
            return now
        wanted = last.carrier_changes + link_changes
        if wanted != now.carrier_changes:
            raise lab_broken(
                f"the link of {self._interface} has changed while it was measured",
                where=self._connection.access.name,
                found=f"carrier_changes {now.carrier_changes}",
                wanted=f"{wanted}, as before" if not link_changes else str(wanted),
                todo="see its cable and switch; the trial was not counted",
            )
        return now


NOTE = "/run/leaselab-host-tuning/tuned.json"
"""What role host_tuning read back when it tuned the host last; removed when it restores it."""


_TUNE_AGAIN = "tune it again: leaselab step tune SCENARIO, or ansible/tune.yml"
_Setting = dict[str, Any] | None


def check_tuned(host: BenchHost, connection: Connection) -> None:
    """Raise a broken-lab error where a host that was tuned for this sweep no longer is.

    Its first runs would be of one machine, the rest of another.
    """
    wanted = host.facts.get("tuning")
    if not wanted:
        return
    note = connection.run(["cat", NOTE], timeout_s=_TIMEOUT_S)
    gone = note.status != 0
    state = {} if gone else _noted(note.stdout, host)
    other = [name for name in sorted({*wanted, *state}) if state.get(name) != wanted.get(name)]
    if not other and not gone:
        return
    raise lab_broken(
        "the host is no longer tuned as it was for this sweep",
        where=host.access.name,
        found=f"no {NOTE}: it was rebooted, or its settings were restored"
        if gone
        else _words(state, other),
        wanted=_words(wanted, other),
        todo=_TUNE_AGAIN,
    )


def _noted(note: bytes, host: BenchHost) -> Mapping[str, _Setting]:
    return decoded(
        note,
        dict[str, _Setting],
        what=f"{NOTE} is not the note of this release",
        where=host.access.name,
        todo=_TUNE_AGAIN,
    )


def _words(tuning: Mapping[str, Any], names: Iterable[str]) -> str:
    """Settings as they were read back, by name."""
    values = {name: (tuning.get(name) or {}).get("found", "not set") for name in names}
    return ", ".join(f"{name} {value}" for name, value in values.items())
