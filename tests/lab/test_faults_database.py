"""Databases: what a sweep keeps of them, and what it says when they fail."""

import ipaddress
import json
import os
import re
import shutil
import subprocess
from contextlib import contextmanager

import docker
import pytest
from tests.lab.commands import BENCH, LONG_TRIALS, ROOT, complaint, leaselab, resumed

pytestmark = pytest.mark.lab

SECRET_FILE = "/opt/leaselab/database-password.json"
TUNING = "/etc/leaselab-mysql/tuning.d/leaselab.cnf"
SCHEMA = "/usr/share/kea/scripts/mysql/dhcpdb_create.mysql"
PROGRAMS = {"v4-mysql": "mariadbd", "v6-postgresql-mt": "postgres"}
SLOW = {**LONG_TRIALS, "start_rate": 1000}


@pytest.fixture
def scenario():
    """MariaDB, where a test does not say otherwise."""
    return "v4-mysql"


@contextmanager
def changed_file(on_host, path, command):
    """A file of the server's host is another one for a while."""
    on_host("server", f"cp -p {path} {path}.kept && {command}")
    try:
        yield
    finally:
        on_host("server", f"mv {path}.kept {path}")


@pytest.mark.parametrize(
    ("scenario", "durability", "setting"),
    [
        ("v4-mysql-durable", "synced", ("innodb_flush_log_at_trx_commit", "1")),
        ("v4-mysql", "written", ("innodb_flush_log_at_trx_commit", "2")),
        ("v6-postgresql-mt", "synced", ("synchronous_commit", "on")),
    ],
)
def test_a_result_says_what_its_database_promised_and_keeps_no_secret(
    bench_file, results, on_host, durability, setting
):
    done = leaselab("sweep", bench_file(), "--results", results, "--json")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert document["server"]["durability"] == durability
    name, value = setting
    assert document["provenance"]["tuning"]["database"]["variables"][name] == value
    trials = [trial for run in document["runs"] for trial in run["trials"]]
    for trial in trials:
        assert trial["leases_held"][0] >= trial["completed"]
        first, *_, last = trial["samples"]
        # a lease costs more than a few microseconds, in whatever process
        assert last["database_cpu_s"] - first["database_cpu_s"] > 5e-6 * trial["completed"]
    password = json.loads(on_host("server", f"cat {SECRET_FILE}"))
    assert len(password) >= 32
    places = [results, ROOT / ".leaselab" / "logs", BENCH]
    found = subprocess.run(
        ["grep", "-rl", password, *map(str, places)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert found.returncode == 1, found.stdout
    assert on_host("server", "pgrep -x 'mariadbd|postgres' || echo none") == "none\n"


@pytest.mark.parametrize("scenario", ["v6-postgresql-mt", "v4-mysql"])
def test_a_lease_in_a_database_is_told_by_its_address_and_client(deployed, on_host):
    family = deployed["scenario"]["family"]
    target = deployed["hosts"]["server"]["test_address"] if family == 4 else "all"
    interface = deployed["hosts"]["generator"]["test_interface"]
    on_host("server", "/opt/leaselab/server start")
    try:
        on_host(
            "generator", f"perfdhcp -{family} -l {interface} -r 1 -n 1 -n 1 -W 500000 {target}"
        )
        told = on_host("server", "/opt/leaselab/server leases")
        pool = ipaddress.ip_network(deployed["scenario"]["pool"]["subnet"])
        address, client = told.split()
        assert ipaddress.ip_address(address) in pool
        assert client.endswith("000c01020304")  # the generator's first
    finally:
        on_host("server", "/opt/leaselab/server stop")


@pytest.mark.parametrize("scenario", PROGRAMS)
def test_a_database_killed_in_a_trial_is_a_broken_lab_and_the_sweep_goes_on(
    engine, bench_file, results, on_host, scenario
):
    bench = bench_file(runs=1, limits=SLOW)
    sweep = engine("sweep", bench, "--results", results)
    sweep.saw(r"run 1/1: \d+/s for", timeout_s=120)
    on_host("server", f"pkill -KILL -x {PROGRAMS[scenario]}")
    code, last = sweep.end()
    assert code == 4, last
    assert "leaselab-server: " in last
    assert "the database is gone: " in last  # "cannot be emptied" before it, between two trials
    resumed(results)


FOLDERS = {
    "v6-postgresql-mt": "/var/lib/leaselab-postgresql",
    "v4-mysql": "/var/lib/leaselab-mysql",
}


@pytest.fixture
def small_disk(deployed, scenario):
    """The folder of the database's data, on a disk of its own of 600 MiB."""
    assert deployed["scenario"]["name"] == scenario
    folder = FOLDERS[scenario]
    pid = docker.from_env().containers.get("leaselab-server").attrs["State"]["Pid"]
    inside = [shutil.which("nsenter"), f"--target={pid}", "--mount", "--"]
    assert os.geteuid() == 0

    def run(*command):
        subprocess.run([*inside, *command], check=True)

    run("cp", "-a", folder, f"{folder}.kept")
    run("mount", "-t", "tmpfs", "-o", "size=600m,mode=700", "tmpfs", folder)
    run("sh", "-c", f"chown --reference={folder}.kept {folder}; cp -a {folder}.kept/. {folder}")
    yield folder
    run("umount", folder)
    run("rm", "-rf", f"{folder}.kept")


@pytest.mark.parametrize("scenario", FOLDERS)
def test_a_full_disk_of_the_database_is_a_broken_lab_and_the_sweep_goes_on(
    small_disk, engine, bench_file, results, on_host
):
    sweep = engine("sweep", bench_file(runs=1, limits=SLOW), "--results", results)
    sweep.saw(r"run 1/1: \d+/s for", timeout_s=120)
    filler = f"{small_disk}/filler"
    on_host("server", f"cat /dev/zero > {filler} 2>/dev/null || true")
    code, last = sweep.end()
    assert code == 4, last
    # PostgreSQL ends itself when its log cannot be written
    assert re.search(
        r"leaselab-server: .*(the database's disk is full \(found |"
        r"the database is gone: .*No space left on device)",
        last,
    )
    on_host("server", f"rm {filler}")
    resumed(results)


def test_a_server_whose_password_is_not_the_databases_is_told_so_and_deploying_heals_it(
    bench_file, bench_of, results, on_host
):
    bench = bench_file()
    on_host("server", f"echo '\"another\"' > {SECRET_FILE}")
    done = leaselab("sweep", bench, "--results", results)
    assert done.returncode == 4
    assert "Access denied for user 'kea'@'localhost'" in complaint(done)
    BENCH.unlink()
    bench_of("v4-mysql")
    resumed(results)


def test_a_schema_of_another_version_is_told_from_a_server_that_does_not_start(
    bench_file, results, on_host
):
    other = f"sed -i \"s/version = '22', minor = '2'/version = '21', minor = '0'/\" {SCHEMA}"
    with changed_file(on_host, SCHEMA, other):
        done = leaselab("sweep", bench_file(), "--results", results)
    assert done.returncode == 4
    assert (
        "kea-admin and the server are of different versions "
        "(found schema 21.0, wanted 22.2); deploy again" in complaint(done)
    )
    resumed(results)


def test_a_database_that_somebody_tuned_since_is_not_measured(bench_file, results, on_host):
    with changed_file(on_host, TUNING, f"sed -i 's/commit = 2/commit = 1/' {TUNING}"):
        done = leaselab("sweep", bench_file(), "--results", results)
    assert done.returncode == 4
    assert (
        "the server's database has another innodb_flush_log_at_trx_commit than was tuned "
        "for this sweep (found 1, wanted 2)" in complaint(done)
    )
    resumed(results)


def test_what_a_broken_tuning_left_is_healed_by_the_next_deployment(
    bench_of, bench_file, results, on_host
):
    on_host("server", f"echo nonsense = 1 >> {TUNING}")
    done = leaselab("sweep", bench_file(), "--results", results)
    assert done.returncode == 4
    assert "unknown variable 'nonsense=1'" in complaint(done)
    BENCH.unlink()
    bench_of("v4-mysql")
    resumed(results)
