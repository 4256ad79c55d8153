"""Where the time of an exchange goes, beside what is known of it."""

import json

import pytest
from tests.lab.commands import leaselab

pytestmark = [pytest.mark.lab, pytest.mark.usefixtures("prepared")]

NEAR, FAR = "v4-postgresql-link-0ms", "v4-postgresql-link-5ms"
DELAY_US = 10_000
"""What the link adds to each round trip of the second one (us)."""
CLIENTS = 40
COUNT = ["--set=rounds=2", "--set=transactions=40", f"--set=clients={CLIENTS}"]
LOAD = ["--set=rate=20", f"--set=returning={CLIENTS}", "--set=rounds=3", "--set=warm_up_s=0"]


def profiled(results, scenario):
    """The figures of the profile of a scenario, by their names."""
    records = [json.loads(path.read_text()) for path in results.glob("2*/*/*/result.json")]
    (record,) = (
        record
        for record in records
        if (record["scenario"]["name"], record["procedure"]["name"]) == (scenario, "profile")
    )
    return {metric["name"]: metric["value"] for metric in record["metrics"]}


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
    near, far = (profiled(results, scenario) for scenario in (NEAR, FAR))
    waited_us, seen_us = (far[name] - near[name] for name in ("database_us", "latency_us"))
    assert 0.95 * trips * DELAY_US < waited_us < 1.05 * seen_us
    for parts in (near, far):
        own = ("cpu_us", "queue_us", "processor_us", "database_us")
        rest = sum(
            parts.get(f"{name}_us") or 0.0 for name in ("sync", "lock", "sleep", "other")
        )
        whole_us = sum(parts[name] for name in own) + rest
        assert whole_us == pytest.approx(parts["latency_us"], rel=0.05)  # medians of rounds
