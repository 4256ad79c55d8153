"""Hosts that cannot be reached, or are not who they were."""

import json
import shutil

import pytest
from tests.lab.commands import KEYS, LOCAL, complaint, leaselab

pytestmark = pytest.mark.lab


@pytest.fixture
def inventory(deployed, tmp_path):
    """A copy of the lab's inventory, under another bench's name, so that `run` lets it be."""
    assert deployed["hosts"]
    shutil.copy2(KEYS / "known_hosts", tmp_path)
    text = (LOCAL / "hosts.yml").read_text(encoding="utf-8")
    keys = "{{ inventory_dir }}/../../.leaselab/docker/keys"
    text = text.replace(f"{keys}/client", f"{KEYS}/client")
    text = text.replace(f"{keys}/known_hosts", str(tmp_path / "known_hosts"))
    text = text.replace("leaselab_bench: docker", "leaselab_bench: copy")
    path = tmp_path / "hosts.yml"
    path.write_text(text, encoding="utf-8")
    return path


def swap_keys(known_hosts):
    """Pin the generator's key for the server."""
    rows = [line.split() for line in known_hosts.read_text(encoding="utf-8").splitlines()]
    of = {row[0].rpartition(":")[2]: row[1:] for row in rows}
    of["22041"] = of["22043"]
    known_hosts.write_text(
        "".join(f"[127.0.0.1]:{port} {' '.join(key)}\n" for port, key in of.items()),
        encoding="utf-8",
    )


def test_an_unreachable_host_is_named_by_the_playbooks(inventory, results):
    text = inventory.read_text(encoding="utf-8")
    inventory.write_text(
        text.replace("ansible_port: 22041", "ansible_port: 9"), encoding="utf-8"
    )
    done = leaselab("run", "-i", inventory, "--results", results)
    assert done.returncode == 4
    assert complaint(done).startswith("leaselab: leaselab-server: cannot be reached: ")
    assert "Connection refused" in complaint(done)


def test_an_unreachable_host_is_named_by_the_engine(bench_file, results):
    def move(document):
        document["hosts"]["server"]["access"]["port"] = 9

    done = leaselab("sweep", bench_file(move), "--results", results)
    assert done.returncode == 4
    assert "leaselab-server: cannot be reached at root@127.0.0.1:9: " in complaint(done)


def test_a_changed_host_key_stops_the_playbooks(inventory, results):
    swap_keys(inventory.with_name("known_hosts"))
    # A connection that an earlier playbook has left open was checked when it was opened.
    own = {"ANSIBLE_SSH_CONTROL_PATH_DIR": str(inventory.parent)}
    done = leaselab("run", "-i", inventory, "--results", results, **own)
    assert done.returncode == 4
    assert "leaselab-server: host key is not the pinned one (found " in complaint(done)


def test_a_changed_host_key_stops_the_engine(inventory, bench_file, results):
    known_hosts = inventory.with_name("known_hosts")
    swap_keys(known_hosts)

    def pin(document):
        document["hosts"]["server"]["access"]["known_hosts_file"] = str(known_hosts)

    done = leaselab("sweep", bench_file(pin), "--results", results)
    assert done.returncode == 4
    assert "leaselab-server: host key has changed (found " in complaint(done)
    assert json.loads(leaselab("list", "--results", results, "--json").stdout) == []
