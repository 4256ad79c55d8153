"""Shapes of inventories that people have, each read by Ansible itself."""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from leaselab.lab.hosts.inventory import GENERATOR_GROUP, SERVER_GROUP, read_inventory
from leaselab.model.errors import LeaselabError, Outcome

UNREADABLE = "Ansible cannot read this inventory"


def ini(server="a", generator="b"):
    """A server and a generator as INI."""
    hosts = f"[dhcp_server]\n{server}\n[dhcp_generator]\n{generator}\n"
    return f"{hosts}[all:vars]\nansible_user=ana\n"


def hosts_yml(server="{a: {ansible_host: 192.0.2.1}}"):
    """The same as YAML."""
    groups = f"{{dhcp_server: {{hosts: {server}}}, dhcp_generator: {{hosts: {{b: }}}}}}"
    return f"all: {{vars: {{ansible_user: ana}}, children: {groups}}}"


PROGRAM = """#!/bin/sh
echo '{"dhcp_server": {"hosts": ["a"]}, "dhcp_generator": {"hosts": ["b"]}}'
"""
PLUGIN = """
plugin: ansible.builtin.constructed
strict: true
groups: {dhcp_server: part == 'server', dhcp_generator: part == 'generator'}
"""
# Each reading starts Ansible twice, so that a shape has several of its freedoms at once.
READ = {
    "INI with comments in Latin-1": (
        {"hosts": b"# caf\xe9\n; y\n" + ini("a ansible_host=192.0.2.1 # z").encode()},
        "192.0.2.1",
    ),
    "a byte-order mark, and variables beside it": (
        {
            "hosts.yml": "\ufeff" + hosts_yml("{a: }"),
            "group_vars/all.yml": "ansible_port: 23",
            "group_vars/dhcp_server/way.yml": "ansible_host: 192.0.2.5",
            "host_vars/b.yml": "ansible_host: 192.0.2.6",
        },
        "192.0.2.5",
    ),
    "several files, and groups by a plugin": (
        {
            "1.ini": "a part=server ansible_host=192.0.2.8\n",
            "2.ini": "b part=generator\n",
            "3.yml": PLUGIN,
            "": "",
        },
        "192.0.2.8",
    ),
    "a program in a folder with spaces": ({"my rack/racks.sh": PROGRAM}, "a"),
    "a jump host, and a port in the name": (
        {"hosts": ini("192.0.2.7:2222") + "ansible_ssh_common_args='-F none -J ana@gate'\n"},
        "192.0.2.7",
    ),
    "letters, and a vault of another group": (
        {"hosts": ini("sérveur"), "group_vars/spare.yml": "VAULT"},
        "sérveur",
    ),
}
REFUSED = {
    "Latin-1": ({"hosts.yml": hosts_yml("{caf\xe9: }").encode("latin-1")}, UNREADABLE),
    "a vault": ({"hosts": ini(), "group_vars/all.yml": "VAULT"}, UNREADABLE),
    "a hidden secret": (
        {"hosts": ini(), "group_vars/all.yml": "ansible_host: !vault |\n  VAULT"},
        "host a: Ansible cannot reach it",
    ),
    "a port that is a list": (
        {"hosts.yml": hosts_yml("{a: {ansible_port: [22]}}")},
        "found ansible_port [22]",
    ),
}


@pytest.fixture(scope="module")
def vault(tmp_path_factory):
    """A file that Ansible Vault has encrypted, whose password nobody has."""
    folder = tmp_path_factory.mktemp("vault")
    (folder / "password").write_text("geheim", "utf-8")
    (folder / "file").write_text("secret: 1", "utf-8")
    password = {"LC_ALL": "C.UTF-8", "ANSIBLE_VAULT_PASSWORD_FILE": str(folder / "password")}
    subprocess.run(
        [Path(sys.executable).with_name("ansible-vault"), "encrypt", folder / "file"],
        env={**os.environ, **password},
        capture_output=True,
        check=True,
    )
    return (folder / "file").read_bytes()


@pytest.fixture(scope="module")
def results(tmp_path_factory, vault):
    """What comes of each shape: the inventory or the refusal.  They are read side by side."""

    def read(case):
        files, _ = {**READ, **REFUSED}[case]
        folder = tmp_path_factory.mktemp("shape")
        for name, content in files.items():
            if not name:
                continue
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            text = content if isinstance(content, bytes) else content.encode()
            path.write_bytes(text.replace(b"VAULT", vault.replace(b"\n", b"\n  ")))
            path.chmod(0o755 if text.startswith(b"#!") else 0o644)
        first = folder if "" in files else folder / next(iter(files))
        try:
            return read_inventory(first)
        except LeaselabError as error:
            return error

    with ThreadPoolExecutor(4) as pool:
        return dict(zip([*READ, *REFUSED], pool.map(read, [*READ, *REFUSED]), strict=True))


@pytest.mark.parametrize("case", READ)
def test_a_shape_is_read_as_ansible_reads_it(case, results):
    result = results[case]
    assert not isinstance(result, LeaselabError), result
    assert result.only(SERVER_GROUP).access.address == READ[case][1]
    assert len(result.group(GENERATOR_GROUP)) == 1


@pytest.mark.parametrize("case", REFUSED)
def test_what_ansible_cannot_read_is_bad_input(case, results):
    result = results[case]
    assert isinstance(result, LeaselabError), result
    assert result.outcome is Outcome.USAGE
    assert REFUSED[case][1] in str(result)
    assert "geheim" not in str(result)
