"""A run second by second, on one clock."""

import pytest
from tests.examples import example_result

from leaselab.analysis.seconds import server_points, traffic_points


@pytest.fixture
def run():
    """One run; its trials begin 0.9, 8.9 and 16.9 s after it."""
    return example_result()["runs"][0]


def test_every_second_of_every_trial_has_its_place_since_the_runs_start(run):
    points = list(traffic_points(run))
    assert [(point["trial"], point["s"]) for point in points] == [
        (1, 0.9),
        *((2, pytest.approx(8.9 + second)) for second in range(5)),
        *((3, pytest.approx(16.9 + second)) for second in range(5)),
    ]
    assert points[0]["loss"] == pytest.approx(0.2, abs=0.001)
    assert points[0]["p99_ms"] == pytest.approx(8.8)


def test_what_was_not_seen_is_no_loss(run):
    run["trials"][0]["per_second"][0]["started"] = None
    assert next(traffic_points(run))["loss"] is None


def test_a_reply_in_the_next_second_makes_no_negative_loss(run):
    run["trials"][0]["per_second"][0]["completed"] = 10**6
    assert next(traffic_points(run))["loss"] == 0.0


def test_cpu_and_drops_are_what_came_since_the_sample_before(run):
    samples = run["trials"][1]["samples"]
    samples[2]["udp_drops"] = samples[3]["udp_drops"] = 40
    points = [point for point in server_points(run) if point["trial"] == 2]
    assert [point["cpu"] for point in points] == pytest.approx([0.9] * 5)
    assert [point["drops"] for point in points] == pytest.approx([0, 40, 0, -40, 0])
    assert points[0]["s"] == pytest.approx(9.9)


def test_the_partner_stands_on_the_servers_clock(run):
    trial = run["trials"][1]
    trial["partner_samples"] = [
        {**sample, "t": sample["t"] + 0.5} for sample in trial["samples"]
    ]
    first = next(server_points(run, "partner_samples"))
    assert first["s"] == pytest.approx(8.9 + 1.5)


def test_a_server_that_tells_nothing_has_gaps_and_no_zeros(run):
    for sample in run["trials"][0]["samples"]:
        sample |= {"cpu_s": None, "rss_bytes": None, "udp_drops": None, "leases": None}
    point = next(server_points(run))
    assert {point[name] for name in ("cpu", "rss_mb", "drops", "leases", "database_cpu")} == {
        None
    }
