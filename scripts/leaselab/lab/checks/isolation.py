"""Judges whether a test interface leads to no host but the bench's.  Pure.

A server under test answers any client.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from leaselab.lab.checks.findings import Finding, Level, Probe, error_unless
from leaselab.lab.hosts.inventory import InventoryHost

CHECK = "test interface"

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network

_EVERYWHERE = tuple(
    ipaddress.ip_network(one)
    for one in ("169.254.0.0/16", "224.0.0.0/4", "255.255.255.255/32", "fe80::/10", "ff00::/8")
)
"""Link-local and multicast: every interface has them, and they lead no further."""
_NOBODYS = tuple(
    ipaddress.ip_network(one)
    for one in (
        *("198.18.0.0/15", "2001:2::/48"),  # benchmarking: RFC 2544, RFC 5180
        *("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7"),  # RFC 1918, RFC 4193
    )
)


@dataclass(frozen=True, slots=True)
class TestNetwork:
    """A host's place on the test network, as the inventory says it; empty where it does not."""

    __test__ = False  # not pytest's

    address: str
    address6: str
    subnet: str
    subnet6: str
    others: Sequence[str] = ()
    """Those of the second place, for another variant of a server, where the inventory has them;
    it has a device of its own, which is made when something is first deployed there."""

    @classmethod
    def of(cls, host: InventoryHost) -> TestNetwork:
        """A host's."""
        subnet, subnet6 = (
            str(host.variables.get(name, ""))
            for name in ("leaselab_test_subnet", "leaselab_test_subnet6")
        )
        others = [
            str(host.variables[name])
            for name in ("leaselab_test_address_2", "leaselab_test_address6_2")
            if name in host.variables
        ]
        return cls(host.test_address, host.test_address6, subnet, subnet6, others)

    @property
    def addresses(self) -> tuple[str, ...]:
        """Its first addresses, which one interface has."""
        return self.address, self.address6

    @property
    def subnets(self) -> tuple[Network, ...]:
        """Both subnets; raises a `ValueError` where one is none."""
        return ipaddress.IPv4Network(self.subnet), ipaddress.IPv6Network(self.subnet6)


def check_isolation(
    name: str, network: TestNetwork, probe: Probe, management: Collection[str]
) -> Iterator[Finding]:
    """Judge the interface of host `name` that has its test addresses.

    `management` are the addresses by which it is reached for anything but tests.
    """
    if not probe["tools"]["ip"]:
        yield Finding(
            name,
            CHECK,
            Level.ERROR,
            "no program ip: addresses and routes cannot be read",
            "package iproute2",
            "apt-get install iproute2",
        )
        return
    problem = _unset(name, network) or _misplaced(name, network, probe)
    if problem is not None:
        yield problem
        return
    carried = [
        f"{interface} carries {', '.join(what)}"
        for interface in (*interfaces_of(network, probe), *second_interfaces_of(network, probe))
        if (
            what := [
                *_management(probe, management, interface),
                *_strangers(network.subnets, probe, interface),
            ]
        )
    ]
    yield error_unless(
        not carried,
        name,
        CHECK,
        ", ".join(carried) or _words(network, probe),
        wanted=f"test traffic alone: addresses and routes of {network.subnet},"
        f" {network.subnet6} and the link",
        todo="give the test network an interface of its own, and remove what else it has: a"
        " server under test must answer nobody else",
    )


def interfaces_of(network: TestNetwork, probe: Probe) -> list[str]:
    """Interfaces that have one of the host's first test addresses, without repeats."""
    return _with(network.addresses, probe)


def second_interfaces_of(network: TestNetwork, probe: Probe) -> list[str]:
    """Interfaces that have an address of the second place, without repeats."""
    return _with(network.others, probe)


def _with(addresses: Collection[str], probe: Probe) -> list[str]:
    wanted = {address_of(address) for address in addresses}
    return list(
        dict.fromkeys(
            entry["interface"]
            for entry in probe["addresses"]
            if address_of(entry["address"]) in wanted
        )
    )


def address_of(text: str) -> Address | None:
    """The address that a text is, None where it is none."""
    try:
        return ipaddress.ip_address(text)
    except ValueError:
        return None


def _unset(name: str, network: TestNetwork) -> Finding | None:
    """Return what the inventory does not say of the test network, or says wrongly."""
    unset = [
        f"{variable} is {value or 'not set'}"
        for variable, value in (
            ("leaselab_test_address", network.address),
            ("leaselab_test_address6", network.address6),
        )
        if address_of(value) is None
    ]
    if unset:
        return Finding(
            name,
            CHECK,
            Level.ERROR,
            " and ".join(unset),
            "an IPv4 and an IPv6 address of the test network",
            "set them in the inventory, as docs/reference/inventory.md shows",
        )
    try:
        subnets = network.subnets
    except ValueError as error:
        return Finding(
            name,
            CHECK,
            Level.ERROR,
            f"leaselab_test_subnet or leaselab_test_subnet6 not set to a network: {error}",
            "the IPv4 and the IPv6 network of the tests",
            "set both in the inventory, as docs/reference/inventory.md shows",
        )
    routed = [str(subnet) for subnet in subnets if not _within(subnet, _NOBODYS)]
    if routed:
        return Finding(
            name,
            CHECK,
            Level.ERROR,
            f"the inventory calls {' and '.join(routed)} the test network",
            "networks for tests: of 198.18.0.0/15 and 2001:2::/48, or private ones",
            "correct leaselab_test_subnet and leaselab_test_subnet6 in the inventory",
        )
    return None


def _misplaced(name: str, network: TestNetwork, probe: Probe) -> Finding | None:
    """Return what is wrong with where the test addresses are, None when nothing is."""
    places = {address_of(entry["address"]) for entry in probe["addresses"]}
    missing = [address for address in network.addresses if address_of(address) not in places]
    interfaces, second = interfaces_of(network, probe), second_interfaces_of(network, probe)
    if not missing and len(interfaces) == 1:
        if len(second) <= 1 and not {*interfaces} & {*second}:
            return None
        return Finding(
            name,
            CHECK,
            Level.ERROR,
            f"{' and '.join(network.others)} on {' and '.join(second)}",
            f"on one device beside {interfaces[0]}, or on none yet",
            "take them from there, and out of the host's network configuration: a deployment at"
            " the second place makes its device",
        )
    have = [
        f"{entry['address']} on {entry['interface']}"
        for entry in probe["addresses"]
        if entry["interface"] != "lo"
        and not ipaddress.ip_address(entry["address"]).is_link_local
    ]
    return Finding(
        name,
        CHECK,
        Level.ERROR,
        ", ".join(have) or "no addresses",
        f"{' and '.join(network.addresses)} on one interface",
        "give the interface both addresses, or correct leaselab_test_address and"
        " leaselab_test_address6 in the inventory",
    )


def _words(network: TestNetwork, probe: Probe) -> str:
    """Return which interfaces have which addresses, where all is well."""
    parts = [f"{interfaces_of(network, probe)[0]} with {' and '.join(network.addresses)}"]
    parts += [
        f"{interface} with {' and '.join(network.others)}"
        for interface in second_interfaces_of(network, probe)
    ]
    return ", ".join(parts)


def _management(probe: Probe, management: Collection[str], interface: str) -> Iterator[str]:
    """Yield the management addresses that the interface has."""
    known = {address_of(address) for address in management} - {None}
    for entry in probe["addresses"]:
        if entry["interface"] == interface and address_of(entry["address"]) in known:
            yield f"the management address {entry['address']}"


def _strangers(subnets: Collection[Network], probe: Probe, interface: str) -> Iterator[str]:
    """Yield addresses and routes of the interface that are not the test network's."""
    for entry in probe["addresses"]:
        place = ipaddress.ip_interface(f"{entry['address']}/{entry['prefix']}")
        if entry["interface"] == interface and not _within(
            place.network, (*subnets, *_EVERYWHERE)
        ):
            yield f"the address {place}"
    for route in probe["routes"]:
        if route["interface"] != interface:
            continue
        if route["destination"] == "default":
            yield "the default route"
        elif not _within(
            ipaddress.ip_network(route["destination"], strict=False), (*subnets, *_EVERYWHERE)
        ):
            yield f"the route {route['destination']}"


def _within(network: Network, others: Collection[Network]) -> bool:
    """Whether it is a part of one of the others."""
    return any(
        network.version == other.version and network.subnet_of(other)  # type: ignore[arg-type]  # of one version, as was asked
        for other in others
    )
