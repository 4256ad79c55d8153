"""Whether a machine kept its speed, by the fixed piece of work before and after each trial."""

import random
import statistics

import pytest

from leaselab.analysis.statistics import estimate
from leaselab.analysis.steadiness import machine_speeds, moved, unsteady


def runs(*times, role="server"):
    """Runs whose trials all took these times for the fixed piece of work (s)."""
    return [{"trials": [{"hosts": {role: {"work_s": (time, time)}}}] * 3} for time in times]


def test_a_run_in_which_the_work_takes_longer_is_a_slower_one():
    speeds = machine_speeds(runs(0.010, 0.0125, 0.010))
    assert speeds[1] / speeds[0] == pytest.approx(0.8)
    assert moved(runs(0.010, 0.0125, 0.010)) == pytest.approx(0.25)


def test_one_trial_that_was_disturbed_moves_nothing():
    disturbed = runs(0.010, 0.010)
    disturbed[0]["trials"].append({"hosts": {"server": {"work_s": (0.010, 0.100)}}})
    assert moved(disturbed) == 0.0


@pytest.mark.parametrize("read", [[], runs(0.01), [{"trials": [{}]}] * 2, runs(1, 2, role="x")])
def test_where_it_was_not_read_nothing_is_said(read):
    assert moved(read) is None
    assert unsteady(read, estimate([6000.0] * 3, 0), 0.01) == ""


@pytest.mark.parametrize(
    ("slower", "rates", "is_unsteady"),
    [
        (0.2, [6000, 6010, 5990, 6005, 5995], True),
        (0.2, [6000, 7500, 4500, 6900, 5100], False),  # it claims to resolve 24 % only
        (0.009, [6000, 6000, 6000, 6000, 6000], False),  # a bracket's width
        (0.02, [6000, 6000, 6000, 6000, 6000], True),
    ],
)
def test_what_counts_is_whether_it_moved_by_more_than_the_figure_resolves(
    slower, rates, is_unsteady
):
    read = runs(0.01, 0.01, 0.01, 0.01, 0.01 * (1 + slower))
    assert bool(unsteady(read, estimate(rates, 1), 0.01)) is is_unsteady


def test_a_run_of_few_trials_is_not_taken_for_a_slower_machine():
    """Runs of 3 and of 15 trials on one machine differ by chance alone, to neither side."""
    draw = random.Random(1)  # noqa: S311 - the same draws each time

    def run(trials):
        readings = [0.01 * (1 + draw.expovariate(20)) for _ in range(2 * trials)]
        return {"trials": [{"hosts": {"server": {"work_s": readings}}}]}

    speeds = [machine_speeds([run(3), run(15)]) for _ in range(400)]
    assert statistics.fmean(few / many for few, many in speeds) == pytest.approx(1.0, abs=0.004)
