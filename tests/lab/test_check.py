"""`leaselab lab check` on the local lab: what is fine, and faults that are really there."""

import contextlib
import json
import re
import time

import pytest
from tests.lab.commands import (
    LOCAL,
    copy_inventory,
    held_by_another,
    leaselab,
    pinned_keys,
    playbook,
)
from tests.waiting import HANGS_S

from leaselab.lab.hosts.inventory import GENERATOR_GROUP, SERVER_GROUP, read_inventory
from leaselab.lab.hosts.transport import connect

pytestmark = pytest.mark.lab

FOLDER = "/run/leaselab-test-check"
START_S = 60.0


def check(*arguments):
    """Exit code and findings of `leaselab lab check`."""
    done = leaselab("lab", "check", "--json", *arguments)
    assert done.stdout, done.stderr
    return done.returncode, json.loads(done.stdout)["findings"]


def errors(findings):
    return {(row["host"], row["check"]): row for row in findings if row["level"] == "error"}


@pytest.fixture(scope="module")
def document(bench_of):
    """The bench document of the lab, which is up and deployed, so that nothing is missing."""
    return bench_of("v4-memfile")


@pytest.fixture(scope="module")
def inventory(document):
    """The lab's inventory."""
    assert document["hosts"]
    return read_inventory(LOCAL)


def same(findings):
    """Texts without those that differ from one reading to the next."""
    return [row["text"] for row in findings if row["check"] not in ("clock", "disk", "memory")]


def test_the_lab_is_ready_and_the_playbook_by_hand_says_the_same(inventory):
    assert inventory.bench == "docker"
    code, findings = check()
    assert (code, errors(findings)) == (0, {})
    done = playbook("check", "--check")
    assert done.returncode == 0, done.stdout
    reported = " ".join(done.stdout.replace("''", "'").split())
    assert [text for text in same(findings) if text not in reported] == []
    assert set(re.findall(r"changed=(\d+)", reported)) == {"0"}


def test_faults_of_access_and_address_are_distinguished_in_one_go(inventory, tmp_path):
    """Changed key (server), none (builder), wrong address and version, closed port."""
    assert inventory.bench == "docker"
    keys = pinned_keys()
    path = copy_inventory(
        tmp_path,
        {"22041": keys["22043"], "22042": keys["22042"]},
        ("leaselab_test_address: 198.18.0.20", "leaselab_test_address: 198.18.0.22"),
        ("ansible_port: 22043", "ansible_port: 22049"),
        ("ansible_port: 22042", "ansible_port: 22042\n          kea_version: 2.9.1"),
    )
    code, findings = check("-i", path)
    assert code == 4
    result = errors(findings)
    assert set(result) == {
        ("leaselab-server", "host key"),
        ("leaselab-partner", "test interface"),
        ("leaselab-partner", "kea"),
        ("leaselab-generator", "ssh"),
        ("leaselab-builder", "host key"),
    }
    assert result["leaselab-builder", "host key"]["found"].startswith(
        "host key is not known (r"
    )
    changed = result["leaselab-server", "host key"]
    assert changed["found"].startswith("host key has changed (root@127.0.0.1:22041): SHA256:")
    assert changed["todo"].endswith("if not, do not connect: it may be another machine")
    moved = result["leaselab-partner", "test interface"]
    assert "198.18.0.20 on eth" in moved["found"]
    assert moved["wanted"] == "198.18.0.22 and 2001:2:0:1::20 on one interface"
    assert result["leaselab-partner", "kea"]["wanted"] == "version 2.9.1"
    assert "127.0.0.1:22049" in result["leaselab-generator", "ssh"]["found"]


@contextlib.contextmanager
def packaged_kea(access, interface, address):
    """The packaged server, serving nobody but listening; yields its pid."""
    configuration = {
        "Dhcp4": {
            "interfaces-config": {
                "interfaces": [f"{interface}/{address}"],
                "dhcp-socket-type": "udp",
                "service-sockets-require-all": True,
            },
            "lease-database": {"type": "memfile", "persist": False},
        }
    }
    start = (
        f"mkdir -p {FOLDER} && cat > {FOLDER}/kea.json && cd {FOLDER} &&"
        f" export KEA_PIDFILE_DIR={FOLDER} KEA_LOCKFILE_DIR=none &&"
        " { setsid kea-dhcp4 -c kea.json > log 2>&1 < /dev/null & } && echo $!"
    )
    with connect(access) as host:
        done = host.run(
            ["sh", "-c", start], timeout_s=HANGS_S, stdin=json.dumps(configuration).encode()
        )
        assert done.status == 0, done.stderr
        try:
            deadline = time.monotonic() + START_S
            # UDP port 67, as the kernel shows it.
            listening = ["grep", "-q", ":0043 ", "/proc/net/udp"]
            while host.run(listening, timeout_s=HANGS_S).status != 0:
                log = host.run(["cat", f"{FOLDER}/log"], timeout_s=HANGS_S).stdout.decode()
                assert time.monotonic() < deadline, log
                time.sleep(0.2)
            pids = host.run(["cat", f"{FOLDER}/kea.kea-dhcp4.pid"], timeout_s=HANGS_S).stdout
            yield int(pids)
        finally:
            stop = f"kill $(cat {FOLDER}/kea.kea-dhcp4.pid); rm -r {FOLDER}"
            host.run(["sh", "-c", stop], timeout_s=HANGS_S)


def test_a_leftover_server_is_refused_unless_a_sweep_holds_the_bench(inventory, document):
    server = inventory.only(SERVER_GROUP)
    interface = document["hosts"]["server"]["test_interface"]
    with (
        packaged_kea(server.access, interface, server.test_address) as pid,
        connect(inventory.only(GENERATOR_GROUP).access) as generator,
    ):
        code, findings = check()
        assert code == 4
        ((place, fault),) = errors(findings).items()
        assert place == ("leaselab-server", "leftovers")
        assert fault["found"] == f"kea-dhcp4 (pid {pid}) on UDP {server.test_address} port 67"
        assert f"kill {pid}" in fault["todo"]
        with held_by_another(generator):
            code, findings = check()
        assert (code, errors(findings)) == (0, {})
        assert "leaselab-generator: lock: warning: held by ana@laptop for a test" in [
            row["text"].partition(";")[0] for row in findings
        ]
