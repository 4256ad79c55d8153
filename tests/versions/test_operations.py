"""Operations of real servers that give leases, as their roles run them."""

import json
import subprocess
import sys
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest
from tests import deployed
from tests.contracts import ROLES
from tests.load_programs import load_programs
from tests.rooted import LOADS, cabled
from tests.tools import AS_ROOT, run
from tests.waiting import until

from leaselab.leases.check import check
from leaselab.measure.generators.leaseload.history import history_of

OF_ALL = {"link-down", "link-loss", "pause-100ms", "pause-1s"}
OWN = {"flush", "restart", "rotate-log"}


@pytest.fixture(scope="module")
def hosts():
    with cabled("operations") as prefixes:
        yield prefixes


@pytest.mark.parametrize(
    ("role", "options", "own"),
    [
        ("dnsmasq", {"backend": "memory"}, {"reload"}),
        (
            *("kea", {"backend": "memfile"}),
            {
                "add-subnets",
                "config-set",
                "lease-cleanup",
                "reclaim",
                "reload",
                "remove-subnets",
                "restart",
                "rotate-log",
            },
        ),
    ],
)
def test_its_operations_take_effect_and_leave_its_files_as_they_were(
    hosts, tmp_path, role, options, own
):
    root = deployed.leases(hosts[0], tmp_path, role, 4, **options)
    try:
        started = [json.loads(root.verb("start")[1])]
        assert root.operated().keys() == OF_ALL | own
        assert json.loads(root.verb("sample")[1].splitlines()[0])["held"] == 0
        started.append(json.loads(root.verb("start")[1]))
    finally:
        root.verb("stop")
    assert started[0]["config_sha256"] == started[1]["config_sha256"]


@contextmanager
def loaded(root, network):
    """The file of leases of a server that gives some all the time, and its `operate`."""
    load = [load_programs() / "leaseload", *LOADS[4], "--rate", "30", "--seconds", "3600"]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with (
        subprocess.Popen([*network, *load], stdout=subprocess.DEVNULL) as generator,
        subprocess.Popen(root.words_of_verb("operate"), **pipes) as operate,
    ):
        try:
            operate.stdout.readline()
            yield root.inner(root.settings["lease_file"]), operate
        finally:
            generator.kill()
            operate.kill()


def left(pid):
    """What a server's disk still has of an operation: its limit, and who traces it."""
    limits, status = (Path(f"/proc/{pid}/{name}").read_text() for name in ("limits", "status"))
    (size,) = (row.split()[3] for row in limits.splitlines() if row.startswith("Max file size"))
    return size, status.partition("TracerPid:")[2].split()[0]


OF_FILES = [
    ("dnsmasq", {"backend": "file"}, ["full-disk", "slow-disk"]),
    ("isc_dhcpd", {}, ["full-disk", "slow-disk"]),
    ("kea", {"backend": "memfile"}, ["full-disk"]),
]


@pytest.fixture(params=OF_FILES, ids=lambda given: given[0])
def writer(request, hosts, tmp_path):
    """A server that writes its leases into a file, its pid, and what its disk may be like."""
    role, options, names = request.param
    root = deployed.leases(hosts[0], tmp_path, role, 4, **options)
    disk = root.inner("/opt/leaselab/leaselab_contract/disk.py")
    text = disk.read_text("utf-8").replace(
        "FULL_S, SLOW_S = 10.0, 5.0", "FULL_S = SLOW_S = 1.0"
    )
    root.put("/opt/leaselab/leaselab_contract/disk.py", text)
    try:
        yield root, json.loads(root.verb("start")[1])["pid"], names
    finally:
        root.verb("stop")


def test_a_server_that_writes_its_leases_does_so_again_after_its_disk_was_full(writer, hosts):
    root, pid, names = writer
    with loaded(root, hosts[1]) as (file, operate):
        for name in names:
            until(lambda: file.stat().st_size, bool)
            operate.stdin.write(f"{name}\n")
            operate.stdin.flush()
            answer = json.loads(operate.stdout.readline())
            size = file.stat().st_size
            assert (answer["name"], answer["why"]) == (name, "")
            assert left(pid) == ("unlimited", "0")
            until(lambda: file.stat().st_size, lambda now, before=size: now > before)
        operate.stdin.write("restart\n")
        operate.stdin.flush()
        assert json.loads(operate.stdout.readline())["why"] == ""
    held = json.loads(root.verb("sample")[1].splitlines()[0])["held"]
    assert held == json.loads(root.verb("reset")[1])["was"] > 0


def test_a_disk_is_as_it_was_once_the_operation_is_killed(writer, hosts):
    root, pid, names = writer
    for name in names:
        with loaded(root, hosts[1]) as (_, operate):
            operate.stdin.write(f"{name}\n")
            operate.stdin.flush()
            until(lambda: left(pid), lambda now: now != ("unlimited", "0"))
            operate.kill()
        until(lambda: left(pid), lambda now: now == ("unlimited", "0"))


def listed(root):
    """The client of each address that a server says it holds."""
    return dict(line.split() for line in root.verb("list")[1].splitlines())


@pytest.mark.parametrize("family", [4, 6])
@pytest.mark.parametrize(
    ("role", "options"), [("dnsmasq", {"backend": "file"}), ("isc_dhcpd", {})]
)
def test_it_lists_the_client_of_each_lease_that_it_gave(hosts, tmp_path, role, options, family):
    root = deployed.leases(hosts[0], tmp_path, role, family, **options)
    asked = [*LOADS[family], "--history", "--window", "8", "--transactions", "100"]
    try:
        root.verb("start")
        status, said = run(*hosts[1], load_programs() / "leaseload", *asked)
        assert status == 0, said
        store = until(partial(listed, root), lambda store: len(store) == 100)
    finally:
        root.verb("stop")
    history = history_of(said.encode().splitlines()[:-1])
    assert check(history, store=store) == ()
    (violation,) = check(history, store=dict(list(store.items())[1:]))
    assert (violation.rule, violation.count) == ("forgotten", 1)


STOPS_ITSELF = """#!/usr/bin/python3
import os, signal, sys
os.kill(os.getpid(), signal.SIGSTOP)
os.execv("/usr/sbin/kea-lfc", sys.argv)
"""
"""A cleanup that begins once it is continued: the real one is over before a test sees it."""
CLEANUP = "/opt/leaselab/kea-lfc"


def stopped_cleanups(place):
    """The processes that are to clean up lease files in a root, once they have stopped."""
    pids = run("pgrep", "-x", "kea-lfc", "--runstates", "T")[1].split()
    roots = {pid: run(*AS_ROOT, "readlink", f"/proc/{pid}/root")[1] for pid in pids}
    return [pid for pid, root in roots.items() if root.strip() == str(place)]


@pytest.mark.parametrize("both", [True, False], ids=["with it", "before it"])
def test_kea_that_dies_as_its_lease_file_is_cleaned_up_loses_no_lease(hosts, tmp_path, both):
    root = deployed.leases(hosts[0], tmp_path, "kea", 4, backend="memfile", lfc_interval_s=1)
    process = root.settings["process"]
    process["environment"]["KEA_LFC_EXECUTABLE"] = CLEANUP
    root.install(process=process)
    root.put(CLEANUP, STOPS_ITSELF)
    run(*AS_ROOT, "chmod", "755", root.inner(CLEANUP))
    asked = [*LOADS[4], "--history", "--window", "8", "--transactions", "800"]
    try:
        kea = json.loads(root.verb("start")[1])["pid"]
        status, said = run(*hosts[1], load_programs() / "leaseload", *asked)
        assert status == 0, said
        cleaning = until(partial(stopped_cleanups, root.place), bool)
        run(*AS_ROOT, "kill", "-KILL", kea, *(cleaning if both else []))
        run(*AS_ROOT, "kill", "-CONT", *([] if both else cleaning))
        # Kea refuses to start while a cleanup goes on; it begins the next one at once.
        until(partial(root.verb, "restart"), lambda done: done[0] == 0)
        store = listed(root)
    finally:
        root.verb("stop")
        run(*AS_ROOT, "pkill", "-KILL", "-x", "kea-lfc", "--runstates", "T")
    assert check(history_of(said.encode().splitlines()[:-1]), store=store) == ()
    assert len(store) == 800


@pytest.mark.night
def test_a_recursor_takes_a_response_policy_zone_of_a_million_names(hosts, tmp_path):
    options = {"role": "recursive", "data": "hierarchy", "threads": 1}
    root = deployed.recursor(hosts[0], tmp_path, "bind9", **options)
    with deployed.hierarchy(hosts[0], tmp_path):
        try:
            started = [json.loads(root.verb("start")[1])]
            assert root.operated().keys() == OF_ALL | OWN | {"blocklist"}
            started.append(json.loads(root.verb("start")[1]))
        finally:
            root.verb("stop")
    assert started[0]["config_sha256"] == started[1]["config_sha256"]


def test_a_link_that_is_down_comes_back_with_its_addresses(hosts):
    code = f"""
import sys
sys.path.insert(0, {str(ROLES / "contract/files")!r})
from leaselab_contract import address, interface
both = ("198.18.0.10", "2001:2:0:1::10")
assert [*map(address.having_address, both)] == [["s0"]] * 2
assert [interface.is_cable(name) for name in ("s0", "lo", "none")] == [True, False, False]
with interface.down("s0"):
    assert not interface.is_up("s0")
    assert address.having_address(both[1]) == []
assert interface.is_up("s0")
assert [*map(address.having_address, both)] == [["s0"]] * 2
"""
    status, said = run(*hosts[0], sys.executable, "-c", code)
    assert status == 0, said


def test_an_interface_loses_the_share_of_packets_that_it_is_to_lose(hosts):
    code = f"""
import socket, sys
from pathlib import Path
sys.path.insert(0, {str(ROLES / "contract/files")!r})
from leaselab_contract import interface
counted = Path("/sys/class/net/s0/statistics/tx_packets")
def share_sent():
    before = int(counted.read_text())
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sending:
        for _ in range(1000):
            sending.sendto(b"x", ("198.18.0.30", 9))
    return (int(counted.read_text()) - before) / 1000
while share_sent() < 0.9:
    pass  # the other's hardware address is not known yet
with interface.lossy("s0", 0.5):
    assert interface.is_lossy("s0")
    assert 0.3 < share_sent() < 0.7
assert not interface.is_lossy("s0")
assert share_sent() > 0.9
"""
    status, said = run(*hosts[0], sys.executable, "-c", code)
    assert status == 0, said


@pytest.mark.parametrize("other", ["198.18.0.30", "2001:2:0:1::30"])
def test_a_host_that_is_cut_off_from_another_sends_it_nothing_until_it_rejoins(hosts, other):
    code = f"""
import socket, sys
sys.path.insert(0, {str(ROLES / "contract/files")!r})
from leaselab_contract import interface
family = socket.AF_INET6 if ":" in {other!r} else socket.AF_INET
def sends():
    with socket.socket(family, socket.SOCK_DGRAM) as sending:
        try:
            return sending.sendto(b"x", ({other!r}, 9)) == 1
        except OSError:
            return False
assert sends()
for change, expected in ((interface.cut_off, False), (interface.rejoin, True)):
    for _ in range(2):  # the second time it has no effect
        change({other!r})
        assert sends() is expected
"""
    status, said = run(*hosts[0], sys.executable, "-c", code)
    assert status == 0, said
