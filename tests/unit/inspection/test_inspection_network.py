"""Findings on the networks: recorded facts, and copies with one fault each."""

import re
from dataclasses import replace
from pathlib import Path

import pytest
from tests.inventories import parsed
from tests.lab_reading import GENERATOR, PARTNER, SERVER, faults, interface, only_fault

from leaselab.lab.checks.contact import Contact
from leaselab.lab.checks.findings import CONTROLLER, Level
from leaselab.lab.checks.inspection import judge
from leaselab.lab.hosts.inventory import BUILDER_GROUP

MORE = re.compile(r" of \S+ and \d+ more")
"""The scenarios of a pool, of which there are more with each experiment."""


class TestInterface:
    @pytest.mark.parametrize("missing", ["198.18.0.10", "2001:2:0:1::10"])
    def test_a_missing_test_address_is_refused_with_what_is_there(
        self, inspect, server, missing
    ):
        wanted = ["198.18.0.10", "2001:2:0:1::10"]
        server["addresses"] = [e for e in server["addresses"] if e["address"] != missing]
        fault = only_fault(inspect())
        assert fault.check == "test interface"
        left = [f"{item} on eth1" for item in wanted if item != missing]
        second = ["198.18.0.11 on leaselab2", "2001:2:0:1::11 on leaselab2"]
        assert fault.found == ", ".join(["172.31.87.4 on eth0", *left, *second])
        assert fault.wanted == f"{' and '.join(wanted)} on one interface"

    def test_a_second_place_has_a_device_of_its_own_or_none_yet(self, inspect, server):
        """The recorded server has one, the recorded partner has none."""
        reported = [finding.found for finding in inspect() if finding.check == "test interface"]
        assert reported[:2] == [
            "eth1 with 198.18.0.10 and 2001:2:0:1::10,"
            " leaselab2 with 198.18.0.11 and 2001:2:0:1::11",
            "eth1 with 198.18.0.20 and 2001:2:0:1::20",
        ]
        for what in ("addresses", "routes"):
            server[what] = [row for row in server[what] if row["interface"] != "leaselab2"]
        assert faults(inspect()) == []

    @pytest.mark.parametrize(
        ("devices", "actual"),
        [
            (["eth1", "eth1"], "198.18.0.11 and 2001:2:0:1::11 on eth1"),
            (["leaselab2", "eth1"], "198.18.0.11 and 2001:2:0:1::11 on leaselab2 and eth1"),
            (["eth2", "eth3"], "198.18.0.11 and 2001:2:0:1::11 on eth2 and eth3"),
        ],
    )
    def test_a_second_place_that_is_not_one_device_beside_the_first_is_refused(
        self, inspect, server, devices, actual
    ):
        """As where an administrator gave the test interface these addresses."""
        for entry, device in zip(interface(server, "leaselab2"), devices, strict=True):
            entry["interface"] = device
        server["routes"] = [
            route for route in server["routes"] if route["interface"] != "leaselab2"
        ]
        fault = only_fault(inspect())
        assert (fault.check, fault.found) == ("test interface", actual)
        assert fault.wanted == "on one device beside eth1, or on none yet"

    def test_a_second_place_leads_to_nobody_else_either(self, inspect, server):
        entry = {"interface": "leaselab2", "address": "172.20.1.7", "prefix": 16}
        server["addresses"].append(entry)
        server["routes"].append({"destination": "0.0.0.0/1", "interface": "leaselab2"})
        fault = next(
            finding for finding in faults(inspect()) if finding.check == "test interface"
        )
        assert fault.found == (
            "leaselab2 carries the address 172.20.1.7/16, the route 0.0.0.0/1"
        )

    def test_test_addresses_on_two_interfaces_are_refused(self, inspect, server):
        interface(server, "eth1")[1]["interface"] = "eth2"
        assert "2001:2:0:1::10 on eth2" in only_fault(inspect()).found

    def test_an_inventory_without_test_addresses_is_reported_with_the_hosts(
        self, reading, contacts, scenarios
    ):
        listing = {
            "_meta": {"hostvars": {GENERATOR: {"leaselab_test_address": "none"}}},
            "dhcp_server": {"hosts": [SERVER]},
            "dhcp_generator": {"hosts": [GENERATOR]},
        }
        inventory = parsed(Path("/site/rack.yml"), listing)
        assert {f.found for f in faults(judge(inventory, reading, contacts, scenarios))} == {
            "leaselab_test_address is none and leaselab_test_address6 is not set",
            "leaselab_test_address is not set and leaselab_test_address6 is not set",
        }

    def test_a_host_without_iproute2_is_refused(self, inspect, server):
        server["tools"]["ip"] = False
        server["addresses"] = server["routes"] = []
        assert only_fault(inspect()).todo == "apt-get install iproute2"

    @pytest.mark.parametrize(
        ("routes", "actual"),
        [
            (["0.0.0.0/1", "128.0.0.0/1"], "the route 0.0.0.0/1, the route 128.0.0.0/1"),
            (["172.20.0.0/16"], "the route 172.20.0.0/16"),
            (["172.20.1.7"], "the route 172.20.1.7"),
            (["198.18.0.0/15"], "the route 198.18.0.0/15"),
            (["2000::/3"], "the route 2000::/3"),
        ],
    )
    def test_a_route_beyond_the_test_network_is_refused(self, inspect, server, routes, actual):
        server["routes"] += [{"destination": route, "interface": "eth1"} for route in routes]
        fault = next(
            finding for finding in faults(inspect()) if finding.check == "test interface"
        )
        assert fault.found == f"eth1 carries {actual}"

    @pytest.mark.parametrize(
        ("address", "prefix"), [("172.20.1.7", 16), ("198.18.0.12", 16), ("2001:db8::7", 64)]
    )
    def test_an_address_beyond_the_test_network_is_refused(
        self, inspect, server, address, prefix
    ):
        entry = {"interface": "eth1", "address": address, "prefix": prefix}
        server["addresses"].append(entry)
        fault = next(
            finding for finding in faults(inspect()) if finding.check == "test interface"
        )
        assert fault.found == f"eth1 carries the address {address}/{prefix}"
        assert fault.wanted == (
            "test traffic alone: addresses and routes of 198.18.0.0/24, 2001:2:0:1::/64"
            " and the link"
        )

    def test_what_every_link_has_is_no_fault(self, inspect, server):
        server["addresses"] += [
            {"interface": "eth1", "address": "169.254.7.7", "prefix": 16},
            {"interface": "eth1", "address": "fe80::7", "prefix": 64},
        ]
        server["routes"] += [
            {"destination": item, "interface": "eth1"}
            for item in ("169.254.0.0/16", "fe80::/64", "ff00::/8", "224.0.0.0/4", "198.18.0.9")
        ]
        assert faults(inspect()) == []

    def test_a_test_network_that_is_somebodys_is_refused(
        self, inventory, reading, contacts, scenarios
    ):
        hosts = tuple(
            replace(host, variables={**host.variables, "leaselab_test_subnet": "198.0.0.0/8"})
            for host in inventory.hosts
        )
        judgement = judge(replace(inventory, hosts=hosts), reading, contacts, scenarios)
        assert {fault.found for fault in faults(judgement)} == {
            "the inventory calls 198.0.0.0/8 the test network"
        }

    def test_an_inventory_without_a_test_network_is_reported(
        self, inventory, reading, contacts, scenarios
    ):
        without = ("leaselab_test_subnet", "leaselab_test_subnet6")
        hosts = tuple(
            replace(
                host,
                variables={
                    name: value for name, value in host.variables.items() if name not in without
                },
            )
            for host in inventory.hosts
        )
        judgement = judge(replace(inventory, hosts=hosts), reading, contacts, scenarios)
        (reported,) = {fault.found for fault in faults(judgement)}
        assert reported.startswith("leaselab_test_subnet or leaselab_test_subnet6 not set")

    def test_the_default_route_on_it_is_refused(self, inspect, server):
        server["routes"].append({"destination": "default", "interface": "eth1"})
        assert only_fault(inspect()).found == "eth1 carries the default route"

    def test_the_management_address_on_it_is_refused(self, inspect, contacts):
        contacts[SERVER] = Contact(management_address="198.18.0.10")
        assert only_fault(inspect()).found == "eth1 carries the management address 198.18.0.10"

    def test_the_address_that_the_reading_came_to_is_refused_on_it(self, inspect, server):
        server["management"] = "2001:2:0:1::10"
        assert only_fault(inspect()).found == (
            "eth1 carries the management address 2001:2:0:1::10"
        )

    def test_another_interface_into_the_test_network_is_refused(self, inspect, server):
        server["routes"].append({"destination": "198.18.0.0/15", "interface": "tun0"})
        assert only_fault(inspect()).found == (
            "test network 198.18.0.0/24 overlaps route 198.18.0.0/15 over tun0"
        )

    @pytest.mark.parametrize(
        ("change", "level"),
        [
            ({"state": "down"}, Level.ERROR),
            ({"state": "lowerlayerdown"}, Level.ERROR),
            ({"speed_mbps": 100}, Level.ERROR),
            ({"speed_mbps": 1000}, Level.OK),
            ({"speed_mbps": None}, Level.WARNING),
            ({"mtu": 1400}, Level.WARNING),
            ({"state": "unknown"}, Level.OK),
        ],
    )
    def test_its_link(self, inspect, server, change, level):
        server["links"]["eth1"] |= change
        finding = next(f for f in inspect() if (f.host, f.check) == (SERVER, "link"))
        assert finding.level is level
        assert bool(finding.todo) == (level is not Level.OK)

    def test_a_builder_needs_none(self, reading, contacts, scenarios):
        subnets = {
            "leaselab_test_subnet": "198.18.0.0/24",
            "leaselab_test_subnet6": "2001:2:0:1::/64",
        }
        variables = {
            SERVER: {
                **subnets,
                "leaselab_test_address": "198.18.0.10",
                "leaselab_test_address6": "2001:2:0:1::10",
                "leaselab_test_address_2": "198.18.0.11",
                "leaselab_test_address6_2": "2001:2:0:1::11",
            },
            GENERATOR: {
                **subnets,
                "leaselab_test_address": "198.18.0.30",
                "leaselab_test_address6": "2001:2:0:1::30",
            },
        }
        listing = {
            "_meta": {"hostvars": variables},
            "dhcp_server": {"hosts": [SERVER]},
            "dhcp_generator": {"hosts": [GENERATOR]},
            BUILDER_GROUP: {"hosts": [PARTNER]},
        }
        findings = judge(parsed(Path("/site/rack.yml"), listing), reading, contacts, scenarios)
        assert faults(findings) == []
        assert "link" not in {f.check for f in findings if f.host == PARTNER}


class TestAddresses:
    def test_the_relay_address_is_the_generators_on_the_servers_network(self, inspect):
        (relay,) = [f for f in inspect() if f.check == "relay address"]
        assert relay.found == "198.18.0.30, in 198.18.0.0/24 of leaselab-server"

    def test_a_relay_address_outside_of_it_is_refused(self, inspect, server):
        interface(server, "eth1")[0]["prefix"] = 28
        server["routes"] = [r for r in server["routes"] if r["interface"] != "eth1"]
        fault = only_fault(inspect())
        assert (fault.host, fault.check) == (GENERATOR, "relay address")
        assert fault.found == "198.18.0.30, not in 198.18.0.0/28 of leaselab-server"

    def test_a_pool_is_named_once_for_all_its_scenarios(self, inspect):
        pools = [f.found for f in inspect() if f.check == "pool"]
        assert [MORE.sub(" of SCENARIOS", pool) for pool in pools] == [
            "10.0.0.0/8 of SCENARIOS: free on 5 machines",
            "2001:2:0:100::/64 of SCENARIOS: free on 5 machines",
        ]

    def test_a_pool_that_holds_a_route_of_a_host_is_refused(self, inspect, server):
        server["routes"].append({"destination": "10.9.8.7", "interface": "wg0"})
        fault = only_fault(inspect())
        assert (fault.host, fault.check) == (SERVER, "pool")
        assert MORE.sub(" of SCENARIOS", fault.found) == (
            "10.0.0.0/8 of SCENARIOS overlaps route 10.9.8.7 over wg0"
        )

    def test_a_pool_inside_a_network_of_this_machine_is_refused(self, inspect, reading):
        here = reading["controller"]["probe"]
        here["addresses"].append(
            {"interface": "eth0", "address": "2001:2:0:100::2", "prefix": 48}
        )
        fault = only_fault(inspect())
        assert fault.host == CONTROLLER
        assert "overlaps address 2001:2:0:100::2/48 on eth0" in fault.found

    def test_a_route_to_everything_is_no_overlap_but_half_of_it_is(self, inspect, server):
        server["routes"].append({"destination": "0.0.0.0/1", "interface": "tun0"})
        assert "route 0.0.0.0/1 over tun0" in only_fault(inspect()).found

    def test_routes_of_this_machine_that_cannot_be_read_are_a_warning(self, inspect, reading):
        reading["controller"] = {"failed": True, "msg": "no"}
        findings = inspect()
        assert faults(findings) == []
        (warning,) = [f for f in faults(findings, Level.WARNING) if f.host == CONTROLLER]
        assert warning.todo == "apt-get install iproute2 on this machine"
