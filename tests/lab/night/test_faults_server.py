"""The server does not start, or dies: its own reason is shown."""

import json

import pytest
from tests.lab.commands import LONG_TRIALS, complaint, leaselab

pytestmark = pytest.mark.lab

SCENARIO = "v4-memfile"
"""Kea, whose configuration and log are looked at."""
CONFIG = "/etc/kea/leaselab-v4-memfile_dhcp.json"


@pytest.fixture
def without_address(on_host, deployed):
    """The server's host has lost its address on the test network."""
    host = deployed["hosts"]["server"]
    device = f"dev {host['test_interface']}"
    on_host("server", f"ip address del {host['test_address']}/24 {device}")
    yield
    on_host("server", f"ip address replace {host['test_address']}/24 {device}")


def test_a_server_killed_in_a_trial_is_an_invalid_measurement_with_its_trials(
    engine, bench_file, results, on_host
):
    bench = bench_file(rounds=2, **LONG_TRIALS)
    sweep = engine("step", "sweep", bench, "--results", results)
    sweep.saw(r"run 2/2: \d+/s for")
    on_host("server", "pkill -KILL -x kea-dhcp4")
    code, last = sweep.end()
    assert code == 3, last
    assert last.startswith("leaselab: leaselab-server: the server died while it was measured: ")
    shown = leaselab("show", "last", "--results", results, "--json")
    assert shown.returncode == 0
    document = json.loads(shown.stdout)
    assert document["outcome"] == "invalid"
    assert last.endswith(document["reasons"][0]["text"])
    assert document["metrics"][0]["value"] is None
    first, second = document["rounds"]
    assert first["metrics"]["max_rate"]
    assert second["metrics"]["max_rate"] is None
    assert second["trials"]
    assert leaselab("dev", "archive", "verify", "--results", results).returncode == 0


def test_a_host_without_its_address_is_a_broken_lab_and_its_server_is_not_started(
    without_address, bench_file, results, on_host
):
    assert without_address is None
    done = leaselab("step", "sweep", bench_file(), "--results", results)
    assert done.returncode == 4
    assert "leaselab-server: not one of its interfaces has the test address" in complaint(done)
    started = on_host("server", f"/opt/leaselab/server start {SCENARIO} 2>&1 || echo $?")
    assert started.endswith("\n4\n")
    assert "found on none of" in started


def test_a_configuration_that_was_changed_after_the_deployment_is_not_measured(
    on_host, bench_file, results
):
    on_host("server", f"cp {CONFIG} /tmp/kept && echo '{{' > {CONFIG}")
    try:
        done = leaselab("step", "sweep", bench_file(), "--results", results)
        assert done.returncode == 4
        assert f"{CONFIG} is not the configuration that was deployed" in complaint(done)
        assert "deploy again" in complaint(done)
        started = on_host("server", "/opt/leaselab/server start v4-memfile 2>&1 || true")
        assert "syntax error" in started
        assert len(started.splitlines()) == 1
    finally:
        on_host("server", f"cp /tmp/kept {CONFIG}")
