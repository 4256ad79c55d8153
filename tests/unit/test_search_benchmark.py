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
    load = Load(7000, 5)
    assert first.measure(load) == second.measure(load)
    assert first.capacity != cell.server(3, 1).capacity


def test_mirrored_draws_cancel_over_a_pair_of_sweeps():
    cell = Cell(Overload.KEEPS, 6000, 0.1, 0.01)
    for run in range(9):
        assert cell.run_capacity(4, run) + cell.run_capacity(5, run) == pytest.approx(12_000)


def test_an_aborted_trial_costs_what_it_took_and_fails():
    server = QUIET.server(0, 0)
    server.aborts = PROCEDURE
    trial = server.measure(Load(12_000, 5))
    assert trial.aborted
    assert not PROCEDURE.passes(trial)
    assert trial.traffic_s == pytest.approx(server.seconds - 2.0)
    assert trial.traffic_s < 2.0
    unanswered = trial.attempted - trial.completed
    assert unanswered == pytest.approx(0.025 * 12_000 * 5 + 6_000, rel=0.001)


def test_a_trial_that_is_not_lost_yet_is_not_aborted():
    server = Server(Overload.KEEPS, 6000.0, 0.0, QUIET.server(0, 0).noise, aborts=PROCEDURE)
    trial = server.measure(Load(6500, 5))
    assert not PROCEDURE.passes(trial)
    assert not trial.aborted


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


def _rows(ours_seconds=100.0, ours_error=0.1):
    def row(seconds, error):
        errors = (error, -error) * 50
        return Row(seconds, 20.0, errors, errors, (True,) * 100, (False,) * 50)

    return {
        "bisection": row(600.0, 0.1),
        "leaselab": row(ours_seconds, ours_error),
    }


def _broken(rows):
    """Positions of the promises that these rows break."""
    return [at for at, item in enumerate(judge([compare(QUIET, rows)])) if not item.kept]


def test_each_promise_can_be_broken():
    assert _broken(_rows()) == []
    assert _broken(_rows(ours_seconds=250.0)) == [0]
    assert _broken(_rows(ours_seconds=370.0)) == [0, 1]
    assert _broken(_rows(ours_error=0.4)) == [2]
    assert QUIET.name in judge([compare(QUIET, _rows(ours_error=0.4))])[2].found


@pytest.mark.parametrize(
    ("changes", "promise"),
    [
        ({"drawn": (0.4, 0.4, 0.3, 0.3) * 25}, 3),
        ({"covered": (True,) * 80 + (False,) * 20}, 4),
        ({"differs": (True,) * 12 + (False,) * 38}, 5),
    ],
)
def test_bias_coverage_and_false_alarms_are_promises_like_the_others(changes, promise):
    rows = _rows()
    rows["leaselab"] = dataclasses.replace(rows["leaselab"], **changes)
    assert _broken(rows) == [promise]


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
