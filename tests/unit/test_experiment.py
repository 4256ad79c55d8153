"""The order of an experiment's rounds, without anything that measures."""

import pytest

from leaselab.run.measurement import next_point, run_points


class Counting:
    """A point that has so many rounds, and perhaps an end before the last one."""

    def __init__(self, name, wanted, done, made=0):
        self.name, self.wanted, self.done = name, wanted, done
        self.rounds = list(range(made))
        self.finished = False

    def advance(self):
        assert not self.finished
        if len(self.rounds) < self.wanted:
            self.rounds.append(None)
            self.done.append(self.name)
        self.finished = len(self.rounds) >= self.wanted


def order(*wanted, interleaved=True, made=()):
    """The points' letters in the order of their rounds; small ones where one is sealed."""
    done = []
    made = made or [0] * len(wanted)
    points = [
        Counting(chr(65 + place), rounds, done, before)
        for place, (rounds, before) in enumerate(zip(wanted, made, strict=True))
    ]
    run_points(points, interleaved=interleaved, done=lambda place: done.append(chr(97 + place)))
    return "".join(done)


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [((4, 4), "ABBAABBbAa"), ((3, 3, 3), "ABCCBAAaBbCc"), ((1, 3), "AaBBBb"), ((2,), "AAa")],
    ids=["two", "three", "one leaves", "alone"],
)
def test_points_take_turns_every_other_time_backwards(wanted, expected):
    assert order(*wanted) == expected


@pytest.mark.parametrize("rounds_made", range(9))
def test_an_experiment_goes_on_where_it_was_ended(rounds_made):
    """The next round follows from how many each has: nothing else has to be kept."""
    whole = order(3, 3, 3)
    rounds = [letter for letter in whole if letter.isupper()]
    made = [rounds[:rounds_made].count(letter) for letter in "ABC"]
    rest = order(3, 3, 3, made=made)
    assert [letter for letter in rest if letter.isupper()] == rounds[rounds_made:]
    assert sorted(letter for letter in rest if letter.islower()) == [*"abc"], "all are sealed"


def test_an_unequal_start_is_caught_up_with():
    """One of which more was kept waits for the others."""
    assert order(3, 3, made=(2, 0)) == "BBAaBb"
    assert order(2, 2, 1, interleaved=False) == "AAaBBbCc", "one after the other"
    assert next_point([None, None], interleaved=True) is None
    assert next_point([], interleaved=False) is None


def test_a_point_whose_rounds_were_all_made_before_it_was_sealed_is_sealed():
    """As where the disk was full at that moment; the others go on."""
    assert order(2, 1, made=(2, 0)) == "Bba"
