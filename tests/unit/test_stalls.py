"""What clients notice of an operation, computed from loads whose stalls are known."""

import numpy as np
import pytest

from leaselab.measure.stalls import Binned, Stretch, longest_gap, noticed, settled_before

RATE, SECONDS, BIN_S = 1000, 20, 0.001
BEFORE, AFTER = Stretch(1.0, 5.0), Stretch(5.0, 20.0)
LATE_S = 2.0


def load_of(delays, rate=RATE, lost=()):
    """A load whose transactions take the `delays` of their times, but those of `lost`."""
    due = np.arange(0, SECONDS, 1 / rate)
    latency = delays(due)
    kept = np.ones(due.size, dtype=bool)
    for begin, end in lost:
        kept &= (due < begin) | (due >= end)
    bins = round(SECONDS / BIN_S)

    def count(times, weights=None):
        places = np.minimum((times / BIN_S).astype(int), 2 * bins)
        return np.bincount(places, weights, minlength=2 * bins + 1)[: 2 * bins].astype(float)

    in_time = kept & (latency <= LATE_S)
    late = kept & (latency > LATE_S)
    return Binned(
        BIN_S,
        count((due + latency)[kept]),
        count(due)[:bins],
        count(due[in_time])[:bins],
        count(due[late])[:bins],
        count(due[kept], latency[kept])[:bins],
    )


def base(due):
    return 0.0004 * np.random.default_rng(3).gamma(20, 1 / 20, due.size)


def stalled(at, length, load=0.0):
    """Delays of a server that stands still, and then serves the backlog (`load` of it)."""

    def delays(due):
        waits = length - (due - at) * (1 - load)
        return base(due) + np.where(due >= at, np.maximum(0.0, waits), 0.0)

    return delays


@pytest.mark.parametrize("length", [0.05, 0.2, 1.0])
@pytest.mark.parametrize("load", [0.0, 0.5, 0.8])
def test_a_stall_is_measured_within_ten_milliseconds_and_its_end_within_five_percent(
    length, load
):
    seen = noticed(load_of(stalled(6.0, length, load)), BEFORE, AFTER, 6.0)
    assert seen.stall_s == pytest.approx(length, abs=0.01)
    assert seen.recovered_s == pytest.approx(1.0 + length / (1 - load), rel=0.05)
    assert (seen.late, seen.lost) == (0, 0)


def slower(factor, begin, end=SECONDS):
    """Delays that are larger by this factor for a while."""
    return lambda due: base(due) * np.where((due > begin) & (due < end), factor, 1.0)


@pytest.mark.parametrize(
    ("delays", "effect_s", "recovered_s"),
    [
        (base, 5.1, 0.0),
        # slowness until the effect counts, though it begins late
        (slower(1.5, 6, 8), 9.0, pytest.approx(3.0, abs=0.06)),
        # a change within ten percent is none
        (slower(1.05, 5), 5, pytest.approx(0.0, abs=0.5)),
        (slower(1.3, 5), 5, None),
    ],
)
def test_what_is_slower_without_a_stall_recovers_by_itself_or_not(
    delays, effect_s, recovered_s
):
    seen = noticed(load_of(delays), BEFORE, AFTER, effect_s)
    assert seen.recovered_s == recovered_s
    assert seen.stall_s < 0.005
    assert (seen.late, seen.lost) == (0, 0)


def test_late_and_lost_are_of_what_was_due_after_it():
    seen = noticed(
        load_of(stalled(6.0, 3.0), lost=[(2.0, 2.5), (10.0, 10.25)]), BEFORE, AFTER, 6.0
    )
    assert (seen.late, seen.lost) == (pytest.approx(1000, abs=2), 250)
    assert seen.stall_s == pytest.approx(3.0, abs=0.01)


def test_a_server_that_does_not_answer_again_has_no_stall_and_does_not_recover():
    seen = noticed(load_of(base, lost=[(9.0, 20.0)]), BEFORE, AFTER, 9.0)
    assert (seen.stall_s, seen.recovered_s, seen.lost) == (None, None, 11_000)


@pytest.mark.parametrize("rate", [50, 200])
def test_few_transactions_make_gaps_of_their_distance(rate):
    load = load_of(stalled(6.0, 1.0), rate)
    assert longest_gap(load, BEFORE).length_s == pytest.approx(1 / rate, abs=0.003)
    seen = noticed(load, BEFORE, AFTER, 6.0)
    assert seen.stall_s == pytest.approx(1.0, abs=0.01 + 1 / rate)
    assert seen.recovered_s == pytest.approx(2.0, abs=0.1)


def test_a_gap_that_begins_before_the_stretch_is_of_it():
    gap = longest_gap(load_of(stalled(4.9, 0.5)), AFTER)
    assert (gap.begin_s, gap.end_s) == pytest.approx((4.9, 5.4), abs=0.003)


def test_a_gap_that_begins_at_the_end_of_the_stretch_is_of_the_next():
    load = load_of(stalled(11.999, 0.5))
    assert longest_gap(load, Stretch(5.0, 12.0)).length_s < 0.005
    assert longest_gap(load, Stretch(12.0, 20.0)).length_s == pytest.approx(0.5, abs=0.003)


def test_an_operation_is_compared_with_the_last_settled_stretch_before_it():
    """What prepares the next is no part of it."""
    made, first = [Stretch(begin, begin + 4.9) for begin in (5.0, 10.0, 15.0, 20.0)], BEFORE
    recovered = [0.5, 4.5, None, 1.0]
    seen = [settled_before(made, recovered, place, first) for place in range(4)]
    assert seen == [first, *[Stretch(5.5, 9.9)] * 3]
