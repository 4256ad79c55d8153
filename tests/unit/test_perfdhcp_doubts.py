"""When perfdhcp, or what it was answered, makes a trial doubtful."""

import dataclasses
import ipaddress

import numpy as np
import pytest
from tests.bench_document import DOCUMENT

from leaselab.lab.deploy.bench_file import parse_bench
from leaselab.measure.generators import adapter, dhcp_load
from leaselab.measure.generators.adapter import GENERATOR_STALLED, Seen
from leaselab.measure.generators.perfdhcp import trial as perfdhcp_reading
from leaselab.measure.generators.perfdhcp.output import Output, Stage
from leaselab.measure.generators.perfdhcp.trial import PerfdhcpReading, stalls_s
from leaselab.model.observation import Generated
from leaselab.model.procedures.max_rate import MaxRate
from leaselab.model.record import GENERATOR_LIMITED
from leaselab.model.trial import HostUse, Load

LOAD = Load(rate=1000, duration_s=5)
ABORT_AFTER = 625


def output(sent, received=None, *, span=5.0, rejected=0, duplicates=0, reports=()):
    """An output whose answered requests left evenly over `span` seconds."""
    received = sent if received is None else received
    sent_at = np.linspace(0.0, span, received)
    first = Stage(sent, received, rejected, 0, sent_at, sent_at + 0.001)
    second = Stage(received, received, 0, duplicates, sent_at + 0.001, sent_at + 0.002)
    return Output(first, second, reports)


def stalled(stall_s, *, burst=True, lost=0, rate=1000, seconds=5):
    """An output of a generator, or a server, that stalled in the middle.

    A generator catches up in a burst, of which the last `lost` were not answered; what
    came while a server stalled is lost, and nothing follows faster.
    """
    due = np.arange(rate * seconds) / rate
    within = (due >= 2.0) & (due < 2.0 + stall_s)
    sent_at = np.where(within, 2.0 + stall_s + (due - 2.0) / 50, due)
    answered = np.ones(due.size, bool)
    if burst:
        answered[np.flatnonzero(within)[within.sum() - lost :]] = False
    else:
        sent_at, answered = due, ~within
    times = np.sort(sent_at[answered])
    first = Stage(due.size, times.size, 0, 0, times, times + 0.001)
    return Output(first, Stage(times.size, times.size, 0, 0, times + 0.001, times + 0.002), ())


def judged(output, *, may_abort=False, pool_size=16_777_214, **seen):
    """The trial that is made of an output."""
    last = ipaddress.ip_address("10.0.0.0") + pool_size
    load = {**DOCUMENT["scenario"]["load"], "pool": f"10.0.0.1 - {last}"}
    scenario = {**DOCUMENT["scenario"], "load": load}
    bench = parse_bench({**DOCUMENT, "scenario": scenario}, "tests")
    left = Generated(0, b"", "")
    limit = ABORT_AFTER if may_abort else None
    reading = PerfdhcpReading(bench, MaxRate(), LOAD, ("perfdhcp",), left, limit)
    reading.__dict__["output"] = output  # parsed already
    return reading.trial(Seen(**seen))


def doubt(output, **how):
    trial = judged(output, **how)
    assert trial.valid is not bool(trial.reason)
    return trial.reason


def answered(output, count):
    """The output with so many last replies, of exchanges all over the trial."""
    second = output.second
    kept = np.linspace(0, second.sent_at.size - 1, count).astype(int)
    fewer = dataclasses.replace(
        second,
        received=count,
        sent_at=second.sent_at[kept],
        received_at=second.received_at[kept],
    )
    return dataclasses.replace(output, second=fewer)


@pytest.mark.parametrize(
    ("sent", "word"),
    [(5000, ""), (4990, ""), (4941, ""), (4940, GENERATOR_LIMITED), (0, GENERATOR_LIMITED)],
)
def test_one_percent_of_what_it_was_to_begin_may_be_missing(sent, word):
    assert doubt(output(sent)) == word


def test_a_server_that_loses_everything_is_no_fault_of_the_generator():
    assert doubt(output(5000, received=0)) == ""


def test_an_aborted_trial_started_fewer_on_purpose():
    assert doubt(output(2000, received=1000, span=2.0), may_abort=True) == ""


@pytest.mark.parametrize(
    ("fields", "word"),
    [
        ({"duplicates": 1}, dhcp_load.DUPLICATE_ADDRESS),
        ({"rejected": 1}, dhcp_load.REJECTED),
    ],
)
def test_one_refused_or_doubled_lease_spoils_the_trial(fields, word):
    assert doubt(output(5000, **fields)) == word


@pytest.mark.parametrize(("received", "word"), [(5000, dhcp_load.REJECTED), (4000, "")])
def test_a_refusal_spoils_a_pass_and_a_failure_stays_one(received, word):
    assert doubt(output(5000, received=received, rejected=1)) == word
    assert doubt(output(5000, received=received), refused=1) == word


def test_replies_that_are_no_dhcp_messages_spoil_the_trial():
    assert doubt(dataclasses.replace(output(5000), malformed=1)) == dhcp_load.MALFORMED


def test_an_address_that_was_only_offered_twice_is_no_fault():
    printed = output(5000)
    printed = dataclasses.replace(
        printed, first=dataclasses.replace(printed.first, duplicates=3)
    )
    assert doubt(printed) == ""


@pytest.mark.parametrize("stall_s", [0.2, 0.5])
def test_losses_that_a_stall_of_the_generator_explains_are_not_the_servers(stall_s):
    """200 ms at 1000/s are 4 % of a trial of 5 s: a failure, were it the server's."""
    lost = round(900 * stall_s)
    printed = stalled(stall_s, lost=lost)
    assert sum(stalls_s(printed, 1000)) == pytest.approx(stall_s, rel=0.05)
    assert doubt(printed) == GENERATOR_STALLED
    assert doubt(stalled(stall_s)) == ""  # it passed all the same


def test_a_burst_that_a_buffer_takes_explains_nothing():
    """80 ms at 1000/s: the server that loses 4 % of a trial has lost it by itself."""
    printed = stalled(0.08)
    assert len(stalls_s(printed, 1000)) == 1
    trial = judged(answered(printed, 4800))
    assert (trial.completed, trial.reason) == (4800, "")


def test_a_server_that_stands_still_has_failed():
    printed = stalled(0.5, burst=False)
    assert stalls_s(printed, 1000) == []
    assert doubt(printed) == ""


def test_a_failure_that_a_stall_does_not_explain_stays_one():
    printed = stalled(0.2, lost=180)
    assert doubt(answered(printed, 4000)) == ""


@pytest.mark.parametrize(
    ("use", "word"),
    [
        ({}, ""),
        ({"receive_errors": 200}, GENERATOR_STALLED),
        ({"throttled_s": 0.3}, GENERATOR_STALLED),
        ({"steal_s": 0.3}, GENERATOR_STALLED),
        ({"steal_s": 0.2}, ""),
    ],
)
def test_what_was_taken_from_the_generators_host_explains_losses(use, word):
    nothing = {"work_s": (0.01, 0.01), "steal_s": 0.0, "throttled_s": 0.0, "receive_errors": 0}
    assert doubt(output(5000, received=4800), generator=HostUse(**nothing | use)) == word


@pytest.mark.parametrize(
    ("size", "word"),
    [
        (10_000, ""),
        (9_999, adapter.POOL_TOO_FULL),
        (1, adapter.POOL_TOO_FULL),
    ],
)
def test_a_pool_may_be_filled_to_half(size, word):
    assert doubt(output(5000), pool_size=size) == word


SENDING = ((1000, 0, 0, 0), (1700, 0, 0, 0), (1700, 0, 0, 0))


@pytest.mark.parametrize(
    ("printed", "seconds"),
    [
        (output(5000), 5.0),
        (output(4990), 4.99),
        (output(2000, span=2.0), 2.0),
        (output(1700, received=0, reports=SENDING), 2.0),
    ],
    ids=["to its end", "a little less", "cut short", "cut short and silent"],
)
def test_the_traffic_lasts_as_long_as_exchanges_were_started(printed, seconds):
    """By the rate, or where that was cut short by answered requests, or by its reports."""
    assert perfdhcp_reading.traffic_s(printed, LOAD) == seconds


@pytest.mark.parametrize(
    ("printed", "limit", "aborted"),
    [
        (output(2000, span=2.0), ABORT_AFTER, True),
        (output(2000, span=2.0), None, False),
        (output(2000, span=5.0), ABORT_AFTER, False),
        (output(5000), ABORT_AFTER, False),
    ],
    ids=["gave up", "must not", "short of processor time", "whole"],
)
def test_giving_up_at_full_rate_is_an_abort_and_falling_behind_is_none(printed, limit, aborted):
    assert perfdhcp_reading.was_aborted(printed, LOAD, limit) is aborted
    behind = printed.first.sent < 5000 and not aborted and limit
    assert not behind or doubt(printed, may_abort=True) == GENERATOR_LIMITED


@pytest.mark.parametrize(
    ("lost", "trouble", "held", "word"),
    [
        (0, "", (5000,), ""),
        (0, "", (5000, 5000), ""),
        (100, "", (5000, 4900), ""),
        (0, "", (5000, 4999), dhcp_load.LOST_UPDATES),
        (100, "", (4899, 4900), dhcp_load.LOST_UPDATES),
        (126, "", (5000, 0), ""),
        (0, "waiting", (5000, 0), ""),
    ],
)
def test_a_pass_needs_a_pair_that_knows_every_answered_client(lost, trouble, held, word):
    """One that was not in its state is doubted for that: see test_trials.py."""
    roles = dict(zip(("server", "partner"), held, strict=False))
    assert doubt(output(5000, received=5000 - lost), held=roles, trouble=trouble) == word
