"""The launcher of perfdhcp: sockets get their receive buffer from outside."""

import json
import subprocess
import sys
import textwrap
from dataclasses import replace
from pathlib import Path

import pytest
from tests.formula import Zones, formula_bench, formula_point
from tests.waiting import HANGS_S

from leaselab.model.record import Provenance
from leaselab.run.record import KeptConfig, record_of

ROOT = Path(__file__).parents[2]
PROGRAM = ROOT / "roles/perfdhcp/files/receive-buffer"
ROOTED = ["unshare", "--user", "--map-root-user"]
"""Root over its own processes only: enough up to twice net.core.rmem_max."""
SIZE = 400_001
"""More than a socket has by itself, less than twice the kernel's own rmem_max (bytes)."""
OPENS = textwrap.dedent("""
    import json, socket, sys, time
    time.sleep(0.05)
    one, other = socket.socket(type=socket.SOCK_DGRAM), socket.socket(type=socket.SOCK_STREAM)
    local = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    def sizes():
        return [s.getsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF) for s in (one, other, local)]
    before, until = sizes(), time.monotonic() + 600
    while sizes()[0] < int(sys.argv[1]) and time.monotonic() < until:
        time.sleep(0.005)
    print(json.dumps([before[1:], sizes()]))
    sys.exit(3)
""")


def launched(*command, size=SIZE, under=ROOTED):
    return subprocess.run(
        [*under, sys.executable, PROGRAM, str(size), *command],
        capture_output=True,
        text=True,
        check=False,
        stdin=subprocess.DEVNULL,
        timeout=HANGS_S,
    )


def test_udp_sockets_get_the_buffer_and_others_stay_as_they_are():
    done = launched(sys.executable, "-c", OPENS, str(SIZE))
    assert done.stderr == ""
    assert done.returncode == 3, "the command's own exit status"
    others, (udp, *rest) = json.loads(done.stdout)
    assert udp >= SIZE
    assert rest == others


def test_a_command_that_ends_before_it_opens_a_socket_is_left_alone():
    done = launched("sh", "-c", "echo said; exit 7")
    assert (done.returncode, done.stdout, done.stderr) == (7, "said\n", "")


def test_signals_reach_the_command():
    """Not SIGINT, which is ignored where tests run in the background."""
    done = launched("sh", "-c", "trap 'echo report; exit 0' TERM; kill -TERM $$; exit 1")
    assert (done.returncode, done.stdout) == (0, "report\n")


def test_a_command_that_is_not_there_is_named():
    done = launched("/nowhere/perfdhcp")
    assert done.returncode == 127
    assert done.stderr == "receive-buffer: /nowhere/perfdhcp: No such file or directory\n"


def test_a_command_whose_socket_cannot_have_it_is_ended_with_the_reason():
    """More than the kernel gives, which only real root may go beyond."""
    most = 2 * int(Path("/proc/sys/net/core/rmem_max").read_text(encoding="ascii"))
    done = launched(sys.executable, "-c", OPENS, str(most + 2), size=most + 2)
    assert done.returncode in {-15, 143}
    assert f"do not get {most + 2} bytes: Operation not permitted" in done.stderr
    assert "set perfdhcp_receive_buffer_bytes to 0" in done.stderr
    assert done.stdout == ""


@pytest.mark.parametrize("arguments", [[], ["212992"], ["many", "perfdhcp"]])
def test_a_launcher_without_a_size_and_a_command_says_how_it_is_used(arguments):
    done = subprocess.run(
        [sys.executable, PROGRAM, *arguments], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert done.stderr.startswith("usage: receive-buffer BYTES COMMAND")


@pytest.mark.parametrize("launcher", [(), ("/opt/leaselab/receive-buffer", "16777216")])
def test_a_result_says_what_ran_the_generator(launcher):
    """Results of two launchers are of two generators; without one they are as they were."""
    bench = formula_bench(name="max-rate", rounds=1, confirm_s=0)
    bench = replace(bench, generator=replace(bench.generator, launcher=launcher))
    facts = {"setup_s": 1.0, "started_at": "2026-11-24T08:00:00.000Z", "owner": "a@desk"}
    facts |= {"configs": {"server": KeptConfig("config/formula.conf", "0" * 64)}}
    facts |= {"experiment": None, "provenance": Provenance(leaselab_version="0.1.0")}
    point = formula_point(bench, Zones())
    record = record_of("20261124T080000Z-formula-0001", bench, point, **facts)
    assert record.generator.options.get("launcher", []) == list(launcher)
    assert ("launcher" in record.generator.options) == bool(launcher)


def test_sockets_that_close_at_once_are_passed_over():
    """As those by which perfdhcp asks for its interfaces."""
    churn = "import socket, time\nuntil = time.monotonic() + 1\n"
    churn += "while time.monotonic() < until:\n    socket.socket(socket.AF_UNIX).close()\n"
    done = launched(sys.executable, "-c", churn + OPENS, str(SIZE))
    assert (done.returncode, done.stderr) == (3, ""), done
