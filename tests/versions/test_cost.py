"""What real servers do for each transaction, counted behind their contract."""

import os
import signal
import threading
from pathlib import Path

import pytest
from tests import deployed
from tests.counted import Generator, Server
from tests.nightly import but_at_night
from tests.rooted import LOADS, Rooted, cabled

from leaselab.analysis.comparison.cost import LEAST_RATIO, LEAST_WHOLE, by_function
from leaselab.measure.counting import Step, count
from leaselab.measure.procedures.cost import figures

CLOSED = "--window 1 --transactions"
ALWAYS = ["--serve", "--seed", "1", "--late", "60", "--grace", "0"]
WARM_UP = 10
SINGLE = {"reclaim_wait_s": 0}
"""Without a look for expired leases each 10 s, which is much beside few transactions."""
TWO = {**SINGLE, "multi_threading": True, "threads": 2, "queue_size": 64}
LEASES = {
    "kea v4, two threads": ("kea", 4, TWO),
    "kea v6": ("kea", 6, SINGLE),
    "dnsmasq v6": ("dnsmasq", 6, {"backend": "memory"}),
    "dhcpd v4": ("isc_dhcpd", 4, {}),
    "dhcpd v6": ("isc_dhcpd", 6, {}),
}
SCATTER = {"kea": 0.01, "isc_dhcpd": 0.005}
"""Range of the instructions of 30 exchanges (ratio), where that is more than what is judged: a
timer of Kea that fires meanwhile, and the digits of the time that dhcpd logs."""
AUTHORITIES = {
    "bind9, two threads": ("bind9", {"threads": 2}),
    "knot, two threads": ("knot", {"threads": 2}),
    "nsd": ("nsd", {}),
    "powerdns": ("powerdns", {}),
}
RECURSORS = {
    "bind9": ("bind9", {"role": "recursive", "data": "hierarchy", "threads": 1}),
    "unbound, two threads": ("unbound", {"threads": 2}),
}


@pytest.fixture(scope="module")
def hosts():
    with cabled("cost") as prefixes:
        yield prefixes


@pytest.fixture(scope="module")
def asked(hosts, tmp_path_factory):
    """NSD with the hierarchy, which the recursors ask while they fill their caches."""
    with deployed.hierarchy(hosts[0], tmp_path_factory.mktemp("authority")):
        yield


def leasing(family, clients, transactions, name="usual"):
    return Step(
        name,
        [*LOADS[family], "--clients", str(clients), *ALWAYS],
        leases=clients,
        filling=f"{CLOSED} {clients}",
        warm_up=f"{CLOSED} {WARM_UP}",
        counted=f"{CLOSED} {transactions}",
        transactions=transactions,
    )


def asking(folder: Path, transactions, *, recursive):
    queries = folder / "queries"
    names = (f"www.z{number:07d}.test. A\n" for number in range(1, deployed.ZONES + 1))
    queries.write_text("".join(names), encoding="ascii")
    where = ["--interface", "g0", "--server", deployed.AT["test_address"], "--recursion"]
    return Step(
        "usual",
        ["dns", *where, "--queries", str(queries), "--sockets", "1", *ALWAYS],
        leases=None,
        filling=f"{CLOSED} {deployed.ZONES}" if recursive else "",
        warm_up=f"{CLOSED} {WARM_UP}",
        counted=f"{CLOSED} {transactions}",
        transactions=transactions,
    )


def counted(root: Rooted, hosts, *steps):
    """Two counts of a server, each of two of its starts."""
    server = Server(root)
    counts = [count(server, Generator(hosts[1]), {}, steps) for _ in range(2)]
    assert [start["program"] for start in server.started] == [
        root.settings["process"]["argv"][0]
    ] * 4
    return counts


def check_equal(counts, scatter=LEAST_RATIO):
    before, after = map(figures, counts)
    assert before["instructions"] == pytest.approx(after["instructions"], rel=scatter)
    for name in ("system_calls", "allocations"):
        assert before[name] == pytest.approx(after[name], abs=LEAST_WHOLE), counts
    assert before["instructions"] > 1000
    assert before["system_calls"] >= 2
    return before, after


@pytest.mark.parametrize("case", but_at_night(["kea v4, two threads", "dnsmasq v6"], LEASES))
def test_two_starts_of_a_server_of_leases_cost_the_same(case, hosts, tmp_path):
    role, family, options = LEASES[case]
    root = deployed.leases(hosts[0], tmp_path, role, family, **options)
    counts = counted(root, hosts, leasing(family, 30, 30))
    check_equal(counts, SCATTER.get(role, LEAST_RATIO))


@pytest.mark.parametrize("case", but_at_night(["bind9, two threads"], AUTHORITIES))
def test_two_starts_of_an_authority_cost_the_same(case, hosts, tmp_path):
    role, options = AUTHORITIES[case]
    root = deployed.authority(hosts[0], tmp_path, role, **options)
    counts = counted(root, hosts, asking(tmp_path, 60, recursive=False))
    check_equal(counts)
    # One that waits for others to end does so by the clock.
    assert "wait4" not in counts[0].steps["usual"].plain.system_calls


@pytest.mark.parametrize("case", but_at_night(["unbound, two threads"], RECURSORS))
@pytest.mark.usefixtures("asked")
def test_two_starts_of_a_recursor_with_a_warm_cache_cost_the_same(case, hosts, tmp_path):
    role, options = RECURSORS[case]
    root = deployed.recursor(hosts[0], tmp_path, role, **options)
    check_equal(counted(root, hosts, asking(tmp_path, 60, recursive=True)))


def test_a_server_that_is_slow_to_say_what_it_holds_is_waited_for(hosts, tmp_path):
    """A sample, which comes each second, does not wait for 2 s."""
    root = deployed.leases(hosts[0], tmp_path, "dnsmasq", 4, backend="memory")
    server = Server(root)
    with server.counting("instructions") as counter:
        (started,) = server.started
        os.kill(started["pid"], signal.SIGSTOP)
        threading.Timer(2.0, os.kill, (started["pid"], signal.SIGCONT)).start()
        assert counter.held() == 0


def test_dnsmasq_walks_its_list_of_leases_and_writes_and_signals_each(hosts, tmp_path):
    """Also of clients that have returned just before, within the same second."""
    root = deployed.leases(hosts[0], tmp_path, "dnsmasq", 4, backend="file")
    first, second = counted(root, hosts, leasing(4, 40, 40), leasing(4, 140, 20, "more"))
    before, after = check_equal([first, second])
    assert before["growth"] == pytest.approx(after["growth"], abs=5)
    assert before["growth"] > 50
    calls = first.steps["usual"].plain.system_calls
    assert calls == second.steps["usual"].plain.system_calls
    # An offer and an acknowledgement, and a signal of the lease on the bus.
    assert calls["sendmsg"] == 3 * 40
    assert calls["fsync"] == 40
    spent = by_function(first)
    assert spent.all == pytest.approx(sum(spent.own.values()))
    assert spent.own["[dnsmasq]"] > 0.9 * spent.all
