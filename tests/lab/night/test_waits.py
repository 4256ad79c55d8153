"""Where the time of an exchange goes, beside what is known of it."""

import json

import pytest
from tests.lab.commands import leaselab

from leaselab.model.procedure import CPU
from leaselab.model.procedures.profile import LATENCY_US, PARTS

pytestmark = [pytest.mark.lab, pytest.mark.usefixtures("prepared")]

NEAR, FAR = "v4-postgresql-link-0ms", "v4-postgresql-link-5ms"
DELAY_US = 10_000
"""What the link adds to each round trip of the second one (us)."""
CLIENTS = 40
COUNT = ["--set=rounds=2", "--set=transactions=40", f"--set=clients={CLIENTS}"]
LOAD = ["--set=rate=20", f"--set=returning={CLIENTS}", "--set=rounds=3", "--set=warm_up_s=0"]


def profiled(results, scenario):
    """The record of the profile of a scenario."""
    records = [json.loads(path.read_text()) for path in results.glob("2*/*/*/result.json")]
    (record,) = (
        record
        for record in records
        if (record["scenario"]["name"], record["procedure"]["name"]) == (scenario, "profile")
    )
    return record


def test_the_wait_for_a_database_is_the_delay_of_its_round_trips(results):
    """System calls count these; what the link adds on a busy machine, latency has, too."""
    words = ["compare", "package", "package", "--cost", "--scenario", NEAR, *COUNT]
    counted = leaselab(*words, "--results", results, "--json")
    assert counted.returncode == 0, counted.stderr
    trips = json.loads(counted.stdout)["profile"]["system_calls"]["sendto"]["a"]
    assert trips >= 3
    words = ["run", NEAR, FAR, "--procedure", "profile", *LOAD, "--results", results]
    done = leaselab(*words)
    assert done.returncode == 0, done.stderr
    records = [profiled(results, scenario) for scenario in (NEAR, FAR)]
    near, far = (
        {metric["name"]: metric["value"] for metric in record["metrics"]} for record in records
    )
    waited_us, seen_us = (far[name] - near[name] for name in ("database_us", "latency_us"))
    assert 0.95 * trips * DELAY_US < waited_us < 1.05 * seen_us
    for parts in (made["metrics"] for record in records for made in record["rounds"]):
        whole_us = sum(parts.get(name) or 0.0 for name in (CPU, *PARTS) if name != LATENCY_US)
        assert whole_us == pytest.approx(parts[LATENCY_US])
