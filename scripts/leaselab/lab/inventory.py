"""The inventory: which hosts a bench has, their parts, and how to reach them.

Ansible reads it (`ansible-inventory --list`), so that the engine and the roles
can never disagree on a file format; what comes out is frozen.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from leaselab.lab.access import VARIABLES, host_access
from leaselab.lab.power import BOOT, BOOT_S, POWER, Power, boot_limit_s, parse_power
from leaselab.model.bench import HostAccess
from leaselab.model.errors import usage_error

SERVER_GROUP = "dhcp_server"
PARTNER_GROUP = "dhcp_partner"
GENERATOR_GROUP = "dhcp_generator"
BUILDER_GROUP = "builder"
NEEDED_GROUPS = (SERVER_GROUP, GENERATOR_GROUP)
"""The groups without which nothing can be measured."""
PARTS = (SERVER_GROUP, PARTNER_GROUP, GENERATOR_GROUP, BUILDER_GROUP)
UNSAFE, VAULT = "__ansible_unsafe", "__ansible_vault"
"""How Ansible lists a text that is no template, such as a plugin's, and an encrypted one."""

LABS = ("docker", "vm")
"""Labs that are made on this machine, as variable `leaselab_lab` of an inventory names them."""

Machine = tuple[str, int, HostAccess | None]
"""Address, port and jump host: behind another one, the same address is another machine."""


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
    """Everything the inventory says of it, with what can be filled in of its templates."""
    listed: Mapping[str, Any] = field(default_factory=dict)
    """The same as Ansible lists it: with its templates, and with `UNSAFE` and `VAULT`."""
    power: Power | None = None
    """What switches it on and off, None where the inventory says nothing of it."""
    boot_s: float = BOOT_S
    """Longest time that it may take to boot (s)."""

    @property
    def machine(self) -> Machine:
        """What tells it from other machines, whatever it is called."""
        return self.access.address, self.access.port, self.access.jump

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
    made_by: str = ""
    """The role that makes and removes this lab on this machine; none for a rack."""

    def group(self, part: str) -> tuple[InventoryHost, ...]:
        """Return the hosts that have a part, none for a group that is not there."""
        return tuple(host for host in self.hosts if part in host.parts)

    def access(self) -> dict[str, HostAccess]:
        """Return how each host is reached, by the first of its parts, such as ``server``."""
        return {host.parts[0].removeprefix("dhcp_"): host.access for host in self.hosts}

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
    _check_builder(path, hosts)
    bench = bench_name(hosts[0].variables.get("leaselab_bench", path.stem), path)
    lab = str(hosts[0].variables.get("leaselab_lab", ""))
    if lab and lab not in LABS:
        raise usage_error(
            "leaselab_lab is no lab that this checkout can make",
            where=str(path),
            found=lab,
            wanted=" or ".join(LABS) + ", or no such variable",
        )
    made_by = f"{lab}_lab" if lab else ""
    return Inventory(path=path, bench=bench, hosts=hosts, made_by=made_by)


_NAME = re.compile(r"\w[\w.+ -]{0,62}")


def bench_name(value: object, source: Path) -> str:
    """Return the name of a bench; files are named so, too, and a plugin may say anything."""
    name = str(value)
    if not _NAME.fullmatch(name):
        raise usage_error(
            "leaselab_bench cannot be the name of a bench",
            where=str(source),
            found=repr(name[:80]),
            wanted="at most 63 letters, digits and any of '_.+- ', no sign first but '_'",
        )
    return name


def _check_builder(path: Path, hosts: Sequence[InventoryHost]) -> None:
    """Refuse a builder that is the generator, also under another name.

    It runs what commits say, and the generator is the ruler: whoever got at it could have
    any server look as fast as any other.  A host that serves runs the commit's server in any
    case.
    """
    builders = [host for host in hosts if BUILDER_GROUP in host.parts]
    for host in (host for host in hosts if GENERATOR_GROUP in host.parts):
        for builder in builders:
            if builder.machine == host.machine:
                raise usage_error(
                    "the builder is the generator",
                    where=str(path),
                    found=" and ".join(dict.fromkeys((builder.access.name, host.access.name))),
                    wanted="a builder that does not measure: a machine of its own, or one "
                    "that serves",
                    todo=f"put another host into the group {BUILDER_GROUP}",
                )


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
    plain = {key: _plain(_resolved(path, name, key, variables)) for key in variables}
    where = f"{path}, host {name}"
    if POWER in plain:
        plain[POWER] = _plain(_within(path, name, variables[POWER], variables))
    return InventoryHost(
        access=host_access(name, plain, str(path)),
        parts=parts,
        test_address=str(plain.get("leaselab_test_address", "")),
        test_address6=str(plain.get("leaselab_test_address6", "")),
        variables=plain,
        listed=variables,
        power=parse_power(plain[POWER], where) if POWER in plain else None,
        boot_s=boot_limit_s(plain.get(BOOT, BOOT_S), where),
    )


def _plain(value: object) -> object:
    """A value without Ansible's marks of what is no template."""
    if isinstance(value, Mapping):
        if set(value) == {UNSAFE}:
            return value[UNSAFE]
        return {str(key): _plain(one) for key, one in value.items()}
    return [_plain(one) for one in value] if isinstance(value, list) else value


def _within(path: Path, name: str, value: object, variables: Mapping[str, Any]) -> object:
    """Fill in the templates of texts that are in lists and mappings of `leaselab_power`."""
    if isinstance(value, Mapping):
        return {str(key): _within(path, name, one, variables) for key, one in value.items()}
    if isinstance(value, list):
        return [_within(path, name, one, variables) for one in value]
    return _resolved(path, name, POWER, {**variables, POWER: value})


_USED = VARIABLES | {"leaselab_bench", "leaselab_test_address", "leaselab_test_address6", POWER}
_TEMPLATE = re.compile(r"\{\{\s*(\w+)\s*\}\}")


def _resolved(
    path: Path, name: str, key: str, variables: Mapping[str, Any], within: tuple[str, ...] = ()
) -> object:
    """Fill in ``{{ inventory_dir }}`` and the names of the host's other variables.

    Ansible lists templates as they are written.  Any other one in a variable that is used
    here is refused, because only a playbook could resolve it.
    """
    value = variables[key]
    if not isinstance(value, str) or "{{" not in value:
        return value

    def filled(found: re.Match[str]) -> str:
        other = found[1]
        if other == "inventory_dir":
            return str(path if path.is_dir() else path.parent)
        if other not in variables or other in (key, *within):
            return found[0]
        return str(_plain(_resolved(path, name, other, variables, (key, *within))))

    text = _TEMPLATE.sub(filled, value)
    if "{{" in text and key in _USED:
        raise usage_error(
            f"{key} cannot be read outside a playbook",
            where=f"{path}, host {name}",
            found=value,
            wanted="a plain value; the templates allowed are {{ inventory_dir }} and the names "
            "of other variables of the host",
        )
    return text
