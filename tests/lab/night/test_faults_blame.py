"""Who is blamed for a fault of a host, in a trial and before a resume, and what goes on then"""

import pytest
from tests.lab.commands import LONG_TRIALS, complaint, leaselab, resumed
from tests.lab.faults import Host, says

pytestmark = pytest.mark.lab

SCENARIO = "v4-dnsmasq-file"
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
            got, last = sweep.end()
        else:
            done = leaselab("resume", "--results", results)
            got, last = done.returncode, complaint(done) if done.returncode else ""
    assert got == code, last
    assert says(last, said)
    if code != 4:
        assert not list(results.glob(".running/*/"))
        return
    (running,) = results.glob(".running/*/")
    assert last.endswith(f"go on with: ./leaselab resume {running.name}")
    resumed(results)
