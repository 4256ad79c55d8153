"""The engine, its lock and a disk fail; what was measured is kept and goes on."""

import json
import os
import re
import signal
import subprocess
from concurrent.futures import ThreadPoolExecutor

import docker
import pytest
from tests.lab.commands import (
    LOCAL,
    ROOT,
    complaint,
    copy_inventory,
    held_by_another,
    journaled_trials,
    leaselab,
    pinned_keys,
    resumed,
)

from leaselab.lab.hosts.inventory import GENERATOR_GROUP, read_inventory
from leaselab.lab.hosts.transport import connect
from leaselab.model.errors import IN_USE

pytestmark = pytest.mark.lab

SCENARIO = "v6-dnsmasq-file"
STORE = "/var/lib/leaselab-dnsmasq"


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
    """Ctrl-C in a sweep, then SIGTERM in what went on with it."""
    words = ("step", "sweep", bench_file())
    for number in (signal.SIGINT, signal.SIGTERM):
        sweep = engine(*words, "--results", results)
        sweep.saw(r"run 1/1: \d+/s for (?!.*journal)")
        sweep.process.send_signal(number)
        code, last = sweep.end()
        assert code == 130, last
        (running,) = results.glob(".running/*/")
        assert last == f"leaselab: interrupted; go on with: ./leaselab resume {running.name}"
        assert on_host("server", "pgrep -x dnsmasq || echo none") == "none\n"
        lock = json.loads(on_host("generator", "/opt/leaselab/bench-lock status"))
        assert lock["owner"] is None
        words = ("resume",)
    resumed(results)


def test_of_two_checkouts_that_begin_at_once_one_goes_on(deployed, tmp_path):
    """The other ends at once, has changed nothing, and is asked to wait for a person."""
    assert deployed["hosts"]
    # A variant from before may lie there, while the generator has the load of the last one.
    done = leaselab("step", "deploy", SCENARIO)
    assert done.returncode == 0, done.stderr
    theirs = tmp_path / "checkout"
    for name in ("ansible", "ansible.cfg", "roles", "scenarios"):
        theirs.mkdir(exist_ok=True)
        (theirs / name).symlink_to(ROOT / name)
    inventory = copy_inventory(tmp_path, pinned_keys())
    words = ("step", "tune", SCENARIO, "-i", inventory)
    with ThreadPoolExecutor(2) as pool:
        begun = [
            pool.submit(leaselab, *words, LEASELAB_ROOT=str(root), LEASELAB_OWNER=root.name)
            for root in (ROOT, theirs)
        ]
    done = sorted((item.result() for item in begun), key=lambda value: value.returncode)
    played = [log.read_text()[-2000:] for log in theirs.glob(".leaselab/logs/*.log")]
    assert [item.returncode for item in done] == [0, IN_USE], "\n".join(
        [*(item.stderr for item in done), *played]
    )
    assert re.search(
        rf"in use \(found ({ROOT.name}|{theirs.name}) pid \d+, step tune {SCENARIO}, .*wait",
        complaint(done[1]),
    )
    assert len(done[1].stderr.splitlines()) == 1  # no playbook


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


def test_a_full_disk_of_the_server_ends_the_sweep_and_it_goes_on(engine, bench_file, results):
    """A server that cannot store its leases goes on serving, and faster."""
    host = docker.from_env().containers.get("leaselab-server").attrs["State"]["Pid"]
    inside = [*([] if os.geteuid() == 0 else ["sudo", "-n"]), "nsenter", f"-t{host}", "--all"]
    sweep = engine("step", "sweep", bench_file(rounds=2), "--results", results)
    sweep.saw(r"run 1/2: \d+/s for")
    mount = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", STORE]
    subprocess.run([*inside, *mount], check=True)
    try:
        code, last = sweep.end()
    finally:
        subprocess.run([*inside, "umount", STORE], check=True)
    assert code == 4, last
    assert f"leaselab-server: the disk is full (found 64 KiB free in {STORE}, " in last
    resumed(results)
