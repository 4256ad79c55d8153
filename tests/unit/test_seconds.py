"""A round second by second, on one clock."""

import pytest
from msgspec.structs import replace
from tests.examples import example_result, round_of, trial_of

from leaselab.analysis.figures.seconds import server_points, traffic_points

ROUND = example_result().rounds[0]
"""Its trials begin 0.9, 8.9 and 16.9 s after it."""


def with_trial(number, **fields):
    """ROUND with other fields in one of its trials, from 0."""
    trials = list(ROUND.trials)
    trials[number] = replace(trials[number], **fields)
    return replace(ROUND, trials=tuple(trials))


def with_samples(number, *changes):
    """ROUND with changed samples in one of its trials: (position, fields)."""
    samples = list(ROUND.trials[number].samples["server"])
    for position, fields in changes:
        samples[position] = replace(samples[position], **fields)
    return with_trial(number, samples={"server": tuple(samples)})


def test_every_second_of_every_trial_has_its_place_since_the_rounds_start():
    points = list(traffic_points(ROUND))
    assert [(point["trial"], point["s"]) for point in points] == [
        (1, 0.9),
        *((2, pytest.approx(8.9 + second)) for second in range(3)),
        *((3, pytest.approx(16.9 + second)) for second in range(3)),
    ]
    assert points[0]["attempted"] == ROUND.trials[0].rate
    assert points[0]["loss"] == pytest.approx(0.2, abs=0.001)
    assert points[0]["p99_ms"] == pytest.approx(8.8)


@pytest.mark.parametrize(
    ("seen", "loss"), [({"attempted": None}, None), ({"completed": 10**6}, 0.0)]
)
def test_what_was_not_seen_is_no_loss_and_a_reply_in_the_next_second_no_gain(seen, loss):
    first, *rest = ROUND.trials[0].per_second
    changed = with_trial(0, per_second=(replace(first, **seen), *rest))
    assert next(traffic_points(changed))["loss"] == loss


def test_cpu_and_drops_are_what_came_since_the_sample_before():
    changed = with_samples(1, (2, {"udp_drops": 40}), (3, {"udp_drops": 40}))
    points = [point for point in server_points(changed) if point["trial"] == 2]
    assert [point["cpu"] for point in points] == pytest.approx([0.9] * 3)
    assert [point["drops"] for point in points] == pytest.approx([0, 40, 0])
    assert [point["held"] for point in points] == pytest.approx(
        [point["gained"] * number for number, point in enumerate(points, start=1)]
    )
    assert points[0]["s"] == pytest.approx(9.9)
    assert points[0]["beside"] == {}


def test_the_servers_own_counters_and_companion_services_are_named_with_what_they_gained():
    before = {"counters": {"reclaimed": 3}, "beside_cpu_s": {"database": 1.0}}
    after = {
        "counters": {"reclaimed": 45, "new": 1},
        "beside_cpu_s": {"database": 1.4, "proxy": 0.2},
    }
    point = next(server_points(with_samples(0, (0, before), (1, after))))
    length = point["s"] - 0.9
    assert point["counted"] == {"reclaimed": pytest.approx(42 / length), "new": None}
    assert point["beside"] == {"database": pytest.approx(0.4), "proxy": None}


def test_the_partner_is_on_the_servers_clock():
    samples = ROUND.trials[1].samples["server"]
    late = tuple(replace(sample, t=sample.t + 0.5) for sample in samples)
    early = replace(samples[0], t=samples[0].t - 9)
    reported = (early, replace(early, t=early.t + 1), *late)
    changed = with_trial(1, samples={"server": samples, "partner": reported})
    points = list(server_points(changed, "partner"))
    assert [point["s"] for point in points] == pytest.approx(
        [8.9 + 0.5 + second for second in range(4)]
    )


def test_a_server_that_reports_nothing_has_gaps_and_no_zeros():
    nothing = {"cpu_s": None, "rss_bytes": None, "udp_drops": None, "held": None}
    changed = with_samples(0, *((place, nothing) for place in range(2)))
    point = next(server_points(changed))
    assert {point[name] for name in ("cpu", "rss_mb", "held", "gained", "drops")} == {None}


def test_a_new_process_counts_from_zero_and_makes_a_gap():
    before = {"cpu_s": 1.0, "udp_drops": 7, "beside_cpu_s": {"database": 1.0}}
    again = {"cpu_s": 0.1, "udp_drops": 0, "beside_cpu_s": {"database": 0.1}}
    changed = with_samples(0, (0, before), (1, again))
    point = next(server_points(changed))
    assert (point["cpu"], point["drops"], point["beside"]) == (None, None, {"database": None})


def test_a_round_that_is_measured_has_what_there_is_of_it():
    """As a page shows it meanwhile: the trial under way has samples, but no seconds yet."""
    samples = {"server": ROUND.trials[0].samples["server"][:2]}
    begun = trial_of(6000, attempted=0, started_at="2026-11-21T11:30:30Z", samples=samples)
    running = round_of(begun)
    assert list(traffic_points(running)) == []
    (point,) = server_points(running)
    assert (point["s"], point["trial"]) == (pytest.approx(26.0), 1)
    assert list(server_points(replace(running, trials=(replace(begun, samples={}),)))) == []
