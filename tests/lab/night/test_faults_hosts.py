"""Hosts that cannot be reached, or are not who they were."""

import pytest
from tests.lab.commands import complaint, copy_inventory, leaselab, pinned_keys

pytestmark = pytest.mark.lab


OTHER_BENCH = ("leaselab_bench: docker", "leaselab_bench: copy")
"""What is known of the local lab's deployment is not known of a bench of another name."""


def swapped_keys():
    """The generator's key, pinned for the server."""
    keys = pinned_keys()
    return {**keys, "22041": keys["22043"]}


def test_an_unreachable_host_is_named_by_the_playbooks(deployed, results, tmp_path):
    assert deployed["hosts"]
    closed = ("ansible_port: 22041", "ansible_port: 9")
    inventory = copy_inventory(tmp_path, pinned_keys(), OTHER_BENCH, closed)
    done = leaselab("run", "-i", inventory, "--results", results)
    assert done.returncode == 4
    assert complaint(done).startswith("leaselab: leaselab-server: cannot be reached: ")
    assert "Connection refused" in complaint(done)


def test_a_changed_host_key_stops_the_playbooks(deployed, results, tmp_path):
    assert deployed["hosts"]
    inventory = copy_inventory(tmp_path, swapped_keys(), OTHER_BENCH)
    # A connection that an earlier playbook has left open was checked when it was opened.
    own = {"ANSIBLE_SSH_CONTROL_PATH_DIR": str(tmp_path)}
    done = leaselab("run", "-i", inventory, "--results", results, **own)
    assert done.returncode == 4
    assert "leaselab-server: host key is not the pinned one (found " in complaint(done)
