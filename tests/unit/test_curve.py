"""A figure along a factor, and which points are as good as the best."""

from itertools import pairwise

import pytest
from msgspec.structs import replace
from tests.examples import MAX_RATES, PROCEDURE, example_result, invalid_result

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


def lower_is_better(record):
    return replace(record, metrics=(replace(record.figure, better="lower"),))


def curve_of(records):
    """The one curve of some records."""
    (curve,) = curves_of(records)
    return curve


def standings(curve):
    return [(point.at, point.standing) for point in curve.points]


def test_points_are_ordered_and_those_that_do_not_differ_from_the_best_are_reported():
    records = [point(8, 1.0), point(2, 0.7), point(4, 0.999), point(16, 0.9)]
    curve = curve_of(records)
    assert (curve.factor, curve.title, curve.unit) == ("threads", "max rate", "exchanges/s")
    assert standings(curve) == [
        (2, "differs"),
        (4, "equal"),
        (8, "best"),
        (16, "differs"),
    ]
    assert curve.best.at == 8
    assert curve.best.value == 6006.0
    assert curve.best.half_width == records[0].figure.half_width
    assert curve.best.id == records[0].id


def test_the_best_is_the_lowest_where_lower_is_better():
    records = [point(2, 0.7), point(4, 0.7005), point(8, 1.0)]
    curve = curve_of([lower_is_better(record) for record in records])
    assert standings(curve) == [(2, "best"), (4, "equal"), (8, "differs")]
    neither = [
        replace(record, metrics=(replace(record.figure, better="neither"),))
        for record in records
    ]
    assert curve_of(neither).best is None
    assert [item.standing for item in curve_of(neither).points] == [None] * 3


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


@pytest.mark.parametrize(
    "records",
    [
        [],
        [point(2), point(2)],
        [point(2), point(4, backend="mysql")],
        [point(2), point(2, backend="mysql")],
        [point(0), point(True)],
        [point(2), replace(point(4), scenario=example_result().scenario)],
        [point(2), replace(point(4), metrics=point(4).metrics[1:])],
    ],
    ids=[
        "none",
        "no factor differs",
        "two differ",
        "words",
        "yes and no",
        "one has no value",
        "other figures",
    ],
)
def test_there_is_no_curve_but_along_one_factor_of_numbers(records):
    assert curves_of(records) == []


def test_points_that_differ_in_more_are_on_curves_of_their_own_each_with_its_best():
    records = [
        point(at, factor, backend=backend)
        for backend, share in (("mysql", 1.0), ("postgresql", 0.5))
        for at, factor in ((8, 0.8 * share), (2, 0.7 * share), (4, share))
    ]
    first, other = curves_of(records)
    assert (first.factor, first.alike) == ("threads", {"backend": "mysql"})
    assert other.alike == {"backend": "postgresql"}
    best = [(2, "differs"), (4, "best"), (8, "differs")]
    assert standings(first) == standings(other) == best
    assert other.best.value == pytest.approx(0.5 * first.best.value)


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
    def built(record, commit):
        return replace(
            record, servers={"server": replace(record.server, version="9", commit=commit)}
        )

    records = [built(point(at), commit) for commit in ("a" * 40, "b" * 40) for at in (2, 4)]
    assert [list(curve.alike) for curve in curves_of(records)] == [["server"], ["server"]]


def test_the_order_of_the_records_does_not_matter():
    records = [point(at, factor) for at, factor in ((2, 0.9), (4, 1.0), (8, 0.95))]
    orders = [records, records[::-1], [records[1], records[2], records[0]]]
    for earlier, other in pairwise(orders):
        assert curve_of(earlier) == curve_of(other)
