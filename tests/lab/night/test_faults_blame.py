"""Who is blamed for a fault of a host, in a trial and before a resume, and what goes on then"""

import contextlib
import re
import subprocess
from dataclasses import dataclass

import docker
import pytest
from tests.lab.commands import (
    LONG_TRIALS,
    complaint,
    leaselab,
    reached,
    resumed,
)
from tests.tools import AS_ROOT, run

from leaselab.lab.inventory import GENERATOR_GROUP, PARTNER_GROUP, SERVER_GROUP

pytestmark = pytest.mark.lab

SCENARIO = "v4-dnsmasq-file"
STORE = "/var/lib/leaselab-dnsmasq"
GROUPS = {"generator": GENERATOR_GROUP, "server": SERVER_GROUP, "partner": PARTNER_GROUP}
PROGRAMS = {"generator": "leaseload", "server": "dnsmasq"}
KEPT = "ip -oneline address show dev eth1 scope global | awk '{print $4}' > /run/kept"
UP = """
ip link set eth1 up
for address in $(cat /run/kept); do ip address replace $address dev eth1; done
"""
SWAP = "ip link set eth0 name other; ip link set eth1 name eth0; ip link set other name eth1"
LISTEN = """
import os, socket
wire = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
wire.bind(("eth0", 3))
wire.settimeout(0.1)
heard = 0
open("/run/listening", "w").close()
while os.path.exists("/run/listening"):
    try:
        frame = wire.recv(2048)
    except TimeoutError:
        continue
    ip = frame[12:14] == b"\\x08\\x00"
    start = 14 + 4 * (frame[14] & 15) if ip else 54
    udp = frame[23 if ip else 20] == 17
    heard += udp and bool({67, 547, 53} & {int.from_bytes(frame[start + 2:start + 4], "big")})
open("/run/heard", "w").write(str(heard))
"""
"""Counts what goes to a server by the interface that is eth0 when it begins."""
TABLE = [
    # host, fault, when, exit code, what is said
    ("generator", "kill", "in a trial", 4, "generator: … leaseload: was killed"),
    ("generator", "freeze", "in a trial", 4, "generator: … did not end in time"),
    ("generator", "freeze", "before a resume", 4, "generator: cannot be reached"),
    ("generator", "link down", "in a trial", 4, "generator: the link of eth1 has changed"),
    ("generator", "link down", "before a resume", 4, "generator: the link of eth1 is down"),
    ("generator", "swapped names", "in a trial", 4, "generator: … eth1"),
    ("generator", "swapped names", "before a resume", 0, ""),
    ("generator", "disk full", "in a trial", 4, "generator: … no space left in /dev/shm"),
    ("generator", "disk full", "before a resume", 4, "generator: … no space left in /dev/shm"),
    ("server", "kill", "in a trial", 3, "server: the server died while it was measured"),
    ("server", "freeze", "in a trial", 4, "server: "),
    ("server", "freeze", "before a resume", 4, "server: cannot be reached"),
    ("server", "link down", "in a trial", 4, "server: the link of eth1 has changed"),
    ("server", "link down", "before a resume", 4, "server: the link of eth1 is down"),
    ("server", "swapped names", "in a trial", 4, "server: … eth1"),
    (
        "server",
        "swapped names",
        "before a resume",
        4,
        "server: … found on eth0; wanted on eth1",
    ),
    ("server", "disk full", "in a trial", 4, "server: the disk is full"),
    ("server", "disk full", "before a resume", 4, "server: the disk is full"),
    ("partner", "freeze", "in a trial", 0, ""),
    # Last, as another deployment follows.
    ("generator", "restart", "in a trial", 4, "generator: connection lost"),
    ("generator", "restart", "before a resume", 0, ""),
    ("server", "restart", "in a trial", 4, "server: the host"),
    ("server", "restart", "before a resume", 0, ""),
]
"""In a trial the fault begins under the load of a sweep; before a resume between two processes
of the engine.  With 4 the sweep goes on once the fault is over, with 3 it is sealed."""


@dataclass
class Host:
    """A host of the local lab, with what can be done to it."""

    role: str

    @property
    def container(self):
        return docker.from_env().containers.get(f"leaselab-{self.role}")

    def argv(self, *words):
        """The argv of a command on it that may do all that root may."""
        inside = ["nsenter", f"-t{self.container.attrs['State']['Pid']}", "--all"]
        return [*AS_ROOT, *inside, *words]

    def do(self, script):
        status, said = run(*self.argv("sh", "-ec", script))
        assert status == 0, said
        return said

    @contextlib.contextmanager
    def silent(self):
        """See that no load leaves by the management interface, whatever its name."""
        self.do("rm -f /run/listening /run/heard")
        with subprocess.Popen(self.argv("python3", "-c", LISTEN)):
            try:
                self.do("until [ -e /run/listening ]; do sleep 0.1; done")
                yield
            finally:
                self.do("rm -f /run/listening; until [ -s /run/heard ]; do sleep 0.1; done")
        assert self.do("cat /run/heard") == "0"

    @contextlib.contextmanager
    def undergoing(self, fault):
        """Have a fault; what lasts ends with the context."""
        match fault:
            case "restart":
                self.container.kill()
                self.container.start()
                reached(GROUPS[self.role])
                yield
            case "kill":
                self.do(f"until pkill -KILL -x {PROGRAMS[self.role]}; do sleep 0.1; done")
                yield
            case "freeze":
                self.container.pause()
                try:
                    yield
                finally:
                    self.container.unpause()
                    reached(GROUPS[self.role])
            case "link down":
                self.do(f"{KEPT}; ip link set eth1 down")
                try:
                    yield
                finally:
                    self.do(UP)
            case "swapped names":
                try:
                    with self.silent():
                        self.do(SWAP)
                        yield
                finally:
                    self.do(SWAP)
                    reached(GROUPS[self.role])
            case "disk full":
                place = STORE if self.role == "server" else "/dev/shm"  # noqa: S108
                self.do(f"mount -t tmpfs -o size=64k tmpfs {place}")
                if self.role == "generator":
                    self.do(f"cat /dev/zero > {place}/full || true")
                try:
                    yield
                finally:
                    self.do(f"umount {place}")


@pytest.fixture(scope="module")
def deployed(bench_of):
    """Once for all: what a fault leaves is no other deployment."""
    return bench_of(SCENARIO)


@pytest.mark.parametrize("row", TABLE, ids=lambda row: "-".join(row[:3]).replace(" ", "-"))
def test_a_fault_of_a_host_is_that_hosts(row, engine, bench_file, results):
    role, fault, when, code, said = row
    sweep = engine("step", "sweep", bench_file(**LONG_TRIALS), "--results", results)
    sweep.saw(r"run 1/1: \d+/s for (?!.*journal)")
    if when != "in a trial":
        sweep.process.kill()
        sweep.end()
    with Host(role).undergoing(fault):
        if when == "in a trial":
            got, last = sweep.end(timeout_s=150)
        else:
            done = leaselab("resume", "--results", results)
            got, last = done.returncode, complaint(done) if done.returncode else ""
    assert got == code, last
    assert re.search(".*".join(map(re.escape, said.split(" … "))), last)
    if code != 4:
        assert not list(results.glob(".running/*/"))
        return
    (running,) = results.glob(".running/*/")
    assert last.endswith(f"go on with: ./leaselab resume {running.name}")
    resumed(results)
