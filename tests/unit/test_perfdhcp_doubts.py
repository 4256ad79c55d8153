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
    kept = np.ones(due.size, bool)
    if burst:
        kept[np.flatnonzero(within)[within.sum() - lost :]] = False
    else:
        sent_at, kept = due, ~within
    times = np.sort(sent_at[kept])
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
    times = {"sent_at": second.sent_at[kept], "received_at": second.received_at[kept]}
    fewer = dataclasses.replace(second, received=count, **times)
    return dataclasses.replace(output, second=fewer)


def used(**changed):
    """What a load has used of the generator's host."""
    nothing = {"work_s": (0.01, 0.01), "steal_s": 0.0, "throttled_s": 0.0, "receive_errors": 0}
    return {"generator": HostUse(**nothing | changed)}


OFFERED_TWICE = dataclasses.replace(output(5000).first, duplicates=3)


@pytest.mark.parametrize(
    ("printed", "how", "word"),
    [
        # one percent of what it was to begin may be missing
        (output(5000), {}, ""),
        (output(4941), {}, ""),
        (output(4940), {}, GENERATOR_LIMITED),
        (output(0), {}, GENERATOR_LIMITED),
        # a server that loses everything is no fault of the generator
        (output(5000, received=0), {}, ""),
        # an aborted trial started fewer on purpose
        (output(2000, received=1000, span=2.0), {"may_abort": True}, ""),
        (output(5000, duplicates=1), {}, dhcp_load.DUPLICATE_ADDRESS),
        (dataclasses.replace(output(5000), first=OFFERED_TWICE), {}, ""),
        (dataclasses.replace(output(5000), malformed=1), {}, dhcp_load.MALFORMED),
        # a refusal spoils a pass, and a failure stays one
        (output(5000, rejected=1), {}, dhcp_load.REJECTED),
        (output(5000), {"refused": 1}, dhcp_load.REJECTED),
        (output(5000, received=4000, rejected=1), {}, ""),
        (output(5000, received=4000), {"refused": 1}, ""),
        # what was taken from the generator's host explains losses
        (output(5000, received=4800), used(), ""),
        (output(5000, received=4800), used(receive_errors=200), GENERATOR_STALLED),
        (output(5000, received=4800), used(throttled_s=0.3), GENERATOR_STALLED),
        (output(5000, received=4800), used(steal_s=0.3), GENERATOR_STALLED),
        (output(5000, received=4800), used(steal_s=0.2), ""),
        # a pool may be filled to half
        (output(5000), {"pool_size": 10_000}, ""),
        (output(5000), {"pool_size": 9_999}, adapter.POOL_TOO_FULL),
        (output(5000), {"pool_size": 1}, adapter.POOL_TOO_FULL),
    ],
)
def test_what_was_printed_and_seen_makes_a_trial_doubtful(printed, how, word):
    assert doubt(printed, **how) == word


@pytest.mark.parametrize("stall_s", [0.2, 0.5])
def test_losses_that_a_stall_of_the_generator_explains_are_not_the_servers(stall_s):
    """200 ms at 1000/s are 4 % of a trial of 5 s: a failure, were it the server's."""
    lost = round(900 * stall_s)
    printed = stalled(stall_s, lost=lost)
    assert sum(stalls_s(printed, 1000)) == pytest.approx(stall_s, rel=0.05)
    assert doubt(printed) == GENERATOR_STALLED
    assert doubt(stalled(stall_s)) == ""  # it passed all the same


@pytest.mark.parametrize(
    ("printed", "stalls"),
    [
        # 80 ms at 1000/s fit into a buffer: the server has lost 4 % of the trial by itself
        (answered(stalled(0.08), 4800), 1),
        (answered(stalled(0.2, lost=180), 4000), 1),  # the stall explains a part of it
        (stalled(0.5, burst=False), 0),  # of the server, not of the generator
    ],
)
def test_a_failure_that_a_stall_does_not_explain_stays_one(printed, stalls):
    assert len(stalls_s(printed, 1000)) == stalls
    trial = judged(printed)
    assert (trial.completed, trial.reason) == (printed.second.received, "")


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
    ("printed", "limit", "aborted", "word"),
    [
        (output(2000, span=2.0), ABORT_AFTER, True, ""),
        (output(2000, span=2.0), None, False, GENERATOR_LIMITED),
        (output(2000, span=5.0), ABORT_AFTER, False, GENERATOR_LIMITED),
        (output(5000), ABORT_AFTER, False, ""),
    ],
    ids=["gave up", "must not", "short of processor time", "whole"],
)
def test_giving_up_at_full_rate_is_an_abort_and_falling_behind_is_none(
    printed, limit, aborted, word
):
    assert perfdhcp_reading.was_aborted(printed, LOAD, limit) is aborted
    assert aborted or doubt(printed, may_abort=bool(limit)) == word


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
