"""PowerDNS that ends under a flood, and one whose cold cache does not stay cold."""

import json

import pytest
from tests.lab.commands import LONG_TRIALS, leaselab

pytestmark = pytest.mark.lab

SCENARIO = "powerdns-lmdb-cold"
FLOODED = "powerdns-postgresql-uncached"


def asking(deployed, *options):
    """Have dnsperf ask the server what the load asks, beside the measurement."""
    queries = deployed["generator"]["files"]["queries"]["path"]
    address = deployed["servers"]["server"]["test_address"]
    return " ".join(["dnsperf", "-s", address, "-d", queries, *options])


@pytest.mark.parametrize("scenario", [FLOODED])
def test_one_that_gives_up_under_a_flood_is_a_server_that_died(
    engine, bench_file, deployed, results, on_host
):
    """A guardian would start it again within a second; the load would only see a gap."""
    bench = bench_file(start_rate=300, **LONG_TRIALS)
    sweep = engine("step", "sweep", bench, "--results", results)
    sweep.saw(r"run 1/1: \d+/s for")
    on_host("generator", asking(deployed, "-c", "20", "-q", "30000", "-l", "5", ">/dev/null"))
    code, last = sweep.end()
    assert code == 3, last
    assert "the server died while it was measured: pdns_server is gone: " in last
    assert "questions waiting for database/backend attention" in last
    shown = leaselab("show", "last", "--results", results, "--json")
    assert json.loads(shown.stdout)["outcome"] == "invalid"
    assert "was_running" in on_host("server", f"/opt/leaselab/server stop {FLOODED}")
    assert on_host("server", "pgrep -x pdns_server || true") == ""


def test_a_cache_that_fills_while_it_is_emptied_is_not_called_cold(deployed, on_host, scenario):
    contract = f"/opt/leaselab/server {{}} {scenario} 2>&1"
    on_host("server", contract.format("start"))
    try:
        on_host("generator", asking(deployed, "-l", "8", "-Q", "2000", ">/dev/null 2>&1 &"))
        resets = [on_host("server", contract.format("reset") + " || true") for _ in range(12)]
        assert any("cached answers left after purging" in reset for reset in resets), resets
        on_host("generator", "while pgrep -x dnsperf; do sleep 0.2; done >/dev/null")
        assert json.loads(on_host("server", contract.format("reset")))["held"] == 0
        document = json.loads(on_host("server", contract.format("reset")))
        assert document == {"held": 0, "was": 0}
    finally:
        on_host("server", contract.format("stop"))
