"""What flame (Flamethrower 0.12.0) prints, read critically.

Its output (``-o``) is lines of JSON: a header, then each second one line of each sender
(``trafgen_id``) and one of all (``total_s_count``):

- Seconds begin when the query file is read, while what ends the traffic counts from before
  that: so reading took what is missing at the end.  The first line comes that much sooner than
  after a second, and at once where reading took longer.
- As the traffic ends comes a line, and one more after what is still unanswered was waited for,
  ``-t`` seconds at most.
- ``total_r_count`` counts all answers, also those to queries that it had forgotten
  (``total_bad_count``); ``total_responses`` has the answers by RCODE, and is left out while
  nothing was answered.
- Time-outs are looked for once a second from ``-t`` on, so an answer may come up to a second
  later than that and count.  Answers and time-outs are not reported by the second of their
  query.
- Averages are means of each sender's mean, and null where nothing came; sizes are those of
  the queries.  There are no percentiles.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from leaselab.measure.generators.printed import WRONG, unreadable
from leaselab.model.errors import lab_broken

_LATE_S = 0.02
"""A line that comes later than this after the load has begun has queries of it (s)."""
_JOINED_S = 0.5
"""A line that comes sooner than this before the traffic's end is of the same second (s)."""


@dataclass(frozen=True)
class Span:
    """What was sent and answered in a time."""

    seconds: float
    """Length of that time (s)."""
    queries: int
    responses: int
    rcodes: Mapping[str, int] = field(default_factory=dict)
    """Responses by RCODE, such as NOERROR; of a second they are left out."""


@dataclass(frozen=True)
class Output:
    """What one run measured."""

    whole: Span
    seconds: tuple[Span, ...]
    """Each second, the last one included."""
    errors: int
    """Packets that it failed to send."""
    after: int
    """Responses that came after the traffic."""
    before: int
    """Queries that it sent before those that count: the first of the query file."""


@dataclass(frozen=True)
class _Total:
    """What a line of all senders says, since the start."""

    at_s: float
    sent: int
    received: int
    bad: int
    errors: int
    rcodes: Mapping[str, int]

    @property
    def answered(self) -> int:
        return sum(self.rcodes.values())


def parse(text: bytes, duration_s: float) -> Output:
    """Parse the whole output of one run, of which the last `duration_s` of traffic count.

    Raises a broken-lab error naming what is missing: output that does not parse is never
    taken for a loss.  So it does where these began before the query file was read.
    """
    try:
        header, *entries = map(json.loads, text.splitlines())
        version = header["version"]
        totals = [_total(entry) for entry in entries if "total_s_count" in entry]
    except WRONG as error:
        raise unreadable("flame", f"{type(error).__name__} {error}", text) from error
    if len(totals) < 3:
        raise unreadable("flame", f"{len(totals)} reports of all senders ({version})", text)
    for what, holds in _invariants(totals):
        if not holds:
            raise unreadable("flame", what, text)
    *traffic, end = totals
    stop_s = traffic[-1].at_s
    begin_s = stop_s - duration_s
    before = [one for one in traffic if one.at_s <= begin_s + _LATE_S]
    if begin_s < 0 or not before:
        raise lab_broken(
            "flame still read its query file when its traffic was due",
            where="generator",
            found=f"{stop_s:.3g} s of traffic",
            wanted=f"{duration_s:g} s",
            todo="give the load fewer queries: it reads some 100 000 in a second",
        )
    lead = before[-1]
    # What came after the traffic's end is of the last second, and so is a line just before it.
    seconds = [one for one in traffic[len(before) :] if stop_s - one.at_s >= _JOINED_S]
    whole = Span(
        duration_s,
        end.sent - lead.sent,
        end.answered - lead.answered,
        _less(end.rcodes, lead.rcodes),
    )
    spans = (
        Span(
            min(later.at_s, stop_s) - max(earlier.at_s, begin_s),
            later.sent - earlier.sent,
            later.answered - earlier.answered,
        )
        for earlier, later in itertools.pairwise([lead, *seconds, end])
    )
    after = end.answered - traffic[-1].answered
    return Output(whole, tuple(spans), end.errors, after, lead.sent)


def _less(end: Mapping[str, int], lead: Mapping[str, int]) -> dict[str, int]:
    left = {code: count - lead.get(code, 0) for code, count in end.items()}
    return {code: count for code, count in left.items() if count}


def _invariants(totals: list[_Total]) -> Iterator[tuple[str, bool]]:
    """Checks that every output must pass, for any load."""
    end = totals[-1]
    yield "responses by RCODE are not all good ones", end.answered == end.received - end.bad
    yield "more responses than queries", end.answered <= end.sent
    for before, after in itertools.pairwise(totals):
        grows = after.sent >= before.sent and after.answered >= before.answered
        yield "counts go back", grows and after.at_s >= before.at_s


def _total(entry: Mapping[str, Any]) -> _Total:
    return _Total(
        at_s=float(entry["runtime_s"]),
        sent=int(entry["total_s_count"]),
        received=int(entry["total_r_count"]),
        bad=int(entry["total_bad_count"]),
        errors=int(entry["total_net_errors"]),
        rcodes={
            str(code): int(count) for code, count in entry.get("total_responses", {}).items()
        },
    )
