"""The ratio of two trimmed means against simulation and known cases."""

import random

import pytest

from leaselab.analysis.ratio import Level, ratio
from leaselab.analysis.statistics import estimate


def level(values, trim=1):
    found = estimate(values, trim)
    return Level(found.trimmed_mean, found.standard_error, len(values) - 2 * trim)


def test_the_same_sweep_twice_is_a_ratio_of_one_within_its_interval():
    one = level([100.0, 101.0, 99.0, 100.5, 99.5, 100.2, 99.8, 103.0, 97.0])
    found = ratio(one, one)
    assert found.value == 1.0
    assert found.ci95[0] < 1.0 < found.ci95[1]
    assert found.differs is False


def test_a_third_less_with_small_errors_differs():
    base = Level(100.0, 0.5, 7)
    found = ratio(base, Level(66.0, 0.5, 7))
    assert found.value == pytest.approx(0.66)
    assert found.differs
    # the relative errors are 0.5 % and 0.76 %; t of about 10 degrees is 2.2
    assert found.ci95 == pytest.approx((0.6469, 0.6734), abs=0.0015)


def test_too_few_runs_have_a_ratio_and_no_interval():
    found = ratio(Level(100.0, None, 1), Level(90.0, 1.0, 7))
    assert (found.value, found.ci95, found.differs) == (0.9, None, None)


def test_runs_without_any_spread_are_known_exactly():
    assert ratio(Level(100.0, 0.0, 7), Level(90.0, 0.0, 7)).ci95 == (0.9, 0.9)


def test_the_interval_holds_the_true_ratio_as_often_as_it_says():
    rng = random.Random(20261122)  # noqa: S311  # no secret
    held = 0
    sweeps = 2000
    for _ in range(sweeps):
        base = level([rng.gauss(1000.0, 20.0) for _ in range(9)])
        other = level([rng.gauss(900.0, 30.0) for _ in range(9)])
        low, high = ratio(base, other).ci95
        held += low <= 0.9 <= high
    # two standard errors of a share of 95 % in 2000 are 1 %
    assert 0.935 < held / sweeps < 0.97
