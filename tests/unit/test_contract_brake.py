"""The contract's brake: a server that stands still for a known share of the time."""

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.unit.test_contract_variants import Host

BUSY = [sys.executable, "-c", "while True: pass"]


@pytest.fixture
def host(tmp_path):
    """A host with a variant that is always busy."""
    host = Host(tmp_path)
    host.deploy("busy")
    host.change("busy", argv=BUSY)
    yield host
    host.do("stop", "busy")


def braking(host):
    return subprocess.Popen(
        [sys.executable, host.root / "server", "brake", "busy"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def state(pid):
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


def test_a_braked_server_stands_still_for_the_share_and_goes_on_afterwards(host):
    pid = host.do("start", "busy")[1]["pid"]
    with braking(host) as brake:
        brake.stdin.write("0.2\n")
        brake.stdin.flush()
        assert json.loads(brake.stdout.readline()) == {"braking": True}
        states = set()
        for _ in range(800):  # one stop that took too long is then a small part
            states.add(state(pid))
            time.sleep(0.005)
        brake.stdin.close()
        document = json.loads(brake.stdout.readline())
    assert brake.returncode == 0
    assert document["stood"] == pytest.approx(0.2, abs=0.03)
    assert "T" in states
    assert state(pid) != "T"


@pytest.mark.parametrize(
    ("share", "running", "words"),
    [
        *((share, True, "no share of the time") for share in ("0", "1", "-0.1")),
        ("0.1", False, "the server is not running\n"),
    ],
)
def test_what_is_no_share_or_does_not_run_is_refused(host, share, running, words):
    if running:
        host.do("start", "busy")
    with braking(host) as brake:
        _, output = brake.communicate(f"{share}\n")
    assert brake.returncode == 1
    assert words in output
