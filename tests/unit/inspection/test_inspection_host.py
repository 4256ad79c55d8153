"""Findings on each host by itself: recorded facts, and copies with one fault each."""

import pytest
from tests.lab_reading import (
    BUILDER,
    GENERATOR,
    HOLDER,
    MANAGEMENT,
    PARTNER,
    SERVER,
    faults,
    only_fault,
)

from leaselab.lab.checks.contact import Contact
from leaselab.lab.checks.findings import CONTROLLER, Finding, Level
from leaselab.lab.checks.inspection import document, judge
from leaselab.model.errors import LeaselabError, Outcome, lab_broken


def test_the_local_lab_has_no_errors_and_is_warned_of_for_what_it_is(inspect):
    findings = inspect()
    assert faults(findings) == []
    warnings = faults(findings, Level.WARNING)
    assert {(f.host, f.check) for f in warnings} == {
        (host, check)
        for host in (SERVER, PARTNER, GENERATOR)
        for check in ("governor", "machine")
    }


def test_findings_come_in_the_order_of_the_hosts(inspect):
    hosts = list(dict.fromkeys(finding.host for finding in inspect()))
    assert hosts == [SERVER, PARTNER, GENERATOR, BUILDER, CONTROLLER]


@pytest.mark.parametrize(
    ("what", "check"),
    [
        ("cannot be reached at root@127.0.0.1:22041: refused", "ssh"),
        ("login as root@127.0.0.1:22041 refused: no", "ssh"),
        ("host key is not known", "host key"),
        ("host key has changed", "host key"),
        ("jump host gate: host key has changed", "host key"),
        ("sudo refuses operator: a password is required", "sudo"),
    ],
)
def test_a_host_without_connection_is_one_finding_and_nothing_it_reported_counts(
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


def test_a_host_that_only_ansible_cannot_read_is_distinguished_from_one_that_is_down(
    inspect, reading
):
    reading["hosts"][PARTNER] = {"failed": True, "msg": "/usr/bin/python3:\n not found"}
    fault = only_fault(inspect())
    assert (fault.host, fault.check) == (PARTNER, "ansible")
    assert fault.found == "/usr/bin/python3: not found"


def test_a_login_that_is_not_root_is_refused(inspect, contacts):
    contacts[SERVER] = Contact(uid=1000, management_address=MANAGEMENT[SERVER])
    assert only_fault(inspect()).text == (
        "leaselab-server: login: error: root has uid 1000; wanted uid 0: the engine starts "
        "servers and opens raw sockets; set ansible_user to root and install the key there, or "
        "set ansible_become for a user with sudo"
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
        ("ubuntu 24.04", True, Level.OK),
        ("debian 11", True, Level.WARNING),
        ("debian 14", True, Level.WARNING),
        ("debian ", True, Level.WARNING),
        ("ubuntu 24.10", True, Level.WARNING),
        ("fedora 43", False, Level.ERROR),
    ],
)
def test_systems_without_apt_are_refused_and_others_than_the_supported_warned_of(
    inspect, server, release, apt, level
):
    system, _, version = release.partition(" ")
    server["os"] = {"id": system, "version": version, "name": release}
    server["tools"]["apt"] = apt
    result = next(f for f in inspect() if (f.host, f.check) == (SERVER, "system"))
    assert result.level is level


@pytest.mark.parametrize(
    ("release", "has"),
    [("debian 12", "2.2.0-6"), ("debian 13", "2.6.3-1"), ("ubuntu 24.04", "2.4.1-3build3")],
)
def test_what_a_supported_release_has_is_what_is_wanted_there(
    inspect, server, generator, release, has
):
    """Accepted by `check` is accepted by the roles."""
    system, _, number = release.partition(" ")
    for probe in (server, generator):
        probe["os"] = {"id": system, "version": number, "name": release}
        for version in probe["versions"].values():
            version |= {"installed": "", "candidate": has}
    assert faults(inspect()) == []
    server["versions"]["kea-dhcp4-server"] = {"installed": "1.9.0-1", "candidate": has}
    fault = only_fault(inspect())
    assert (fault.check, fault.wanted) == ("kea", f"version {has[:3]}")


def test_a_release_without_a_known_kea_is_refused_until_the_inventory_names_one(
    inspect, reading, server
):
    server["os"] = {"id": "debian", "version": "14", "name": "Debian 14"}
    assert {(f.host, f.check, f.wanted) for f in faults(inspect())} == {
        (SERVER, "kea", "a version that is known for this release")
    }
    reading["wanted"][SERVER]["packages"]["kea"]["version"] = "2.6"
    assert faults(inspect()) == []


def test_iscs_packages_are_looked_for_where_they_are_wanted(inspect, reading, server):
    reading["wanted"][SERVER]["packages"]["kea"]["whose"] = "isc"
    (warning,) = {f.found for f in inspect() if (f.host, f.check) == (SERVER, "kea")} - {
        "isc-kea-dhcp6 neither installed nor offered by apt"
    }
    assert warning == "isc-kea-dhcp4 neither installed nor offered by apt"
    server["versions"]["isc-kea-dhcp4"] = {"installed": "", "candidate": "2.6.4-isc20250728"}
    fault = only_fault(inspect())
    assert (fault.found, fault.wanted) == (
        "isc-kea-dhcp4 2.6.4-isc20250728 to be installed",
        "version 3.0",
    )


def test_packages_are_looked_for_where_a_scenario_asks_for_their_server(
    inventory, reading, contacts, scenarios
):
    """Also where it is not there: another server needs none of them."""

    def tools(name):
        judgement = judge(inventory, reading, contacts, {name: scenarios[name]})
        return {(f.host, f.check) for f in judgement} & {
            (host, tool) for host in (SERVER, GENERATOR) for tool in ("kea", "perfdhcp")
        }

    assert tools("v4-memfile") == {(SERVER, "kea"), (GENERATOR, "perfdhcp")}
    assert tools("v4-dnsmasq") == {(GENERATOR, "perfdhcp")}


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
    results = [(f.host, f.check) for f in faults(inspect())]
    assert results == ([(PARTNER, "clock")] if refused else [])


@pytest.mark.parametrize(
    ("governors", "level", "actual"),
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
def test_a_governor_never_fails(inspect, server, governors, level, actual):
    server["governors"] = governors
    finding = next(f for f in inspect() if (f.host, f.check) == (SERVER, "governor"))
    assert (finding.level, finding.found) == (level, actual)


@pytest.mark.parametrize(
    ("container", "hypervisor", "actual"),
    [
        (True, True, "a container"),
        (False, True, "a virtual machine"),
        (False, False, "bare metal"),
    ],
)
def test_what_kind_of_machine_it_is(inspect, server, container, hypervisor, actual):
    server |= {"container": container, "hypervisor": hypervisor}
    finding = next(f for f in inspect() if (f.host, f.check) == (SERVER, "machine"))
    assert finding.found == actual
    assert (finding.level is Level.OK) == (actual == "bare metal")


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
        server["deployed"] = []
        assert only_fault(inspect()).text == (
            "leaselab-server: leftovers: error: kea-dhcp4 (pid 619) on UDP 198.18.0.10 port 67;"
            " wanted no server or database running, and the ports of servers free;"
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


class TestAppArmor:
    """What confines servers, and whether they may use the lab's files."""

    @pytest.fixture
    def confined(self, server):
        """A host that enforces the profiles of Kea's packages; the lab's Kea is deployed."""
        server["apparmor"] = {
            "enforced": ["chronyd", "kea-dhcp4", "kea-dhcp6"],
            "parser": True,
            "added": ["kea-dhcp4", "kea-lfc"],
        }
        server["deployed"][0]["program"] = "/usr/sbin/kea-dhcp4"
        return server

    @staticmethod
    def confinement(findings):
        (finding,) = [finding for finding in findings if finding.check == "apparmor"]
        return finding

    def test_a_host_without_it_has_nothing_to_report(self, inspect):
        assert [finding for finding in inspect() if finding.check == "apparmor"] == []

    def test_a_host_that_confines_no_server_is_fine(self, inspect, confined):
        confined["apparmor"]["enforced"] = ["chronyd"]
        assert self.confinement(inspect()).found == "confines no server"

    @pytest.mark.usefixtures("confined")
    def test_a_server_with_its_additions_is_fine(self, inspect):
        finding = self.confinement(inspect())
        assert (finding.level, finding.found) == (Level.OK, "confines kea-dhcp4, kea-dhcp6")

    def test_a_deployed_server_without_its_additions_is_to_be_deployed_again(
        self, inspect, confined
    ):
        confined["apparmor"]["added"] = []
        finding = self.confinement(inspect())
        assert finding.level is Level.WARNING
        assert finding.found.endswith("without the lab's files: kea-dhcp4")
        assert "deploy again" in finding.todo

    def test_so_is_a_confined_database_of_what_is_deployed(self, inspect, confined):
        confined["apparmor"]["enforced"] = ["/usr/sbin/mysqld"]
        assert self.confinement(inspect()).level is Level.OK
        confined["deployed"][0]["tuning"] = {"backend": "mysql"}
        assert self.confinement(inspect()).found.endswith("lab's files: /usr/sbin/mysqld")

    @pytest.mark.parametrize(
        "deployed", [[], [{"program": "/opt/leaselab/builds/0a1b/sbin/kea-dhcp4"}]]
    )
    def test_a_commit_and_what_is_not_deployed_need_none(self, inspect, confined, deployed):
        confined["apparmor"]["added"] = []
        confined["deployed"] = deployed
        assert self.confinement(inspect()).level is Level.OK

    def test_a_profile_that_cannot_be_changed_is_refused(self, inspect, confined):
        confined["apparmor"]["parser"] = False
        fault = only_fault(inspect())
        assert fault.found == "confines kea-dhcp4, kea-dhcp6; no apparmor_parser"
        assert fault.todo == "apt-get install apparmor"


def test_a_host_may_have_limits_of_its_own(inspect, reading):
    reading["wanted"][PARTNER]["packages"]["kea"]["version"] = "2.9"
    assert {(f.host, f.wanted) for f in faults(inspect())} == {(PARTNER, "version 2.9")}


def test_limits_of_another_shape_are_a_usage_error(inspect, reading):
    reading["wanted"][SERVER]["memory_mib"] = "much"
    with pytest.raises(LeaselabError) as caught:
        inspect()
    assert caught.value.outcome is Outcome.USAGE
    assert "memory_mib" in str(caught.value)


def test_the_document_counts_and_only_errors_make_it_not_ok():
    warning = Finding("a", "link", Level.WARNING, "f", "w", "t")
    error = Finding("b", "clock", Level.ERROR, "f", "w", "t")
    report = document("rack1", [warning])
    assert (report["ok"], report["errors"], report["warnings"]) == (True, 0, 1)
    report = document("rack1", [warning, error])
    assert (report["ok"], report["errors"], report["warnings"]) == (False, 1, 1)
    assert report["findings"][1] == {
        "host": "b",
        "check": "clock",
        "level": "error",
        "found": "f",
        "wanted": "w",
        "todo": "t",
        "text": "b: clock: error: f; wanted w; t",
    }
