"""perfdhcp: its command line, and what its output really says.

Facts this adapter rests on (perfdhcp of Kea 2.2 to 2.6, read in its source and
tried):

- ``Rate:`` divides by the whole run including the exit wait; it is never used.
- ``drops`` counts what is still in flight as lost unless ``-W`` waits for it.
- ``-d`` removes only requests that a reply overtook; an in-order late reply
  counts as received.  Lateness is judged here, from the times ``-x t`` prints.
- Offers that never came make no request: an exchange that failed in its first
  stage is missing from the second stage's ``sent``.
- A request leaves when its offer comes, within some 0.2 ms, and in the offers'
  order: so the two stages are joined (`join`).
- It counts addresses given twice only with ``-u``, and counts an address that is
  offered twice, which no server excludes; only those acknowledged twice count here.
- Of DHCPNAKs it says nothing: the server's own counter does.
- Exit status 3 means that exchanges failed, which is data; a receiver that has ended
  gives 3, too, and says so on standard error only.
- A time without a fraction is printed without the decimal point.
"""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from leaselab.model.bench import GeneratorTool
from leaselab.model.errors import LeaselabError, lab_broken
from leaselab.model.trial import Goal, Latency, TrialRequest

DATA_STATUSES = frozenset({0, 3})
"""Exit statuses whose output is a measurement (3: some exchanges failed)."""

COUNT_SHARE = 0.998
"""Share of rate x duration that a trial starts.  perfdhcp ends as soon as all replies are
in only when it was told how many to start, and its clock of the period (``-p``) runs out
just before the last ones are due; stopping by count a little earlier saves the wait of
each trial without loss, and keeps the rate exact."""

IN_FLIGHT_S = 0.5
"""Share of a second's load that may be unanswered before an abort is thought of (s)."""

EVERYBODY = "all"
"""perfdhcp's word for the broadcast address (v4) and the servers' multicast group (v6)."""

STAGES = {4: ("DISCOVER-OFFER", "REQUEST-ACK"), 6: ("SOLICIT-ADVERTISE", "REQUEST-REPLY")}

_COUNTERS = {
    "sent": "sent packets",
    "received": "received packets",
    "rejected": "rejected leases",
    "duplicates": "non unique addresses",
}
_MALFORMED = re.compile(rb"^Malformed packets: (\d+)$", re.MULTILINE)
_REPORT = re.compile(rb"^sent: (\d+)/(\d+); received: (\d+)/(\d+); drops:", re.MULTILINE)

Times = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Target:
    """Where the exchanges go."""

    family: int
    interface: str
    """Interface of the generator on the test network."""
    server_address: str
    """The server's address on the test network (v4); v6 multicasts.  `EVERYBODY` for
    the broadcast by which both servers of a pair are reached."""


@dataclass(frozen=True)
class Stage:
    """One stage of the exchange: counts and the times of its completed pairs."""

    sent: int
    received: int
    rejected: int
    duplicates: int
    sent_at: Times
    """When each answered request left (s since the generator started), shape (received,)."""
    received_at: Times
    """When its reply came (s since the generator started), shape (received,)."""

    @property
    def latency_s(self) -> Times:
        """Reply time minus request time of each pair (s), shape (received,)."""
        return self.received_at - self.sent_at


@dataclass(frozen=True)
class Output:
    """What one run of perfdhcp measured."""

    first: Stage
    """DISCOVER-OFFER or SOLICIT-ADVERTISE."""
    second: Stage
    """REQUEST-ACK or REQUEST-REPLY."""
    reports: tuple[tuple[int, int, int, int], ...]
    """Cumulative (sent 1, sent 2, received 1, received 2) after each second."""
    malformed: int = 0
    """Packets received that were no DHCP message."""

    @cached_property
    def exchanges(self) -> Exchanges:
        """The two stages joined; worked out once, as a trial has up to a million."""
        return join(self)


@dataclass(frozen=True)
class Exchanges:
    """The exchanges of which both replies came, each from its start to its last reply.

    Times are seconds since the generator started, shape (answered,), in the order of
    their last requests.
    """

    started_at: Times
    answered_at: Times
    slowest_s: Times
    """The longer of the two stages (s), which has to be in time."""

    @property
    def latency_s(self) -> Times:
        """From the first packet to the last reply (s), shape (answered,)."""
        return self.answered_at - self.started_at


@dataclass(frozen=True, slots=True)
class Counts:
    """An output judged against the goal; sums to `started`."""

    started: int
    completed: int
    late: int
    """Both replies came, one of them late, or after the end of what was served in the
    traffic's time: see `unserved`."""
    lost: int


def abort_after(request: TrialRequest, goal: Goal) -> int:
    """Unanswered first-stage exchanges after which a trial is hopeless.

    What the goal allows the whole trial to lose, plus what may be in flight.
    perfdhcp counts the latter as dropped until the reply comes, so the caller
    still has to prove an aborted trial's failure with `is_hopeless`.
    """
    return round(
        goal.loss_ratio * request.rate * request.duration_s + IN_FLIGHT_S * request.rate
    )


def is_hopeless(counts: Counts, request: TrialRequest, goal: Goal) -> bool:
    """Whether a trial with these failures fails however it would have gone on."""
    failed = counts.late + counts.lost
    return failed > goal.loss_ratio * request.rate * request.duration_s


def exchanges(request: TrialRequest) -> int:
    """Number of exchanges that a trial starts unless it is cut short."""
    return math.ceil(COUNT_SHARE * request.rate * request.duration_s)


def command(
    tool: GeneratorTool,
    target: Target,
    request: TrialRequest,
    goal: Goal,
    *,
    wait_s: float,
    may_abort: bool,
) -> list[str]:
    """Build the argv of one trial.

    Every exchange is a new client (``-R`` is more than the trial can start).
    The trial ends by count (``-n``, both stages); ``-p`` bounds it where the
    generator cannot keep up.  ``-d`` is the goal's lateness, so that an
    overtaken reply is not dropped before it is late.
    """
    count = exchanges(request)
    clients = 2 * count + 1000
    argv = [tool.path, f"-{target.family}", "-g", tool.threading, "-l", target.interface]
    argv += ["-r", str(request.rate), "-R", str(clients), "-p", str(request.duration_s)]
    argv += ["-n", str(count), "-n", str(count)]
    argv += ["-W", str(round(wait_s * 1e6)), "-d", f"{goal.late_s:g}"]
    argv += ["-u", "-t", "1", "-x", "t"]
    if may_abort:
        argv += ["-D", str(abort_after(request, goal))]
    return [*argv, destination(target)]


def probe_command(tool: GeneratorTool, target: Target) -> list[str]:
    """Build the argv of one single exchange, which proves that the server answers.

    With both stages limited to one packet perfdhcp ends as soon as the reply
    is there, or after a second without one.
    """
    argv = [tool.path, f"-{target.family}", "-g", "single", "-l", target.interface]
    argv += ["-r", "1", "-n", "1", "-n", "1", "-W", "1000000", "-d", "1"]
    return [*argv, destination(target)]


def destination(target: Target) -> str:
    """Return perfdhcp's last argument: the server, or every v6 server on the link."""
    return EVERYBODY if target.family == 6 else target.server_address


def parse(text: bytes, family: int) -> Output:
    """Parse the whole output of one trial.

    Raises a broken-lab error naming what is missing: output that does not
    parse is never taken for a loss.
    """
    first_name, second_name = STAGES[family]
    reports = tuple(
        tuple(int(number) for number in match.groups()) for match in _REPORT.finditer(text)
    )
    malformed = _MALFORMED.search(text)
    output = Output(
        first=_stage(text, first_name),
        second=_stage(text, second_name),
        reports=reports,  # type: ignore[arg-type]
        malformed=int(malformed.group(1)) if malformed else 0,
    )
    for what, holds in _invariants(output):
        if not holds:
            raise _malformed(f"it contradicts itself: {what}", text)
    return output


def _invariants(output: Output) -> Iterator[tuple[str, bool]]:
    """What must be true of every output, whatever was measured."""
    first, second = output.first, output.second
    for name, stage in (("first", first), ("second", second)):
        yield f"{name} stage: more received than sent", stage.received <= stage.sent
        backwards = bool((stage.latency_s < 0).any())
        yield f"{name} stage: a reply before its request", not backwards
    yield "more requests than offers", second.sent <= first.received
    rows = np.array(output.reports).reshape(-1, 4)
    yield "a count of a second that falls", bool((np.diff(rows, axis=0) >= 0).all())
    totals = np.array([first.sent, second.sent, first.received, second.received])
    yield "a second that counts more than the whole", bool((rows <= totals).all())


def parse_probe(text: bytes, family: int) -> bool:
    """Whether the single exchange of `probe_command` was completed."""
    second = STAGES[family][1]
    return _counter(_statistics(text, second), "received packets", second) == 1


def complaint(error: str) -> str:
    """What perfdhcp said on standard error of its own end; empty where it ended well.

    Its receiver may end while it goes on sending: then nothing comes back any more,
    which reads like a server that has died.
    """
    lines = (line.strip() for line in error.splitlines())
    return next((line for line in lines if line.startswith("Something went wrong")), "")


def join(output: Output) -> Exchanges:
    """Join the two stages: the request of an exchange follows its offer at once.

    Each request that was answered belongs to the latest offer before it that is not
    taken; only neighbours, microseconds apart, can be mistaken for each other.
    """
    first, second = output.first, output.second
    order = np.argsort(second.sent_at, kind="stable")
    sent, answered = second.sent_at[order], second.received_at[order]
    offers = np.argsort(first.received_at, kind="stable")
    offered, began = first.received_at[offers], first.sent_at[offers]
    at = np.searchsorted(offered, sent, side="right") - 1
    # Two requests of one offer: the earlier one belongs to an earlier offer.
    steps = np.arange(at.size)
    at = np.minimum.accumulate((at - steps)[::-1])[::-1] + steps
    at = np.clip(at, 0, None)
    return Exchanges(
        started_at=began[at],
        answered_at=answered,
        slowest_s=np.maximum(offered[at] - began[at], answered - sent),
    )


def judge(output: Output, goal: Goal, rate: int) -> Counts:
    """Count completed, late and lost exchanges of a trial at an offered rate (1/s)."""
    joined = output.exchanges
    answered = joined.started_at.size
    in_time = joined.slowest_s <= goal.late_s
    completed = int(np.count_nonzero(in_time))
    completed -= min(completed, unserved(joined, output.first.sent / rate))
    late = answered - completed
    return Counts(output.first.sent, completed, late, output.first.sent - answered)


def unserved(joined: Exchanges, traffic_s: float) -> int:
    """Exchanges that lay in buffers as the traffic of `traffic_s` seconds ended.

    A server that is too slow by some per cent fills its socket's buffer, some 277
    packets, and serves them after the traffic: of short trials at low rates that is
    several per cent of all that was offered, and none of its throughput.  What is under
    way in a server that keeps up is not counted: at the rate served, what takes as long
    as nine of ten exchanges took before a queue could grow, in the first tenth of the
    traffic.
    """
    if not joined.started_at.size:
        return 0
    origin = float(joined.started_at.min())
    end = origin + traffic_s
    pending = int(np.count_nonzero(joined.answered_at > end))
    early = joined.latency_s[joined.started_at < origin + traffic_s / 10]
    usual_s = float(np.percentile(early, 90)) if early.size else 0.0
    served = (joined.started_at.size - pending) / max(traffic_s - usual_s, traffic_s / 2)
    return max(0, pending - math.ceil(served * usual_s))


def latency(delays_s: Times) -> Latency | None:
    """Percentiles of delays (s, shape (n,)), None without any."""
    if delays_s.size == 0:
        return None
    p50, p90, p99, p999 = np.percentile(delays_s, (50, 90, 99, 99.9))
    return Latency(float(p50), float(p90), float(p99), float(p999), float(delays_s.max()))


def per_second(output: Output, duration_s: int) -> list[dict[str, float | int | None]]:
    """Second-by-second series of the traffic period.

    Each second holds `started` and `answered` (from perfdhcp's own reports),
    `completed` (ACKs received in it) and the first stage's median and 99th
    percentile latency by the time its requests were sent (s; None without
    any).
    """
    series: list[dict[str, float | int | None]] = []
    origin = float(output.first.sent_at.min()) if output.first.received else 0.0
    sent_second = np.floor(output.first.sent_at - origin).astype(int)
    done_second = np.floor(output.second.received_at - origin).astype(int)
    before = (0, 0, 0, 0)
    for second in range(duration_s):
        row: dict[str, float | int | None] = {"t": second}
        if second < len(output.reports):
            now = output.reports[second]
            row["started"] = now[0] - before[0]
            before = now
        else:
            row["started"] = None
        row["completed"] = int(np.count_nonzero(done_second == second))
        delays = output.first.latency_s[sent_second == second]
        row["p50_s"] = float(np.percentile(delays, 50)) if delays.size else None
        row["p99_s"] = float(np.percentile(delays, 99)) if delays.size else None
        series.append(row)
    return series


def _stage(text: bytes, name: str) -> Stage:
    statistics = _statistics(text, name)
    counts = {key: _counter(statistics, label, name) for key, label in _COUNTERS.items()}
    times = _timestamps(text, name, counts["received"])
    return Stage(sent_at=times[:, 0], received_at=times[:, 1], **counts)


def _statistics(text: bytes, name: str) -> bytes:
    return _section(text, f"***Statistics for: {name}***")


def _section(text: bytes, header: str) -> bytes:
    _, found, rest = text.partition(header.encode())
    if not found:
        raise _malformed(f"no section {header!r}", text)
    return rest.partition(b"\n***")[0]


def _counter(section: bytes, label: str, stage: str) -> int:
    match = re.search(rb"^" + label.encode() + rb": (\d+)$", section, re.MULTILINE)
    if match is None:
        raise _malformed(f"no {label!r} of {stage}", section)
    return int(match.group(1))


def _timestamps(text: bytes, name: str, expected: int) -> Times:
    """Sent and received times of one stage (s), shape (expected, 2)."""
    section = _section(text, f"***Timestamps for packets: {name}***")
    lines = section.count(b"sent / received: ")
    numbers = section.replace(b"sent / received: ", b"").replace(b" / ", b" ")
    if lines != expected:
        raise _malformed(
            f"{lines} pairs of times of {name} where {expected} replies were received", text
        )
    if expected == 0:
        return np.empty((0, 2))
    clock = _numbers(numbers, name)
    if not np.isfinite(clock).all():
        raise _malformed(f"times of {name} are not numbers", text)
    if clock.size != 2 * expected:
        raise _malformed(f"{clock.size} times of {name} where {2 * expected} belong", text)
    # HHMMSS.ffffff, since the generator started
    hours, rest = np.divmod(clock, 10_000)
    minutes, seconds = np.divmod(rest, 100)
    since_start: Times = hours * 3600 + minutes * 60 + seconds
    return since_start.reshape(-1, 2)


def _numbers(text: bytes, name: str) -> Times:
    """Read white-space separated numbers, shape (count,)."""
    try:
        with warnings.catch_warnings():
            # numpy only warns where a word is no number, and leaves out the rest
            warnings.simplefilter("error", DeprecationWarning)
            return np.fromstring(text, dtype=np.float64, sep=" ")
    except (ValueError, DeprecationWarning) as error:
        raise _malformed(f"times of {name} are not numbers", text) from error


def _malformed(what: str, text: bytes) -> LeaselabError:
    tail = text[-80:].decode("ascii", "replace").strip()
    return lab_broken(
        f"perfdhcp's output does not parse: {what}",
        where="generator",
        found=f"{len(text)} bytes ending in {tail!r}" if text else "nothing",
        todo="see the raw output kept with the sweep; the trial was not counted",
    )
