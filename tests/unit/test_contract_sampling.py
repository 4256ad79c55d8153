"""Samples of a server that a reset restarts, and verbs that a killed engine has left."""

import fcntl
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.unit.test_contract_variants import Host

KIND = """
from leaselab_contract import restarted


class Server(restarted.Server):
    def counted(self):
        return {}, 0
"""
SLEEP = ["sleep", "4711"]


class Restarted(Host):
    """A host with a variant that is not running, and its lock."""

    def __init__(self, folder):
        super().__init__(folder)
        (self.root / "waiting_contract/server.py").write_text(KIND, encoding="utf-8")
        self.lock, self.variant = folder / "server.lock", self.root / "variants/v4"
        self.deploy("v4", lock_file=str(self.lock), files=[])
        self.change("v4", argv=SLEEP, error_words=[], noise_words=[])
        self.children = []

    def begin(self, *argv):
        pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
        self.children.append(subprocess.Popen(argv, text=True, **pipes))
        return self.children[-1]

    def verb(self, name):
        return self.begin(sys.executable, self.root / "server", name, "v4")

    def serve(self):
        """Have its process run, as the launch of a reset does."""
        child = self.begin(*SLEEP)
        (self.files / "leaselab-v4_pid").write_text(str(child.pid), encoding="ascii")
        while not Path(f"/proc/{child.pid}/cmdline").read_bytes():
            time.sleep(0.01)
        return child


@pytest.fixture
def host(tmp_path):
    made = Restarted(tmp_path)
    yield made
    for child in made.children:
        child.kill()
        child.communicate()


def waits(child, file):
    """Whether a process waits for a file's lock; as soon as it does, or has ended."""
    wanted = (str(child.pid), str(file.stat().st_ino))
    while child.poll() is None:
        rows = [row.split() for row in Path("/proc/locks").read_text("ascii").splitlines()]
        # "1: -> FLOCK  ADVISORY  WRITE PID MAJOR:MINOR:INODE START END"
        if any(row[1] == "->" and (row[5], row[6].split(":")[2]) == wanted for row in rows):
            return True
        time.sleep(0.01)
    return False


def test_the_first_sample_waits_for_the_restart_of_a_reset(host):
    """It does not run then, and has not died."""
    with host.lock.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        sampler = host.verb("sample")
        assert waits(sampler, host.lock), sampler.communicate()
        host.serve()
    assert json.loads(sampler.stdout.readline())["held"] == 0


def test_a_stop_waits_for_what_a_killed_engine_has_left_and_ends_it(host):
    """As a start: it would go on, and later end a server that was started since."""
    left = os.open(host.variant, os.O_RDONLY)
    try:
        fcntl.flock(left, fcntl.LOCK_EX)
        stop = host.verb("stop")
        assert waits(stop, host.variant), stop.communicate()
        server = host.serve()
    finally:
        os.close(left)
    assert stop.communicate()[1] == ""
    assert server.wait() != 0
