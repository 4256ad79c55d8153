"""The bench: hosts, how to reach them, and what the roles verified there.

These values are what ``bench.json`` holds, the one file between Ansible and
the engine.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec

from leaselab.model.procedures import AnyProcedure
from leaselab.model.procedures.max_rate import MaxRate
from leaselab.model.record import PARTNER, SERVER
from leaselab.model.scenario import Scenario
from leaselab.model.server import Durability

SCHEMA_VERSION = 2
"""Version of the bench document."""
START_LIMIT_S = 150.0
"""Longest time of a server's start where its role sets none (s)."""


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
    """The jump host of the connection, which may have a jump host itself; None without one."""

    @property
    def at(self) -> str:
        """Its address in words: ``user@address:port``."""
        return f"{self.user}@{self.address}:{self.port}"


NO_ACCESS = HostAccess("", "", "", "", "")
"""The access that a result has for a host: empty, as readers of a result do not log in."""


def public_names(hosts: Mapping[str, HostAccess]) -> dict[str, str]:
    """Return the public words for a bench's hosts: the replacement for each name in a text.

    `hosts` are by role.  An address that several hosts share is not replaced.
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
class SecondPlace:
    """The address at which a host runs a second variant of a server beside the first."""

    interface: str
    """A separate device on the test interface; the first deployment there creates it."""
    address: str
    """Its IPv4 address on the test network."""


class BenchHost(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One host of the bench and the facts Ansible verified on it."""

    access: HostAccess = NO_ACCESS
    test_interface: str
    test_address: str
    """Its first IPv4 address on the test network."""
    test_address6: str = ""
    """Its first IPv6 address there; empty where it has none."""
    second: SecondPlace | None = None
    """Its second address on the test network; None where the inventory has none."""
    facts: Mapping[str, Any] = msgspec.field(default_factory=dict)
    """Hardware, kernel, network card, tuning and the like, by the names of the result's schema
    (``$defs.host``), where they are copied to."""


@dataclass(frozen=True, slots=True)
class ServerUnderTest:
    """What the server role deployed and proved."""

    name: str
    version: str
    contract: str
    """Path of the server contract's executable on the host."""
    variant: str
    """Its name in the contract: a host can have several variants installed."""
    config_sha256: str
    """Hash of the configuration file as rendered and validated."""
    running_config_sha256: str
    """Hash of the configuration as the running server reported it at deploy time."""
    config_file: str
    """Path of the rendered configuration on the host."""
    holds: str = ""
    """What it stores, in one word, such as ``leases``; empty where it stores nothing."""
    capabilities: tuple[str, ...] = ()
    """Optional operations of its contract: ``pair``, ``crash``, ``list``, ``reload``, and
    ``two-addresses``, to run beside another variant of the same kind on the same host."""
    load_apart: Mapping[str, Any] = field(default_factory=dict)
    """Settings of the load, over the scenario's own, so that of two servers that are up at once
    only this one receives it."""
    test_address: str = ""
    """Its address on the test network in the scenario's family: one of the host's."""
    commit: str | None = None
    package: str = ""
    """Distribution package and its version, empty for a built commit."""
    build: Mapping[str, Any] | None = None
    """The build of a commit: its source, options, compiler, artifact; None for a package."""
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
    """Durability that the lease backend guarantees, as its settings were read back.  Results
    older than this field are all of memfile with its file."""
    start_limit_s: float = START_LIMIT_S
    """Longest time its start may take (s); a server that first loads much data has a higher
    limit."""
    settle_s: float = 0.0
    """How long the servers of a pair may take to reach the requested state (s); 0 for a server
    without a partner."""
    tuning: Mapping[str, Any] = field(default_factory=dict)
    """Everything that can change a result, as verified on the host."""
    beside: Mapping[str, Any] = field(default_factory=dict)
    """Its companion services by name, such as its database: name, version, confinement and
    variables, as they were read back."""


@dataclass(frozen=True, slots=True)
class GeneratorTool:
    """The traffic generator as deployed."""

    name: str
    path: str
    version: str
    launcher: tuple[str, ...] = ()
    """Command prefix that launches it, such as one that gives perfdhcp a larger receive
    buffer."""
    threading: str = "multi"
    """perfdhcp's ``-g``: ``single`` suits one processor, ``multi`` more; empty for others."""
    environment: Mapping[str, str] = field(default_factory=dict)
    """Environment variables it runs with, such as allocator settings."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Its further settings, by the role's variable names without the prefix, such as
    ``clients``."""
    files: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Its input files by name, such as ``queries``: `path` on its host, `sha256`, and further
    facts from its role."""
    relays: tuple[str, ...] = ()
    """Addresses of its host that are the relays of DHCPv4 clients, as servers know them."""
    build: Mapping[str, Any] | None = None
    """The build of a commit, as `ServerUnderTest.build`; None for a packaged or installed
    generator."""


@dataclass(frozen=True, slots=True)
class Bench:
    """Everything a sweep needs to know; one ``bench.json``.

    In a result and in a journal, the access to its hosts is left out.
    """

    name: str
    inventory: str
    environment: str
    """Version of the lab's own state: a step of figures where it changes is due to the lab, not
    to the server."""
    hosts: Mapping[str, BenchHost]
    """By role: ``server``, ``generator`` and, where there is one, ``partner``."""
    servers: Mapping[str, ServerUnderTest]
    """By role: the server under test and, where the scenario has one, the service on the
    partner's host."""
    generator: GeneratorTool
    scenario: Scenario
    procedure: AnyProcedure = field(default_factory=MaxRate)
    distribution: str = ""
    """Distribution release of the servers' hosts, where one was chosen in the local lab; else
    its default."""

    @property
    def server(self) -> ServerUnderTest:
        """The server under test."""
        return self.servers[SERVER]

    @property
    def partner(self) -> ServerUnderTest | None:
        """The service on the partner's host; None without one."""
        return self.servers.get(PARTNER)

    def document(self) -> dict[str, Any]:
        """Return it as the JSON of ``bench.json``."""
        document: dict[str, Any] = msgspec.to_builtins(self)
        return {"schema_version": SCHEMA_VERSION, **document}
