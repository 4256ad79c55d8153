"""Findings on hosts and networks: facts that were recorded, and copies with one fault each."""

import copy
from dataclasses import replace
from functools import cache

import pytest
from tests.inventories import local_lab
from tests.lab_reading import (
    BUILDER,
    GENERATOR,
    HOLDER,
    MANAGEMENT,
    PARTNER,
    RECORDED,
    ROOT,
    SERVER,
    faults,
    interface,
    only_fault,
)

from leaselab.catalog.catalogue import Catalogue, measured_by
from leaselab.lab.checks.contact import Contact
from leaselab.lab.checks.findings import CONTROLLER, Level
from leaselab.lab.checks.inspection import document, judge
from leaselab.model.errors import LeaselabError, Outcome, lab_broken

OK, WARNING, ERROR = Level.OK, Level.WARNING, Level.ERROR
DNS = {"bind9", "knot", "nsd", "pdns_recursor", "powerdns", "responder", "unbound", "yadifa"}
SUBNETS = ("leaselab_test_subnet", "leaselab_test_subnet6")
RELEASES = {"debian 12": "2.2.0-6", "debian 13": "2.6.3-1", "ubuntu 24.04": "2.4.1-3build3"}
SHM = "/dev/shm"  # noqa: S108  # a name to compare with, no file


@cache
def scenarios():
    """Those of DHCP by perfdhcp: a generator that is a package, as servers are."""
    return {
        name: measured_by(scenario, None if scenario.server.kind in DNS else "perfdhcp")
        for name, scenario in Catalogue(ROOT).scenarios.items()
    }


class Lab:
    """A recorded reading of the local lab, to be altered."""

    def __init__(self):
        self.inventory, self.reading = local_lab(), copy.deepcopy(RECORDED)
        self.hosts = {name: host.get("probe") for name, host in self.reading["hosts"].items()}
        self.server, self.generator = self.hosts[SERVER], self.hosts[GENERATOR]
        self.here = self.reading["controller"]["probe"]
        self.wanted = self.reading["wanted"]
        self.contacts = {}
        for name in MANAGEMENT:
            self.contact(name, clock_offset_s=0.02, clock_uncertainty_s=0.03)

    def contact(self, name, **facts):
        address = facts.pop("management_address", MANAGEMENT[name])
        self.contacts[name] = Contact(**{"management_address": address, **facts})

    def kea(self, package="kea-dhcp6-server", **versions):
        self.server["versions"][package] = {"installed": "", "candidate": "", **versions}

    def route(self, destination, device="eth1", host=None):
        row = {"destination": destination, "interface": device}
        (host or self.server)["routes"].append(row)

    def address(self, address, prefix, device="eth1", host=None):
        row = {"interface": device, "address": address, "prefix": prefix}
        (host or self.server)["addresses"].append(row)

    def drop(self, rows, **what):
        """Take away the rows of the server that say this."""
        kept = [row for row in self.server[rows] if not what.items() <= row.items()]
        self.server[rows] = kept

    def second(self, *devices):
        for row, device in zip(interface(self.server, "leaselab2"), devices, strict=True):
            row["interface"] = device
        self.drop("routes", interface="leaselab2")

    def variables(self, **changes):
        """Change variables of all hosts; an empty text is as good as none."""
        hosts = (replace(h, variables=h.variables | changes) for h in self.inventory.hosts)
        self.inventory = replace(self.inventory, hosts=tuple(hosts))

    def running(self, *, deployed):
        self.server["processes"] = [{"pid": 619, "name": "kea-dhcp4"}]
        where = {"port": 67, "address": "198.18.0.10"}
        self.server["listeners"] = [{**where, "pid": 619, "name": "kea-dhcp4"}]
        if not deployed:
            self.server["deployed"] = []

    def confined(self, **changes):
        """As where the profiles of Kea's packages are enforced, and the lab's is deployed."""
        enforced = ["chronyd", "kea-dhcp4", "kea-dhcp6"]
        known = {"enforced": enforced, "parser": True, "added": ["kea-dhcp4", "kea-lfc"]}
        self.server["apparmor"] = {**known, **changes}
        self.server["deployed"][0]["program"] = "/usr/sbin/kea-dhcp4"

    def judge(self, only=None):
        asked = {only: scenarios()[only]} if only else scenarios()
        return judge(self.inventory, self.reading, self.contacts, asked)

    def finding(self, check, host=SERVER):
        return next(f for f in self.judge() if (f.host, f.check) == (host, check))


@pytest.fixture
def lab():
    return Lab()


def unreached(what):
    error = lab_broken(what, where=SERVER, found="F", wanted="W", todo="T")
    return lambda lab: lab.contact(SERVER, error=error)


def field(name, value, host="server"):
    return lambda lab: getattr(lab, host).update({name: value})


def made(act, *given, **facts):
    return lambda lab: getattr(lab, act)(*given, **facts)


def nested(*keys, host="server", **facts):
    def alter(lab):
        part = getattr(lab, host)
        for key in keys:
            part = part[key]
        part.update(facts)

    return alter


NETWORK = "test interface"


FAULTS = {
    "no answer": (unreached("cannot be reached at x: refused"), "ssh", "127.0.0.1:22041"),
    "no login": (unreached("login as x refused: no"), "ssh", "login as x"),
    "host key": (unreached("host key is not known"), "host key", "not known"),
    "another key": (unreached("host key has changed"), "host key", "has changed"),
    "key of a jump host": (unreached("jump host gate: host key has"), "host key", "gate"),
    "sudo": (unreached("sudo refuses operator: a password"), "sudo", "operator"),
    "no root": (made("contact", SERVER, uid=1000), "login", "uid 1000"),
    "modules without root": (field("uid", 1000), "ansible", "uid 1000"),
    "old Python": (field("python", "3.7.3"), "python", "3.7.3"),
    "another Kea": (made("kea", installed="2.2.0-6"), "kea", "server 2.2.0-6"),
    "another Kea to come": (made("kea", candidate="2.2.0-6"), "kea", "server 2.2.0-6"),
    "little memory": (field("memory_mib", 1023), "memory", "1023"),
    "a server": (made("running", deployed=False), "leftovers", "kea-dhcp4 (pid 619)"),
    "a parser for AppArmor": (made("confined", parser=False), "apparmor", "no apparmor_parser"),
    "no IPv4 address": (
        made("drop", "addresses", address="198.18.0.10"),
        *(NETWORK, "2001:2:0:1::10 on eth1"),
    ),
    "no IPv6 address": (
        made("drop", "addresses", address="2001:2:0:1::10"),
        *(NETWORK, "172.31.87.4 on eth0, 198.18.0.10 on eth1"),
    ),
    "addresses apart": (
        lambda lab: interface(lab.server, "eth1")[1].update(interface="eth2"),
        *(NETWORK, "2001:2:0:1::10 on eth2"),
    ),
    **{
        f"second place on {on}": (made("second", *devices), NETWORK, f"2001:2:0:1::11 on {on}")
        for devices, on in (
            (("eth1", "eth1"), "eth1"),
            (("leaselab2", "eth1"), "leaselab2 and eth1"),
            (("eth2", "eth3"), "eth2 and eth3"),
        )
    },
    "default route": (made("route", "default"), NETWORK, "eth1 carries the default route"),
    "management": (
        made("contact", SERVER, management_address="198.18.0.10"),
        *(NETWORK, "management address 198.18.0.10"),
    ),
    "management of the reading": (
        field("management", "2001:2:0:1::10"),
        *(NETWORK, "management address 2001:2:0:1::10"),
    ),
    "a tunnel": (made("route", "198.18.0.0/15", "tun0"), NETWORK, "198.18.0.0/15 over tun0"),
    "a route in a pool": (made("route", "10.9.8.7", "wg0"), "pool", "route 10.9.8.7 over wg0"),
    "half of everything": (made("route", "0.0.0.0/1", "tun0"), "pool", "over tun0"),
}
"""What is altered at the server, the check that fails, and a fact that it names."""


@pytest.mark.parametrize("fault", FAULTS)
def test_one_fault_is_one_finding_at_its_host(lab, fault):
    alter, check, fact = FAULTS[fault]
    alter(lab)
    findings = lab.judge()
    finding, report = only_fault(findings), document("rack1", findings)
    assert (finding.host, finding.check) == (SERVER, check)
    assert fact in finding.found
    assert (report["ok"], report["errors"]) == (False, 1)


@pytest.mark.parametrize("device", ["eth1", "leaselab2"])
@pytest.mark.parametrize(
    "routes",
    ["0.0.0.0/1 128.0.0.0/1", "172.20.0.0/16", "172.20.1.7", "198.18.0.0/15", "2000::/3"],
)
def test_a_route_beyond_the_test_network_is_refused(lab, device, routes):
    for route in routes.split():
        lab.route(route, device)
    finding = next(fault for fault in faults(lab.judge()) if fault.check == NETWORK)
    carried = ", ".join(f"the route {route}" for route in routes.split())
    assert finding.found.endswith(f"{device} carries {carried}")


@pytest.mark.parametrize(
    "address", ["172.20.1.7/16", "198.18.0.12/16", "2001:db8::7/64", "fe80::7/64"]
)
def test_an_address_beyond_the_test_network_is_refused(lab, address):
    """But what every link has is no fault."""
    lab.address(*address.split("/"))
    lab.address("169.254.7.7", 16)
    for route in ("169.254.0.0/16", "fe80::/64", "ff00::/8", "224.0.0.0/4", "198.18.0.9"):
        lab.route(route)
    for row in lab.server["addresses"]:
        row["prefix"] = int(row["prefix"])
    wanted = [] if address.startswith("fe80") else [f"eth1 carries the address {address}"]
    assert [fault.found for fault in faults(lab.judge()) if fault.check == NETWORK] == wanted


def release(name, *, apt=True):
    """A server of this release."""
    system, _, version = name.partition(" ")
    known = {"id": system, "version": version, "name": name}
    return lambda lab: (lab.server.update(os=known), lab.server["tools"].update(apt=apt))


def link(**facts):
    return nested("links", "eth1", **facts)


def confined(*, deployed=(), **known):
    """A server that AppArmor confines, where something with these fields is deployed."""
    return lambda lab: lab.confined(**known) or lab.server["deployed"][0].update(deployed)


MYSQLD = ["/usr/sbin/mysqld"]
LEVELS = (
    *(("system", OK, release(name)) for name in RELEASES),
    *(("system", WARNING, release(f"debian {number}")) for number in ("11", "14", "")),
    ("system", WARNING, release("ubuntu 24.10")),
    ("system", ERROR, release("fedora 43", apt=False)),
    *(("link", ERROR, link(state=word)) for word in ("down", "lowerlayerdown")),
    ("link", OK, link(state="unknown")),
    ("link", WARNING, link(mtu=1400)),
    ("link", ERROR, link(speed_mbps=100)),
    ("link", OK, link(speed_mbps=1000)),
    ("link", WARNING, link(speed_mbps=None)),
    ("governor", OK, field("governors", {"0": "performance"})),
    ("governor", WARNING, field("governors", {"0": "performance", "1": "powersave"})),
    ("governor", WARNING, field("governors", {"0": None, "1": None})),
    ("machine", WARNING, nested(container=False, hypervisor=True)),
    ("machine", OK, nested(container=False, hypervisor=False)),
    ("apparmor", OK, confined(enforced=["chronyd"])),
    ("apparmor", OK, confined()),
    ("apparmor", WARNING, confined(added=[])),
    ("apparmor", OK, lambda lab: lab.confined(added=[]) or lab.server.update(deployed=[])),
    ("apparmor", OK, confined(added=[], deployed={"program": "/opt/leaselab/builds/0a/k"})),
    ("apparmor", OK, confined(enforced=MYSQLD)),
    ("apparmor", WARNING, confined(enforced=MYSQLD, deployed={"tuning": {"backend": "mysql"}})),
)
"""A check, how much what it finds matters, and what is altered at the server."""


@pytest.mark.parametrize(("check", "level", "alter"), LEVELS)
def test_what_matters_less_is_a_warning(lab, check, level, alter):
    alter(lab)
    finding = lab.finding(check)
    assert (finding.level, bool(finding.todo)) == (level, level is not OK)


def test_the_local_lab_has_no_errors_and_is_warned_of_for_what_it_is(lab):
    findings = lab.judge()
    assert faults(findings) == []
    measuring = [SERVER, PARTNER, GENERATOR]
    assert {(f.host, f.check) for f in faults(findings, WARNING)} == {
        (host, check) for host in measuring for check in ("governor", "machine")
    }
    assert list(dict.fromkeys(f.host for f in findings)) == [*measuring, BUILDER, CONTROLLER]
    assert "apparmor" not in {f.check for f in findings}
    assert not {"link", NETWORK} & {f.check for f in findings if f.host == BUILDER}
    named = {f.check: f.found for f in findings}
    assert named["relay address"].startswith("198.18.0.30, in 198.18.0.0/24")
    pools = [f.found.split(" ")[0] for f in findings if f.check == "pool"]
    assert pools == ["10.0.0.0/8", "2001:2:0:100::/64"], "each once for all its scenarios"
    there = [f.found for f in findings if f.check == NETWORK]
    assert [text.count(" with ") for text in there[:2]] == [2, 1]
    for rows in ("addresses", "routes"):  # a second place may have no device yet
        lab.drop(rows, interface="leaselab2")
    assert faults(lab.judge()) == []


def test_what_a_host_without_connection_reported_does_not_count(lab):
    """Ansible may still have read it over a connection that it kept open."""
    lab.server["free_mib"]["/var"] = 0
    unreached("cannot be reached: refused")(lab)
    assert [f.todo for f in lab.judge() if f.host == SERVER] == ["T"]


def out_of_reach(lab):
    """Have the test network of the server end before the generator."""
    interface(lab.server, "eth1")[0]["prefix"] = 28
    lab.drop("routes", interface="eth1")


LISTENER = {"port": 547, "address": "::", "pid": None, "name": ""}


@pytest.mark.parametrize(
    ("alter", "host", "check", "fact"),
    [
        (
            field("listeners", [LISTENER], "generator"),
            GENERATOR,
            "leftovers",
            "UDP :: port 547",
        ),
        (  # by its parts, not its letters
            nested("versions", "kea-admin", host="generator", installed="2.60.1-1"),
            *(GENERATOR, "perfdhcp", "2.60.1-1"),
        ),
        (out_of_reach, GENERATOR, "relay address", "not in 198.18.0.0/28"),
        (
            lambda lab: lab.address("2001:2:0:100::2", 48, "eth0", lab.here),
            *(CONTROLLER, "pool", "2001:2:0:100::2/48 on eth0"),
        ),
    ],
)
def test_faults_of_other_hosts_are_at_those(lab, alter, host, check, fact):
    alter(lab)
    fault = only_fault(lab.judge())
    assert (fault.host, fault.check, fact in fault.found) == (host, check, True)


def test_what_ansible_says_of_a_host_is_a_line(lab):
    lab.reading["hosts"][PARTNER] = {"failed": True, "msg": "/usr/bin/python3:\n not found"}
    fault = only_fault(lab.judge())
    wanted = (PARTNER, "ansible", "/usr/bin/python3: not found")
    assert (fault.host, fault.check, fault.found) == wanted


@pytest.mark.parametrize("folder", ["/var", "/opt", SHM])
def test_a_full_disk_is_refused_where_it_is_needed(lab, folder):
    """The server writes nothing to /dev/shm."""
    for probe in (lab.server, lab.generator):
        probe["free_mib"][folder] = 10
    hosts = [fault.host for fault in faults(lab.judge())]
    assert hosts == ([GENERATOR] if folder == SHM else [SERVER, GENERATOR])


@pytest.mark.parametrize("release", RELEASES)
def test_what_a_supported_release_has_is_what_is_wanted_there(lab, release):
    """Accepted by `check` is accepted by the roles."""
    system, _, number = release.partition(" ")
    for probe in (lab.server, lab.generator):
        probe["os"] = {"id": system, "version": number, "name": release}
        for version in probe["versions"].values():
            version |= {"installed": "", "candidate": RELEASES[release]}
    assert faults(lab.judge()) == []
    lab.kea("kea-dhcp4-server", installed="1.9.0-1")
    assert only_fault(lab.judge()).wanted == f"version {RELEASES[release][:3]}"


def test_the_inventory_says_which_kea_is_wanted(lab):
    lab.server["os"] = {"id": "debian", "version": "14", "name": "Debian 14"}
    assert {(f.host, f.check) for f in faults(lab.judge())} == {(SERVER, "kea")}
    lab.wanted[SERVER]["packages"]["kea"]["version"] = "2.6"
    assert faults(lab.judge()) == []
    lab.wanted[SERVER]["packages"]["kea"]["version"] = "2.9"
    assert {(f.host, f.wanted) for f in faults(lab.judge())} == {(SERVER, "version 2.9")}
    lab.wanted[SERVER]["memory_mib"] = "much"
    with pytest.raises(LeaselabError, match="memory_mib") as caught:
        lab.judge()
    assert caught.value.outcome is Outcome.USAGE


def test_packages_are_looked_for_where_a_scenario_asks_for_their_server(lab):
    """Also where it is not there: another server needs none of them."""

    def tools(name):
        checks = {(f.host, f.check) for f in lab.judge(name) if f.host != PARTNER}
        return {(host, check) for host, check in checks if check in ("kea", "perfdhcp")}

    assert tools("v4-memfile") == {(SERVER, "kea"), (GENERATOR, "perfdhcp")}
    assert tools("v4-dnsmasq") == {(GENERATOR, "perfdhcp")}
    lab.wanted[SERVER]["packages"]["kea"]["whose"] = "isc"
    named = {f.found.split(" ")[0] for f in lab.judge() if (f.host, f.check) == (SERVER, "kea")}
    assert named == {"isc-kea-dhcp4", "isc-kea-dhcp6"}
    lab.kea("isc-kea-dhcp4", candidate="2.6.4-isc20250728")
    assert only_fault(lab.judge()).wanted == "version 3.0"
    lab.generator["versions"] = {}
    (warning,) = [f for f in faults(lab.judge(), WARNING) if f.check == "perfdhcp"]
    assert warning.found.startswith("kea-admin ")


@pytest.mark.parametrize(
    ("offset", "doubt", "refused"),
    [(1.02, 0.03, False), (1.2, 0.03, True), (-1.2, 0.03, True), (-3.0, 2.5, False)],
)
def test_a_clock_is_refused_only_when_surely_off(lab, offset, doubt, refused):
    lab.contact(PARTNER, clock_offset_s=offset, clock_uncertainty_s=doubt)
    results = [(f.host, f.check) for f in faults(lab.judge())]
    assert results == ([(PARTNER, "clock")] if refused else [])


def test_a_running_server_is_the_sweeps_own_while_one_holds_the_bench(lab):
    lab.running(deployed=True)
    assert only_fault(lab.judge()).todo.startswith("/opt/leaselab/server stop; ")
    lab.contact(GENERATOR, holder=HOLDER)
    findings = lab.judge()
    assert faults(findings) == []
    (lock,) = [f for f in findings if f.check == "lock"]
    assert lock.level is WARNING
    assert "ana@laptop" in lock.found


@pytest.mark.parametrize(
    ("change", "fact"),
    [
        ({"leaselab_test_subnet": "198.0.0.0/8"}, "198.0.0.0/8"),
        (dict.fromkeys(SUBNETS, ""), "leaselab_test_subnet or leaselab_test_subnet6 not"),
    ],
)
def test_a_test_network_that_is_none_or_somebodys_is_refused(lab, change, fact):
    lab.variables(**change)
    (said,) = {fault.found for fault in faults(lab.judge())}
    assert fact in said


@pytest.mark.parametrize(("address", "said"), [("none", "is none"), ("", "is not set")])
def test_a_bench_without_test_addresses_is_refused_and_a_builder_needs_none(lab, address, said):
    hosts = (replace(host, test_address=address) for host in lab.inventory.hosts)
    lab.inventory = replace(lab.inventory, hosts=tuple(hosts))
    assert {(f.host, f.found.split(" and ")[0]) for f in faults(lab.judge())} == {
        (host, f"leaselab_test_address {said}") for host in (SERVER, PARTNER, GENERATOR)
    }


def test_routes_of_this_machine_that_cannot_be_read_are_a_warning(lab):
    lab.reading["controller"] = {"failed": True, "msg": "no"}
    findings = lab.judge()
    assert faults(findings) == []
    (warning,) = [f for f in faults(findings, WARNING) if f.host == CONTROLLER]
    assert "iproute2" in warning.todo
