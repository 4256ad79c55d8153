"""Where a series changed: steps, creeps, and what is neither."""

import math
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leaselab.analysis.history.detectors import RULES, Reading, Shape, noise, shifts, size


def series(levels, sd=0.006, seed=1, error=0.006):
    chance = random.Random(seed)  # noqa: S311  # a simulation
    return [Reading(math.log(level) + sd * chance.gauss(0, 1), error) for level in levels]


@pytest.mark.parametrize("seed", range(5))
def test_noise_alone_is_no_change(seed):
    assert shifts(series([1.0] * 200, seed=seed)) == []


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("ratio", [0.97, 1.03])
def test_a_step_of_3_percent_is_found_within_five_and_placed(ratio, seed):
    readings = series([1.0] * 40 + [ratio] * 30, seed=seed)
    (shift,) = shifts(readings)
    assert (shift.shape, shift.before, shift.after) == (Shape.STEP, 39, 40)
    assert shift.detected < 45
    assert shift.sign == (1 if ratio > 1 else -1)
    value, (low, high) = size(readings, shift)
    assert low < ratio < high
    assert value == pytest.approx(ratio, abs=0.004)


def test_two_steps_are_two_changes_with_a_level_between():
    readings = series([1.0] * 20 + [0.95] * 20 + [1.0] * 20)
    first, second = shifts(readings)
    assert (first.old, first.new) == ((0, 20), (20, 40))
    assert (second.old, second.new) == ((20, 40), (40, 60))
    assert size(readings, second)[0] == pytest.approx(1 / 0.95, abs=0.01)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("then", [0.94, 1.0])
def test_a_second_change_three_commits_later_is_found_too(then, seed):
    """The level between two drops, or of one that is reverted, has three readings."""
    readings = series([1.0] * 30 + [0.97] * 3 + [then] * 12, sd=0.004, seed=seed, error=0.004)
    first, second = shifts(readings)
    assert (first.after, second.after) == (30, 33)
    assert second.sign == (1 if then == 1.0 else -1)


def test_a_creep_that_no_two_neighbours_show_is_found_and_is_no_step():
    first, *_ = shifts(series([1.0] * 25 + [0.999**n for n in range(80)], sd=0.002, error=0))
    assert first.shape is Shape.CREEP
    assert first.sign == -1
    assert 20 <= first.before <= 32
    assert first.after == first.detected < 60


def test_ten_steps_of_1_percent_are_found():
    levels = [1.0] * 20 + [0.99 ** (1 + n // 10) for n in range(100)]
    assert any(shift.sign < 0 for shift in shifts(series(levels)))


@pytest.mark.parametrize("far", [-0.1, 0.1])
def test_one_or_two_disturbed_sessions_neither_make_a_change_nor_hide_one(far):
    readings = series([1.0] * 40)
    for place in (20, 21, 33):
        readings[place] = Reading(readings[place].value + far, 0.006)
    assert shifts(readings) == []
    dropped = readings + series([0.97] * 6, seed=9)
    dropped[41] = Reading(far, 0.006)
    assert any(shift.detected >= 40 and shift.sign < 0 for shift in shifts(dropped))


def test_more_noise_asks_for_more():
    _, quiet = RULES.limits(0.006, 24)
    reference, loud = RULES.limits(0.02, 24)
    assert quiet == RULES.threshold
    assert reference == 0.02
    assert loud > 2 * RULES.threshold


def test_a_reading_that_is_known_badly_counts_for_less():
    readings = series([1.0] * 30)
    assert shifts(readings + [Reading(-0.03, 0.006)] * 3)
    assert not shifts(readings + [Reading(-0.03, 0.05)] * 3)


def test_noise_is_that_of_neighbours_whatever_the_level_does():
    readings = series([1.0] * 30 + [0.9] * 30, error=0.0)
    assert noise(readings)[-1] == pytest.approx(0.006, rel=0.25)
    assert noise([Reading(0.0, 0.01)] * 9)[-1] == 0.01


def test_too_few_readings_show_nothing():
    assert shifts([]) == []
    assert shifts(series([1.0, 1.0, 0.5, 0.5])) == []


@given(
    st.lists(st.sampled_from([1.0, 0.97, 0.94, 1.02]), min_size=1, max_size=12),
    st.integers(0, 1000),
)
@settings(max_examples=40)
def test_what_was_found_stays_found_where_it_was(levels, seed):
    """So each review reports of a commit what the one before reported."""
    readings = series([level for level in levels for _ in range(9)], seed=seed)

    def described(count):
        known = shifts(readings[:count])
        return [(item.shape, item.before, item.after, item.detected) for item in known]

    whole = described(len(readings))
    for count in range(0, len(readings), 7):
        assert described(count) == [item for item in whole if item[3] < count]
