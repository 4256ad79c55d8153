"""The record of a deployment: what is played again, and what is not."""

import os
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from tests.fake_host import FakeHost
from tests.here import LISTING
from tests.inventories import parsed

from leaselab.lab.deploy import deployment
from leaselab.lab.deploy.deployment import Deployment, played_hash, stands, variants_there
from leaselab.model.errors import lab_broken

RECORD = Deployment("played", "1-abc", {"sut": "0", "gen": "1"}, {"0a": {"procedure": {}}})


def inventory(**variables):
    known = {"hostvars": {"sut": variables, "gen": {}, "maker": {}}}
    listing = {**LISTING, "_meta": known, "builder": {"hosts": ["maker"]}}
    return parsed(Path("rack.yml"), listing)


@pytest.fixture
def checkout(tmp_path):
    """What is played, in a folder that a test may change."""
    for name in ("roles/some/tasks/main.yml", "ansible/deploy.yml", "ansible.cfg"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(f"- {name}\n")
    return tmp_path


def test_a_record_is_kept_and_forgotten(tmp_path):
    rack = tmp_path, "rack1"
    assert deployment.read_deployment(*rack) is None
    deployment.write_deployment(*rack, RECORD)
    assert deployment.read_deployment(*rack) == RECORD
    deployment.distrust_deployment(*rack)
    assert deployment.read_deployment(*rack) == replace(RECORD, benches={})
    deployment.forget_deployment(*rack)
    assert deployment.read_deployment(*rack) is None
    deployment.distrust_deployment(*rack)  # of nothing nothing is left
    deployment.write_deployment(*rack, RECORD)
    (path,) = (tmp_path / ".leaselab").rglob("rack1.json")
    path.write_text(path.read_text()[:-5])
    assert deployment.read_deployment(*rack) is None, "a damaged one"


def test_whatever_is_played_differently_is_played_again(checkout):
    """Another inventory or release, a changed role, more playbooks, settings, another name."""
    hashes = [
        played_hash(checkout, inventory(), ""),
        played_hash(checkout, inventory(kea_version="3.0"), ""),
        played_hash(checkout, inventory(), "bookworm"),
    ]
    assert played_hash(checkout, inventory(), "") == hashes[0]
    for name in ("roles/some/tasks/main.yml", "ansible/more.yml", "ansible.cfg"):
        (checkout / name).write_text("- other\n")
        hashes.append(played_hash(checkout, inventory(), ""))
    (checkout / "ansible/deploy.yml").rename(checkout / "ansible/other.yml")
    hashes.append(played_hash(checkout, inventory(), ""))
    assert len(set(hashes)) == len(hashes)


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
    script = f'{TEST_LINK}\nsh -c "$STATE"; echo; {added}; sh -c "$STATE"'
    state = {**os.environ, "STATE": deployment._STATE}
    printed = subprocess.check_output([*NAMESPACE, script], env=state, text=True)
    before, after = printed.split("\n\n")
    assert shown not in before
    assert shown in after
