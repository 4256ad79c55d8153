"""Which trials say something about the server."""

import numpy as np
import pytest

from leaselab.measure import validity
from leaselab.measure.outcomes import GENERATOR_LIMITED
from leaselab.measure.perfdhcp import Counts, Output, Stage
from leaselab.model.trial import Goal, TrialRequest

REQUEST = TrialRequest(rate=1000, duration_s=5)
ABORT_AFTER = 625
POOL = 16_777_214


def output(sent, received=None, *, span=5.0, rejected=0, duplicates=0, reports=()):
    """An output whose answered requests left evenly over `span` seconds."""
    received = sent if received is None else received
    sent_at = np.linspace(0.0, span, received)
    first = Stage(sent, received, rejected, duplicates, sent_at, sent_at + 0.001)
    second = Stage(received, received, 0, 0, sent_at + 0.001, sent_at + 0.002)
    return Output(first, second, reports)


def doubt(found, *, aborted=False, pool_size=POOL, request=REQUEST):
    sent, received = found.first.sent, found.second.received
    counts = Counts(sent, received, 0, sent - received)
    return validity.doubt(found, counts, request, aborted=aborted, pool_size=pool_size)


@pytest.mark.parametrize(
    ("sent", "word"),
    [(5000, ""), (4990, ""), (4948, ""), (4947, GENERATOR_LIMITED), (0, GENERATOR_LIMITED)],
)
def test_one_percent_and_two_may_be_missing(sent, word):
    assert doubt(output(sent)) == word


def test_a_server_that_loses_everything_is_no_fault_of_the_generator():
    assert doubt(output(5000, received=0)) == ""


def test_an_aborted_trial_started_fewer_on_purpose():
    assert doubt(output(2000), aborted=True) == ""


@pytest.mark.parametrize(
    ("fields", "word"),
    [
        ({"duplicates": 1}, validity.DUPLICATE_ADDRESS),
        ({"rejected": 1}, validity.REJECTED),
    ],
)
def test_one_refused_or_doubled_lease_spoils_the_trial(fields, word):
    assert doubt(output(5000, **fields)) == word


@pytest.mark.parametrize(
    ("size", "word"),
    [(10_000, ""), (9_999, validity.POOL_TOO_FULL), (1, validity.POOL_TOO_FULL)],
)
def test_a_pool_may_be_filled_to_half(size, word):
    assert doubt(output(5000), pool_size=size) == word


def test_a_trial_that_ran_to_its_end_lasts_as_long_as_its_exchanges_take():
    assert validity.traffic_s(output(5000), REQUEST) == 5.0
    assert validity.traffic_s(output(4990), REQUEST) == 4.99


def test_a_trial_cut_short_lasts_as_long_as_its_answered_requests_span():
    assert validity.traffic_s(output(2000, span=2.0), REQUEST) == 2.0


def test_a_silent_trial_cut_short_lasts_as_long_as_its_reports_show_it_sending():
    reports = ((1000, 0, 0, 0), (1700, 0, 0, 0), (1700, 0, 0, 0))
    found = output(1700, received=0, reports=reports)
    assert validity.traffic_s(found, REQUEST) == 2.0


def test_giving_up_at_full_rate_is_an_abort():
    assert validity.was_aborted(output(2000, span=2.0), REQUEST, ABORT_AFTER)


def test_falling_behind_for_the_whole_period_is_no_abort():
    """2000 instead of 5000 over 5 s: the generator was short of processor time."""
    found = output(2000, span=5.0)
    assert not validity.was_aborted(found, REQUEST, ABORT_AFTER)
    assert doubt(found) == GENERATOR_LIMITED


def test_a_trial_that_may_not_abort_has_not():
    assert not validity.was_aborted(output(2000, span=2.0), REQUEST, None)


def test_a_whole_trial_was_not_aborted():
    assert not validity.was_aborted(output(5000), REQUEST, ABORT_AFTER)


@pytest.mark.parametrize(
    ("lost", "trouble", "held", "word"),
    [
        (0, "", (5000,), ""),
        (0, "", (5000, 5000), ""),
        (100, "", (5000, 4900), ""),
        (0, "", (5000, 4999), validity.LOST_UPDATES),
        (100, "", (4899, 4900), validity.LOST_UPDATES),
        (0, "waiting", (5000, 5000), validity.PAIR_STATE),
        (126, "waiting", (5000, 0), ""),
    ],
)
def test_a_pass_needs_a_whole_pair_that_knows_every_answered_client(lost, trouble, held, word):
    counts = Counts(5000, 5000 - lost, 0, lost)
    assert validity.pair_doubt(counts, Goal(), trouble, 5000 - lost, held) == word
