"""A figure along a factor, and which points are as good as the best."""

import pytest
from msgspec.structs import replace
from tests.examples import MAX_RATES, PROCEDURE, built, example_result, invalid_result

from leaselab.analysis.comparison.curve import Standing, curves_of
from leaselab.model.record import Experiment

SINGLE = replace(PROCEDURE, rounds=1, trim=0)
DRIFT = [1.0 - 0.02 * place for place in range(9)]
"""Speed of a machine that slows from round to round."""


def point(threads, factor=1.0, *, interleaved=None, record=None, **factors):
    """A result of an experiment along the threads, `factor` of the example's figures."""
    values = [factor * rate for rate in MAX_RATES]
    if interleaved is not None:
        values = [value * speed for value, speed in zip(values, DRIFT, strict=True)]
    record = record or example_result(values, token=f"{int(threads):04x}")
    scenario = replace(
        record.scenario, factors={**record.scenario.factors, "threads": threads, **factors}
    )
    experiment = Experiment(id="20261123-a", points=(), interleaved=bool(interleaved))
    return replace(record, scenario=scenario, experiment=experiment)


def better(record, which):
    return replace(record, metrics=(replace(record.figure, better=which),))


def curve_of(records):
    """The one curve of some records."""
    (curve,) = curves_of(records)
    return curve


def standings(curve):
    return [(point.at, point.standing) for point in curve.points]


def test_points_are_ordered_and_those_that_do_not_differ_from_the_best_are_reported():
    records = [point(8, 1.0), point(2, 0.7), point(4, 0.999), point(16, 0.9)]
    curve = curve_of(records)
    assert curve == curve_of(records[::-1]) == curve_of(sorted(records, key=lambda of: of.id))
    assert (curve.factor, curve.title, curve.unit) == ("threads", "max rate", "exchanges/s")
    assert standings(curve) == [(2, "differs"), (4, "equal"), (8, "best"), (16, "differs")]
    best, figure = curve.best, records[0].figure
    assert (best.at, best.id, best.value) == (8, records[0].id, 6006.0)
    assert best.half_width == figure.half_width


def test_the_best_is_the_lowest_where_lower_is_better():
    records = [point(2, 0.7), point(4, 0.7005), point(8, 1.0)]
    curve = curve_of([better(record, "lower") for record in records])
    assert standings(curve) == [(2, "best"), (4, "equal"), (8, "differs")]
    neither = curve_of([better(record, "neither") for record in records])
    assert neither.best is None
    assert [item.standing for item in neither.points] == [None] * 3


@pytest.mark.parametrize(
    ("interleaved", "standing"), [(True, Standing.OTHER), (False, Standing.ALIKE)]
)
def test_rounds_that_alternate_show_what_drift_hides(interleaved, standing):
    """3 % on a machine that slows by 16 %; the rounds of the example scatter alike."""
    records = [
        point(threads, factor, interleaved=interleaved)
        for threads, factor in ((2, 0.97), (4, 1.0))
    ]
    below, best = curve_of(records).points
    assert (best.standing, below.standing) == (Standing.BEST, standing)


def test_a_point_without_a_figure_has_its_place_and_is_not_the_best():
    curve = curve_of([point(2), point(4, record=invalid_result(token="0004"))])
    last = curve.points[-1]
    assert (last.at, last.value, last.half_width, last.standing) == (4, None, None, None)
    assert curve.best.at == 2


def test_a_point_with_too_few_rounds_is_neither_like_the_best_nor_unlike_it():
    few = example_result(MAX_RATES[:3], token="0004")
    few = replace(few, metrics=(replace(few.figure, value=5000.0, n=3, trim=1),))
    assert standings(curve_of([point(2), point(4, record=few)])) == [
        (2, "best"),
        (4, "too few runs to tell"),
    ]


@pytest.mark.parametrize("interleaved", [True, False])
def test_single_runs_cannot_distinguish_points_however_far_they_are(interleaved):
    records = []
    for threads, factor in ((2, 0.5), (4, 1.0)):
        record = example_result(
            [factor * MAX_RATES[0]], procedure=SINGLE, token=f"{threads:04x}"
        )
        records.append(point(threads, interleaved=interleaved or None, record=record))
    assert standings(curve_of(records)) == [(2, "too few runs to tell"), (4, "best")]


NO_CURVE = {
    "none": [],
    "no factor differs": [point(2), point(2)],
    "two differ": [point(2), point(4, backend="mysql")],
    "words": [point(2), point(2, backend="mysql")],
    "yes and no": [point(0), point(True)],
    "one has no value": [point(2), replace(point(4), scenario=example_result().scenario)],
    "other figures": [point(2), replace(point(4), metrics=point(4).metrics[1:])],
}


@pytest.mark.parametrize("name", NO_CURVE)
def test_there_is_no_curve_but_along_one_factor_of_numbers(name):
    assert curves_of(NO_CURVE[name]) == []


def test_a_curve_is_along_the_numbers_of_which_there_are_most():
    """Of those with as many, along the last, which is the innermost axis of a family."""
    records = [point(at, queue=size) for size in (16, 64) for at in (1, 2, 4)]
    assert {(curve.factor, *curve.alike.items()) for curve in curves_of(records)} == {
        ("threads", ("queue", "16")),
        ("threads", ("queue", "64")),
    }
    square = [point(at, queue=size) for size in (16, 64) for at in (1, 2)]
    assert [curve.factor for curve in curves_of(square)] == ["queue", "queue"]


def test_builds_have_a_curve_each():
    records = [built(point(at), commit) for commit in ("a" * 40, "b" * 40) for at in (2, 4)]
    assert [list(curve.alike) for curve in curves_of(records)] == [["server"], ["server"]]
