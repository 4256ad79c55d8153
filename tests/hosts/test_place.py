"""Hosts whose interfaces get other names, or whose links go: nothing leaves by a wrong one."""

import json
import subprocess
from types import SimpleNamespace

import pytest
from tests.contracts import ROLES
from tests.dns import dns_bench
from tests.rooted import cabled
from tests.waiting import HANGS_S

from leaselab.lab.contract.remote import RemoteGenerator, RemoteHost
from leaselab.lab.hosts.place import placed
from leaselab.lab.hosts.transport import Completed
from leaselab.model.errors import LeaselabError, Outcome
from leaselab.model.observation import UNPLACED

MANAGEMENT = """
ip link add management type veth peer name away
ip link set away up
ip address add 192.0.2.30/24 dev management
ip link set management up
"""
SWAPPED = """
for name in g0 management; do ip link set $name down; done
ip link set g0 name other
ip link set management name g0
ip link set other name management
for name in g0 management; do ip link set $name up; done
ip address replace 198.18.0.30/24 dev management
"""
CHECK = "import sys; from leaselab_contract import address; address.check_placed(*sys.argv[1:])"


class Inside:
    """A connection to a host that is a network namespace."""

    def __init__(self, prefix, name):
        self.prefix, self.access = prefix, SimpleNamespace(name=name)

    def run(self, argv, *, timeout_s):
        done = subprocess.run(
            [*self.prefix, *argv], capture_output=True, check=False, timeout=timeout_s
        )
        return Completed(done.returncode, done.stdout, done.stderr.decode())

    def do(self, script):
        done = self.run(["sh", "-ec", script], timeout_s=HANGS_S)
        assert done.status == 0, done.stderr
        return done.stdout.decode()


@pytest.fixture
def hosts():
    with cabled("place") as (server, generator):
        yield Inside(server, "sut"), Inside(generator, "gen")


@pytest.fixture
def generator(hosts, tmp_path):
    """A generator that sends from its first address on g0."""
    return RemoteGenerator(hosts[1], "g0", ["198.18.0.30"], str(tmp_path / "turn"))


def generate(generator, script):
    return generator.generate(["sh", "-ec", script], {}, 20)


def sent(host, interface):
    (link,) = json.loads(host.do(f"ip -json -stats link show {interface}"))
    return link["stats64"]["tx"]["packets"]


def test_no_packet_leaves_by_a_name_that_is_another_interface_now(hosts, generator):
    """As after a reboot, or by hand in the middle of a sweep."""
    _, host = hosts
    host.do(MANAGEMENT + SWAPPED)
    host.do("echo 1 > /proc/sys/net/ipv6/conf/g0/disable_ipv6")
    before = sent(host, "g0")
    done = generate(generator, "echo > /dev/udp/192.0.2.1/67; ping -c 1 192.0.2.1")
    assert done.status == UNPLACED
    assert "198.18.0.30 is not on g0 with its link up (found management" in done.error
    assert sent(host, "g0") == before


def test_the_interface_is_found_by_its_address(hosts):
    _, host = hosts
    bench = dns_bench()
    assert placed(bench, "generator", host).hosts["generator"].test_interface == "g0"
    host.do(MANAGEMENT + SWAPPED)
    moved = placed(bench, "generator", host)
    assert moved.hosts["generator"].test_interface == "management"
    assert moved.hosts["server"] == bench.hosts["server"]
    host.do("ip link set management down")
    with pytest.raises(LeaselabError, match="the link of management is down"):
        placed(bench, "generator", host)
    host.do("ip address flush dev management")
    with pytest.raises(LeaselabError, match="not one of its interfaces") as caught:
        placed(bench, "generator", host)
    assert (caught.value.outcome, caught.value.where) == (Outcome.LAB, "gen")
    assert "192.0.2.30" in caught.value.found


@pytest.mark.parametrize("fault", ["ip link set g0 down", "ip address flush dev g0"])
def test_traffic_under_which_the_link_or_the_address_went_is_no_measurement(generator, fault):
    assert generate(generator, "true").status == 0
    done = generate(generator, fault)
    assert done.status == UNPLACED
    assert "198.18.0.30 is not on g0 with its link up" in done.error


def test_a_link_that_came_back_meanwhile_is_seen(hosts):
    server, _ = hosts
    reader = RemoteHost(server, "s0")
    reader.read()
    server.do("ip link set s0 down; ip link set s0 up")
    with pytest.raises(LeaselabError, match="the link of s0 has changed") as caught:
        reader.read()
    assert (caught.value.outcome, caught.value.where) == (Outcome.LAB, "sut")
    reader.read()


def test_a_host_answers_for_its_address_whatever_its_server_does(hosts, generator):
    server, _ = hosts
    assert generator.unreached("198.18.0.10") == ""
    assert "198.18.0.11" in generator.unreached("198.18.0.11")
    server.do("ip address del 198.18.0.10/24 dev s0")
    assert "FAILED" in generator.unreached("198.18.0.10")


@pytest.mark.parametrize(
    ("fault", "what"),
    [
        ("ip link set s0 name s1", "found on s1; wanted on s0"),
        ("ip address del 198.18.0.10/24 dev s0", "found on none of lo, s0; wanted on s0"),
        ("ip link set s0 down", "the link of s0 is down"),
    ],
)
def test_no_server_starts_where_its_address_is_not(hosts, fault, what):
    """Else it would serve another network, or nobody and be blamed."""
    server, _ = hosts
    argv = ["env", f"PYTHONPATH={ROLES}/contract/files", "python3", "-c", CHECK]
    argv += ["s0", "198.18.0.10"]
    assert server.run(argv, timeout_s=HANGS_S).status == 0
    server.do(fault)
    done = server.run(argv, timeout_s=HANGS_S)
    assert "LabError: " in done.stderr
    assert what in done.stderr
