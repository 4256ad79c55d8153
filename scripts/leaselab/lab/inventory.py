"""The inventory: which hosts a bench has, their parts, and how to reach them.

Ansible reads it (`ansible-inventory --list`), so that the engine and the roles
can never disagree on a file format; what comes out is frozen.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from leaselab.model.bench import HostAccess
from leaselab.model.errors import usage_error

SERVER_GROUP = "dhcp_server"
PARTNER_GROUP = "dhcp_partner"
GENERATOR_GROUP = "dhcp_generator"
BUILDER_GROUP = "builder"
NEEDED_GROUPS = (SERVER_GROUP, GENERATOR_GROUP)
"""The groups without which nothing can be measured."""
PARTS = (SERVER_GROUP, PARTNER_GROUP, GENERATOR_GROUP, BUILDER_GROUP)

DEFAULT_KNOWN_HOSTS = "~/.ssh/known_hosts"
DEFAULT_KEY = "~/.ssh/id_ed25519"


@dataclass(frozen=True, slots=True)
class InventoryHost:
    """One host as the inventory has it; nothing here was asked of the host."""

    access: HostAccess
    parts: tuple[str, ...]
    """The groups of `PARTS` it is in."""
    test_address: str = ""
    """IPv4 address on the test network, empty where it has none."""
    test_address6: str = ""
    """IPv6 address on the test network, empty where it has none."""
    variables: Mapping[str, Any] = field(default_factory=dict)
    """Everything the inventory says of it."""

    @property
    def only_builds(self) -> bool:
        """Whether nothing is measured on it: a builder that is no other host as well."""
        return self.parts == (BUILDER_GROUP,)


@dataclass(frozen=True, slots=True)
class Inventory:
    """The hosts of one bench."""

    path: Path
    """Where it was read from, absolute."""
    bench: str
    """Name of the bench, as results carry it."""
    hosts: tuple[InventoryHost, ...]
    """In the order of their parts: server, partner, generator, builder."""

    def group(self, part: str) -> tuple[InventoryHost, ...]:
        """Return the hosts that have a part, none for a group that is not there."""
        return tuple(host for host in self.hosts if part in host.parts)

    def only(self, part: str) -> InventoryHost:
        """Return the one host that has a part; a usage error for none or several."""
        found = self.group(part)
        if len(found) != 1:
            raise usage_error(
                f"group {part} needs exactly one host",
                where=str(self.path),
                found=", ".join(host.access.name for host in found) or "none",
                wanted="one host",
                todo=f"give the inventory a group {part}, as inventory/README.md shows",
            )
        return found[0]


def read_inventory(path: Path, ansible_inventory: Path | None = None) -> Inventory:
    """Read an inventory file or folder through Ansible.

    Raises a usage error for an inventory that is not there, that Ansible
    cannot read, or that lacks a group of `NEEDED_GROUPS`.
    """
    path = path.absolute()
    if not path.exists():
        raise usage_error(
            "no such inventory",
            where=str(path),
            todo="name a file or folder such as inventory/docker",
        )
    program = ansible_inventory or Path(sys.executable).with_name("ansible-inventory")
    done = subprocess.run(
        [str(program), "-i", str(path), "--list"],
        capture_output=True,
        text=True,
        check=False,
        stdin=subprocess.DEVNULL,
        env={**os.environ, "LC_ALL": "C.UTF-8"},
    )
    if done.returncode != 0:
        raise usage_error(
            "Ansible cannot read this inventory: " + " ".join(done.stderr.split()),
            where=str(path),
        )
    return parse_inventory(path, json.loads(done.stdout))


def parse_inventory(path: Path, listing: Mapping[str, Any]) -> Inventory:
    """Freeze what ``ansible-inventory --list`` printed; errors as `read_inventory`."""
    variables: Mapping[str, Mapping[str, Any]] = listing.get("_meta", {}).get("hostvars", {})
    members = {part: _members(listing, part) for part in PARTS}
    for part in NEEDED_GROUPS:
        if not members[part]:
            raise usage_error(
                f"no host in group {part}",
                where=str(path),
                found="groups " + ", ".join(sorted(set(listing) - {"_meta", "all"})),
                wanted=" and ".join(NEEDED_GROUPS),
                todo="give the inventory that group, as inventory/README.md shows",
            )
    names = list(dict.fromkeys(name for part in PARTS for name in members[part]))
    hosts = tuple(
        _host(
            path,
            name,
            tuple(part for part in PARTS if name in members[part]),
            variables.get(name, {}),
        )
        for name in names
    )
    bench = str(hosts[0].variables.get("leaselab_bench", path.stem))
    return Inventory(path=path, bench=bench, hosts=hosts)


def _members(listing: Mapping[str, Any], group: str) -> list[str]:
    """Return the hosts of a group and of the groups below it, in inventory order."""
    entry = listing.get(group, {})
    names = list(entry.get("hosts", []))
    for child in entry.get("children", []):
        names += _members(listing, child)
    return list(dict.fromkeys(names))


def _host(
    path: Path, name: str, parts: tuple[str, ...], variables: Mapping[str, Any]
) -> InventoryHost:
    plain = {key: _resolved(path, name, key, value) for key, value in variables.items()}
    access = HostAccess(
        name=name,
        address=str(plain.get("ansible_host", name)),
        user=str(plain.get("ansible_user", "root")),
        key_file=_file(plain.get("ansible_ssh_private_key_file", DEFAULT_KEY)),
        known_hosts_file=_file(plain.get("leaselab_known_hosts", DEFAULT_KNOWN_HOSTS)),
        port=_port(path, name, plain.get("ansible_port", 22)),
    )
    return InventoryHost(
        access=access,
        parts=parts,
        test_address=str(plain.get("leaselab_test_address", "")),
        test_address6=str(plain.get("leaselab_test_address6", "")),
        variables=plain,
    )


_USED = frozenset(
    {
        "ansible_host",
        "ansible_port",
        "ansible_user",
        "ansible_ssh_private_key_file",
        "leaselab_bench",
        "leaselab_known_hosts",
        "leaselab_test_address",
        "leaselab_test_address6",
    }
)


def _resolved(path: Path, name: str, key: str, value: object) -> object:
    """Fill in ``{{ inventory_dir }}``; Ansible lists templates as they are written.

    Any other template in a variable that is used here is refused, because only
    a playbook could resolve it.
    """
    if not isinstance(value, str) or "{{" not in value:
        return value
    folder = path if path.is_dir() else path.parent
    text = value.replace("{{ inventory_dir }}", str(folder))
    if "{{" in text and key in _USED:
        raise usage_error(
            f"{key} cannot be read outside a playbook",
            where=f"{path}, host {name}",
            found=value,
            wanted="a plain value; the one template allowed is {{ inventory_dir }}",
        )
    return text


def _file(value: object) -> str:
    return os.path.normpath(Path(str(value)).expanduser())


def _port(path: Path, name: str, value: object) -> int:
    text = str(value)
    if not text.isdigit() or not 0 < int(text) < 65536:
        raise usage_error(
            "ansible_port is not a port",
            where=f"{path}, host {name}",
            found=text,
            wanted="a number from 1 to 65535",
        )
    return int(text)
