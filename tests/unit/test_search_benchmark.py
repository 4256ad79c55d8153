"""The benchmark of the search: fair servers, honest errors, a verdict that can fail."""

from __future__ import annotations

import dataclasses
import json
import statistics

import pytest
from benchmarks import search as benchmark
from benchmarks._servers import Cell, Overload, Server, Shape
from benchmarks._sweeps import (
    ALGORITHMS,
    PROCEDURE,
    Row,
    root_mean_square,
    simulate,
    standard_error,
)
from benchmarks._verdict import compare, judge

from leaselab.model.trial import Load

QUIET = Cell(Overload.COLLAPSES, 6000, 0.0, 0.0)


@pytest.mark.parametrize("overload", list(Overload))
@pytest.mark.parametrize("capacity", [6000, 40_000])
def test_the_true_max_rate_is_where_the_loss_meets_the_goal(overload, capacity):
    rate = overload.max_rate(capacity, PROCEDURE.loss_ratio)
    assert 1 - overload.completed_rate(rate, capacity) / rate == pytest.approx(0.025)


def test_goodput_collapses_as_the_excess_grows():
    goodput = [Overload.COLLAPSES.completed_rate(x * 1000, 1000) for x in (1, 2, 5)]
    assert goodput == pytest.approx([1000, 764, 468], abs=1)
    assert Overload.KEEPS.completed_rate(5000, 1000) == 1000


def test_every_algorithm_meets_the_same_servers():
    cell = Cell(Overload.KEEPS, 6000, 0.03, 0.01)
    first, second = cell.server(3, 2), cell.server(3, 2)
    assert first.measure(Load(7000, 5)) == second.measure(Load(7000, 5))
    assert first.capacity != cell.server(3, 1).capacity


def test_mirrored_draws_cancel_over_a_pair_of_sweeps():
    cell = Cell(Overload.KEEPS, 6000, 0.1, 0.01)
    for run in range(9):
        assert cell.run_capacity(4, run) + cell.run_capacity(5, run) == pytest.approx(12_000)


@pytest.mark.parametrize(("rate", "aborted"), [(12_000, True), (6500, False)])
def test_a_trial_that_is_lost_before_its_end_is_aborted_and_costs_what_it_took(rate, aborted):
    server = Server(Overload.KEEPS, 6000.0, 0.0, QUIET.server(0, 0).noise, aborts=PROCEDURE)
    trial = server.measure(Load(rate, 5))
    assert not PROCEDURE.passes(trial)
    assert trial.aborted is aborted
    assert trial.traffic_s == pytest.approx(server.seconds - 2.0)
    assert (trial.traffic_s < 2.0) is aborted
    unanswered = trial.attempted - trial.completed
    may_be_lost = 0.025 * rate * 5 + rate / 2
    assert not aborted or unanswered == pytest.approx(may_be_lost, rel=0.001)


@pytest.mark.parametrize("algorithm", [name for name in ALGORITHMS if name != "isc-ramp"])
def test_all_find_the_same_quiet_server(algorithm):
    row = simulate(QUIET, algorithm, 2)
    assert abs(row.bias) < 1.0
    assert row.bias == pytest.approx(row.bias_nominal)
    assert row.rmse == pytest.approx(root_mean_square(row.nominal))


def test_the_jackknife_gives_the_textbook_error_of_a_mean():
    values = [float(value) for value in range(10)]
    expected = statistics.stdev(values) / 10**0.5
    assert standard_error(statistics.fmean, values, unit=1) == pytest.approx(expected)


def _row(seconds=100.0, error=0.1, **changed):
    errors = (error, -error) * 50
    row = Row(seconds, 20.0, errors, errors, (True,) * 100, (False,) * 50)
    return dataclasses.replace(row, **changed)


@pytest.mark.parametrize(
    ("ours", "broken"),
    [
        (_row(), []),
        (_row(seconds=250.0), [0]),
        (_row(seconds=370.0), [0, 1]),
        (_row(error=0.4), [2]),
        (_row(drawn=(0.4, 0.4, 0.3, 0.3) * 25), [3]),
        (_row(covered=(True,) * 80 + (False,) * 20), [4]),
        (_row(differs=(True,) * 12 + (False,) * 38), [5]),
    ],
)
def test_each_promise_can_be_broken(ours, broken):
    promises = judge([compare(QUIET, {"bisection": _row(600.0), "leaselab": ours})])
    assert [at for at, item in enumerate(promises) if not item.kept] == broken
    assert 2 not in broken or QUIET.name in promises[2].found


@pytest.mark.parametrize("shape", list(Shape))
def test_each_shape_has_mean_0_and_the_spread_it_is_given(shape):
    draws = [shape.quantile((step + 0.5) / 200_000) for step in range(200_000)]
    assert statistics.fmean(draws) == pytest.approx(0.0, abs=0.002)
    assert statistics.pstdev(draws) == pytest.approx(1.0, abs=0.03)


@pytest.mark.parametrize("trial_sd", [0.01, 0.03])
def test_runs_whose_trials_scatter_are_distinguished_no_more_often_than_promised(trial_sd):
    """What runs took from each other had p below 5 % in 12 and 31 % of equal pairs."""
    row = simulate(Cell(Overload.KEEPS, 6000, 0.0, trial_sd), "leaselab", 120)
    assert row.coverage >= 88
    assert row.false_alarms <= 15


def test_json_is_one_document_with_every_cell_and_verdict(capsys):
    status = benchmark.main(["--json", "--sweeps", "4", "--cells", "*-6000-0-0.2"])
    captured = capsys.readouterr()
    document = json.loads(captured.out)
    assert [cell["cell"] for cell in document["cells"]] == [
        "keeps-6000-0-0.2",
        "collapses-6000-0-0.2",
    ]
    assert set(document["cells"][0]["rows"]) == set(ALGORITHMS)
    assert status == (0 if document["kept"] else 1)
    assert "2/2" in captured.err
