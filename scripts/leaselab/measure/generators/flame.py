"""flame (Flamethrower): an open loop of queries from the host's sockets, and counts alone.

Facts this adapter rests on (Flamethrower 0.12.0, read in its source and tried):

- The time in which it reads the query file (0.6 s for 100 000 lines) is part of ``-l``, and of
  the first part of a ``--qps-flow``.  So each load begins with a part of `LEAD_S` in which
  next to nothing is sent, and counts from where that part ends.
- A rate is divided by the number of senders (``-c``), in a flow without the rest: 1005/s of ten
  senders are 1000/s.  So it is asked for the next multiple.
- Senders are in step: ten at 1000/s send ten queries each 10 ms.  Each has a socket of its own,
  and all ask the lines of the query file in turn, from the beginning again at its end.
- What was not sent in time is sent later, at most ``-q`` queries of a sender each ``-d`` ms:
  with its own ten of each 1 ms it reaches 100 000/s, and less on a slow processor.
- It sends however many queries wait, up to 65 535 of each sender.
- Its queries have EDNS (1232 bytes), which dnsperf's have not.
- Over TCP and DoT it opens a connection for each batch.  As it ends, all that waits there is
  called a time-out at once (1 to 4 % of 3 s at 1000/s); of a server that takes no connection
  it counts no query; over DoT it read 30 of 2110 answers.  So it is run over UDP alone.

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
- It ends with status 0 for any outcome, and with 1 where it cannot begin.
"""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from leaselab.measure.generators.adapter import Seen
from leaselab.measure.generators.open_loop import OpenLoop, OpenLoopReading, Output, Span
from leaselab.measure.generators.printed import WRONG, unreadable
from leaselab.model.errors import lab_broken
from leaselab.model.trial import Load

_LATE_S = 0.02
"""A line that comes later than this after the load has begun has queries of it (s)."""
_JOINED_S = 0.5
"""A line that comes sooner than this before the traffic's end is of the same second (s)."""


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


LEAD_S = 2
"""Time before the load in which it reads the query file (s)."""
REPORT_S = 0.02
"""By how much its reports may differ from the second that they are of (s)."""
DELAY_MS = 1
"""``-d``: how often each sender looks what is due (ms)."""


@dataclass(frozen=True)
class FlameReading(OpenLoopReading):
    """What flame printed of one load."""

    @cached_property
    def output(self) -> Output:
        """What it printed, parsed; raises a broken-lab error for what is no measurement."""
        return parse(self.text(), self.load.duration_s)

    @property
    def step_s(self) -> float:
        """How much too early it may report the end (s): its senders are in step."""
        return int(self.bench.generator.settings["senders"]) / self.load.rate + REPORT_S

    def dropped(self, seen: Seen) -> int:
        """Answers that its host dropped, or that waited while the host stood still."""
        return self.hosts_cost(seen, round(self.load.rate * self.procedure.late_s))


class Flame(OpenLoop):
    """flame, against the server of one bench."""

    reading = FlameReading

    def command(self, load: Load) -> list[str]:
        """Build the argv of one run: a flow of next to nothing, then of the load.

        Nothing but reports goes to standard output; elsewhere they would be a file more.
        """
        senders = int(self._tool.settings["senders"])
        rate = senders * math.ceil(load.rate / senders)
        flow = f"{senders},{1000 * LEAD_S};{rate},{1000 * load.duration_s}"
        argv = [self._tool.path, "-v", "0", "-o", "/dev/stdout", "-F", "inet", "-P", "udp"]
        argv += ["-b", self._own.test_address, "-p", "53"]
        argv += ["-f", self._queries, "-c", str(senders)]
        argv += ["-q", str(self._tool.settings["batch"]), "-d", str(DELAY_MS)]
        argv += ["-t", str(math.ceil(self._procedure.late_s))]
        argv += ["-l", str(LEAD_S + load.duration_s), "--qps-flow", flow]
        return [*argv, self._server]
