"""perfdhcp: its command line, and what its output really says.

Facts this adapter rests on (perfdhcp of Kea 2.2 to 2.6, read in its source and
tried):

- ``Rate:`` divides by the whole run including the exit wait; it is never used.
- ``drops`` counts what is still in flight as lost unless ``-W`` waits for it.
- ``-d`` removes only requests that a reply overtook; an in-order late reply
  counts as received.  Lateness is judged here, from the times ``-x t`` prints.
- Offers that never came make no request: an exchange that failed in its first
  stage is missing from the second stage's ``sent``.
- Exit status 3 means that exchanges failed, which is data.
- A time without a fraction is printed without the decimal point.
"""

from __future__ import annotations

import math
import re
import warnings
from dataclasses import dataclass

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


@dataclass(frozen=True, slots=True)
class Counts:
    """An output judged against the goal; sums to `started`."""

    started: int
    completed: int
    late: int
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
    argv += ["-W", str(round(wait_s * 1e6)), "-d", f"{goal.late_s:g}", "-t", "1", "-x", "t"]
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
    return Output(
        first=_stage(text, first_name),
        second=_stage(text, second_name),
        reports=reports,  # type: ignore[arg-type]
    )


def parse_probe(text: bytes, family: int) -> bool:
    """Whether the single exchange of `probe_command` was completed."""
    second = STAGES[family][1]
    return _counter(_statistics(text, second), "received packets", second) == 1


def judge(output: Output, goal: Goal) -> Counts:
    """Count completed, late and lost exchanges.

    The two stages cannot be joined exchange by exchange, as perfdhcp prints
    no transaction ids.  An exchange whose offer was late is taken out of the
    completed ones whether or not its ACK came, which is exact unless one
    exchange is late in its first stage and lost in its second; then it is
    counted against the server twice, at most.
    """
    started = output.first.sent
    late_first = int(np.count_nonzero(output.first.latency_s > goal.late_s))
    late_second = int(np.count_nonzero(output.second.latency_s > goal.late_s))
    answered = output.second.received
    completed = max(0, answered - late_first - late_second)
    late = answered - completed
    return Counts(started, completed, late, started - completed - late)


def latency(stage: Stage) -> Latency | None:
    """Percentiles of one stage, None when nothing was answered."""
    if stage.received == 0:
        return None
    p50, p90, p99, p999 = np.percentile(stage.latency_s, (50, 90, 99, 99.9))
    return Latency(
        float(p50), float(p90), float(p99), float(p999), float(stage.latency_s.max())
    )


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
