"""What the rounds of a result come to."""

import pytest
from msgspec.structs import replace
from tests.examples import (
    MAX_RATES,
    PROCEDURE,
    START,
    example_result,
    example_round,
    round_of,
    trial_of,
)

from leaselab.analysis.figures.summary import at_least, metrics_of, other_cpu_us
from leaselab.model.errors import LeaselabError
from leaselab.model.trial import Sample

KINDS = PROCEDURE.metrics("exchanges")


def rounds_of(rates=MAX_RATES):
    return [example_round(n, rate, START, PROCEDURE) for n, rate in enumerate(rates, start=1)]


def metrics(rounds, procedure=PROCEDURE, **more):
    return {metric.name: metric for metric in metrics_of(KINDS, rounds, procedure, **more)}


def without(round_, *names):
    """A round that came to nothing of these metrics."""
    return replace(round_, metrics={**round_.metrics, **dict.fromkeys(names)})


def test_nine_rounds_come_to_their_trimmed_mean():

    measured = metrics(rounds_of())
    assert list(measured) == ["max_rate", "completed_rate", "cpu_us"]
    rate = measured["max_rate"]
    assert (rate.value, rate.n, rate.trim, rate.dropped) == (6006.0, 9, 1, (2, 4))
    assert (rate.lowest, rate.highest) == (5731.0, 6122.0)
    assert rate.ci95 == pytest.approx((5981.11863, 6030.88137), abs=1e-5)
    assert rate.standard_error == pytest.approx(10.16848, abs=1e-5)
    assert rate.spread == pytest.approx(0.0176, abs=1e-4)
    assert measured["completed_rate"].n == 9
    assert measured["cpu_us"].value == 155.0


def test_times_add_up():
    record = example_result()
    assert record.traffic_s == 9 * 7
    assert replace(record, wall_s=126.0).traffic_share == 0.5
    assert replace(record, wall_s=0.0).traffic_share is None


@pytest.mark.parametrize(
    "rounds",
    [[], rounds_of(MAX_RATES[:8]), [*rounds_of()[:8], without(rounds_of()[8], "max_rate")]],
    ids=["none", "one missing", "one without a max rate"],
)
def test_an_incomplete_result_has_no_figure(rounds):
    rate = metrics(rounds)["max_rate"]
    assert (rate.value, rate.ci95, rate.dropped) == (None, None, ())


def test_a_figure_that_does_not_hold_is_none_and_what_it_cost_is_known():
    measured = metrics(rounds_of(), holds=False)
    assert [item.value for item in measured.values()] == [None, None, 155.0]


def test_a_procedure_that_leaves_no_round_is_refused():
    with pytest.raises(LeaselabError, match="too few runs"):
        metrics(rounds_of(), replace(PROCEDURE, rounds=2))


def trial(completed, cpu_us=None, loss_ratio=0.0, *, valid=True, samples=None):
    """A trial of the full length of which so many completed; `samples` by role."""
    attempted = round(completed / (1 - loss_ratio)) if completed else 1000
    seen = {"valid": valid, "cpu_us": cpu_us, "samples": samples or {}}
    lost = attempted - completed
    length = PROCEDURE.trial_s
    return trial_of(attempted // length, length, lost, attempted=attempted, **seen)


def test_cpu_time_is_weighted_over_passing_trials():
    """1000 at 100 us and 3904 at 200 us are 0.8808 s for 4904; nothing else counts."""
    trials = [
        trial(1000, 100.0),
        trial(3904, 200.0, 0.024),
        trial(5000, 900.0, 0.026),
        trial(5000, 900.0, valid=False),
        trial(5000, None),
        trial(0, None),
    ]
    assert PROCEDURE.cpu_us(trials) == pytest.approx(1e6 * 0.8808 / 4904)
    assert PROCEDURE.cpu_us(trials[4:]) is None


def test_cpu_time_of_a_result_is_the_median_of_the_rounds_that_have_it():
    rounds = [
        replace(item, metrics={**item.metrics, "cpu_us": cpu_us})
        for item, cpu_us in zip(
            rounds_of(), [1.0, 2, 3, 4, 500, 600, 700, 800, 900], strict=True
        )
    ]
    known = [*rounds[:4], *(without(round_, "cpu_us") for round_ in rounds[4:])]
    for of, value, n in ((rounds, 500.0, 9), (known, 2.5, 4)):
        assert (metrics(of)["cpu_us"].value, metrics(of)["cpu_us"].n) == (value, n)


def test_a_load_that_every_round_passed_is_the_lowest_of_their_highest():
    rounds = [
        round_of(trial(25_000), trial(50_000), trial(90_000, valid=False)),
        round_of(trial(40_000), trial(60_000, loss_ratio=0.1)),
    ]
    assert at_least(rounds, PROCEDURE) == 40_000 // 3
    assert at_least([*rounds, round_of(trial(60_000, loss_ratio=0.1))], PROCEDURE) is None
    assert at_least([], PROCEDURE) is None
    short = replace(trial(25_000), duration_s=1)
    assert at_least([round_of(short)], PROCEDURE) is None


def sampled(cpu, **beside):
    """Samples with CPU time of a server, and of its companion services (s)."""
    nothing = {"rss_bytes": None, "udp_drops": None, "held": None, "counters": {}}
    return tuple(
        Sample(
            t=float(place),
            cpu_s=spent,
            beside_cpu_s={name: values[place] for name, values in beside.items()},
            **nothing,
        )
        for place, spent in enumerate(cpu)
    )


def test_companion_services_cost_too():
    first = {
        "server": sampled([0.0, 0.1, 0.2], database=[1.0, 1.2, 1.5]),
        "partner": sampled([0.0, 0.3], database=[2.0, 2.1]),
    }
    second = {
        "server": sampled([0.2, 0.3], database=[1.5, 2.1]),
        "partner": sampled([0.3, 0.6], database=[2.1, 2.2]),
    }
    lossy = trial(
        *(1000, None, 0.5), samples={"server": sampled([0.0, 0.1], database=[2.1, 9.0])}
    )
    alone = {"server": sampled([0.0, 0.1], database=[0.0, 1.4])}
    passing = [trial(1000, samples=samples) for samples in (first, second)]
    rounds = [round_of(*passing, lossy), round_of(trial(2000, samples=alone))]
    assert other_cpu_us(rounds, PROCEDURE) == pytest.approx(
        {"database": 600.0, "partner": 300.0, "partner's database": 100.0}
    )
    lone = round_of(trial(1000, samples={"server": sampled([0.0, 0.1])}))
    assert other_cpu_us([lone], PROCEDURE) == {}
