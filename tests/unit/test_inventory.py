"""Reading inventories: what is frozen, and what is refused."""

import getpass
import os
from pathlib import Path

import pytest
from tests.inventories import parsed
from tests.refusals import refusals_of

from leaselab.lab.hosts.inventory import (
    GENERATOR_GROUP,
    PARTNER_GROUP,
    SERVER_GROUP,
    read_inventory,
)
from leaselab.model.errors import LeaselabError

ROOT = Path(__file__).parents[2]
RACK = Path("/site/rack.yml")


def listing(**server_variables):
    """What `ansible-inventory --list` prints for a server and a generator."""
    return {
        "_meta": {"hostvars": {"sut": server_variables, "gen": {}}},
        "all": {"children": ["ungrouped", "bench"]},
        "bench": {"children": [SERVER_GROUP, GENERATOR_GROUP]},
        SERVER_GROUP: {"hosts": ["sut"]},
        GENERATOR_GROUP: {"hosts": ["gen"]},
    }


def refusal(call, *args):
    return refusals_of(call)(*args)


def test_a_bench_has_each_group_and_a_single_server():
    for group in (SERVER_GROUP, GENERATOR_GROUP):
        without = {name: hosts for name, hosts in listing().items() if name != group}
        assert f"no host in group {group}" in refusal(parsed, RACK, without)
    two = listing() | {SERVER_GROUP: {"hosts": ["sut", "sut2"]}}
    assert "found sut, sut2" in refusal(parsed(RACK, two).only, SERVER_GROUP)


def test_a_host_without_variables_is_reached_by_its_name_with_the_users_own_files():
    host = parsed(RACK, listing()).only(GENERATOR_GROUP)
    home = Path.home()
    assert (host.access.address, host.access.port) == ("gen", 22)
    assert host.access.known_hosts_file == str(home / ".ssh/known_hosts")
    assert Path(host.access.key_file).parent == home / ".ssh"
    assert host.access.user == getpass.getuser()  # as of ssh, and not root


def test_the_bench_is_named_by_the_file_unless_the_inventory_names_it():
    assert parsed(RACK, listing()).bench == "rack"
    assert parsed(RACK, listing(leaselab_bench="cellar")).bench == "cellar"


@pytest.mark.parametrize("name", ["../rack", "", "a b", ".", "x" * 65, 5, None, ["rack"]])
def test_a_bench_whose_name_is_none_of_a_file_is_refused(name):
    assert "not the name of a bench" in refusal(parsed, RACK, listing(leaselab_bench=name))


@pytest.mark.parametrize("name", ["gen", "another-name"])
def test_a_builder_that_is_the_generator_is_refused(name):
    """A user who can change the generator can make any server as fast as any other."""
    listed = listing(ansible_host="192.0.2.3")
    listed["_meta"]["hostvars"] |= {"gen": {"ansible_host": "192.0.2.3"}}
    listed["_meta"]["hostvars"].setdefault(name, {"ansible_host": "192.0.2.3"})
    listed["_meta"]["hostvars"]["sut"] = {"ansible_host": "192.0.2.1"}
    listed["builder"] = {"hosts": [name]}
    text = refusal(parsed, RACK, listed)
    assert "the builder is the generator" in text
    listed["builder"] = {"hosts": ["sut"]}
    assert parsed(RACK, listed).only("builder").access.name == "sut"


def test_hosts_of_child_groups_belong_to_the_part():
    nested = listing() | {PARTNER_GROUP: {"children": ["spare"]}, "spare": {"hosts": ["sut"]}}
    assert parsed(RACK, nested).only(PARTNER_GROUP).parts == (SERVER_GROUP, PARTNER_GROUP)


def test_a_scenario_needs_as_many_partners_as_it_has():
    bench = parsed(RACK, listing() | {PARTNER_GROUP: {"hosts": ["two", "three"]}})
    bench.check_partners(2)
    assert list(bench.access()) == ["server", "partner", "partner2", "generator"]
    assert "found two, three, wanted 3" in refusal(bench.check_partners, 3)
    assert "found none, wanted 1" in refusal(parsed(RACK, listing()).check_partners, 1)


def test_an_inventory_that_is_not_there_is_a_usage_error(tmp_path):
    assert "no such inventory" in refusal(read_inventory, tmp_path / "nowhere.yml")
    os.mkfifo(tmp_path / "pipe")
    assert "neither a file nor a folder" in refusal(read_inventory, tmp_path / "pipe")


def test_where_ansible_may_write_nothing_is_said_in_a_line(monkeypatch):
    monkeypatch.setenv("HOME", "/proc/nowhere")
    monkeypatch.setenv("ANSIBLE_HOME", "/proc/nowhere/.ansible")
    with pytest.raises(LeaselabError) as refused:
        read_inventory(ROOT / "inventory/docker")
    assert refused.value.where == "/proc/nowhere/.ansible/tmp"
    assert "HOME=FOLDER" in refused.value.todo
    assert "Traceback" not in str(refused.value)


def test_an_inventory_that_ansible_cannot_read_says_why(tmp_path):
    broken = tmp_path / "rack.yml"
    broken.write_text("bench: [not, a, group\n", encoding="utf-8")
    text = refusal(read_inventory, broken)
    # What it warned of is logged, and not repeated.
    assert "Ansible cannot read this inventory: No inventory was parsed" in text, text
    assert "WARNING" not in text
