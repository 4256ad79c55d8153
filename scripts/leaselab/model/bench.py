"""Where it is measured: hosts, how to reach them, and what the roles verified there.

These values are what ``bench.json`` holds, the one file between Ansible and
the engine.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from leaselab.model.durability import Durability
from leaselab.model.plan import Plan
from leaselab.model.scenario import Scenario


@dataclass(frozen=True, slots=True)
class HostAccess:
    """How to reach one host over SSH."""

    name: str
    """Inventory name, used in every message about it."""
    address: str
    user: str
    key_file: str
    known_hosts_file: str
    port: int = 22
    sudo: bool = False
    """Whether commands are run by sudo, as `user` is not root."""
    jump: HostAccess | None = None
    """The host that the connection goes over, which may have one itself; None for none."""


def public_names(hosts: Mapping[str, HostAccess]) -> dict[str, str]:
    """Return the words by which others know a bench's hosts: what stands for each in a text.

    `hosts` by role.  Where hosts share an address, it stands for none of them.
    """
    names: dict[str, str] = {}
    addresses = [access.address for access in hosts.values()]
    for role, access in hosts.items():
        alone = addresses.count(access.address) == 1
        names |= {
            access.address: role if alone else "a host",
            access.key_file: "its key",
            access.known_hosts_file: "its known hosts",
        }
    for role, access in hosts.items():
        # a host without an address of its own is reached by its name
        names[access.name] = role
        label, dot, _ = access.name.partition(".")
        if dot and not label.isdigit():
            names[label] = role
        names[f"{access.user}@{access.address}:{access.port}"] = role
    return names


@dataclass(frozen=True, slots=True)
class BenchHost:
    """One host of the bench and the facts Ansible verified on it."""

    access: HostAccess
    test_interface: str
    test_address: str
    """Address on the test network in the scenario's family; IPv4 for v4."""
    facts: Mapping[str, Any] = field(default_factory=dict)
    """Hardware, kernel, network card, tuning and the like, by the names of the result's schema
    (``$defs.host``), where they are copied to."""


@dataclass(frozen=True, slots=True)
class ServerUnderTest:
    """What the server role deployed and proved."""

    name: str
    version: str
    contract: str
    """Path of the server contract's executable on the host."""
    config_sha256: str
    """Hash of the configuration file as rendered and validated."""
    running_config_sha256: str
    """Hash of the configuration as the running server reported it at deploy time."""
    config_file: str
    """Path of the rendered configuration on the host."""
    commit: str | None = None
    package: str = ""
    """Distribution package and its version, empty for a built commit."""
    build: Mapping[str, Any] | None = None
    """What is known of the build of a commit: its source, options, compiler, artifact; None
    for a package."""
    program: str | None = None
    """Path of the program that ran when it was deployed; None in benches of older releases."""
    program_sha256: str | None = None
    """Its hash; each start is compared with it, and with those of its libraries."""
    libraries_sha256: Mapping[str, str] = field(default_factory=dict)
    """Hash of every library that it had loaded, hooks among them, by path."""
    confinement: str | None = None
    """AppArmor profile and mode that confined it, such as ``kea-dhcp4 (enforce)``; None where
    the host's kernel has no AppArmor."""
    durability: Durability = Durability.WRITTEN
    """What the lease backend promises of a lease, as its settings were read back.  Results
    older than this field are all of memfile with its file."""
    tuning: Mapping[str, Any] = field(default_factory=dict)
    """Everything that can move a result, as verified on the host."""


@dataclass(frozen=True, slots=True)
class GeneratorTool:
    """The traffic generator as deployed."""

    name: str
    path: str
    version: str
    threading: str = "multi"
    """perfdhcp's ``-g``: ``single`` suits one processor, ``multi`` more."""
    environment: Mapping[str, str] = field(default_factory=dict)
    """Environment variables it runs with, such as allocator settings."""


@dataclass(frozen=True, slots=True)
class Bench:
    """Everything a sweep needs to know; one ``bench.json``."""

    name: str
    inventory: str
    environment: str
    """Version of the lab's own state: a step at a change is the lab's, not the server's."""
    hosts: Mapping[str, BenchHost]
    """By role: ``server``, ``generator`` and, where there is one, ``partner``."""
    server: ServerUnderTest
    generator: GeneratorTool
    scenario: Scenario
    plan: Plan
    distribution: str = ""
    """Release of what serves, where one was asked for of the local lab; else its own."""
    partner: ServerUnderTest | None = None
    """The other server of a pair, where the scenario asks for one."""
    provenance: Mapping[str, Any] = field(default_factory=dict)
