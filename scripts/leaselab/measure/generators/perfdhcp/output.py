"""perfdhcp's output: what it really says.

Facts this reading rests on (perfdhcp of Kea 2.2 to 2.6, read in its source and tried):

- ``Rate:`` divides by the whole run including the exit wait; it is never used.
- ``-d`` removes only requests that a reply overtook; an in-order late reply
  counts as received.  Lateness is judged by the times that ``-x t`` prints.
- Offers that never came make no request: an exchange that failed in its first
  stage is missing from the second stage's ``sent``.
- A request leaves when its offer comes, within some 0.2 ms, and in the offers'
  order: so the two stages are joined (`join`).
- It counts addresses given twice only with ``-u``, and counts an address that is
  offered twice, which no server excludes; only those acknowledged twice count here.
- It does not count DHCPNAKs: the server's own counter does.
- A receiver that has ended gives exit status 3, like failed exchanges, and reports it on
  standard error only.
- A time without a fraction is printed without the decimal point.
- Of clients that begin at once (``--scenario avalanche``) it prints no reports.  The times of
  requests are those of the first time each was sent, and it reads no reply before all have
  begun.  How long it took is printed in steps of 0.2 s, so only its times are used.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from leaselab.measure.generators.dhcp_load import STAGES
from leaselab.measure.generators.printed import no_measurement, unreadable
from leaselab.measure.generators.printed import printed as whole
from leaselab.model.bench import Bench
from leaselab.model.errors import LeaselabError
from leaselab.model.observation import Generated
from leaselab.model.trial import Percentiles, Second

SOME_FAILED = 3
"""Exit status where some exchanges failed: the output is a measurement all the same."""
_COUNTERS = {
    "sent": "sent packets",
    "received": "received packets",
    "rejected": "rejected leases",
    "duplicates": "non unique addresses",
}
_STATISTICS = "***Statistics for: {}***"
_MALFORMED = re.compile(rb"^Malformed packets: (\d+)$", re.MULTILINE)
_RESENT = re.compile(rb"^Requests resent: (\d+)$|, (\d+) retransmissions needed", re.MULTILINE)
_REPORT = re.compile(rb"^sent: (\d+)/(\d+); received: (\d+)/(\d+); drops:", re.MULTILINE)

Times = NDArray[np.float64]


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

    @property
    def latency_s(self) -> Times:
        """From the first packet to the last reply (s), shape (answered,)."""
        return self.answered_at - self.started_at


def printed(generated: Generated, bench: Bench) -> bytes:
    """What perfdhcp printed, decompressed.

    Raises a broken-lab error where its exit status, or its own complaint, says that this is
    no measurement.
    """
    text = whole(generated, bench, SOME_FAILED)
    if reason := complaint(generated.error):
        raise no_measurement(bench, f"its receiver has ended: {reason}")
    return text


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
    """Checks that every output must pass, for any load."""
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


def parse_resent(text: bytes) -> int:
    """How many packets clients that began at once have sent again.

    Raises a broken-lab error where it does not say: it was killed before its end.
    """
    match = _RESENT.search(text)
    if match is None:
        raise _malformed("it does not say how many packets were resent", text)
    return int(match.group(1) or match.group(2))


def parse_probe(text: bytes, family: int) -> bool:
    """Whether the single exchange of a probe was completed."""
    second = STAGES[family][1]
    return _counter(_section(text, _STATISTICS.format(second)), "received packets", second) == 1


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
    return Exchanges(started_at=began[at], answered_at=answered)


def percentiles(delays_s: Times) -> Percentiles | None:
    """Percentiles of delays (s, shape (n,)), None without any."""
    if delays_s.size == 0:
        return None
    p50, p90, p99, p999 = np.percentile(delays_s, (50, 90, 99, 99.9))
    return Percentiles(
        p50=float(p50),
        p90=float(p90),
        p99=float(p99),
        p999=float(p999),
        max=float(delays_s.max()),
    )


def per_second(output: Output, duration_s: int) -> tuple[Second, ...]:
    """Second-by-second series of the traffic period, from perfdhcp's own reports and times."""
    series = []
    origin = float(output.first.sent_at.min()) if output.first.received else 0.0
    sent_second = np.floor(output.first.sent_at - origin).astype(int)
    done_second = np.floor(output.second.received_at - origin).astype(int)
    before = 0
    for second in range(duration_s):
        attempted = None
        if second < len(output.reports):
            attempted = output.reports[second][0] - before
            before = output.reports[second][0]
        elif second == len(output.reports) == duration_s - 1:
            # perfdhcp may end before it prints the report of its last second
            attempted = output.first.sent - before
        delays = output.first.latency_s[sent_second == second]
        series.append(
            Second(
                t=second,
                attempted=attempted,
                completed=int(np.count_nonzero(done_second == second)),
                p50_s=float(np.percentile(delays, 50)) if delays.size else None,
                p99_s=float(np.percentile(delays, 99)) if delays.size else None,
            )
        )
    return tuple(series)


def _stage(text: bytes, name: str) -> Stage:
    statistics = _section(text, _STATISTICS.format(name))
    counts = {key: _counter(statistics, label, name) for key, label in _COUNTERS.items()}
    times = _timestamps(text, name, counts["received"])
    return Stage(sent_at=times[:, 0], received_at=times[:, 1], **counts)


def _section(text: bytes, header: str) -> bytes:
    _, heading, rest = text.partition(header.encode())
    if not heading:
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
    # What is said of clients that began at once follows the last times without a header.
    section = section.partition(b"\nIt took ")[0]
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
    return unreadable("perfdhcp", what, text)
