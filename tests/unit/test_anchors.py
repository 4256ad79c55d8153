"""Nights on which the anchor was off: they are no change of the builds."""

import random

import pytest

from leaselab.analysis.history.anchors import Session, doubted
from leaselab.analysis.history.detectors import Reading, shifts


def sessions(count, *, slow=(), by=0.05, machine=(), level=0.0, drop_at=None, seed=1):
    """Anchor and build, each with its own noise; the anchor slow, or the machine, on some."""
    chance = random.Random(seed)  # noqa: S311  # a simulation
    made = []
    for place in range(count):
        both = level * chance.gauss(0, 1) - by * (place in machine)
        anchor = both - by * (place in slow) + 0.004 * chance.gauss(0, 1)
        build = both + 0.004 * chance.gauss(0, 1)
        build -= 0.03 * (drop_at is not None and place >= drop_at)
        made.append(Session(Reading(build - anchor, 0.005), anchor, build))
    return made


@pytest.mark.parametrize("seed", range(5))
def test_three_nights_of_a_slow_anchor_are_no_change(seed):
    made = sessions(60, slow={30, 31, 32}, seed=seed)
    assert shifts([item.reading for item in made])
    assert shifts(doubted(made)) == []


def test_they_seldom_are_where_the_level_of_the_machine_scatters_by_2_percent():
    """Without a look at the build's own figure, they are one in all of these."""
    made = [sessions(60, slow={30, 31, 32}, level=0.02, seed=seed) for seed in range(40)]
    assert sum(bool(shifts(doubted(nights))) for nights in made) <= 6
    dropped = [sessions(35, level=0.02, drop_at=30, seed=seed) for seed in range(40)]
    assert sum(bool(shifts(doubted(nights))) for nights in dropped) >= 37


@pytest.mark.parametrize("seed", range(5))
def test_a_drop_is_found_though_the_machine_is_slow_since_then(seed):
    """What the machine does is in both, and cancels."""
    made = sessions(60, machine=range(30, 60), drop_at=30, seed=seed)
    assert doubted(made) == [item.reading for item in made]
    (shift,) = shifts(doubted(made))
    assert (shift.after, shift.sign) == (30, -1)


def test_the_first_sessions_are_not_doubted():
    made = sessions(8, slow={5, 6, 7})
    assert doubted(made) == [item.reading for item in made]


def test_later_sessions_change_no_earlier_reading():
    made = sessions(60, slow={20, 40, 41}, seed=3)
    assert doubted(made)[:30] == doubted(made[:30])
