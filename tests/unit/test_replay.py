"""Replays: which arrivals there are, how they are offered, and what their minutes come to."""

from operator import attrgetter

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.examples import trial_of
from tests.formula import Zones, formula_bench, formula_point
from tests.refusals import refused

from leaselab.inputs.clients.arrivals import Arrivals, busiest, scaled
from leaselab.inputs.clients.file import Traffic
from leaselab.measure.procedures.replay import figures
from leaselab.model.procedures import procedure_of
from leaselab.model.procedures.replay import Replay
from leaselab.model.trial import Part

TRAFFIC = Traffic(
    clients=300,
    relays=2,
    seconds=300.0,
    messages=900,
    exchanges=500,
    shares={"renew": 0.75, "new": 0.15, "inform": 0.1},
    resent=0.0,
    begins="23:58",
    peak=None,
    minutes={
        "new": [10, 0, 60, 5, 0],
        "renew": [10, 80, 200, 50, 35],
        "inform": [0, 0, 40, 5, 5],
    },
    notes=[],
    kinds=[{"clients": 300}],
)


def part(attempted, completed, late=0, p99_s=0.001):
    return Part(attempted=attempted, completed=completed, late=late, p50_s=p99_s, p99_s=p99_s)


@pytest.mark.parametrize(
    ("arrivals", "speed", "rate", "seconds"),
    [((60, 300, 0), 1, 2, 180), ((60, 300, 0), 7, 14, 26), ((1,), 1000, 1, 1)],
)
def test_a_replay_is_one_load_with_the_mean_rate_of_its_minutes(arrivals, speed, rate, seconds):
    replay = Replay(arrivals=arrivals, speed=speed)
    load = replay.load
    assert (load.rate, load.duration_s, load.counts) == (rate, seconds, arrivals)
    assert replay.most_attempted == sum(arrivals)
    hour = Replay(arrivals=(600,) * 60, speed=10)
    assert hour.longest_s == 370 + 2 * 9 + 60 + 300 - 9, "the bound of that of its minutes"


@pytest.mark.parametrize(
    ("parameters", "match"),
    [
        ({"arrivals": [0, 0]}, "no arrivals"),
        ({"arrivals": [10_000_000] * 1440}, "too many minutes .* fewer minutes"),
        ({"arrivals": [1] * 1441}, "1 to 1440 of them"),
        ({"arrivals": [-1]}, "arrivals is not valid"),
        ({"speed": 0}, "speed is not valid"),
    ],
)
def test_what_cannot_be_replayed_is_refused(parameters, match):
    with refused(match):
        procedure_of({"name": "replay", **parameters})


def test_minutes_are_kept_up_with_or_not():
    parts = (part(100, 98), part(0, 0, p99_s=None), part(200, 150, 30, 2.5), part(10, 10, 0, 9))
    made = figures(replace(trial_of(100, 4, 0), parts=parts), 0.025)
    wanted = {"kept_minutes": 2 / 3, "worst_loss_ratio": 0.25, "worst_p99_s": 9.0}
    assert {name: made[name] for name in wanted} == pytest.approx(wanted)
    assert parts[2].failed == 20
    # Of minutes that lose nothing the slowest is the worst.
    assert max(part(5, 5, 0, 0.1), part(5, 5, 0, 0.3), key=attrgetter("badness")).p99_s == 0.3


def test_a_server_that_is_too_slow_for_its_busiest_minute_has_not_kept_up():
    bench = formula_bench(name="replay", arrivals=[60_000, 240_000, 60_000], speed=60)
    (round_,) = formula_point(bench, Zones(capacity=200_000)).rounds
    assert [each.attempted for each in round_.trials[0].parts] == [60_000, 240_000, 60_000]
    assert round_.metrics["kept_minutes"] == pytest.approx(2 / 3)
    assert round_.metrics["worst_loss_ratio"] == pytest.approx(1 / 6, abs=0.01)


def test_the_busiest_minutes_follow_each_other():
    assert busiest([20, 80, 300, 60, 90], 1) == (2, [300])
    assert busiest([20, 80, 300, 60, 90], 3) == (2, [300, 60, 90])
    assert busiest([20, 80], 60) == (0, [20, 80])
    assert busiest([], 60) == (0, [])


@given(st.lists(st.integers(0, 1000), max_size=50), st.floats(0.001, 1000))
def test_as_many_come_as_were_asked_for_up_to_any_minute(minutes, scale):
    made = scaled(minutes, scale)
    for end in range(len(minutes) + 1):
        assert abs(sum(made[:end]) - scale * sum(minutes[:end])) <= 0.501
    assert all(count >= 0 for count in made)


def test_a_replay_of_a_file_has_its_shares_and_its_busiest_minutes():
    procedure, shares, (words,) = Arrivals(2).of(TRAFFIC, 2.0, {"rate": 5, "late_s": 1.0})
    assert procedure == {"name": "replay", "late_s": 1.0, "arrivals": [160, 600]}
    assert shares == {"renew": round(280 / 380, 4), "new": 0.1579, "inform": 0.1053}
    assert "2 of 5 minutes, from 23:59 (UTC): 760 exchanges, at most 600 in one" in words
    assert "from 00:00 (UTC)" in Arrivals(1).of(TRAFFIC, 1.0, {})[2][0]


def test_the_clocks_of_leases_do_what_needs_one():
    procedure, shares, words = Arrivals(60, lease_clock=True).of(TRAFFIC, 4.0, {})
    assert procedure["arrivals"] == [40, 0, 400, 40, 20]
    assert shares == {"new": 0.6, "inform": 0.4}
    assert "at the times that the server gives" in words[1]


@pytest.mark.parametrize(
    ("minutes", "reason"), [({}, "no times"), ({"renew": [5]}, "without a lease")]
)
def test_a_file_without_arrivals_is_refused(minutes, reason):
    with refused(reason):
        Arrivals(60, lease_clock=True).of(replace(TRAFFIC, minutes=minutes), 1.0, {})
