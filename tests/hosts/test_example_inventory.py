"""inventory/example: a rack that Ansible can read and that lacks nothing the roles need."""

import ipaddress
import re
from pathlib import Path

import pytest
from tests.inventories import local_lab

from leaselab.lab.hosts.inventory import (
    read_inventory,
)
from leaselab.lab.hosts.logins import PARTS

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "inventory" / "example"
DOCUMENTATION = ("192.0.2.0/24", "2001:db8::/32")
BENCHMARKING = ("198.18.0.0/15", "2001:2::/48")


@pytest.fixture(scope="module")
def example():
    return read_inventory(EXAMPLE)


def within(address, networks):
    place = ipaddress.ip_address(address)
    return any(place in ipaddress.ip_network(network) for network in networks)


SECOND = {"leaselab_test_address_2", "leaselab_test_address6_2"}
"""What a bench may do without: then one variant of a server runs at a time."""


def test_its_addresses_belong_to_nobody(example):
    for host in example.hosts:
        assert within(host.access.address, DOCUMENTATION)
        assert within(host.test_address, BENCHMARKING)
        assert within(host.test_address6, BENCHMARKING)
    assert len({host.access.address for host in example.hosts}) == len(example.hosts) == 3


def test_every_variable_of_the_local_lab_is_set_for_every_machine(example):
    local = local_lab()
    wanted = set.union(*(set(host.variables) for host in local.hosts))
    assert "leaselab_test_address" in wanted
    wanted.remove("leaselab_lab")  # a rack is not made by `lab up`
    wanted -= SECOND
    for host in example.hosts:
        assert wanted <= set(host.variables)


def test_every_variable_of_an_inventory_that_playbooks_use_is_set(example):
    used = set()
    for path in [*ROOT.glob("ansible/*.yml"), *ROOT.glob("roles/*/tasks/*.yml")]:
        if path.parts[-3] != "docker_lab" and not path.name.startswith("lab_"):
            text = path.read_text(encoding="utf-8")
            used |= set(re.findall(r"leaselab_(?:bench|test|known)\w*", text))
    used -= {"leaselab_bench_file"}  # a variable of measure.yml itself
    used -= SECOND
    assert "leaselab_test_address6" in used
    for host in example.hosts:
        assert used <= set(host.variables)


def test_host_keys_are_pinned_in_a_file_of_its_own(example):
    for host in example.hosts:
        assert host.access.known_hosts_file == str(EXAMPLE / "known_hosts.txt")
        options = host.variables["ansible_ssh_common_args"]
        assert "StrictHostKeyChecking=yes" in options
    assert (EXAMPLE / "known_hosts.txt").exists()


def test_the_readme_names_every_variable_and_group(example):
    readme = (ROOT / "docs/reference/inventory.md").read_text(encoding="utf-8")
    ours = {"ansible_become"}  # explained where it is set: root needs none
    for name in set(example.hosts[0].variables) - ours:
        assert name == "ansible_local" or f"`{name}`" in readme
    for part in PARTS:
        assert f"`{part}`" in readme
