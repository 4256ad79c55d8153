"""One definition of what came of a load, whichever generator reports it.

Each case is what a server did with a load.  Each generator prints what it would of that, and
all come to the same figures.
"""

import json
import math

import msgspec
import pytest
from benchmarks._packets import perfdhcp_text
from tests.bench_document import DOCUMENT
from tests.dns import PROOF, dns_bench, left, sums_up
from tests.leaseload import report

from leaselab.lab.deploy.bench_file import parse_bench
from leaselab.measure.generators.adapter import GENERATOR_STALLED, Seen
from leaselab.measure.generators.dns.answers import Expected
from leaselab.measure.generators.dnsperf.command import DnsperfReading
from leaselab.measure.generators.flame.command import FlameReading
from leaselab.measure.generators.leaseload.trial import ClientsReading, QueriesReading
from leaselab.measure.generators.perfdhcp.trial import PerfdhcpReading, exchanges
from leaselab.measure.generators.transactions import Transactions, unserved
from leaselab.model.record import GENERATOR_LIMITED
from leaselab.model.trial import Load

RATE, SECONDS = 1000, 5
LOAD = Load(RATE, SECONDS)
DUE = RATE * SECONDS
USUAL_S = 0.002


class Case(msgspec.Struct, frozen=True):
    """What a server did with a load of `DUE` transactions, and what is to be said of it."""

    left_out: int = 0
    """Transactions that the generator did not begin."""
    lost: int = 0
    refused: int = 0
    late: int = 0
    """Answered after more than may be."""
    after: int = 0
    """Answered in time, but after the traffic, where 2 are usual."""
    counts: bool = True
    """Whether the trial counts."""

    @property
    def queued(self):
        """Of those that came after the traffic, how many waited for longer than is usual."""
        return max(0, self.after - 2)

    @property
    def missed(self):
        return self.left_out + self.lost + self.refused + self.late + self.queued


CASES = {
    "sound": Case(),
    "loses": Case(lost=20),
    "refuses": Case(refused=40),
    "late": Case(late=300),
    "under way": Case(after=2),
    "out of a buffer": Case(after=242),
    "not begun, and it keeps the goal": Case(left_out=20),
    "not begun, and it would have kept the goal": Case(left_out=24, lost=20, counts=False),
    "not begun, and too much": Case(left_out=1000, counts=False),
}


def leaseload_text(case, *, is_dns):
    begun = DUE - case.left_out
    done = begun - case.lost - case.refused - case.late
    counts = {"attempted": begun, "completed": done, "late": case.late, "lost": case.lost}
    replies = {"NOERROR": {"count": done + case.late, "bytes": 100 * (done + case.late)}}
    replies |= {"REFUSED": {"count": case.refused, "bytes": 0}} if case.refused else {}
    made = report(
        "dns" if is_dns else "good",
        traffic_s=SECONDS,
        left_out=case.left_out,
        fell_behind=False,
        counts={**counts, "refused": case.refused, "open": 0},
        refused={} if is_dns or not case.refused else {"NAK": case.refused},
        replies=replies if is_dns else {},
        after_traffic=case.after,
        early_mean_s=USUAL_S,
        early_spread_s=USUAL_S,
    )
    return json.dumps({**made, "kinds": {}, "seconds": [], "stages": [], "whole": None})


def perfdhcp_printed(case):
    """Of 0.998 of the load, as perfdhcp begins no more: what differs is put at its end."""
    due = exchanges(LOAD)
    begun = due - case.left_out
    pairs = []
    for number in range(begun - case.lost):
        sent = number / RATE
        took = USUAL_S
        if number < case.late:
            took = 2.5
        elif number >= begun - case.lost - case.after:
            # after the traffic, and in the order in which they began
            took = begun / RATE - sent + 0.001 * (number - begun + case.lost + case.after + 2)
        pairs.append((sent, took))
    first = [(sent, sent + took / 2) for sent, took in pairs]
    second = [(sent + took / 2 + 1e-5, sent + took) for sent, took in pairs]
    return perfdhcp_text(begun, first, second)


def dnsperf_text(case):
    begun, answered = DUE - case.left_out, DUE - case.left_out - case.lost

    def section(name, sent, completed, run_s, of=Case()):  # noqa: B008  # it is frozen
        codes = f"NOERROR {completed - of.refused} (1%)"
        codes += f", REFUSED {of.refused} (1%)" if of.refused else ""
        buckets = f"  0.000001 - {USUAL_S:.6f}: {completed - of.late}\n"
        buckets += f"  2.500000 - 2.600000: {of.late}\n" if of.late else ""
        return (
            f"{name}\n\n  Queries sent: {sent}\n  Queries completed: {completed} (1%)\n"
            f"  Queries lost: {of.lost} (1%)\n\n"
            f"  Response codes: {codes if completed else ''}\n"
            f"  Average packet size: request 30, response 100\n  Run time (s): {run_s:.6f}\n\n"
            f"  Average Latency (s): {USUAL_S:.6f} (min 0.000001, max 3.0)\n{buckets}\n"
        )

    steps, reported, before = "", 10 * SECONDS - 1, (0, 0)
    for step in range(1, reported + 1):
        share = step / (reported + 1)
        now = round(begun * share), round((answered - case.after) * share)
        sent, completed = (late - early for early, late in zip(before, now, strict=True))
        steps += section("Interval Statistics:", sent, completed, step / 10)
        before = now
    end = section("Statistics:", begun, answered, SECONDS, case)
    return f"{steps}[Status] Testing complete (time limit)\n\n{end}"


def flame_text(case):
    begun, answered = DUE - case.left_out, DUE - case.left_out - case.lost

    def line(at, sent, received, refused=0):
        codes = {"NOERROR": received - refused, **({"REFUSED": refused} if refused else {})}
        counts = {"total_s_count": sent, "total_r_count": received, "total_responses": codes}
        return {"runtime_s": at, "total_bad_count": 0, "total_net_errors": 0, **counts}

    lines = [{"version": "0.12.0"}, line(2.0, 0, 0)]
    for second in range(1, SECONDS + 1):
        share = second / SECONDS
        done = round((answered - case.after) * share)
        lines.append(line(2.0 + second, round(begun * share), done))
    lines.append(line(2.1 + SECONDS, begun, answered, case.refused))
    return "\n".join(json.dumps(item) for item in lines)


def dns_reading(kind, text, **how):
    made = dns_bench(**how)
    return kind(made, made.procedure, LOAD, (), left(text.encode()), Expected(0.0))


def dhcp_reading(kind, text, *more):
    goals = {"loss_ratio": 0.005, "name": "max-rate"}
    made = parse_bench({**DOCUMENT, "procedure": {**DOCUMENT["procedure"], **goals}}, "tests")
    return kind(made, made.procedure, LOAD, (), left(text.encode()), *more)


RECORDED = {
    "leaseload of DNS": lambda case: dns_reading(
        QueriesReading, leaseload_text(case, is_dns=True), tool="leaseload"
    ),
    "dnsperf": lambda case: dns_reading(DnsperfReading, dnsperf_text(case)),
    "flame": lambda case: dns_reading(
        FlameReading, flame_text(case), tool="flame", settings={"proof": PROOF, "senders": 10}
    ),
    "leaseload of DHCP": lambda case: dhcp_reading(
        ClientsReading, leaseload_text(case, is_dns=False)
    ),
    "perfdhcp": lambda case: dhcp_reading(PerfdhcpReading, perfdhcp_printed(case), None),
}
CANNOT_REPORT = {
    "flame": {"late"},  # it looks for time-outs once a second, and has no percentiles
    "perfdhcp": {"refuses"},  # the server's own counter does
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("generator", RECORDED)
def test_what_came_of_a_load_is_the_same_whichever_generator_reports_it(generator, name):
    case = CASES[name]
    if name in CANNOT_REPORT.get(generator, ()):
        return
    trial = RECORDED[generator](case).trial(Seen())
    assert sums_up(trial)
    assert bool(trial.reason) is not case.counts
    assert trial.reason in ("", GENERATOR_LIMITED, GENERATOR_STALLED)
    if case.counts:
        near = 33 if generator == "flame" else 3  # its reports differ by 20 ms
        assert trial.attempted - trial.completed == pytest.approx(case.missed, abs=near)
        assert abs(trial.late - case.late - case.queued) <= near
    else:  # it says what was begun
        due = exchanges(LOAD) if generator == "perfdhcp" else DUE
        assert trial.attempted == due - case.left_out


def test_all_parts_sum_up_and_none_is_counted_twice():
    result = Transactions(due=110, begun=100, answered=80, slow=50, queued=40, wrong=10)
    assert (result.attempted, result.completed, result.late, result.lost) == (110, 0, 70, 30)
    assert result.falls_short(0.005)
    assert result.as_begun.attempted == 100


def test_the_last_ones_are_not_due_before_the_traffic_ends():
    assert Transactions(due=100, begun=98, answered=98).left_out == 0
    assert math.isclose(Transactions(due=100, begun=97, answered=97).failed, 3)


def test_what_a_server_that_keeps_up_has_under_way_is_no_queue():
    """Its number scatters from trial to trial: one more than usual was reported as late."""
    answered = RATE * SECONDS
    for after in range(4):
        assert unserved(answered, after, SECONDS, 0.001) == 0
    assert unserved(answered, 7, SECONDS, USUAL_S) == 5
    assert unserved(answered, 200, SECONDS, USUAL_S) == 198


@pytest.mark.parametrize("usual_s", [0.9, 1.8, 4.5])
def test_replies_that_all_take_long_are_under_way_and_hide_no_queue(usual_s):
    """A server that pings an address before it offers it answers a second later."""
    answered, under_way = RATE * SECONDS, round(RATE * usual_s)
    assert unserved(answered, under_way, SECONDS, usual_s, 0.01) == 0
    in_buffer = 300
    queued = unserved(answered, under_way + in_buffer, SECONDS, usual_s, 0.01)
    assert in_buffer / 2 < queued < 2 * in_buffer
