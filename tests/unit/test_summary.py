"""What the runs of a sweep come to."""

import pytest
from tests.examples import GOAL, MAX_RATES, START, example_run

from leaselab.analysis.summary import run_cpu_us, summarise
from leaselab.model.errors import LeaselabError


def runs_of(rates=MAX_RATES):
    return [example_run(n, rate, START, GOAL) for n, rate in enumerate(rates, start=1)]


def summary_of(runs, **more):
    return summarise(runs, **({"planned": 9, "trim": 1, "loss_ratio": 0.025} | more))


def test_nine_runs_come_to_their_trimmed_mean():
    summary = summary_of(runs_of())
    assert summary.max_rate.trimmed_mean == 6006.0
    assert summary.trimmed == (2, 4)
    assert summary.cpu_us_per_exchange == 155.0
    document = summary.document()
    assert document["max_rate"]["ci95"] == list(summary.max_rate.ci95)
    assert document["completed_rate"]["n"] == 9


def test_times_add_up():
    runs = runs_of()
    assert summary_of(runs).traffic_s == 9 * 11
    assert summary_of(runs).wall_s == pytest.approx(sum(run["wall_s"] for run in runs))
    assert summary_of(runs, wall_s=198.0).traffic_share == 0.5
    assert summary_of(runs, wall_s=0.0).traffic_share is None


@pytest.mark.parametrize(
    "runs",
    [[], runs_of(MAX_RATES[:8]), [*runs_of()[:8], runs_of()[8] | {"max_rate": None}]],
    ids=["none", "one missing", "one without a max rate"],
)
def test_an_incomplete_sweep_has_no_estimate(runs):
    summary = summary_of(runs)
    assert summary.max_rate is None
    assert summary.completed_rate is None
    assert summary.trimmed == ()
    assert summary.document()["max_rate"] is None


def test_a_goal_that_leaves_no_run_is_refused():
    with pytest.raises(LeaselabError, match="too few runs"):
        summary_of(runs_of(), planned=2)


def trial(completed, cpu_us, *, valid=True, loss_ratio=0.0):
    return {
        "completed": completed,
        "cpu_us_per_exchange": cpu_us,
        "valid": valid,
        "loss_ratio": loss_ratio,
    }


def test_cpu_time_is_weighted_over_passing_trials():
    """1000 at 100 us and 3000 at 200 us are 0.7 s for 4000; nothing else counts."""
    trials = [
        trial(1000, 100.0),
        trial(3000, 200.0, loss_ratio=0.025),
        trial(5000, 900.0, loss_ratio=0.0251),
        trial(5000, 900.0, valid=False),
        trial(5000, None),
        trial(0, None, loss_ratio=0.0),
    ]
    assert run_cpu_us({"trials": trials}, 0.025) == pytest.approx(175.0)


def test_cpu_time_of_a_sweep_is_the_median_of_its_runs():
    runs = runs_of()
    for run, cpu_us in zip(runs, [1, 2, 3, 4, 500, 600, 700, 800, 900], strict=True):
        for each in run["trials"]:
            each["cpu_us_per_exchange"] = float(cpu_us)
    assert summary_of(runs).cpu_us_per_exchange == pytest.approx(500)


def test_unknown_cpu_time_is_unknown():
    runs = runs_of()
    for run in runs:
        for each in run["trials"]:
            each["cpu_us_per_exchange"] = None
    assert summary_of(runs).cpu_us_per_exchange is None
