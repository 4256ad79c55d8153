"""What the runs of a sweep come to."""

import pytest
from tests.examples import GOAL, MAX_RATES, START, example_run

from leaselab.analysis.summary import other_cpu_us, run_cpu_us, summarise
from leaselab.model.errors import LeaselabError


def runs_of(rates=MAX_RATES):
    return [example_run(n, rate, START, GOAL) for n, rate in enumerate(rates, start=1)]


def summary_of(runs, **more):
    return summarise(
        runs, **({"planned": 9, "trim": 1, "loss_ratio": 0.025, "trial_s": 5} | more)
    )


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


def served(completed, loss_ratio=0.0, **series):
    """A trial with samples of CPU time (s): of the database, the partner, its database."""
    database = [{"database_cpu_s": value} for value in series.get("database", [])]
    partner = [
        {"cpu_s": value, "database_cpu_s": other}
        for value, other in zip(
            series.get("partner", []), series.get("beside", [None] * 9), strict=False
        )
    ]
    return {
        "valid": True,
        "loss_ratio": loss_ratio,
        "completed": completed,
        "samples": database,
        "partner_samples": partner,
    }


def test_what_serves_beside_the_server_costs_too():
    runs = [
        {
            "trials": [
                served(1000, database=[1.0, 1.2, 1.5], partner=[0.0, 0.3], beside=[2.0, 2.1]),
                served(1000, database=[1.5, 2.1], partner=[0.3, 0.6], beside=[2.1, 2.2]),
                served(1000, loss_ratio=0.5, database=[2.1, 9.0]),
            ]
        },
        {"trials": [served(2000, database=[0.0, 1.4])]},
    ]
    found = other_cpu_us(runs, 0.025)
    assert found == pytest.approx(
        {"database": 600.0, "partner": 300.0, "partner's database": 100.0}
    )


def test_one_server_without_a_database_has_nothing_beside_it():
    assert other_cpu_us([{"trials": [served(1000, database=[None, None])]}], 0.025) == {}
