"""dnsperf's output: what it really says.

Facts this reading rests on (dnsperf 2.10 to 2.14, read in its source and tried):

- "Queries completed" are those with any answer, so REFUSED and SERVFAIL are among them; what
  was answered is said by "Response codes:", which is empty where nothing came.
- "Queries lost" are those without an answer within ``-t``, seen at a look each 0.1 s.
- Average sizes are whole bytes, rounded down.
- With ``-S`` 2.10 prints the rate completed of each step alone.  With
  ``verbose-interval-stats`` each step has a section like the one at the end.  The step in
  which the traffic ends, and what comes after it, is printed by neither.
- Of the first step 2.10 prints the rate since 1970: 0.000003/s are some 5000 queries.
- "Queries per second" of such a section is wrong by a factor (2.14), and never used.
- A histogram (``latency-histogram``) has steps of 1.6 % or less, from 1 us on.
"""

from __future__ import annotations

import itertools
import re
import statistics
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from leaselab.measure.generators.printed import unreadable
from leaselab.model.errors import LeaselabError
from leaselab.model.trial import Percentiles

_ENDED = b"[Status] Testing complete (time limit)"
_TOTAL, _INTERVAL = "Statistics:", "Interval Statistics:"
_SECTION = re.compile(rb"^(Interval )?Statistics:$", re.MULTILINE)
_CODE = re.compile(rb"\b([A-Z][A-Z0-9]*) (\d{1,15}) \(")
_BUCKET = re.compile(
    rb"^  (\d{1,15}\.\d{1,15}) - (\d{1,15}\.\d{1,15}): +(\d{1,15})$", re.MULTILINE
)
_RATE = re.compile(rb"^(\d{9,15}\.\d{1,15}): (\d{1,15}\.\d{1,15})$", re.MULTILINE)
_COUNTS = {
    "sent": rb"Queries sent: +(\d{1,15})",
    "completed": rb"Queries completed: +(\d{1,15})",
    "lost": rb"Queries lost: +(\d{1,15})",
}

_MOMENT_S = 0.05
"""By how much a step may end beside the second that it belongs to (s)."""

Histogram = NDArray[np.float64]
"""Buckets of latency, shape (buckets, 3): shortest, longest (s), count."""


@dataclass(frozen=True)
class Tally:
    """What was sent and answered, of a second or of the whole."""

    sent: int
    completed: int
    """Answered within the time-out, with any RCODE."""
    lost: int
    run_s: float
    """From the start of the traffic to the end of what is reported (s)."""
    mean_latency_s: float
    """Over what was completed (s); 0 where nothing was."""
    rcodes: Mapping[str, int] = field(default_factory=dict)
    """Answers by RCODE, such as NOERROR."""
    answer_bytes: int = 0
    """Mean size of an answer, rounded down (bytes)."""
    slowest_s: float | None = None
    """Highest latency (s); None where it is not printed."""
    histogram: Histogram | None = None
    """Latencies of what was completed; None where none is printed."""

    @property
    def percentiles(self) -> Percentiles | None:
        """Percentiles of the latency, each the end of its bucket; None without a histogram."""
        if self.histogram is None or not self.completed:
            return None
        ends = self.histogram[:, 1]
        reached = np.cumsum(self.histogram[:, 2])
        slowest = float(ends[-1]) if self.slowest_s is None else self.slowest_s

        def at(share: float) -> float:
            place = int(np.searchsorted(reached, share * reached[-1]))
            return min(float(ends[place]), slowest)

        return Percentiles(p50=at(0.5), p90=at(0.9), p99=at(0.99), p999=at(0.999), max=slowest)

    def later_than(self, limit_s: float) -> int:
        """How many were answered later than that (s); 0 without a histogram."""
        if self.histogram is None:
            return 0
        return int(self.histogram[self.histogram[:, 0] > limit_s, 2].sum())


@dataclass(frozen=True)
class Output:
    """What one run of dnsperf measured."""

    whole: Tally
    seconds: tuple[Tally, ...] = ()
    """Each second, of versions that print all of it, the last one included."""
    completed: tuple[int, ...] = ()
    """Completed in each second, of other versions."""
    reported_until_s: float = 0.0
    """Since the start, when the last reported step ended (s)."""
    reported_completed: int = 0
    """Completed until then."""
    usual_s: float = 0.0
    """Mean latency in the first tenth of the steps (s), or in all of versions without steps."""


def parse(text: bytes) -> Output:
    """Parse the whole output of one run.

    Raises a broken-lab error naming what is missing: output that does not parse is never
    taken for a loss.
    """
    if _ENDED not in text:
        raise _malformed("it does not say that its time was over", text)
    traffic, _, end = text.partition(_ENDED)
    sections = _sections(traffic + b"\n" + end)
    totals = [tally for name, tally in sections if name == _TOTAL]
    if len(totals) != 1:
        raise _malformed(f"{len(totals)} sections {_TOTAL!r}", text)
    (whole,) = totals
    for what, holds in _invariants(whole):
        if not holds:
            raise _malformed(f"it contradicts itself: {what}", text)
    steps = [tally for name, tally in sections if name == _INTERVAL]
    if steps:
        early = _joined(steps[: max(1, len(steps) // 10)])
        return Output(
            whole,
            tuple(_by_second([*steps, *_rest(whole, steps)])),
            reported_until_s=steps[-1].run_s,
            reported_completed=sum(step.completed for step in steps),
            usual_s=early.mean_latency_s,
        )
    counts, until_s = _completed(traffic)
    last = max(0, whole.completed - sum(counts))
    by_second: Counter[int] = Counter()
    for number, count in enumerate([*counts, last]):
        by_second[int(number * until_s / max(1, len(counts)) + _MOMENT_S)] += count
    return Output(
        whole,
        completed=tuple(count for _, count in sorted(by_second.items())),
        reported_until_s=until_s,
        reported_completed=sum(counts),
        usual_s=whole.mean_latency_s,
    )


def _invariants(whole: Tally) -> Iterator[tuple[str, bool]]:
    """Checks that every output must pass, for any load."""
    yield (
        "answers by RCODE are not the completed",
        sum(whole.rcodes.values()) == (whole.completed),
    )
    yield "more completed and lost than sent", whole.completed + whole.lost <= whole.sent
    if whole.histogram is not None:
        answers = int(whole.histogram[:, 2].sum())
        yield "the histogram has another number of answers", answers == whole.completed


def _rest(whole: Tally, seconds: list[Tally]) -> Iterator[Tally]:
    """What the sections of the seconds leave of the whole: the second in which it ended."""
    sent = whole.sent - sum(second.sent for second in seconds)
    completed = whole.completed - sum(second.completed for second in seconds)
    if sent <= 0 and completed <= 0:
        return
    spent = whole.completed * whole.mean_latency_s - sum(
        second.completed * second.mean_latency_s for second in seconds
    )
    codes = Counter(whole.rcodes)
    left: Counter[tuple[float, float]] = Counter()
    if whole.histogram is not None:
        left.update({(low, high): int(count) for low, high, count in whole.histogram})
    for second in seconds:
        codes.subtract(second.rcodes)
        if second.histogram is not None:
            left.subtract({(low, high): int(count) for low, high, count in second.histogram})
    buckets = [(low, high, count) for (low, high), count in sorted(left.items()) if count > 0]
    yield Tally(
        sent=max(0, sent),
        completed=max(0, completed),
        lost=max(0, whole.lost - sum(second.lost for second in seconds)),
        run_s=whole.run_s,
        mean_latency_s=max(0.0, spent / completed) if completed > 0 else 0.0,
        rcodes={code: count for code, count in codes.items() if count > 0},
        histogram=np.array(buckets) if buckets else None,
    )


def _by_second(steps: list[Tally]) -> Iterator[Tally]:
    """The steps of each second together, by when they began."""
    began = [0.0, *(step.run_s for step in steps[:-1])]
    for _, part in itertools.groupby(
        zip(began, steps, strict=True), key=lambda pair: int(pair[0] + _MOMENT_S)
    ):
        yield _joined([tally for _, tally in part])


def _joined(tallies: list[Tally]) -> Tally:
    """Sum up some steps."""
    completed = sum(tally.completed for tally in tallies)
    waited_s = sum(tally.completed * tally.mean_latency_s for tally in tallies)
    codes: Counter[str] = Counter()
    buckets: Counter[tuple[float, float]] = Counter()
    for tally in tallies:
        codes.update(tally.rcodes)
        if tally.histogram is not None:
            buckets.update({(low, high): int(count) for low, high, count in tally.histogram})
    rows = [(low, high, count) for (low, high), count in sorted(buckets.items())]
    return Tally(
        sent=sum(tally.sent for tally in tallies),
        completed=completed,
        lost=sum(tally.lost for tally in tallies),
        run_s=tallies[-1].run_s,
        mean_latency_s=waited_s / completed if completed else 0.0,
        rcodes=dict(codes),
        histogram=np.array(rows) if rows else None,
    )


def _completed(traffic: bytes) -> tuple[list[int], float]:
    """Completed in each step, by the rates that older versions print, and until when (s).

    The first step's rate is one since 1970, so as many are taken as in the middle one.
    """
    rates = [(float(at), float(rate)) for at, rate in _RATE.findall(traffic)]
    if len(rates) < 2:
        return [], 0.0
    counts = [
        round(rate * (at - before)) for (before, _), (at, rate) in itertools.pairwise(rates)
    ]
    start_s = rates[0][0] - (rates[1][0] - rates[0][0])
    return [round(statistics.median(counts)), *counts], rates[-1][0] - start_s


def _sections(text: bytes) -> list[tuple[str, Tally]]:
    places = list(_SECTION.finditer(text))
    ends = [*(place.start() for place in places[1:]), len(text)]
    return [
        (place.group().decode(), _tally(text[place.end() : end]))
        for place, end in zip(places, ends, strict=False)  # there may be none
    ]


def _tally(section: bytes) -> Tally:
    section = section.partition(b"Connection Statistics:")[0]
    counts = {name: int(_one(section, pattern, name)) for name, pattern in _COUNTS.items()}
    codes = _one(section, rb"Response codes:([^\n]*)", "Response codes:")
    slowest = re.search(rb"Average Latency \(s\):.* max (\d+\.\d+)\)", section)
    buckets = _BUCKET.findall(section)
    return Tally(
        **counts,
        run_s=float(_one(section, rb"Run time \(s\): +(\d+\.\d+)", "Run time")),
        mean_latency_s=float(
            _one(section, rb"Average Latency \(s\): +(\d+\.\d+)", "Average Latency")
        ),
        rcodes={code.decode(): int(count) for code, count in _CODE.findall(codes)},
        answer_bytes=int(
            _one(section, rb"Average packet size: .*response (\d+)", "Average packet size")
        ),
        slowest_s=float(slowest.group(1)) if slowest else None,
        histogram=np.array(buckets, dtype=np.float64) if buckets else None,
    )


def _one(section: bytes, pattern: bytes, name: str) -> bytes:
    match = re.search(pattern, section)
    if match is None:
        raise _malformed(f"no {name!r}", section)
    return match.group(1)


def _malformed(what: str, text: bytes) -> LeaselabError:
    return unreadable("dnsperf", what, text)
