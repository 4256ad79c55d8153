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


def profiled(results, scenarios, *words):
    """The figures of a profile of each scenario, by their names."""
    words = ["run", *scenarios, "--procedure", "profile", *words, "--results", results]
    done = leaselab(*words, "--json")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    records = document["results"] if len(scenarios) > 1 else [document]
    return [
        {metric["name"]: metric["value"] for metric in record["metrics"]} for record in records
    ]


def test_the_wait_for_a_database_is_the_delay_of_its_round_trips(results):
    """System calls count these; what the link adds on a busy machine, the generator sees, too."""
    words = ["compare", "package", "package", "--cost", "--scenario", NEAR, *COUNT]
    counted = leaselab(*words, "--results", results, "--json")
    assert counted.returncode == 0, counted.stderr
    trips = json.loads(counted.stdout)["profile"]["system_calls"]["sendto"]["a"]
    assert trips >= 3
    near, far = profiled(results, (NEAR, FAR), *LOAD)
    waited_us, seen_us = (far[name] - near[name] for name in ("database_us", "latency_us"))
    assert 0.95 * trips * DELAY_US < waited_us < 1.05 * seen_us
    for parts in (near, far):
        own = ("cpu_us", "queue_us", "processor_us", "database_us")
        rest = sum(parts.get(f"{name}_us", 0.0) for name in ("sync", "lock", "sleep", "other"))
        whole_us = sum(parts[name] for name in own) + rest
        assert whole_us == pytest.approx(parts["latency_us"], rel=0.05)  # medians of rounds
