"""`--check` of the playbooks on fresh hosts; tests/lab has it on deployed ones.

Each host is this machine, in a network namespace with a test interface and an empty /opt: were
anything changed after all, it would not be here.
"""

import json
import re
from pathlib import Path

import pytest
import yaml
from tests.hostile import NAME, hostile_repository
from tests.plays import ansible
from tests.repositories import git

ROOT = Path(__file__).parents[2]
PLACES = {"dhcp_server": 10, "dhcp_generator": 30}
PREPARE = """
set -e
mount -t tmpfs none /opt
ip link set lo up
ip link add lt0 type veth peer name lt1
ip link set lt0 up
ip link set lt1 up
for host in 10 30; do
  ip address add 198.18.0.$host/24 dev lt0
  ip address add 2001:2:0:1::$host/64 dev lt0 nodad
done
status=0
"$@" || status=$?
find /opt -mindepth 1
exit $status
"""


@pytest.fixture
def fresh(tmp_path):
    """An inventory of two fresh hosts and a builder, all of them this machine."""
    hosts = {
        group: {
            "hosts": {
                f"host{place}": {
                    "leaselab_test_address": f"198.18.0.{place}",
                    "leaselab_test_address6": f"2001:2:0:1::{place}",
                }
            }
        }
        for group, place in PLACES.items()
    }
    everywhere = {
        "leaselab_bench": "here",
        "leaselab_test_subnet": "198.18.0.0/24",
        "leaselab_test_subnet6": "2001:2:0:1::/64",
        "ansible_connection": "local",
        "ansible_python_interpreter": "/usr/bin/python3",
        "bench_file_path": str(tmp_path / "bench.json"),
    }
    builder = {"builder": {"hosts": {"host40": {}}}}
    inventory = {"bench": {"children": {**hosts, **builder}, "vars": everywhere}}
    path = tmp_path / "hosts.yml"
    path.write_text(yaml.safe_dump(inventory), encoding="utf-8")
    return path


def checked(inventory, name, *arguments, **variables):
    """Check a playbook; what it says, where it ends well and has left nothing behind."""
    extra = [f"--extra-vars={key}={value}" for key, value in variables.items()]
    said, _, recap = ansible(
        "ansible-playbook",
        *("-i", inventory, ROOT / "ansible" / f"{name}.yml", *extra),
        *("--check", "--diff", *arguments),
        under=("unshare", "--map-root-user", "--mount", "--net", "sh", "-c", PREPARE, "sh"),
        ANSIBLE_NOCOLOR="1",
        LEASELAB_ROOT=str(ROOT),
    ).partition("PLAY RECAP")
    assert [line for line in recap.splitlines() if line.startswith("/opt")] == []
    assert not (inventory.parent / "bench.json").exists()
    return said


@pytest.mark.night
def test_a_whole_way_is_foreseen_on_hosts_that_nothing_was_done_to(fresh, monkeypatch):
    """Nothing fails as what comes before it was only foreseen; a commit is not built.

    Its texts are read by the playbook itself then, and none of them is a template either.
    """
    repository = fresh.with_name("repository")
    repository.symlink_to(hostile_repository(fresh.parent, {}))
    monkeypatch.setenv("LEASELAB_RAN", str(fresh.with_name("ran")))
    commit = git(repository, "rev-parse", f"refs/tags/={NAME}")
    said = checked(
        fresh,
        "site",
        scenario="v4-dnsmasq",
        dnsmasq_repo=repository,
        dnsmasq_commit=commit,
        leaselab_builds=fresh.with_name("builds"),
    )
    assert not fresh.with_name("ran").exists()
    assert said.count("TASK [build : Search the cache]") == 2
    assert re.search(r"^\+\+\+ after.*/bench-lock$", said, re.M), (
        "--diff shows what it would be"
    )
    assert "TASK [Run the sweep]" not in said


def test_the_keys_of_a_lab_are_foreseen_where_there_are_none(tmp_path):
    """The first `lab up` of a checkout: what needs the keys is not asked for."""
    keys = tmp_path / "keys"
    lab = {"bench": {"hosts": {"one": {"leaselab_known_hosts": str(keys / "known_hosts")}}}}
    inventory = tmp_path / "hosts.yml"
    inventory.write_text(yaml.safe_dump(lab), encoding="utf-8")
    settings = {"lab_host_key_folder": str(keys), "lab_host_key_hosts": ["one"]}
    said = ansible(
        "ansible",
        *("localhost", "-i", inventory, "-c", "local", "--check", "-m", "include_role"),
        *("-a", "name=lab_host tasks_from=keys", "-e", json.dumps(settings)),
    )
    assert str(keys / "one") in said
    assert not keys.exists()


@pytest.mark.night
def test_only_the_installation_of_a_server_and_its_database_is_foreseen_by_its_tag(fresh):
    said = checked(fresh, "deploy", "--tags", "install", scenario="v4-mysql")
    assert "TASK [mysql : Install the distribution's MySQL or MariaDB]" in said
    assert "TASK [server : Install the packages]" in said
    assert "TASK [mysql : Make its folders]" not in said, "that is `configure`"


@pytest.mark.night
def test_the_tag_install_needs_nothing_that_another_tag_reads(fresh):
    """Ansible validates a contract's settings under each tag; dhcpd's depend on the host."""
    checked(fresh, "deploy", "--tags", "install", scenario="v4-dhcpd")
