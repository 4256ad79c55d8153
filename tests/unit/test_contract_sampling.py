"""Samples of a server that a reset restarts, and verbs that a killed engine has left."""

import fcntl
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.contracts import ROLES

KIND = """
from leaselab_contract import restarted


class Server(restarted.Server):
    def counted(self):
        return {}, 0
"""
ASK = "from leaselab_contract import variants; import pathlib, sys;"
ASK += "variants.act(pathlib.Path(sys.argv[1]), sys.argv[2:])"


class Host:
    """A host with a variant that is not running, and its lock."""

    def __init__(self, root):
        self.root, self.lock = root, root / "server.lock"
        self.argv = ["sleep", "4711"]
        own = root / "kind_contract"
        own.mkdir()
        (own / "__init__.py").touch()
        (own / "server.py").write_text(KIND, encoding="utf-8")
        self.variant = root / "variants" / "v4"
        self.variant.mkdir(parents=True)
        process = {"argv": self.argv, "pid_file": str(root / "pid"), "log_files": []}
        process |= {"output_file": str(root / "out"), "error_words": [], "noise_words": []}
        process |= {"stop_signal": "SIGTERM", "user": None}
        settings = {"kind": "kind", "process": process, "lock_file": str(self.lock)}
        settings |= {"files": [], "capabilities": [], "address": "198.18.0.10"}
        (self.variant / "server.json").write_text(json.dumps(settings), encoding="utf-8")
        self.children = []

    def verb(self, name):
        folders = f"{ROLES / 'contract/files'}:{self.root}"
        self.children.append(
            subprocess.Popen(
                [sys.executable, "-c", ASK, self.root, name, "v4"],
                env={"PYTHONPATH": folders},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
        )
        return self.children[-1]

    def serve(self):
        """Have its process run, as the launch of a reset does."""
        self.children.append(subprocess.Popen(self.argv))
        (self.root / "pid").write_text(str(self.children[-1].pid), encoding="ascii")
        while not Path(f"/proc/{self.children[-1].pid}/cmdline").read_bytes():
            time.sleep(0.01)
        return self.children[-1]


@pytest.fixture
def host(tmp_path):
    made = Host(tmp_path)
    yield made
    for child in made.children:
        child.kill()
        child.communicate()


def waits(child, file):
    """Whether a process waits for a file's lock; as soon as it does, or has ended."""
    inode = file.stat().st_ino
    while child.poll() is None:
        rows = [row.split() for row in Path("/proc/locks").read_text("ascii").splitlines()]
        # "1: -> FLOCK  ADVISORY  WRITE PID MAJOR:MINOR:INODE START END"
        for row in rows:
            if row[1] == "->" and (row[5], row[6].split(":")[2]) == (
                str(child.pid),
                str(inode),
            ):
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


def test_one_that_has_died_is_no_restart(host):
    sampler = host.verb("sample")
    assert "sleep is gone" in sampler.communicate()[1]


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
