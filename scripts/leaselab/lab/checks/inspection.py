"""Inspects a bench: judges its networks, and puts together all that was read.  Pure."""

from __future__ import annotations

import ipaddress
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from leaselab.catalog.decoding import build
from leaselab.lab.checks.contact import Contact
from leaselab.lab.checks.findings import (
    CONTROLLER,
    Finding,
    Level,
    Probe,
    Wanted,
    error_unless,
    judged,
)
from leaselab.lab.checks.host import check_access, check_host, check_lock
from leaselab.lab.checks.isolation import (
    Network,
    TestNetwork,
    address_of,
    check_isolation,
    interfaces_of,
    second_interfaces_of,
)
from leaselab.lab.hosts.inventory import GENERATOR_GROUP, SERVER_GROUP, Inventory
from leaselab.model.scenario import Scenario
from leaselab.model.text import some_of


def judge(
    inventory: Inventory,
    reading: Mapping[str, Any],
    contacts: Mapping[str, Contact],
    scenarios: Mapping[str, Scenario],
) -> list[Finding]:
    """Return every finding, hosts in the inventory's order and the controller last.

    `reading` is what role lab_check hands over: `hosts` (by name what the
    module returned, with `probe` or with the `msg` of its failure), `wanted`
    (by name the fields of `Wanted`) and `controller` (the same of this machine
    as of a host).
    Raises a usage error for limits of another shape, and for a group with too
    many hosts.
    """
    generator, server = inventory.only(GENERATOR_GROUP), inventory.only(SERVER_GROUP)
    holder = contacts[generator.access.name].holder
    # What came from a host whose key is not the pinned one says nothing: Ansible may have
    # read it over a connection that was opened before.
    probes = {
        name: read["probe"]
        for name, read in reading["hosts"].items()
        if "probe" in read and contacts[name].error is None
    }
    used = {
        name
        for scenario in scenarios.values()
        for name in (scenario.server.kind, scenario.generator)
    }
    findings: list[Finding] = []
    for host in inventory.hosts:
        name = host.access.name
        contact = contacts[name]
        findings += check_access(host, contact, reading["hosts"].get(name, {}))
        if name in probes:
            wanted = build(Wanted, reading["wanted"][name], f"role lab_check, host {name}")
            findings += check_host(
                host, probes[name], contact, wanted, used=used, held=holder is not None
            )
            if not host.only_builds:  # such a one is not on the test network
                management = (
                    *(contact.management_address, host.access.address),
                    probes[name]["management"],
                )
                network = TestNetwork.of(host)
                findings += _interface(
                    name, network, probes[name], management, wanted.link_mbps
                )
        if host is generator and contact.error is None:
            findings.append(check_lock(host, holder, contact.maintenance))
    ends = [(host.access.name, TestNetwork.of(host)) for host in (generator, server)]
    findings += _relay(ends[0], ends[1], probes)
    machines = dict(probes)
    if "probe" in reading["controller"] and reading["controller"]["probe"]["tools"]["ip"]:
        machines[CONTROLLER] = reading["controller"]["probe"]
    else:
        findings.append(
            Finding(
                CONTROLLER,
                "pool",
                Level.WARNING,
                "this machine's routes cannot be read",
                "that no pool overlaps them",
                "apt-get install iproute2 on this machine",
            )
        )
    findings += _pools(_pools_of(scenarios), machines)
    order = [*(host.access.name for host in inventory.hosts), CONTROLLER]
    return sorted(findings, key=lambda finding: order.index(finding.host))


def document(bench: str, findings: Sequence[Finding]) -> dict[str, Any]:
    """Return the findings as ``leaselab lab check --json`` prints them."""
    levels = [finding.level for finding in findings]
    return {
        "bench": bench,
        "ok": Level.ERROR not in levels,
        "errors": levels.count(Level.ERROR),
        "warnings": levels.count(Level.WARNING),
        "findings": [finding.document() for finding in findings],
    }


def judge_networks(
    hosts: Mapping[str, Mapping[str, Any]], subnets: Collection[str]
) -> list[Finding]:
    """Judge by what entry point `networks` of role lab_check read whether this may measure.

    The playbooks `provision` and `deploy`, and so every `run`, go on by this alone; it is what
    `judge` says of the networks.  By host: `network` (the fields of `TestNetwork`), `address`
    (by which Ansible reaches it), `probe`, `link_mbps` (least speed) and `generates`.
    `subnets` are those of the scenario's pools.  Raises a `KeyError`, `TypeError` or
    `ValueError` for anything else.
    """
    probes = {name: read["probe"] for name, read in hosts.items()}
    networks = {name: TestNetwork(**read["network"]) for name, read in hosts.items()}
    findings: list[Finding] = []
    for name, read in hosts.items():
        management = (read["address"], read["probe"]["management"])
        findings += _interface(
            name, networks[name], probes[name], management, read["link_mbps"]
        )
    generators = [name for name, read in hosts.items() if read["generates"]]
    for generator in generators:
        for name in hosts:
            if name not in generators:
                findings += _relay(
                    (generator, networks[generator]), (name, networks[name]), probes
                )
    pools = {subnet: f"{subnet} of the scenario" for subnet in subnets}
    return findings + [found for found in _pools(pools, probes) if found.level is Level.ERROR]


_MTU_MIN = 1500
_UP = ("up", "unknown")  # a virtual link often does not say


def _interface(
    name: str,
    network: TestNetwork,
    probe: Probe,
    management: Collection[str],
    link_mbps: int,
) -> Iterator[Finding]:
    """Judge the interface that carries a host's test traffic.

    `management` are the addresses by which it is reached for anything but tests.
    """
    yield from check_isolation(name, network, probe, management)
    interfaces = interfaces_of(network, probe)
    if len(interfaces) != 1:
        return
    (interface,) = interfaces
    yield from _shadows(name, probe, interface, second_interfaces_of(network, probe))
    if interface in probe["links"]:
        yield _link(name, interface, probe["links"][interface], link_mbps)


def _shadows(
    name: str, probe: Probe, interface: str, second: Collection[str]
) -> Iterator[Finding]:
    """Judge whether another interface leads to the test network too; yields only faults.

    The device of a second place does, and has to.
    """
    networks = {
        ipaddress.ip_interface(f"{entry['address']}/{entry['prefix']}").network: None
        for entry in probe["addresses"]
        if entry["interface"] == interface
    }
    for network in networks:
        if network.is_link_local:
            continue
        uses = _uses(probe, but=(interface, *second))
        rivals = [use for use, other in uses if _overlap(network, other)]
        if rivals:
            yield Finding(
                name,
                "test interface",
                Level.ERROR,
                f"test network {network} overlaps {', '.join(rivals)}",
                "no other way to the test network",
                "choose another test network, or remove the route",
            )


def _link(name: str, interface: str, link: Mapping[str, Any], link_mbps: int) -> Finding:
    speed = link["speed_mbps"]
    kind = "virtual, " if link["virtual"] else ""
    rate = f"{speed} Mbit/s" if speed else "speed unknown"
    found = f"{interface} {link['state']}, {kind}{rate}, MTU {link['mtu']}"
    level: Level | None = None
    todo = "a figure near the link's limit is the link's, not the server's"
    if link["state"] not in _UP:
        level, todo = Level.ERROR, f"ip link set {interface} up, or look at the cable"
    elif speed and speed < link_mbps:
        level, todo = (
            Level.ERROR,
            "look at cable, switch and ethtool, or set lab_check_link_mbps",
        )
    elif link["mtu"] < _MTU_MIN:
        level, todo = Level.WARNING, f"ip link set {interface} mtu {_MTU_MIN}"
    elif not speed:
        level = Level.WARNING
    return judged(
        name,
        "link",
        found,
        wanted=f"up, {link_mbps} Mbit/s or more, MTU {_MTU_MIN}",
        todo=todo,
        level=level,
    )


def _relay(
    generator: tuple[str, TestNetwork],
    server: tuple[str, TestNetwork],
    probes: Mapping[str, Probe],
) -> Iterator[Finding]:
    """Judge the relay address of v4 clients: the generator's, within the server's reach.

    Hosts that were not read or have no test interface are skipped: they have
    findings of their own.
    """
    relay = address_of(generator[1].address)
    if relay is None or generator[0] not in probes:
        return
    here = {address_of(entry["address"]) for entry in probes[generator[0]]["addresses"]}
    networks = [
        ipaddress.ip_interface(f"{entry['address']}/{entry['prefix']}").network
        for entry in probes.get(server[0], {"addresses": ()})["addresses"]
        if address_of(entry["address"]) == address_of(server[1].address)
    ]
    if relay not in here or not networks:
        return
    yield error_unless(
        relay in networks[0],
        generator[0],
        "relay address",
        f"{relay}, {'in' if relay in networks[0] else 'not in'} {networks[0]} of {server[0]}",
        wanted="an address of the generator on the server's test network",
        todo="give both hosts addresses of one test network",
    )


def _pools_of(scenarios: Mapping[str, Scenario]) -> dict[str, str]:
    """Return every pool's subnet, and in words which scenarios it is of."""
    subnets: dict[str, list[str]] = {}
    for scenario in scenarios.values():
        if "subnet" in scenario.load:
            subnets.setdefault(scenario.load["subnet"], []).append(scenario.name)
    return {subnet: f"{subnet} of {some_of(names, 1)}" for subnet, names in subnets.items()}


def _pools(pools: Mapping[str, str], probes: Mapping[str, Probe]) -> Iterator[Finding]:
    """Judge every pool's subnet against the addresses and routes of every machine.

    `pools` are their words by subnet; `probes` may hold the controller's.  One finding per
    subnet that is free of all, else one per machine that it overlaps.
    """
    for subnet, pool in pools.items():
        network = ipaddress.ip_network(subnet)
        clashes = {
            host: [use for use, other in _uses(probe) if _overlap(network, other)]
            for host, probe in probes.items()
        }
        if not any(clashes.values()):
            machines = len(probes)
            yield Finding(
                CONTROLLER,
                "pool",
                Level.OK,
                f"{pool}: free on {machines} machine{'s' if machines != 1 else ''}",
            )
        for host, uses in clashes.items():
            if uses:
                yield Finding(
                    host,
                    "pool",
                    Level.ERROR,
                    f"{pool} overlaps {', '.join(uses)}",
                    "no address and no route of a machine in it",
                    "give the scenario another pool, or the network other addresses",
                )


def _uses(probe: Probe, but: Collection[str] = ()) -> Iterator[tuple[str, Network]]:
    """Yield each network a machine has a use for, and which; not over the interfaces `but`."""
    seen: set[Network] = set()
    for route in probe["routes"]:
        if route["destination"] == "default" or route["interface"] in ("lo", *but):
            continue
        network = ipaddress.ip_network(route["destination"], strict=False)
        seen.add(network)
        if not network.is_link_local and not network.is_multicast:
            yield f"route {route['destination']} over {route['interface']}", network
    for entry in probe["addresses"]:
        place = ipaddress.ip_interface(f"{entry['address']}/{entry['prefix']}")
        if entry["interface"] in ("lo", *but) or place.is_link_local or place.network in seen:
            continue
        yield f"address {place} on {entry['interface']}", place.network


def _overlap(one: Network, other: Network) -> bool:
    return one.version == other.version and one.overlaps(other)
