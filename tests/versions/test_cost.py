"""What real servers do for each transaction, counted behind their contract."""

import pytest
from tests.counted import Generator, Server
from tests.rooted import LOADS, Rooted, cabled

from leaselab.analysis.comparison.cost import LEAST_RATIO, by_function
from leaselab.measure.counting import Step, count
from leaselab.measure.procedures.cost import figures

COUNTERS = ["valgrind", "strace"]
PACKAGES = [*COUNTERS, "dnsmasq-base", "dbus-daemon", "dbus-bin", "nsd"]
CLOSED = "--window 1 --transactions"
ALWAYS = ["--serve", "--seed", "1", "--late", "60", "--grace", "0"]
AT = {
    "test_interface": "s0",
    "test_address": "198.18.0.10",
    "test_address6": "2001:2:0:1::10",
}
SOA = "$ORIGIN z0000001.test.\n@ 3600 SOA ns h 1 2 3 4 5\n@ 3600 NS ns\nns 3600 A 192.0.2.1\n"


@pytest.fixture(scope="module")
def hosts():
    with cabled("cost") as prefixes:
        yield prefixes


@pytest.fixture(scope="module")
def dnsmasq(hosts, tmp_path_factory):
    root = Rooted(
        *(hosts[0], "trixie", PACKAGES, "dnsmasq"),
        **{"variant": "counted", "family": 4, "relay_addresses": ["198.18.0.30"], **AT},
        pool="10.0.0.0/16",
        subnet="10.0.0.0/8",
        backend="memory",
    )
    root.write(
        tmp_path_factory.mktemp("dnsmasq"),
        {"dnsmasq.conf.j2": "config_file", "bus.conf.j2": "bus_config_file"},
    )
    root.install()
    pid_files = (root.settings["process"]["pid_file"], "/var/run/dnsmasq.pid")
    for path in (root.settings["lease_file"], *pid_files):
        root.put(path, "")
    return root


def leasing(name, clients, transactions):
    return Step(
        name,
        [*LOADS[4], "--clients", str(clients), *ALWAYS],
        leases=clients,
        filling=f"{CLOSED} {clients}",
        warm_up=f"{CLOSED} 20",
        counted=f"{CLOSED} {transactions}",
        transactions=transactions,
    )


def test_equal_starts_of_a_server_of_leases_cost_the_same(dnsmasq, hosts):
    server, steps = Server(dnsmasq), [leasing("usual", 40, 60), leasing("more", 140, 20)]
    first, second = (
        count(server, Generator(hosts[1]), {}, steps, lambda: True) for _ in range(2)
    )
    before, after = figures(first), figures(second)
    assert before["instructions"] == pytest.approx(after["instructions"], rel=LEAST_RATIO)
    assert before["growth"] == pytest.approx(after["growth"], abs=5)
    # It walks its list of leases.
    assert before["growth"] > 50
    calls = first.steps["usual"].plain.system_calls
    assert calls == second.steps["usual"].plain.system_calls
    # An offer and an acknowledgement, and a signal of the lease on the bus.
    assert calls["sendmsg"] == 3 * 60
    assert before["allocations"] == after["allocations"] > 0
    spent = by_function(first)
    assert spent.all == pytest.approx(sum(spent.own.values()))
    assert spent.own["[dnsmasq]"] > 0.9 * spent.all
    started = [start["program"] for start in server.started]
    assert started == [dnsmasq.settings["process"]["argv"][0]] * 4
