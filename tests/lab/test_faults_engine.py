"""The engine, its lock and its disk fail; what was measured is kept and goes on."""

import json
import os
import signal
import subprocess

import pytest
from tests.lab.commands import (
    LOCAL,
    complaint,
    journaled_trials,
    leaselab,
    playbook,
    resumed,
)

from leaselab.lab.inventory import GENERATOR_GROUP, read_inventory
from leaselab.lab.lock import BenchLock, Owner
from leaselab.lab.transport import connect

pytestmark = pytest.mark.lab


@pytest.fixture
def held(deployed):
    """The bench, held by somebody else."""
    assert deployed["hosts"]
    with (
        connect(read_inventory(LOCAL).only(GENERATOR_GROUP).access) as generator,
        BenchLock(generator, Owner("ana@laptop", "a test", "token"), 120),
    ):
        yield


def test_a_killed_engine_is_resumed_at_once_and_nobody_else_gets_the_bench(
    engine, bench_file, results, tmp_path
):
    """SIGKILL in the second run: the same sweep is finished, its trials kept as they are."""
    bench = bench_file(rounds=2)
    sweep = engine("sweep", bench, "--results", results)
    sweep.saw(r"run 2/2: \d+/s for .*(passes|fails)")
    sweep.process.kill()
    assert sweep.end()[0] == -signal.SIGKILL
    assert len(journaled_trials(results)) > 2

    other = leaselab("sweep", bench, "--results", tmp_path / "other")
    assert other.returncode == 4
    (running,) = results.glob(".running/*/")
    assert "the bench is in use (found " in complaint(other)
    assert f"pid {sweep.process.pid}, {running.name}, for " in complaint(other)

    document = resumed(results)
    assert len(document["rounds"]) == 2
    assert leaselab("archive", "verify", "--results", results).returncode == 0


def test_an_interrupt_frees_the_bench_stops_the_server_and_can_be_resumed(
    engine, bench_file, results, on_host
):
    """Ctrl-C in a sweep, then SIGTERM in what went on with it."""
    words = ("sweep", bench_file())
    for number in (signal.SIGINT, signal.SIGTERM):
        sweep = engine(*words, "--results", results)
        sweep.saw(r"run 1/1: \d+/s for (?!.*journal)")
        sweep.process.send_signal(number)
        code, last = sweep.end()
        assert code == 130, last
        (running,) = results.glob(".running/*/")
        assert last == f"leaselab: interrupted; go on with: leaselab resume {running.name}"
        assert on_host("server", "pgrep -x dnsmasq || echo none") == "none\n"
        lock = json.loads(on_host("generator", "/opt/leaselab/bench-lock status"))
        assert lock["owner"] is None
        words = ("resume",)
    resumed(results)


def test_a_bench_in_use_is_neither_changed_nor_measured(held, bench_file, results):
    assert held is None
    assert "held by ana@laptop for a test" in leaselab("lab", "status").stdout
    done = leaselab("sweep", bench_file(), "--results", results)
    assert done.returncode == 4
    assert "the bench is in use (found ana@laptop, a test, for " in complaint(done)
    assert "its lock expires in 1" in complaint(done)
    for name in ("provision", "deploy"):
        done = playbook(name, "-e", "scenario=v4-dnsmasq")
        assert done.returncode != 0
        assert "The bench is in use by ana@laptop (a test)" in " ".join(done.stdout.split())
    done = leaselab("run", "v4-dnsmasq", "--results", results)
    assert done.returncode == 4
    assert "leaselab-generator: the bench is in use (found ana@laptop, a test" in complaint(
        done
    )
    assert "bringing the local lab up" not in done.stderr


def test_a_dead_owners_lock_expires_by_itself(on_host, bench_file, results):
    request = {"name": "ana@laptop", "purpose": "a test", "token": "gone", "lease_s": 1}
    on_host(
        "generator",
        f"echo '{json.dumps(request)}' | /opt/leaselab/bench-lock acquire;"
        " until /opt/leaselab/bench-lock status | grep 'owner.: null'; do sleep 0.1; done",
    )
    done = leaselab("sweep", bench_file(), "--results", results)
    assert done.returncode == 0, done.stderr


@pytest.fixture
def small_disk(tmp_path):
    """A file system with room for a journal, but not for a sweep's raw output."""
    place = tmp_path / "disk"
    place.mkdir()
    root = [] if os.geteuid() == 0 else ["sudo", "-n"]
    mount = ["mount", "-t", "tmpfs", "-o", f"size=64k,uid={os.getuid()}", "tmpfs", str(place)]
    subprocess.run([*root, *mount], check=True)
    yield place
    subprocess.run([*root, "umount", str(place)], check=True)


def test_a_full_disk_keeps_the_journal_and_the_sweep_goes_on_when_there_is_room(
    small_disk, bench_file
):
    results = small_disk / "results"
    done = leaselab("sweep", bench_file(), "--results", results)
    assert done.returncode == 4
    assert "no space left on the disk (found 0.0 MiB free)" in complaint(done)
    assert "the journal is kept: free some space" in complaint(done)
    root = [] if os.geteuid() == 0 else ["sudo", "-n"]
    subprocess.run(
        [*root, "mount", "-o", "remount,size=64m", str(small_disk)],
        check=True,
    )
    resumed(results)
