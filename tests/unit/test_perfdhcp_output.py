"""perfdhcp's recorded output read critically: parsed, joined by its times, judged.

The recordings in tests/data/perfdhcp are whole outputs of perfdhcp at 50 exchanges/s for 2 s,
of its versions 2.2 and 2.6 (silent, aborted, error; 300 exchanges/s).
"""

import re
from datetime import datetime, timedelta
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.refusals import refused

from leaselab.measure.generators.perfdhcp import output as perfdhcp_output
from leaselab.measure.generators.perfdhcp import trial as perfdhcp_reading
from leaselab.measure.generators.perfdhcp.output import Output, Stage
from leaselab.model.errors import LeaselabError, Outcome

DATA = Path(__file__).parents[1] / "data" / "perfdhcp"
LATE_S = 2.0
RATE = 50
MICROSECONDS_A_DAY = 24 * 3600 * 10**6


def recorded(name):
    return (DATA / f"{name}.txt").read_bytes()


def changed(name, old, new):
    """A recording in which the first of these texts is another one."""
    text = recorded(name).decode()
    assert old in text
    return text.replace(old, new, 1).encode()


def document(pairs, *, sent=None, second=((0, 1),)):
    """An output whose first stage has these (sent, received) times (us), or text lines."""

    def stage(name, times, sent_packets):
        return (
            f"***Statistics for: {name}***\nsent packets: {sent_packets}\n"
            f"received packets: {len(times)}\nrejected leases: 0\nnon unique addresses: 0\n\n"
        )

    def stamps(name, times):
        lines = "".join(
            f"sent / received: {clock(before)} / {clock(after)}\n" for before, after in times
        )
        return f"***Timestamps for packets: {name}***\n{lines}\n"

    first, other = perfdhcp_output.STAGES[4]
    return (
        stage(first, pairs, len(pairs) if sent is None else sent)
        + stage(other, second, len(second))
        + stamps(first, pairs)
        + stamps(other, second)
    ).encode()


def clock(microseconds):
    """Write a time as perfdhcp does: HHMMSS, and a fraction only where there is one."""
    if isinstance(microseconds, str):
        return microseconds
    moment = datetime.min + timedelta(microseconds=microseconds)
    return f"{moment:%H%M%S.%f}".removesuffix(".000000")


def stage(sent, latencies):
    """A stage of which as many exchanges were answered as there are latencies (s)."""
    sent_at = np.arange(len(latencies), dtype=float) / 300
    return Stage(sent, len(latencies), 0, 0, sent_at, sent_at + np.array(latencies))


@pytest.mark.parametrize(("name", "family"), [("v4_clean", 4), ("v6_clean", 6)])
def test_a_clean_trial_has_all_exchanges_and_the_mean_delays_that_perfdhcp_prints(name, family):
    output = perfdhcp_output.parse(recorded(name), family)
    stages = (output.first, output.second)
    assert [(stage.sent, stage.received) for stage in stages] == [(99, 99)] * 2
    means = re.findall(rb"avg delay: ([\d.]+) ms", recorded(name))
    for stage, mean_ms in zip(stages, means, strict=True):
        assert 1000 * stage.latency_s.mean() == pytest.approx(float(mean_ms), abs=0.01)
    counts = perfdhcp_reading.judge(output, LATE_S, RATE)
    assert (counts.attempted, counts.completed, counts.late, counts.lost) == (99, 99, 0, 0)


@pytest.mark.parametrize(("late_s", "late"), [(LATE_S, 0), (0.5, 12)])
def test_in_order_late_replies_count_as_late_although_perfdhcp_received_them(late_s, late):
    """99 started, 89 offers, 78 ACKs; nothing becomes lost by a shorter limit."""
    output = perfdhcp_output.parse(recorded("v4_late"), 4)
    assert (output.first.sent, output.second.sent) == (99, 89)
    assert late == int((perfdhcp_output.join(output).latency_s > late_s).sum())
    counts = perfdhcp_reading.judge(output, late_s, RATE)
    assert (counts.completed, counts.late, counts.lost) == (78 - late, late, 21)


@pytest.mark.parametrize("name", ["v4_silent", "v4_aborted"])
def test_a_silent_server_completes_nothing(name):
    output = perfdhcp_output.parse(recorded(name), 4)
    assert output.first.sent > 0
    assert output.first.latency_s.shape == (0,)
    counts = perfdhcp_reading.judge(output, LATE_S, RATE)
    assert (counts.completed, counts.late, counts.lost) == (0, 0, output.first.sent)
    assert perfdhcp_output.percentiles(output.first.latency_s) is None


@pytest.mark.parametrize(
    ("text", "family", "words"),
    [
        (recorded("v4_error"), 4, "Invalid argument"),
        (b"", 4, "found nothing"),
        (recorded("v4_clean"), 6, "SOLICIT-ADVERTISE"),
        (document([(2, 1)]), 4, "a reply before its request"),
        (changed("v4_clean", "packets: 99", "packets: many"), 4, "no 'sent packets' of"),
        (changed("v4_clean", "sent packets: 99", "sent packets: 98"), 4, "contradicts itself"),
        (changed("v4_late", "sent packets: 89", "sent packets: 90"), 4, "contradicts itself"),
        *(
            (document([(0, rubbish)]), 4, "times of DISCOVER-OFFER")
            for rubbish in ("x", "1.2.3", "0.1 0.2", "--", "", "nan", "inf")
        ),
    ],
)
def test_what_is_no_output_of_a_trial_is_no_measurement(text, family, words):
    with refused(words, Outcome.LAB):
        perfdhcp_output.parse(text, family)


@pytest.mark.parametrize("name", ["v4_clean", "v4_late"])
def test_output_cut_short_at_any_line_raises(name):
    """Never fewer exchanges than there were: a cut is no loss."""
    lines = recorded(name).splitlines(keepends=True)
    last = max(at for at, line in enumerate(lines) if line.startswith(b"sent / received"))
    for length in range(last + 1):
        with refused("does not parse", Outcome.LAB):
            perfdhcp_output.parse(b"".join(lines[:length]), 4)
    perfdhcp_output.parse(b"".join(lines[: last + 1]), 4)


@given(st.integers(0, 10**6))
def test_a_line_lost_in_the_middle_raises_or_changes_nothing(at):
    def judged(lines):
        output = perfdhcp_output.parse(b"".join(lines), 4)
        return perfdhcp_reading.judge(output, LATE_S, RATE)

    lines = recorded("v4_late").splitlines(keepends=True)
    at %= len(lines)
    try:
        counts = judged(lines[:at] + lines[at + 1 :])
    except LeaselabError:
        return
    assert counts == judged(lines)


# --- times --------------------------------------------------------------------------


@given(
    st.lists(
        st.lists(st.integers(0, MICROSECONDS_A_DAY - 1), min_size=2, max_size=2).map(sorted),
        min_size=1,
        max_size=20,
    )
)
def test_times_survive_the_round_trip(pairs):
    output = perfdhcp_output.parse(document(pairs), 4)
    assert output.first.sent_at == pytest.approx([before / 1e6 for before, _ in pairs])
    assert output.first.received_at == pytest.approx([after / 1e6 for _, after in pairs])


# --- judging ------------------------------------------------------------------------

latencies = st.lists(st.floats(0, 5, allow_nan=False), max_size=30)


@given(latencies, latencies, st.integers(0, 30))
def test_counts_add_up_and_are_never_negative(first, second, unanswered):
    second = second[: len(first)]
    output = Output(stage(len(first) + unanswered, first), stage(len(first), second), ())
    counts = perfdhcp_reading.judge(output, LATE_S, RATE)
    assert counts.completed + counts.late + counts.lost == counts.attempted == output.first.sent
    assert min(counts.completed, counts.late, counts.lost) >= 0


def exchanges(offer_s, ack_s, *, rate=RATE, requests_follow_s=1e-5):
    """An output of exchanges started at a rate, by the delays of both stages (s; inf: lost)."""
    offer_s, ack_s = np.asarray(offer_s, float), np.asarray(ack_s, float)
    started = np.arange(offer_s.size) / rate
    offered = started + offer_s
    came = np.isfinite(offered)
    order = np.argsort(offered[came])
    requested = offered[came][order] + requests_follow_s
    acked = requested + ack_s[came][order]
    done = np.isfinite(acked)
    first = Stage(
        offer_s.size, int(came.sum()), 0, 0, started[came][order], offered[came][order]
    )
    second = Stage(int(came.sum()), int(done.sum()), 0, 0, requested[done], acked[done])
    return Output(first, second, ())


def test_a_reply_exactly_at_the_limit_is_in_time():
    counts = perfdhcp_reading.judge(
        exchanges([0.125] * 4, [1.75, 1.874, 1.876, 0.1]), LATE_S, 1
    )
    assert (counts.late, counts.lost) == (1, 0)


def test_an_exchange_that_is_late_and_then_lost_is_counted_once():
    """The stages are joined: the one whose offer is late is the one that lost its ACK."""
    offers = [0.1, 2.5, 0.1, 0.1] * 5
    acks = [0.1, np.inf, 0.1, 0.1] * 5
    counts = perfdhcp_reading.judge(exchanges(offers, acks), LATE_S, 1)
    assert (counts.completed, counts.late, counts.lost) == (15, 0, 5)


@given(
    st.lists(
        st.tuples(st.floats(1e-4, 3) | st.just(np.inf), st.floats(1e-4, 3) | st.just(np.inf)),
        min_size=1,
        max_size=40,
    )
)
def test_the_stages_are_joined_exchange_by_exchange(delays):
    offers, acks = zip(*delays, strict=True)
    joined = perfdhcp_output.join(exchanges(offers, acks, requests_follow_s=1e-6))
    wanted = sorted(
        at / RATE + offer + ack
        for at, (offer, ack) in enumerate(delays)
        if np.isfinite(offer + ack)
    )
    assert sorted(joined.answered_at) == pytest.approx(wanted, abs=1e-4)
    assert (joined.latency_s >= 0).all()
    assert joined.started_at.size == len(wanted)


@pytest.mark.parametrize("name", ["v4_clean", "v6_clean", "v4_late"])
def test_a_request_follows_its_offer_at_once_in_every_recorded_output(name):
    output = perfdhcp_output.parse(recorded(name), 6 if name.startswith("v6") else 4)
    offered = np.sort(output.first.received_at)
    follows = [sent - offered[offered <= sent].max() for sent in output.second.sent_at]
    assert max(follows) < 0.0003


def test_malformed_packets_are_counted():
    text = changed("v4_clean", "Malformed packets: 0", "Malformed packets: 400")
    assert perfdhcp_output.parse(text, 4).malformed == 400


def test_percentiles_of_a_stage():
    quantiles = perfdhcp_output.percentiles(np.array([at / 100 for at in range(101)]))
    assert (quantiles.p50, quantiles.p90, quantiles.p99, quantiles.max) == pytest.approx(
        (0.5, 0.9, 0.99, 1.0)
    )


@pytest.mark.parametrize(
    ("reports", "attempted"),
    [
        # the last report may be missing: what is left was sent in the last second
        (((2, 2, 2, 2), (4, 3, 3, 3)), [2, 2, 1]),
        (((2, 2, 2, 2), (4, 3, 3, 3), (5, 3, 4, 3)), [2, 2, 1]),
        (((2, 2, 2, 2),), [2, None, None]),
    ],
)
def test_per_second_splits_starts_and_completions(reports, attempted):
    first = Stage(5, 4, 0, 0, np.array([0.1, 0.6, 1.2, 1.9]), np.array([0.2, 0.9, 1.3, 2.4]))
    second = Stage(4, 3, 0, 0, np.array([0.2, 0.9, 1.3]), np.array([0.3, 1.0, 1.4]))
    rows = perfdhcp_output.per_second(Output(first, second, reports), 3)
    assert [row.attempted for row in rows] == attempted
    assert [row.completed for row in rows] == [2, 1, 0]
    assert rows[0].p50_s == pytest.approx(0.2)
    assert rows[2].p50_s is None
