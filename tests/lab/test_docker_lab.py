"""The local lab for real: brought up, left alone, broken, taken down."""

import ast
import json
import os
import shutil
from pathlib import Path

import docker
import pytest
from tests.lab.commands import KEYS, LOCAL, NAMES, ROOT, held_by_another, lab, ours
from tests.waiting import HANGS_S

from leaselab.lab.bench.lock import PROGRAM
from leaselab.lab.hosts.inventory import (
    GENERATOR_GROUP,
    PARTNER_GROUP,
    SERVER_GROUP,
    read_inventory,
)
from leaselab.lab.hosts.transport import connect
from leaselab.model.errors import IN_USE

pytestmark = [pytest.mark.lab, pytest.mark.usefixtures("generator_under_way")]


@pytest.fixture(scope="module")
def engine():
    """The lab is up; what answers is the engine it runs on."""
    done = lab("up", "--json")
    assert done.returncode == 0, done.stderr
    return docker.from_env()


def test_every_host_is_reached_and_has_its_test_addresses_on_one_interface(engine):
    assert engine.ping()
    done = lab("status", "--json")
    assert done.returncode == 0, done.stdout
    status = json.loads(done.stdout)
    assert {host["name"] for host in status["hosts"]} == NAMES
    for host, known in zip(status["hosts"], read_inventory(LOCAL).hosts, strict=True):
        wanted = [known.test_address, known.test_address6]
        assert host["test_addresses"] == ([] if known.only_builds else wanted)
        assert "," not in host["test_interface"]
    cpus = {host["parts"][0]: set(host["cpus"]) for host in status["hosts"]}
    if len(os.sched_getaffinity(0)) > 1:
        assert not cpus[SERVER_GROUP] & cpus[GENERATOR_GROUP]


def test_the_test_network_is_internal_and_in_the_benchmarking_range(engine):
    network = engine.networks.get("leaselab-test").attrs
    assert network["Internal"] is True
    subnets = {config["Subnet"] for config in network["IPAM"]["Config"]}
    assert subnets == {"198.18.0.0/24", "2001:2:0:1::/64"}


SYSTEM_CALLS = """
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
def asked(name, *arguments):
    if libc.syscall(*arguments) >= 0:
        return [name, ""]
    return [name, os.strerror(ctypes.get_errno())]
# type 1, config 0: the software event cpu-clock; its code alone, as flag 1 << 5 says
event = (ctypes.c_uint64 * 16)(1 | 128 << 32, 0, 1000000, 0, 0, 1 << 5)
found = [asked("own program", NUMBER, event, 0, -1, -1, 0)]
found += [asked("whole machine", NUMBER, event, -1, 0, -1, 0)]
found += [asked("namespace", UNSHARE, FLAG) for FLAG in (0x10000000, 0x20000, 0x40000000)]
print(found)
"""
"""Asks for events of itself, of all that runs, and for namespaces: users, mounts, networks."""
NUMBERS = {"x86_64": (298, 272), "aarch64": (241, 97)}
"""Of perf_event_open and unshare."""


@pytest.mark.parametrize(
    ("host", "own"), [("server", ""), ("partner", "Operation not permitted")]
)
def test_programs_of_the_server_alone_can_be_sampled_and_nothing_else_can(engine, host, own):
    number, unshare = NUMBERS[os.uname().machine]
    script = SYSTEM_CALLS.replace("NUMBER", str(number)).replace("UNSHARE", str(unshare))
    done = engine.containers.get(f"leaselab-{host}").exec_run(["python3", "-c", script])
    reported = ast.literal_eval(done.output.decode())
    assert reported[0] == ["own program", own]
    refused = {"Operation not permitted", "Permission denied"}
    assert {why for _, why in reported[1:]} <= refused


def test_up_changes_what_was_held_back_or_stopped_and_nothing_else(engine, tmp_path):
    """A copy of the inventory gives a server a part of a processor; a reboot stops hosts."""
    assert ours(engine) >= NAMES
    server = "        leaselab-server:\n"
    change = (server, f"{server}          docker_lab_cpu_limit: 0.25\n")
    inventory = tmp_path / "lab" / "held"
    inventory.mkdir(parents=True)
    text = (LOCAL / "hosts.yml").read_text(encoding="utf-8")
    assert text.count(server) == 1
    keys = "{{ inventory_dir }}/../../.leaselab"
    (inventory / "hosts.yml").write_text(
        text.replace(*change).replace(keys, str(ROOT / ".leaselab")), encoding="utf-8"
    )
    done = lab("up", "-i", inventory, "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["changed"] == 1
    assert processor_of_the_server(engine) == (2_500, 10_000)
    engine.containers.get("leaselab-partner").stop(timeout=2)
    partly = lab("status")
    assert partly.returncode == 4
    assert "leaselab-partner" in partly.stdout
    assert "NOT REACHABLE" in partly.stdout
    done = lab("up", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["changed"] == 1  # the task that makes all containers
    assert processor_of_the_server(engine) == (-1, 10_000)
    with connect(read_inventory(LOCAL).only(PARTNER_GROUP).access) as partner:
        assert partner.run(["hostname"], timeout_s=HANGS_S).stdout == b"leaselab-partner\n"


def processor_of_the_server(engine):
    """The quota and the period of its processor (µs)."""
    config = engine.containers.get("leaselab-server").attrs["HostConfig"]
    return config["CpuQuota"], config["CpuPeriod"]


def test_only_this_users_key_opens_a_host_and_only_its_owner_reads_it(engine):
    assert engine.ping()
    assert (KEYS / "client").stat().st_mode & 0o777 == 0o600
    assert KEYS.stat().st_mode & 0o777 == 0o700


def test_another_checkouts_lab_is_named_and_left_alone(engine, tmp_path):
    for part in ("ansible", "roles", "inventory/docker"):
        shutil.copytree(ROOT / part, tmp_path / part)
    shutil.copy2(ROOT / "ansible.cfg", tmp_path)
    before = ours(engine)
    done = lab("up", root=tmp_path)
    assert done.returncode == 4
    assert "another checkout's lab is on this machine" in done.stderr
    assert f"of {ROOT}" in done.stderr
    assert (
        json.loads(lab("down", "--json", root=tmp_path).stdout)["removed"]["containers"] == []
    )
    assert ours(engine) == before


def test_a_bench_in_use_is_not_taken_down(engine):
    before = ours(engine)
    program = (ROOT / "roles/bench_lock/files/bench-lock").read_bytes()
    with connect(read_inventory(LOCAL).only(GENERATOR_GROUP).access) as generator:
        install = f"mkdir -p {Path(PROGRAM).parent} && cat > {PROGRAM} && chmod 755 {PROGRAM}"
        assert (
            generator.run(["sh", "-c", install], timeout_s=HANGS_S, stdin=program).status == 0
        )
        with held_by_another(generator):
            done = lab("down")
    assert done.returncode == IN_USE
    assert "the bench is in use (found ana@laptop, a test, for " in done.stderr
    assert ours(engine) == before
