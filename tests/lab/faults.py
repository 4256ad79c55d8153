"""Faults that a host of the local lab can have, made to happen and ended again."""

import contextlib
import re
import subprocess
from dataclasses import dataclass

import docker
from tests.lab.commands import reached
from tests.tools import AS_ROOT, run

from leaselab.lab.hosts.inventory import (
    BUILDER_GROUP,
    GENERATOR_GROUP,
    PARTNER_GROUP,
    SERVER_GROUP,
)

STORE = "/var/lib/leaselab-dnsmasq"
GROUPS = {
    "generator": GENERATOR_GROUP,
    "server": SERVER_GROUP,
    "partner": PARTNER_GROUP,
    "builder": BUILDER_GROUP,
}
PROGRAMS = {"generator": "leaseload", "server": "dnsmasq", "partner": "kea-dhcp4"}
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


def says(line, said):
    """Whether a line has a text, in which … stands for any other."""
    return re.search(".*".join(map(re.escape, said.split(" … "))), line)


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
