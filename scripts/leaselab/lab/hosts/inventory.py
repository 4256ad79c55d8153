"""The inventory: which hosts a bench has, their parts, and how to reach them.

Ansible reads it (`ansible-inventory --list`) and says how it would reach the hosts
(`logins`), so that engine and roles cannot disagree; what comes out is frozen.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from leaselab.catalog.roles import ROLES, read_yaml
from leaselab.lab.hosts.access import host_access
from leaselab.lab.hosts.logins import PARTS, Logins, ask_ansible
from leaselab.lab.hosts.power import BOOT, BOOT_S, POWER, Power, boot_limit_s, parse_power
from leaselab.model.bench import HostAccess
from leaselab.model.errors import usage_error

SERVER_GROUP, PARTNER_GROUP, GENERATOR_GROUP, BUILDER_GROUP = PARTS
NEEDED_GROUPS = (SERVER_GROUP, GENERATOR_GROUP)
"""The groups without which nothing can be measured."""
UNSAFE, VAULT = "__ansible_unsafe", "__ansible_vault"
"""How Ansible lists a text that is no template, such as a plugin's, and an encrypted one."""

LABS = ("docker", "guest")
"""Labs that are made on this machine, as variable `leaselab_lab` of an inventory names them."""

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")

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
        """What identifies the machine, under any name."""
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

    def suite(self, kind: str) -> str:
        """Suite of a server's packages in a local lab; empty where it is not known."""
        given, lab = self.hosts[0].variables, self.made_by
        if not lab or given.get(f"{kind}_packages", "distribution") != "distribution":
            return ""
        name = f"{lab}_distribution"
        asked = given.get(f"{lab}_server_distribution") or given.get(name)
        return str(asked or read_yaml(ROLES / lab / "defaults" / "main.yml")[name])

    def access(self) -> dict[str, HostAccess]:
        """Return how each host is reached, by the first of its parts, such as ``server``.

        Further hosts of a part have its number, such as ``partner2``.
        """
        by_role: dict[str, HostAccess] = {}
        for part in PARTS:
            hosts = [host for host in self.hosts if host.parts[0] == part]
            for number, host in enumerate(hosts, 1):
                role = part.removeprefix("dhcp_")
                by_role[role if number == 1 else f"{role}{number}"] = host.access
        return by_role

    def check_partners(self, wanted: int) -> None:
        """Raise a usage error where it has fewer partners than a scenario wants."""
        hosts = self.group(PARTNER_GROUP)
        if len(hosts) < wanted:
            raise usage_error(
                f"group {PARTNER_GROUP} has too few hosts",
                where=str(self.path),
                found=", ".join(host.access.name for host in hosts) or "none",
                wanted=str(wanted),
                todo="complete the group, as docs/reference/inventory.md shows",
            )

    def only(self, part: str) -> InventoryHost:
        """Return the one host that has a part; a usage error for none or several."""
        hosts = self.group(part)
        if len(hosts) != 1:
            raise usage_error(
                f"group {part} needs exactly one host",
                where=str(self.path),
                found=", ".join(host.access.name for host in hosts) or "none",
                todo="correct the group, as docs/reference/inventory.md shows",
            )
        return hosts[0]


def read_inventory(path: Path) -> Inventory:
    """Read an inventory file or folder through Ansible.

    Raises a usage error for an inventory that is not there, that Ansible
    cannot read, that lacks a group of `NEEDED_GROUPS`, or whose hosts the engine cannot
    reach as Ansible would.
    """
    path = path.absolute()
    if not (path.is_file() or path.is_dir()):
        raise usage_error(
            "neither a file nor a folder" if path.exists() else "no such inventory",
            where=str(path),
            todo="name a file or folder such as inventory/docker",
        )
    return parse_inventory(path, *ask_ansible(path))


def parse_inventory(path: Path, listing: Mapping[str, Any], logins: Logins) -> Inventory:
    """Freeze what Ansible said (`ask_ansible`); errors as `read_inventory`."""
    variables: Mapping[str, Mapping[str, Any]] = listing.get("_meta", {}).get("hostvars", {})
    members = {part: _members(listing, part) for part in PARTS}
    for part in NEEDED_GROUPS:
        if not members[part]:
            raise usage_error(
                f"no host in group {part}",
                where=str(path),
                found="groups "
                + (", ".join(sorted(set(listing) - {"_meta", "all"})) or "none"),
                wanted=" and ".join(NEEDED_GROUPS),
                todo="give the inventory that group, as docs/reference/inventory.md shows",
            )
    names = list(dict.fromkeys(name for part in PARTS for name in members[part]))
    hosts = tuple(
        _host(
            path,
            name,
            tuple(part for part in PARTS if name in members[part]),
            variables.get(name, {}),
            logins,
        )
        for name in names
    )
    _check_builder(path, hosts)
    lab = str(hosts[0].variables.get("leaselab_lab", ""))
    if lab and lab not in LABS:
        raise usage_error(
            "leaselab_lab is no lab that this checkout can make",
            where=str(path),
            found=lab,
            wanted=" or ".join(LABS) + ", or no such variable",
        )
    return Inventory(
        path=path,
        bench=_bench_name(str(path), hosts[0].variables.get("leaselab_bench", path.stem)),
        hosts=hosts,
        made_by=f"{lab}_lab" if lab else "",
    )


def _bench_name(where: str, name: object) -> str:
    """Refuse a name that is no name of a file: some are called by the bench."""
    if isinstance(name, str) and _NAME.fullmatch(name):
        return name
    raise usage_error(
        "not the name of a bench",
        where=where,
        found=repr(name),
        wanted="at most 64 letters, digits and . _ -, of which the first is a letter or digit",
        todo="set leaselab_bench",
    )


def _check_builder(path: Path, hosts: Sequence[InventoryHost]) -> None:
    """Refuse a builder that is the generator, also under another name.

    A builder runs code of commits, and the generator measures: code on the generator could
    make any server look as fast as any other.  A host that serves runs the commit's server in
    any case.
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
    path: Path, name: str, parts: tuple[str, ...], variables: Mapping[str, Any], logins: Logins
) -> InventoryHost:
    where = f"{path}, host {name}"
    login = logins.answers.get(name)
    if login is None:
        why = logins.failures.get(name, "its answer is missing")
        raise usage_error(
            f"Ansible cannot reach it: {why}",
            where=where,
            found=_concerned(why, variables),
            todo="correct its variables, as docs/reference/inventory.md shows",
        )
    for key in sorted(_USED & login["unresolved"].keys()):
        raise usage_error(
            f"{key} cannot be read before a playbook: {login['unresolved'][key]}",
            where=where,
            found=str(variables.get(key)),
            wanted="a plain value, or a template of what the inventory has",
        )
    # The others stay as they are written, secrets of Ansible Vault among them.
    resolved = {key: login["variables"][key] for key in _USED & login["variables"].keys()}
    plain = {**{key: _plain(value) for key, value in variables.items()}, **resolved}
    if "leaselab_bench" in plain:
        _bench_name(where, plain["leaselab_bench"])
    return InventoryHost(
        access=host_access(name, login, str(path)),
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


def _concerned(why: str, variables: Mapping[str, Any]) -> str:
    """The variables that an error of Ansible is about: it names a play's keyword instead."""
    keyword = re.search(r"keyword '(?:remote_)?(\w+)'", why)
    if keyword is None:
        return ""
    word = {"addr": "host"}.get(keyword[1], keyword[1])
    return ", ".join(
        f"{name} {variables[name]}"
        for name in variables
        if name.startswith("ansible_") and name.endswith(f"_{word}")
    )


_USED = frozenset(
    {
        BOOT,
        POWER,
        "leaselab_bench",
        "leaselab_known_hosts",
        "leaselab_lab",
        "leaselab_test_address",
        "leaselab_test_address6",
        "leaselab_test_address_2",
        "leaselab_test_address6_2",
        "leaselab_test_subnet",
        "leaselab_test_subnet6",
    }
)
"""The variables that the engine reads, as Ansible resolves them."""
