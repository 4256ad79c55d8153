"""The record of a deployment: what is played again, and what is not."""

import os
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from tests.fake_host import FakeHost
from tests.inventories import parsed

from leaselab.lab.deploy import deployment
from leaselab.lab.deploy.deployment import (
    Deployment,
    distrust_deployment,
    forget_deployment,
    played_hash,
    read_deployment,
    stands,
    variants_there,
    write_deployment,
)
from leaselab.model.errors import lab_broken

ROOT = Path(__file__).parents[2]
RECORD = Deployment("played", "1-abc", {"sut": "0", "gen": "1"}, {"0a": {"procedure": {}}})


def inventory(**variables):
    listing = {
        "_meta": {"hostvars": {"sut": variables, "gen": {}, "maker": {}}},
        "dhcp_server": {"hosts": ["sut"]},
        "dhcp_generator": {"hosts": ["gen"]},
        "builder": {"hosts": ["maker"]},
    }
    return parsed(Path("rack.yml"), listing)


@pytest.fixture
def checkout(tmp_path):
    """What is played, in a folder that a test may change."""
    (tmp_path / "roles/some/tasks").mkdir(parents=True)
    (tmp_path / "roles/some/tasks/main.yml").write_text("- one\n")
    (tmp_path / "ansible").mkdir()
    (tmp_path / "ansible/deploy.yml").write_text("- two\n")
    shutil.copy(ROOT / "ansible.cfg", tmp_path)
    return tmp_path


def test_a_record_is_kept_and_forgotten(tmp_path):
    assert read_deployment(tmp_path, "rack1") is None
    write_deployment(tmp_path, "rack1", RECORD)
    assert read_deployment(tmp_path, "rack1") == RECORD
    distrust_deployment(tmp_path, "rack1")
    assert read_deployment(tmp_path, "rack1") == replace(RECORD, benches={})
    forget_deployment(tmp_path, "rack1")
    assert read_deployment(tmp_path, "rack1") is None
    distrust_deployment(tmp_path, "rack1")  # of nothing nothing is left


def test_a_damaged_record_is_none(tmp_path):
    write_deployment(tmp_path, "rack1", RECORD)
    (path,) = (tmp_path / ".leaselab").rglob("rack1.json")
    path.write_text(path.read_text()[:-5])
    assert read_deployment(tmp_path, "rack1") is None


@pytest.mark.parametrize(
    "change",
    [
        lambda folder: (folder / "roles/some/tasks/main.yml").write_text("- other\n"),
        lambda folder: (folder / "ansible/more.yml").write_text("- new\n"),
        lambda folder: (folder / "ansible.cfg").write_text("[defaults]\n"),
        lambda folder: (folder / "ansible/deploy.yml").rename(folder / "ansible/other.yml"),
    ],
    ids=["a role", "a playbook more", "settings", "another name"],
)
def test_whatever_is_played_differently_is_played_again(checkout, change):
    before = played_hash(checkout, inventory())
    assert played_hash(checkout, inventory()) == before
    change(checkout)
    assert played_hash(checkout, inventory()) != before


def test_another_inventory_and_another_release_are_played_again(checkout):
    before = played_hash(checkout, inventory(), "")
    assert played_hash(checkout, inventory(kea_version="3.0"), "") != before
    assert played_hash(checkout, inventory(), "bookworm") != before


@pytest.fixture
def hosts(monkeypatch):
    """What each host reports of its state; a test may change it."""
    reported = {"sut": "as it was", "gen": "as it was"}

    def connect(access):
        if reported[access.name] is None:
            raise lab_broken("cannot be reached", where=access.name)
        return FakeHost(access.name, others=reported[access.name] or (1, "no such file"))

    monkeypatch.setattr(deployment, "connect", connect)
    return reported


def test_a_deployment_stands_while_every_host_is_as_it_was(hosts):
    """A builder is not asked: nothing is measured on it."""
    record = replace(RECORD, hosts=deployment.host_states(inventory()))
    assert set(record.hosts) == {"sut", "gen"}
    assert stands(record, inventory(), "played")
    assert not stands(record, inventory(), "played differently")
    for other in ("another boot", None, ""):
        hosts["gen"] = other
        assert not stands(record, inventory(), "played"), other


def test_the_host_of_servers_says_which_variants_lie_there(hosts):
    hosts["sut"] = "v4-memfile\nv4-memfile-at2\n"
    assert variants_there(inventory()) == {"v4-memfile", "v4-memfile-at2"}
    hosts["sut"] = ""
    assert variants_there(inventory()) == frozenset()


def test_a_host_that_is_no_longer_tuned_is_another_state(tmp_path):
    """What is read on each host, read here: role host_tuning's note comes and goes."""
    script = deployment._STATE.replace("/run/leaselab-host-tuning", str(tmp_path))

    def read():
        return subprocess.check_output(["sh", "-c", script], text=True).splitlines()

    # Only a change of the machine lies between two reads, and that is rare.
    assert any(read() == read() for _ in range(5))
    assert "not tuned" in read()
    (tmp_path / "before.json").write_text("the note\n")
    tuned = read()
    assert "the note" in tuned
    assert "not tuned" not in tuned


NAMESPACE = ("unshare", "--map-root-user", "--net", "sh", "-euc")
# Without link-local addresses, which come a second after the link.
TEST_LINK = """
ip link add near type veth peer name far
for link in near far; do ip link set $link addrgenmode none up; done
ip address add 198.18.0.10/24 dev near
"""


@pytest.mark.parametrize(
    ("added", "shown"),
    [
        ("ip route add 0.0.0.0/1 via 198.18.0.1", "0.0.0.0/1 via 198.18.0.1"),
        ("ip -6 route add 2001:db8::/32 dev near", "2001:db8::/32 dev near"),
        ("ip route add 172.20.0.0/16 dev near table 7", "172.20.0.0/16 dev near table 7"),
        ("ip address add 172.20.1.7/32 dev near scope link", "local 172.20.1.7 dev near"),
    ],
)
def test_a_way_out_of_the_test_network_is_another_state(added, shown):
    """So what was left is played again, and refuses it."""
    script = f"""{TEST_LINK}
sh -c "$STATE"; echo; {added}; sh -c "$STATE"
"""
    done = subprocess.run(
        [*NAMESPACE, script],
        env={**os.environ, "STATE": deployment._STATE},
        capture_output=True,
        text=True,
        check=True,
    )
    before, after = done.stdout.split("\n\n")
    assert shown not in before
    assert shown in after
