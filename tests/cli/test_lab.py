"""How `leaselab lab status` reads; tests/lab tries the command for real."""

import re
from pathlib import Path, PurePath

import yaml
from msgspec import convert

from leaselab.cli.status import status_lines
from leaselab.lab.checks.status import _PROBE, BenchStatus, HostStatus, Probe, read_probe
from leaselab.lab.hosts.inventory import InventoryHost
from leaselab.model.bench import HostAccess

ROOT = Path(__file__).parents[2]
ACCESS = HostAccess("sut", "192.0.2.1", "root", "/key", "/known")
HOST = InventoryHost(ACCESS, ("dhcp_server",), "198.18.0.10", "2001:2:0:1::10")
AT = "root@192.0.2.1:22"


def answer(*addresses, variants=(), generators=()):
    """What a host answers that has these (interface, address)."""
    document = {
        "hostname": "sut1",
        "os": "Debian 13",
        "kernel": "6.12",
        "cpus": [0, 1],
        "addresses": [
            {"ifname": name, "addr_info": [{"local": address}]} for name, address in addresses
        ],
        "variants": list(variants),
        "generators": list(generators),
    }
    return convert(document, Probe)


BOTH = (("ens2", "198.18.0.10"), ("ens2", "2001:2:0:1::10"), ("ens1", "192.0.2.1"))


def test_a_bench_that_is_up_and_held():
    kea = {"name": "kea", "version": "2.6.3", "scenario": "v4-memfile", "variant": "v4-memfile"}
    old = {**kea, "version": "2.4.1", "variant": "v4-memfile.1a2b3c4d5e"}
    dnsperf = {"name": "dnsperf", "version": "2.14.0"}
    perfdhcp = {"name": "perfdhcp", "version": "2.6.3"}
    host = read_probe(HOST, answer(*BOTH, variants=[old, kea], generators=[dnsperf, perfdhcp]))
    lock = {"name": "ana@laptop", "purpose": "a sweep", "age_s": 61.4, "expires_in_s": 29.0}
    assert status_lines(BenchStatus("rack", (host,), lock)) == [
        "bench rack: up",
        "  sut (dhcp_server) root@192.0.2.1:22: ok",
        "    sut1, Debian 13, Linux 6.12, processors 0,1",
        "    test: ens2 198.18.0.10 2001:2:0:1::10",
        "    deployed: kea 2.6.3 for scenario v4-memfile",
        "    variants: v4-memfile.1a2b3c4d5e, v4-memfile",
        "    deployed: dnsperf 2.14.0, perfdhcp 2.6.3",
        "lock: held by ana@laptop for a sweep, 61 s old, expires in 29 s",
    ]


def test_populations_are_not_where_records_of_generators_are_read():
    """A host with one was reported as not reachable: it has no name and no version."""
    text = (ROOT / "roles/leaseload/vars/main.yml").read_text(encoding="utf-8")
    population = PurePath(yaml.safe_load(text)["leaseload_populations"] + "0.json")
    (read,) = re.findall(r'"/opt/leaselab/(generators/\*\.json)"', _PROBE)
    assert population.name == "0.json"
    assert not population.match(read)


def test_a_missing_test_address_and_addresses_on_two_interfaces_are_wrong():
    host = read_probe(HOST, answer(*BOTH[:1]))
    assert not host.well
    assert status_lines(BenchStatus("rack", (host,)))[:2] == [
        "bench rack: has a fault",
        "  sut (dhcp_server) root@192.0.2.1:22: WRONG: no interface has 2001:2:0:1::10",
    ]
    host = read_probe(HOST, answer(BOTH[0], ("ens3", "2001:2:0:1::10")))
    assert host.problem == "test addresses on several interfaces: ens2, ens3"


def test_a_rack_that_does_not_answer_is_not_well_but_the_local_lab_is_down():
    """Nor is a lock that cannot be read called free."""
    silent = HostStatus("sut", ("dhcp_server",), AT, reachable=False, problem="no answer")
    assert status_lines(BenchStatus("rack", (silent,), None, "gen is not reachable")) == [
        "bench rack: has a fault",
        "  sut (dhcp_server) root@192.0.2.1:22: NOT REACHABLE: no answer",
        "lock: not known: gen is not reachable",
    ]
    assert status_lines(BenchStatus("docker", (silent,)), "leaselab lab up") == [
        "bench docker: down; `leaselab lab up` brings it up"
    ]
