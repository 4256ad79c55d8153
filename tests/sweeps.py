"""Sweeps of the world in memory: whole, killed once, and ended by an error."""

from functools import cache

import msgspec
import pytest
from tests.doubles import Killed, World, bench

from leaselab.model.errors import LeaselabError

SOME_TIME = "2026-11-23T00:00:00Z"


def without_times(rounds):
    """Rounds as they are but for when they were made."""
    return [
        msgspec.structs.replace(
            round_,
            started_at=SOME_TIME,
            trials=tuple(
                msgspec.structs.replace(trial, started_at=SOME_TIME) for trial in round_.trials
            ),
        )
        for round_ in rounds
    ]


def rates(point):
    return [round_.metrics["max_rate"] for round_ in point.rounds]


def ended(world, of=None):
    """The error that ends the point or breaks its lab, and the point."""
    point = world.point(of)
    try:
        while not point.finished:
            point.advance()
    except LeaselabError as error:  # of a broken lab: others are the point's own
        return error, point
    assert point.error is not None
    return point.error, point


@cache
def quiet(**parameters):
    """The world of a sweep that nothing interrupted, and its point."""
    world = World()
    return world, world.measure(bench(**parameters))


def whole_rounds():
    return without_times(quiet()[1].rounds)


CONFIRMED = {"warm_up_s": 1, "confirm_s": 6}


def killed_once(procedure, at, *, before, **world):
    """A world whose engine was killed at an event and went on to the end, and its point."""
    world = World(kill_at=at, kill_before=before, **world)
    with pytest.raises(Killed):
        world.measure(bench(**procedure))
    world.kill_at = 10**9
    return world, world.measure(bench(**procedure))
