"""The engine, its lock and a disk fail; what was measured is kept and goes on."""

import json
import os
import re
import signal
import subprocess
from concurrent.futures import ThreadPoolExecutor

import pytest
from tests.lab.commands import (
    LOCAL,
    complaint,
    held_by_another,
    journaled_trials,
    leaselab,
    resumed,
)

from leaselab.lab.hosts.inventory import GENERATOR_GROUP, read_inventory
from leaselab.lab.hosts.transport import connect
from leaselab.model.errors import IN_USE

pytestmark = pytest.mark.lab

SCENARIO = "responder-v4-capped"


@pytest.fixture
def held(deployed):
    """The bench, held by another user."""
    assert deployed["hosts"]
    with (
        connect(read_inventory(LOCAL).only(GENERATOR_GROUP).access) as generator,
        held_by_another(generator),
    ):
        yield


def test_a_killed_engine_is_resumed_at_once_and_nobody_else_gets_the_bench(
    engine, bench_file, results, tmp_path
):
    """SIGKILL in the second run: the same sweep is finished, its trials kept as they are."""
    bench = bench_file(rounds=2)
    sweep = engine("step", "sweep", bench, "--results", results)
    sweep.saw(r"run 2/2: \d+/s for .*(within|above) the limit")
    sweep.process.kill()
    assert sweep.end()[0] == -signal.SIGKILL
    assert len(journaled_trials(results)) > 2

    theirs = {"LEASELAB_ROOT": str(tmp_path / "checkout")}
    other = leaselab("step", "sweep", bench, "--results", tmp_path / "other", **theirs)
    assert other.returncode == IN_USE
    (running,) = results.glob(".running/*/")
    assert "the bench is in use (found " in complaint(other)
    assert f"pid {sweep.process.pid}, {running.name}, for " in complaint(other)

    again = engine("run", SCENARIO, "--results", results)
    again.saw(rf"was killed in {running.name}; that goes on with: leaselab resume ")
    again.process.terminate()
    assert again.end()[0] == 130
    document = resumed(results)
    assert len(document["rounds"]) == 2
    assert leaselab("dev", "archive", "verify", "--results", results).returncode == 0


def test_an_interrupt_frees_the_bench_stops_the_server_and_can_be_resumed(
    engine, bench_file, results, on_host
):
    sweep = engine("step", "sweep", bench_file(), "--results", results)
    sweep.saw(r"run 1/1: \d+/s for (?!.*journal)")
    sweep.process.send_signal(signal.SIGINT)
    code, last = sweep.end()
    assert code == 130, last
    (running,) = results.glob(".running/*/")
    assert last == f"leaselab: interrupted; go on with: ./leaselab resume {running.name}"
    assert on_host("server", "pgrep -x leaserespond || echo none") == "none\n"
    lock = json.loads(on_host("generator", "/opt/leaselab/bench-lock status"))
    assert lock["owner"] is None
    resumed(results)


def test_of_two_checkouts_that_begin_at_once_one_goes_on(bench_file, tmp_path):
    """The other ends at once, and is asked to wait for a person.

    Whatever a command does, it locks the bench first (tests/cli/test_stages.py).
    """
    bench, names = bench_file(), ("ours", "theirs")
    with ThreadPoolExecutor(2) as pool:
        begun = [
            pool.submit(
                leaselab,
                *("step", "sweep", bench, "--results", tmp_path / name / "results"),
                LEASELAB_ROOT=str(tmp_path / name),
                LEASELAB_OWNER=name,
            )
            for name in names
        ]
    done = sorted((item.result() for item in begun), key=lambda value: value.returncode)
    assert [item.returncode for item in done] == [0, IN_USE], [item.stderr for item in done]
    assert re.search(r"in use \(found (ours|theirs) pid \d+, .*wait", complaint(done[1]))
    assert len(done[1].stderr.splitlines()) == 1


def test_a_bench_in_use_is_neither_changed_nor_measured(held, bench_file, results):
    assert held is None
    assert "held by ana@laptop for a test" in leaselab("lab", "status").stdout
    done = leaselab("step", "sweep", bench_file(), "--results", results)
    assert done.returncode == IN_USE
    assert "the bench is in use (found ana@laptop, a test, for " in complaint(done)
    assert "its lock expires in 1" in complaint(done)
    done = leaselab("run", "v4-dnsmasq", "--results", results)
    assert done.returncode == IN_USE
    assert "leaselab-generator: the bench is in use (found ana@laptop, a test" in complaint(
        done
    )
    assert "bringing the local lab up" not in done.stderr


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
    done = leaselab("step", "sweep", bench_file(), "--results", results)
    assert done.returncode == 4
    assert "no space left on the disk (found 0.0 MiB free)" in complaint(done)
    assert "the journal is kept: free some space" in complaint(done)
    root = [] if os.geteuid() == 0 else ["sudo", "-n"]
    subprocess.run(
        [*root, "mount", "-o", "remount,size=64m", str(small_disk)],
        check=True,
    )
    resumed(results)
