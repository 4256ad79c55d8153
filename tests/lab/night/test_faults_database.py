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
from tests.lab.commands import (
    files_with,
    journaled_trials,
    leaselab,
    resumed,
    stopped,
    trials_of,
)

pytestmark = pytest.mark.lab

SCENARIO = "v4-mysql-durable"
"""MariaDB, with a setting that is not the default."""

SECRET_FILE = "/opt/leaselab/database-password.json"
TUNING = f"/etc/leaselab-mysql/{SCENARIO}/tuning.d/leaselab.cnf"
SCHEMA = "/usr/share/kea/scripts/mysql/dhcpdb_create.mysql"
PROGRAMS = {SCENARIO: "mariadbd", "v6-postgresql-mt-hs": "postgres"}
"""A server alone, and a pair, which has a database on each host."""
STEADY = {
    "name": "fixed-load",
    "rate": 200,
    "rounds": 2,
    "duration_s": 40,
    "trial_s": 4,
    "late_s": 1.0,
    "wait_s": 2.0,
}
"""Trials one after the other, none of which ends early: what happens happens in one."""


def steadily(document):
    """Offer a steady load."""
    document["procedure"] = STEADY


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
        (SCENARIO, "synced", ("innodb_flush_log_at_trx_commit", "1")),
        ("v6-postgresql-mt-hs", "synced", ("synchronous_commit", "on")),
    ],
)
def test_a_result_says_what_its_database_promised_and_keeps_no_secret(
    bench_file, results, on_host, durability, setting
):
    done = leaselab("step", "sweep", bench_file(), "--results", results, "--json")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    server = document["servers"]["server"]
    assert server["durability"] == durability
    name, value = setting
    assert server["beside"]["database"]["variables"][name] == value
    for trial in trials_of(document):
        assert trial["held"]["server"] >= trial["completed"]
        taken = [sample["beside_cpu_s"]["database"] for sample in trial["samples"]["server"]]
        # a lease costs more than a few microseconds, in whatever process
        assert taken[-1] - taken[0] > 5e-6 * trial["completed"]
    password = json.loads(on_host("server", f"cat {SECRET_FILE}"))
    assert len(password) >= 32
    assert files_with(password, results) == []
    assert on_host("server", "pgrep -x 'mariadbd|postgres' || echo none") == "none\n"


@pytest.mark.parametrize("scenario", PROGRAMS)
def test_a_lease_in_a_database_has_its_address_and_client(deployed, on_host):
    load = deployed["scenario"]["load"]
    family = load["family"]
    generator = deployed["hosts"]["generator"]
    ask = f"/opt/leaselab/leaseload dhcp{family} --interface {generator['test_interface']}"
    ask += " --first-mac 00:0c:01:02:03:04 --rate 1 --seconds 1 --late 1"
    if family == 4:
        server = deployed["hosts"]["server"]["test_address"]
        ask += f" --server {server} --relay {generator['test_address']}"
    serving = deployed["servers"]
    contract, variant = "/opt/leaselab/server", serving["server"]["variant"]
    for role in serving:
        on_host(role, f"{contract} start {variant}")
    try:
        on_host("server", f"{contract} settle {variant}")
        on_host("generator", ask)
        reported = on_host("server", f"{contract} list {variant}")
        pool = ipaddress.ip_network(load["subnet"])
        address, client = reported.split()
        assert ipaddress.ip_address(address) in pool
        assert client.endswith("000c01020304")  # the generator's first
    finally:
        for role in serving:
            on_host(role, f"{contract} stop {variant}")


FOLDERS = {
    "v6-postgresql-mt-hs": "/var/lib/leaselab-postgresql",
    SCENARIO: "/var/lib/leaselab-mysql",
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


@pytest.mark.parametrize("scenario", PROGRAMS)
def test_a_database_that_dies_or_has_no_room_is_a_broken_lab_and_the_sweep_goes_on(
    small_disk, engine, bench_file, results, on_host
):
    """Killed in a trial; then, in what went on with that sweep, its disk is full."""
    scenario = next(name for name, folder in FOLDERS.items() if folder == small_disk)
    sweep = engine("step", "sweep", bench_file(steadily), "--results", results)
    sweep.saw(r"run 1/2: \d+/s for")
    on_host("server", f"pkill -KILL -x {PROGRAMS[scenario]}")
    code, last = sweep.end()
    assert code == 4, last
    assert "leaselab-server: " in last
    assert "the database is gone: " in last  # "cannot be reset" before it, between two trials

    sweep = engine("resume", "--results", results)
    sweep.saw(r"run 1/2: \d+/s for (?!.*journal)")
    filler = f"{small_disk}/filler"
    on_host(
        "server",
        f"fallocate -l 400M {filler}; cat /dev/zero >> {filler} 2>/dev/null || true",
    )
    code, last = sweep.end()
    assert code == 4, last
    # PostgreSQL ends itself when its log cannot be written
    assert re.search(
        r"leaselab-server: .*(the database's disk is full \(found |"
        r"the database is gone: .*No space left on device)",
        last,
    )
    on_host("server", f"rm {filler}")
    interrupted = journaled_trials(results)[-1]
    done = leaselab("resume", "--results", results, "--json")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    # a steady load has no break: its run begins again
    assert [len(round_["trials"]) for round_ in document["rounds"]] == [10, 10]
    assert trials_of(document)[0]["started_at"] > interrupted["started_at"]


def test_changes_of_a_database_are_distinguished_and_deploying_heals_it(
    bench_file, bench_of, results, on_host
):
    """One sweep meets a schema of another version, another tuning and another password."""
    other = f"sed -i \"s/version = '22', minor = '2'/version = '21', minor = '0'/\" {SCHEMA}"
    with changed_file(on_host, SCHEMA, other):
        message = stopped(results, "step", "sweep", bench_file())
    assert (
        "kea-admin and the server are of different versions "
        "(found schema 21.0, wanted 22.2); deploy again" in message
    )
    with changed_file(on_host, TUNING, f"sed -i 's/commit = 1/commit = 2/' {TUNING}"):
        message = stopped(results)
    assert (
        "the server's database has another innodb_flush_log_at_trx_commit than was tuned "
        "for this sweep (found 2, wanted 1)" in message
    )
    on_host("server", f"echo '\"another\"' > {SECRET_FILE}")
    assert "Access denied for user 'kea'@'localhost'" in stopped(results)
    on_host("server", f"echo nonsense = 1 >> {TUNING}")
    assert "unknown variable 'nonsense=1'" in stopped(results)
    bench_of(SCENARIO)
    resumed(results)
    on_host("server", f"rm {SECRET_FILE}")  # the next deployment makes one
