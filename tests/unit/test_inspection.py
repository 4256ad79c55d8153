"""What an inspection finds: facts recorded in the local lab, and copies with one fault each."""

import copy
import json
from pathlib import Path

import pytest

from leaselab.lab.catalog import load_scenarios
from leaselab.lab.contact import Contact
from leaselab.lab.findings import CONTROLLER, Finding, Level
from leaselab.lab.inspection import document, judge
from leaselab.lab.inventory import BUILDER_GROUP, parse_inventory, read_inventory
from leaselab.model.errors import LeaselabError, Outcome, lab_broken

ROOT = Path(__file__).parents[2]
RECORDED = json.loads((ROOT / "tests/data/lab_check/reading.json").read_text(encoding="utf-8"))
SERVER, PARTNER, GENERATOR = "leaselab-server", "leaselab-partner", "leaselab-generator"
MANAGEMENT = {SERVER: "172.31.87.4", PARTNER: "172.31.87.3", GENERATOR: "172.31.87.2"}
HOLDER = {"name": "ana@laptop", "purpose": "20261121T1", "age_s": 5.0, "expires_in_s": 60.0}


@pytest.fixture(scope="module")
def inventory():
    return read_inventory(ROOT / "inventory" / "docker")


@pytest.fixture(scope="module")
def scenarios():
    return load_scenarios(ROOT / "scenarios")


@pytest.fixture
def reading():
    return copy.deepcopy(RECORDED)


@pytest.fixture
def server(reading):
    """The server's recorded facts, to be altered."""
    return reading["hosts"][SERVER]["probe"]


@pytest.fixture
def generator(reading):
    return reading["hosts"][GENERATOR]["probe"]


@pytest.fixture
def contacts():
    return {
        name: Contact(clock_offset_s=0.02, clock_uncertainty_s=0.03, management_address=address)
        for name, address in MANAGEMENT.items()
    }


@pytest.fixture
def inspect(inventory, reading, contacts, scenarios):
    """Judges the reading as the test has left it."""
    return lambda: judge(inventory, reading, contacts, scenarios)


def faults(findings, level=Level.ERROR):
    return [finding for finding in findings if finding.level is level]


def only_fault(findings):
    (fault,) = faults(findings)
    assert fault.wanted
    assert fault.todo
    return fault


def interface(probe, name):
    return [entry for entry in probe["addresses"] if entry["interface"] == name]


def test_the_local_lab_has_no_errors_and_is_warned_of_for_what_it_is(inspect):
    findings = inspect()
    assert faults(findings) == []
    warnings = faults(findings, Level.WARNING)
    assert {(f.host, f.check) for f in warnings} == {
        (host, check) for host in MANAGEMENT for check in ("governor", "machine")
    }


def test_findings_come_in_the_order_of_the_hosts(inspect):
    hosts = list(dict.fromkeys(finding.host for finding in inspect()))
    assert hosts == [SERVER, PARTNER, GENERATOR, CONTROLLER]


@pytest.mark.parametrize(
    ("what", "check"),
    [
        ("cannot be reached at root@127.0.0.1:22041: refused", "ssh"),
        ("login as root@127.0.0.1:22041 refused: no", "ssh"),
        ("host key is not known", "host key"),
        ("host key has changed", "host key"),
    ],
)
def test_a_host_without_connection_is_one_finding_and_nothing_it_told_counts(
    inspect, contacts, server, what, check
):
    """Ansible may still have read it over a connection that it kept open."""
    server["free_mib"]["/var"] = 0
    error = lab_broken(what, where=SERVER, found="F", wanted="W", todo="T")
    contacts[SERVER] = Contact(error=error)
    findings = inspect()
    fault = only_fault(findings)
    assert (fault.host, fault.check, fault.wanted, fault.todo) == (SERVER, check, "W", "T")
    assert what in fault.found
    assert "root@127.0.0.1:22041" in fault.found
    assert [f for f in findings if f.host == SERVER] == [fault]
    assert len([f for f in findings if f.host == PARTNER]) > 10


def test_a_host_that_only_ansible_cannot_read_is_told_from_one_that_is_down(inspect, reading):
    reading["hosts"][PARTNER] = {"failed": True, "msg": "/usr/bin/python3:\n not found"}
    fault = only_fault(inspect())
    assert (fault.host, fault.check) == (PARTNER, "ansible")
    assert fault.found == "/usr/bin/python3: not found"


def test_a_login_that_is_not_root_is_refused(inspect, contacts):
    contacts[SERVER] = Contact(uid=1000, management_address=MANAGEMENT[SERVER])
    assert only_fault(inspect()).text == (
        "leaselab-server: login: error: root has uid 1000; wanted uid 0: the engine starts "
        "servers and opens raw sockets; set ansible_user to root and install the key there"
    )


def test_modules_without_privileges_are_refused(inspect, server):
    server["uid"] = 1000
    fault = only_fault(inspect())
    assert (fault.check, fault.found) == ("ansible", "modules run with uid 1000")


@pytest.mark.parametrize(
    ("release", "apt", "level"),
    [
        ("debian 13", True, Level.OK),
        ("debian 12", True, Level.OK),
        ("debian 11", True, Level.WARNING),
        ("debian ", True, Level.WARNING),
        ("ubuntu 24.04", True, Level.WARNING),
        ("fedora 43", False, Level.ERROR),
    ],
)
def test_systems_without_apt_are_refused_and_others_than_debian_warned_of(
    inspect, server, release, apt, level
):
    system, _, version = release.partition(" ")
    server["os"] = {"id": system, "version": version, "name": release}
    server["tools"]["apt"] = apt
    found = next(f for f in inspect() if (f.host, f.check) == (SERVER, "system"))
    assert found.level is level


def test_an_old_python_is_refused(inspect, server):
    server["python"] = "3.7.3"
    assert only_fault(inspect()).check == "python"


@pytest.mark.parametrize("state", ["installed", "candidate"])
def test_another_kea_than_wanted_is_refused_installed_or_not(inspect, server, state):
    server["versions"]["kea-dhcp6-server"] = {"installed": "", "candidate": "2.6.3"}
    server["versions"]["kea-dhcp6-server"][state] = "2.2.0-6"
    fault = only_fault(inspect())
    assert (fault.host, fault.check) == (SERVER, "kea")
    assert "kea-dhcp6-server 2.2.0-6" in fault.found
    assert fault.wanted == "version 2.6"


def test_a_version_is_compared_by_its_parts_not_its_letters(inspect, generator):
    generator["versions"]["kea-admin"]["installed"] = "2.60.1-1"
    assert only_fault(inspect()).check == "perfdhcp"


def test_a_package_that_apt_does_not_know_yet_is_a_warning(inspect, generator):
    generator["versions"] = {}
    findings = inspect()
    assert faults(findings) == []
    (warning,) = [f for f in faults(findings, Level.WARNING) if f.check == "perfdhcp"]
    assert warning.found == "kea-admin neither installed nor offered by apt"


@pytest.mark.parametrize(
    ("offset", "doubt", "refused"),
    [(1.02, 0.03, False), (1.2, 0.03, True), (-1.2, 0.03, True), (-3.0, 2.5, False)],
)
def test_a_clock_is_refused_only_when_surely_off(inspect, contacts, offset, doubt, refused):
    contacts[PARTNER] = Contact(
        clock_offset_s=offset,
        clock_uncertainty_s=doubt,
        management_address=MANAGEMENT[PARTNER],
    )
    found = [(f.host, f.check) for f in faults(inspect())]
    assert found == ([(PARTNER, "clock")] if refused else [])


@pytest.mark.parametrize(
    ("governors", "level", "found"),
    [
        ({"0": "performance"}, Level.OK, "performance on 1 processor"),
        (
            {"0": "performance", "1": "powersave"},
            Level.WARNING,
            "performance, powersave on 2 processors",
        ),
        ({"0": None, "1": None}, Level.WARNING, "none shown on 2 processors"),
    ],
)
def test_a_governor_never_fails(inspect, server, governors, level, found):
    server["governors"] = governors
    finding = next(f for f in inspect() if (f.host, f.check) == (SERVER, "governor"))
    assert (finding.level, finding.found) == (level, found)


@pytest.mark.parametrize(
    ("container", "hypervisor", "found"),
    [
        (True, True, "a container"),
        (False, True, "a virtual machine"),
        (False, False, "bare metal"),
    ],
)
def test_what_kind_of_machine_it_is(inspect, server, container, hypervisor, found):
    server |= {"container": container, "hypervisor": hypervisor}
    finding = next(f for f in inspect() if (f.host, f.check) == (SERVER, "machine"))
    assert finding.found == found
    assert (finding.level is Level.OK) == (found == "bare metal")


def test_little_memory_is_refused(inspect, server):
    server["memory_mib"] = 1023
    assert only_fault(inspect()).check == "memory"


SHM = "/dev/shm"  # noqa: S108  # a name to compare with, no file


@pytest.mark.parametrize("folder", ["/var", "/opt", SHM])
def test_a_full_disk_is_refused_where_it_is_needed(inspect, server, generator, folder):
    for probe in (server, generator):
        probe["free_mib"][folder] = 10
    fault = faults(inspect())
    # The server writes nothing to /dev/shm.
    hosts = [GENERATOR] if folder == SHM else [SERVER, GENERATOR]
    assert [f.host for f in fault] == hosts
    assert fault[0].found == f"10 MiB free below {folder}"


class TestLeftovers:
    @pytest.fixture
    def _kea(self, server):
        server["processes"] = [{"pid": 619, "name": "kea-dhcp4"}]
        server["listeners"] = [
            {"port": 67, "address": "198.18.0.10", "pid": 619, "name": "kea-dhcp4"}
        ]

    @pytest.mark.usefixtures("_kea")
    def test_a_running_server_is_refused_and_named_with_its_socket(self, inspect, server):
        server["deployed"] = None
        assert only_fault(inspect()).text == (
            "leaselab-server: leftovers: error: kea-dhcp4 (pid 619) on UDP 198.18.0.10 port 67;"
            " wanted no DHCP program running and UDP 67 and 547 free;"
            " stop its service, or kill 619"
        )

    @pytest.mark.usefixtures("_kea")
    def test_where_the_lab_deployed_one_its_own_stop_comes_first(self, inspect):
        assert only_fault(inspect()).todo.startswith("/opt/leaselab/server stop; ")

    @pytest.mark.usefixtures("_kea")
    def test_while_a_sweep_holds_the_bench_it_is_the_sweeps_own(self, inspect, contacts):
        contacts[GENERATOR] = Contact(management_address=MANAGEMENT[GENERATOR], holder=HOLDER)
        findings = inspect()
        assert faults(findings) == []
        (lock,) = [f for f in findings if f.check == "lock"]
        assert lock.level is Level.WARNING
        assert lock.found == "held by ana@laptop for 20261121T1"

    def test_a_port_that_is_taken_by_any_program_is_refused(self, inspect, generator):
        generator["listeners"] = [{"port": 547, "address": "::", "pid": None, "name": ""}]
        fault = only_fault(inspect())
        assert fault.found == "a program (pid not shown) on UDP :: port 547"
        assert fault.todo == "stop its service, or kill it"


class TestInterface:
    def test_a_missing_test_address_is_refused_with_what_is_there(self, inspect, server):
        server["addresses"] = [e for e in server["addresses"] if e["address"] != "198.18.0.10"]
        fault = only_fault(inspect())
        assert fault.check == "test interface"
        assert fault.found == "172.31.87.4 on eth0, 2001:2:0:1::10 on eth1"
        assert fault.wanted == "198.18.0.10 and 2001:2:0:1::10 on one interface"

    def test_test_addresses_on_two_interfaces_are_refused(self, inspect, server):
        interface(server, "eth1")[1]["interface"] = "eth2"
        assert "2001:2:0:1::10 on eth2" in only_fault(inspect()).found

    def test_an_inventory_without_test_addresses_is_told_which(
        self, reading, contacts, scenarios
    ):
        listing = {
            "_meta": {"hostvars": {GENERATOR: {"leaselab_test_address": "none"}}},
            "dhcp_server": {"hosts": [SERVER]},
            "dhcp_generator": {"hosts": [GENERATOR]},
        }
        inventory = parse_inventory(Path("/site/rack.yml"), listing)
        assert {f.found for f in faults(judge(inventory, reading, contacts, scenarios))} == {
            "leaselab_test_address and leaselab_test_address6 not set to an address"
        }

    def test_a_host_without_iproute2_is_refused(self, inspect, server):
        server["tools"]["ip"] = False
        server["addresses"] = server["routes"] = []
        assert only_fault(inspect()).todo == "apt-get install iproute2"

    def test_the_default_route_on_it_is_refused(self, inspect, server):
        server["routes"].append({"destination": "default", "interface": "eth1"})
        assert only_fault(inspect()).found == "eth1 carries the default route"

    def test_the_management_address_on_it_is_refused(self, inspect, contacts):
        contacts[SERVER] = Contact(management_address="198.18.0.10")
        assert only_fault(inspect()).found == "eth1 carries the management address 198.18.0.10"

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
        variables = {
            SERVER: {
                "leaselab_test_address": "198.18.0.10",
                "leaselab_test_address6": "2001:2:0:1::10",
            },
            GENERATOR: {
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
        findings = judge(
            parse_inventory(Path("/site/rack.yml"), listing), reading, contacts, scenarios
        )
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
        assert pools == [
            "10.0.0.0/8 of v4-memfile, v4-memfile-mt: free on 4 machines",
            "2001:2:0:100::/64 of v6-memfile, v6-memfile-mt: free on 4 machines",
        ]

    def test_a_pool_that_holds_a_route_of_a_host_is_refused(self, inspect, server):
        server["routes"].append({"destination": "10.9.8.7", "interface": "wg0"})
        fault = only_fault(inspect())
        assert (fault.host, fault.check) == (SERVER, "pool")
        assert fault.found == (
            "10.0.0.0/8 of v4-memfile, v4-memfile-mt overlaps route 10.9.8.7 over wg0"
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


def test_limits_of_another_shape_are_a_usage_error(inspect, reading):
    reading["wanted"]["memory_mib"] = "much"
    with pytest.raises(LeaselabError) as caught:
        inspect()
    assert caught.value.outcome is Outcome.USAGE
    assert "memory_mib" in str(caught.value)


def test_the_document_counts_and_only_errors_make_it_not_ok():
    warning = Finding("a", "link", Level.WARNING, "f", "w", "t")
    error = Finding("b", "clock", Level.ERROR, "f", "w", "t")
    told = document("rack1", [warning])
    assert (told["ok"], told["errors"], told["warnings"]) == (True, 0, 1)
    told = document("rack1", [warning, error])
    assert (told["ok"], told["errors"], told["warnings"]) == (False, 1, 1)
    assert told["findings"][1] == {
        "host": "b",
        "check": "clock",
        "level": "error",
        "found": "f",
        "wanted": "w",
        "todo": "t",
        "text": "b: clock: error: f; wanted w; t",
    }
