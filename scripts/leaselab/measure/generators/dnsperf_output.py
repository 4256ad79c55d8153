"""dnsperf's output: what it really says.

Facts this reading rests on (dnsperf 2.10 to 2.14, read in its source and tried):

- "Queries completed" are those with any answer, so REFUSED and SERVFAIL are among them; what
  was answered is said by "Response codes:", which is empty where nothing came.
- "Queries lost" are those without an answer within ``-t``, seen at a look each 0.1 s.
- Average sizes are whole bytes, rounded down.
- With ``-S 1`` 2.10 prints the rate completed of each second alone.  With
  ``verbose-interval-stats`` each second has a section like the one at the end.  The second in
  which it ends is printed by neither.
- "Queries per second" of such a section is wrong by a factor (2.14), and never used.
- A histogram (``latency-histogram``) has steps of 1.6 % or less, from 1 us on.
"""

from __future__ import annotations

import re
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
_CODE = re.compile(rb"\b([A-Z][A-Z0-9]*) (\d+) \(")
_BUCKET = re.compile(rb"^  (\d+\.\d+) - (\d+\.\d+): +(\d+)$", re.MULTILINE)
_RATE = re.compile(rb"^(\d{9,}\.\d+): (\d+\.\d+)$", re.MULTILINE)
_COUNTS = {
    "sent": rb"Queries sent: +(\d+)",
    "completed": rb"Queries completed: +(\d+)",
    "lost": rb"Queries lost: +(\d+)",
}

Histogram = NDArray[np.float64]
"""Buckets of latency, shape (buckets, 3): shortest, longest (s), count."""


@dataclass(frozen=True)
class Tally:
    """What was sent and answered, of a second or of the whole."""

    sent: int
    completed: int
    """Answered within the time-out, with whatever RCODE."""
    lost: int
    run_s: float
    """From the start of the traffic to the end of what is told (s)."""
    mean_latency_s: float
    """Over what was completed (s); 0 where nothing was."""
    rcodes: Mapping[str, int] = field(default_factory=dict)
    """Answers by RCODE, such as NOERROR."""
    answer_bytes: int = 0
    """Mean size of an answer, rounded down (bytes)."""
    slowest_s: float | None = None
    """Highest latency (s); None where it is not told."""
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
        """How many were answered later than that (s); 0 where no histogram tells."""
        if self.histogram is None:
            return 0
        return int(self.histogram[self.histogram[:, 0] > limit_s, 2].sum())


@dataclass(frozen=True)
class Output:
    """What one run of dnsperf measured."""

    whole: Tally
    seconds: tuple[Tally, ...] = ()
    """Each second, of versions that tell all of it, the last one included."""
    completed: tuple[int, ...] = ()
    """Completed in each second, of other versions."""


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
    seconds = [tally for name, tally in sections if name == _INTERVAL]
    if seconds:
        return Output(whole, (*seconds, *_rest(whole, seconds)))
    return Output(whole, completed=tuple(_completed(whole, traffic)))


def _invariants(whole: Tally) -> Iterator[tuple[str, bool]]:
    """What must be true of every output, whatever was measured."""
    yield (
        "answers by RCODE are not the completed",
        sum(whole.rcodes.values()) == (whole.completed),
    )
    yield "more completed and lost than sent", whole.completed + whole.lost <= whole.sent
    if whole.histogram is not None:
        told = int(whole.histogram[:, 2].sum())
        yield "the histogram has another number of answers", told == whole.completed


def _rest(whole: Tally, seconds: list[Tally]) -> Iterator[Tally]:
    """What the sections of the seconds leave of the whole: the second in which it ended."""
    sent = whole.sent - sum(one.sent for one in seconds)
    completed = whole.completed - sum(one.completed for one in seconds)
    if sent <= 0 and completed <= 0:
        return
    spent = whole.completed * whole.mean_latency_s - sum(
        one.completed * one.mean_latency_s for one in seconds
    )
    codes = Counter(whole.rcodes)
    left: Counter[tuple[float, float]] = Counter()
    if whole.histogram is not None:
        left.update({(low, high): int(count) for low, high, count in whole.histogram})
    for one in seconds:
        codes.subtract(one.rcodes)
        if one.histogram is not None:
            left.subtract({(low, high): int(count) for low, high, count in one.histogram})
    buckets = [(low, high, count) for (low, high), count in sorted(left.items()) if count > 0]
    yield Tally(
        sent=max(0, sent),
        completed=max(0, completed),
        lost=max(0, whole.lost - sum(one.lost for one in seconds)),
        run_s=whole.run_s,
        mean_latency_s=max(0.0, spent / completed) if completed > 0 else 0.0,
        rcodes={code: count for code, count in codes.items() if count > 0},
        histogram=np.array(buckets) if buckets else None,
    )


def _completed(whole: Tally, traffic: bytes) -> Iterator[int]:
    """Completed in each second, by the rates that older versions print."""
    told = [(float(at), float(rate)) for at, rate in _RATE.findall(traffic)]
    total, before = 0, told[0][0] - 1.0 if told else 0.0
    for at, rate in told:
        count = round(rate * (at - before))
        total, before = total + count, at
        yield count
    if whole.completed > total:
        yield whole.completed - total


def _sections(text: bytes) -> list[tuple[str, Tally]]:
    places = list(_SECTION.finditer(text))
    ends = [*(place.start() for place in places[1:]), len(text)]
    return [
        (place.group().decode(), _tally(text[place.end() : end]))
        for place, end in zip(places, ends, strict=True)
    ]


def _tally(section: bytes) -> Tally:
    section = section.partition(b"Connection Statistics:")[0]
    counts = {name: int(_one(section, told, name)) for name, told in _COUNTS.items()}
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
    found = re.search(pattern, section)
    if found is None:
        raise _malformed(f"no {name!r}", section)
    return found.group(1)


def _malformed(what: str, text: bytes) -> LeaselabError:
    return unreadable("dnsperf", what, text)
