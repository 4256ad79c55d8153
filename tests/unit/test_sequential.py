"""Bounds with which all looks at growing data together err as often as asked."""

import math
import random
import statistics

import pytest

from leaselab.analysis.duels.sequential import bounds, constant


@pytest.mark.parametrize(("looks", "p"), [(1, 0.025), (2, 0.0147), (5, 0.0079), (10, 0.0053)])
def test_one_p_for_all_looks_is_that_of_pocock(looks, p):
    """Pocock's nominal levels, halved, as his tests are two-sided (Biometrika 64, 1977)."""
    assert constant(tuple(range(1, looks + 1)), 0.025) == pytest.approx(p, rel=0.02)


def test_a_single_look_spends_all():
    assert bounds((7,), (0.01,)) == (pytest.approx(0.01, rel=0.01),)


def test_later_looks_may_err_more_than_their_share_as_they_often_err_with_earlier_ones():
    shares = (0.002, 0.003, 0.005)
    limits = bounds((7, 12, 20), shares)
    assert limits[0] == pytest.approx(shares[0], rel=0.02)
    assert all(p > share for p, share in zip(limits[1:], shares[1:], strict=True))


def test_all_looks_together_err_as_often_as_asked():
    times, chance = (7, 12, 20, 33), random.Random(1)  # noqa: S311 - a simulation
    needed = [
        statistics.NormalDist().inv_cdf(1 - p) for p in bounds(times, (0.01, 0.01, 0.02, 0.06))
    ]
    erred = 0
    for _ in range(4000):
        total, at = 0.0, 0
        for time, least in zip(times, needed, strict=True):
            total += math.sqrt(time - at) * chance.gauss(0, 1)
            at = time
            if total / math.sqrt(time) > least:
                erred += 1
                break
    assert erred / 4000 == pytest.approx(0.1, abs=0.015)
