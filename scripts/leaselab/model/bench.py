"""Where it is measured: hosts, how to reach them, and what the roles verified there.

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
"""How long the start of a server may take that does not say so itself (s)."""


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

    @property
    def at(self) -> str:
        """Where it is reached, in words: ``user@address:port``."""
        return f"{self.user}@{self.address}:{self.port}"


NO_ACCESS = HostAccess("", "", "", "", "")
"""That of a host in a result, whose readers have no use for it."""


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
class SecondPlace:
    """Where a host has another variant of a server run beside the first."""

    interface: str
    """A device of its own on the test interface; the first deployment there makes it."""
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
    """Its second place on the test network; None where the inventory has none."""
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
    """By which the contract knows it: several lie side by side on a host."""
    config_sha256: str
    """Hash of the configuration file as rendered and validated."""
    running_config_sha256: str
    """Hash of the configuration as the running server reported it at deploy time."""
    config_file: str
    """Path of the rendered configuration on the host."""
    holds: str = ""
    """What it holds, in one word, such as ``leases``; empty where it holds nothing."""
    capabilities: tuple[str, ...] = ()
    """What it can do beyond starting, being sampled, reset and stopped: ``pair``, ``crash``,
    ``list``, ``reload``, and ``two-addresses``, to run beside another variant of its kind and
    host."""
    load_apart: Mapping[str, Any] = field(default_factory=dict)
    """What a load has to be, over the scenario's own, so that of two that are up at once only
    this one hears it."""
    test_address: str = ""
    """Its address on the test network in the scenario's family: one of the host's."""
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
    start_limit_s: float = START_LIMIT_S
    """How long its start may take (s); one that loads much first says more."""
    settle_s: float = 0.0
    """How long the servers of a pair may take to be in the state asked for (s); 0 for one
    that serves alone."""
    tuning: Mapping[str, Any] = field(default_factory=dict)
    """Everything that can move a result, as verified on the host."""
    beside: Mapping[str, Any] = field(default_factory=dict)
    """What serves beside it, by name, such as its database: name, version, confinement and
    variables, as they were read back."""


@dataclass(frozen=True, slots=True)
class GeneratorTool:
    """The traffic generator as deployed."""

    name: str
    path: str
    version: str
    launcher: tuple[str, ...] = ()
    """What runs it, before its path: perfdhcp with a larger receive buffer."""
    threading: str = "multi"
    """perfdhcp's ``-g``: ``single`` suits one processor, ``multi`` more; empty for others."""
    environment: Mapping[str, str] = field(default_factory=dict)
    """Environment variables it runs with, such as allocator settings."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """How else it is run, by the names of its role without the role's, such as ``clients``."""
    files: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """What it reads, by name, such as ``queries``: `path` on its host, `sha256`, and what its
    role knows of it."""
    relays: tuple[str, ...] = ()
    """Addresses of its host that are the relays of DHCPv4 clients, as servers know them."""
    build: Mapping[str, Any] | None = None
    """What is known of the build of a commit, as `ServerUnderTest.build`; None of what is
    packaged or installed."""


@dataclass(frozen=True, slots=True)
class Bench:
    """Everything a sweep needs to know; one ``bench.json``.

    In a result, and in a journal, it has no access to its hosts.
    """

    name: str
    inventory: str
    environment: str
    """Version of the lab's own state: a step at a change is the lab's, not the server's."""
    hosts: Mapping[str, BenchHost]
    """By role: ``server``, ``generator`` and, where there is one, ``partner``."""
    servers: Mapping[str, ServerUnderTest]
    """By role: the server under test and, where the scenario asks for it, what serves on the
    partner's host."""
    generator: GeneratorTool
    scenario: Scenario
    procedure: AnyProcedure = field(default_factory=MaxRate)
    distribution: str = ""
    """Release of what serves, where one was asked for of the local lab; else its own."""
    provenance: Mapping[str, Any] = field(default_factory=dict)

    @property
    def server(self) -> ServerUnderTest:
        """The server under test."""
        return self.servers[SERVER]

    @property
    def partner(self) -> ServerUnderTest | None:
        """What serves on the partner's host; None where nothing does."""
        return self.servers.get(PARTNER)

    def document(self) -> dict[str, Any]:
        """Return it as the JSON of ``bench.json``."""
        document: dict[str, Any] = msgspec.to_builtins(self)
        return {"schema_version": SCHEMA_VERSION, **document}
