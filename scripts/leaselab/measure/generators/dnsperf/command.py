r"""dnsperf: its command line, and the probe that says what answers look like.

Facts this adapter rests on (dnsperf 2.10 to 2.14, read in its source and tried):

- ``-Q`` is kept by the second: that many at most in each, and what was missed in a second is
  not made up for in the next.  Within it, queries are a whole number of microseconds apart.
- With ``-q`` queries unanswered it waits: a server that is dead, or too slow, gets fewer than
  asked for.  That says that the server failed, and nothing of the generator.
- ``-t`` forgets a query, so what is answered later is lost; it looks each 0.1 s.
- A run begins with the first line of the query file, and again from there at its end.
- A name's ``\DDD`` becomes another character (2.10: its digits are of base 7).
- Threads divide clients, rate and unanswered queries among them.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

from leaselab.measure.generators.adapter import GENERATOR_STALLED, PROBES, Seen
from leaselab.measure.generators.dns.answers import (
    NAMES_REPEATED,
    OTHER_ANSWERS,
    PROBE_LATE_S,
    PROBE_RATE,
    PROBE_S,
    PROBE_SHARE,
    edns_of,
    repeats,
)
from leaselab.measure.generators.dns.trial import DnsReading, QueryTool, by_second
from leaselab.measure.generators.dnsperf.output import Histogram, Output, Tally, parse
from leaselab.measure.generators.printed import printed
from leaselab.measure.generators.transactions import MISSING_SHARE, Transactions, unserved
from leaselab.model.record import GENERATOR_LIMITED
from leaselab.model.trial import Load, Second, Trial

FULL = 0.5
"""Share of the queries that may be unanswered at once, above which dnsperf stood at that
limit: one that is short of its rate by less than that is at it for the whole time."""
ROOM = 1.02
"""By how much the rest of the traffic after the last step may be longer than it looks: steps
end some milliseconds late."""
SHORT = 0.2
"""Share of the queries asked for that are missing, from which on the time that was waited for
a dead server shows in how many were unanswered."""


@dataclass(frozen=True)
class DnsperfReading(DnsReading):
    """What dnsperf printed of one load."""

    @cached_property
    def output(self) -> Output:
        """What it printed, parsed; raises a broken-lab error for what is no measurement."""
        return parse(self.text())

    @property
    def answered_at(self) -> Histogram:
        """When each query was answered, by the end of its second (s), shape (answered,)."""
        seconds = [second.completed for second in self.output.seconds]
        return by_second(seconds or self.output.completed)

    @property
    def mean_latency_s(self) -> float:
        """As in the base class."""
        return self.output.whole.mean_latency_s

    @property
    def _most(self) -> int:
        """Queries that may wait for an answer at once."""
        return int(self.bench.generator.settings["outstanding"])

    @cached_property
    def server_was_full(self) -> bool:
        """Whether fewer were sent because the server left too many without an answer.

        dnsperf waits then, and each second shows whether it did: most of what is missing is
        of such seconds.
        """
        whole, rate = self.output.whole, self.load.rate
        if not self.counts.left_out:
            return False
        missing = {True: 0, False: 0}
        before, unanswered = 0.0, 0
        for second in self.output.seconds or (whole,):
            until = min(second.run_s, float(self.load.duration_s))
            span, before = until - before, until
            unanswered += second.sent - second.completed - second.lost
            short = round(rate * span) - second.sent
            missing[self._was_full(second, rate * span, span, unanswered)] += max(0, short)
        return missing[True] > missing[False]

    def _was_full(self, tally: Tally, asked: float, span_s: float, unanswered: int) -> bool:
        """Whether queries sent in a time were held up by those without an answer.

        `unanswered` is how many these were as it ended; else their mean is taken, from how
        long the answered ones and the lost ones waited.
        """
        if span_s <= 0 or asked <= 0:
            return False
        waited = tally.completed * tally.mean_latency_s + tally.lost * self.procedure.late_s
        full = max(waited / span_s, unanswered) / self._most
        short = 1.0 - tally.sent / asked
        return full >= FULL or (short >= SHORT and full >= 0.8 * short)

    @cached_property
    def counts(self) -> Transactions:
        """The same, counted."""
        whole = self.output.whole
        return Transactions(
            due=max(self.load.rate * self.load.duration_s, whole.sent),
            begun=whole.sent,
            answered=whole.completed,
            slow=whole.later_than(self.procedure.late_s),
            queued=self._queued,
            wrong=sum(self.failures.values()),
        )

    @property
    def failures(self) -> dict[str, int]:
        """Answers that were not expected, by RCODE."""
        return self.expected.failures(self.output.whole.rcodes)

    @property
    def _queued(self) -> int:
        """Queries that lay in buffers as the traffic ended.

        Answers after the last reported step came in the rest of the traffic, or later.
        """
        output, traffic_s = self.output, float(self.load.duration_s)
        if not output.reported_until_s:
            return 0
        after = max(0, output.whole.completed - output.reported_completed)
        rest_s = ROOM * max(0.0, traffic_s - output.reported_until_s)
        queued = unserved(output.whole.completed, after, traffic_s, output.usual_s + rest_s)
        return min(queued, self._most)

    def trial(self, seen: Seen) -> Trial:
        """Return what came of the load."""
        (stage,) = self.bench.scenario.transaction.stages
        return self.judged(
            self.counts,
            seen,
            failures=self.failures,
            traffic_s=float(self.load.duration_s),
            latency_s={stage: self.output.whole.percentiles},
            per_second=tuple(self._per_second()),
        )

    def short(self, counts: Transactions) -> str:
        """Return the word for a rate that dnsperf did not keep; empty if it did or waited."""
        if not counts.falls_short(self.procedure.loss_ratio) or self.server_was_full:
            return ""
        return GENERATOR_STALLED if self._kept_up_mostly else GENERATOR_LIMITED

    def doubts(self, counts: Transactions, seen: Seen) -> Iterator[str]:
        """Yield the words for why a trial does not count.

        A stall of the generator's host explains a failure, but no pass; answers that are not
        the probe's make a pass doubtful, but no failure.
        """
        whole, failed = self.output.whole, counts.failed
        may_fail = self.procedure.loss_ratio * counts.attempted
        if repeats(self.bench.scenario, whole.sent):
            yield NAMES_REPEATED
        if failed <= may_fail:
            if whole.completed and not self.expected.same_size(whole.answer_bytes):
                yield OTHER_ANSWERS
        elif failed - self.hosts_cost(seen, self._most) <= may_fail:
            yield GENERATOR_STALLED

    @property
    def _kept_up_mostly(self) -> bool:
        """Whether it kept its rate in most seconds: then it was held up, not too slow."""
        sent = [second.sent for second in self.output.seconds]
        return bool(sent) and statistics.median(sent) >= (1 - MISSING_SHARE) * self.load.rate

    def _per_second(self) -> Iterator[Second]:
        for place, one in enumerate(self.output.seconds):
            percentiles = one.percentiles
            yield Second(
                t=float(place),
                attempted=one.sent,
                completed=one.completed,
                p50_s=percentiles.p50 if percentiles else None,
                p99_s=percentiles.p99 if percentiles else None,
            )
        for place, completed in enumerate(self.output.completed):
            yield Second(
                t=float(place), attempted=None, completed=completed, p50_s=None, p99_s=None
            )


SHORT_S, SHORT_STEP_S = 10, 0.1
"""Longest load for which dnsperf prints steps shorter than a second, and these steps (s): what
it completes after the last of them may have waited in a buffer as the traffic ended."""
PORTS = {"udp": 53, "tcp": 53, "dot": 853}


class Dnsperf(QueryTool):
    """dnsperf, against the server of one bench."""

    edns_bytes = (4096,)
    transports = tuple(PORTS)
    reading = DnsperfReading

    def answers(self) -> bool:
        """Whether the server answers queries of the load, whose size trials must have."""
        load = Load(PROBE_RATE, PROBE_S)
        argv = self.command(load, late_s=PROBE_LATE_S)
        for _ in range(PROBES):
            generated = self.generate(argv, self.longest_s(load))
            whole = parse(printed(generated, self._bench)).whole
            self._expected.check_probe(whole.rcodes, self._where)
            if whole.completed and whole.completed >= PROBE_SHARE * whole.sent:
                self._expected = replace(self._expected, answer_bytes=whole.answer_bytes)
                return True
        return False

    def command(self, load: Load, *, late_s: float | None = None) -> list[str]:
        """Build the argv of one run: a rate for a time.

        `late_s` is when a query counts as lost (s); None: when the procedure says.
        """
        settings = self._tool.settings
        inet = "inet6" if self._is_v6 else "inet"
        argv = [self._tool.path, "-f", inet, "-m", self._transport]
        argv += ["-s", self._server, "-p", str(PORTS[self._transport])]
        argv += ["-a", self._own.test_address6 if self._is_v6 else self._own.test_address]
        argv += ["-d", str(self._tool.files["queries"]["path"])]
        argv += ["-c", str(settings["clients"]), "-T", str(settings["threads"])]
        argv += ["-q", str(settings["outstanding"])]
        step_s = SHORT_STEP_S if load.duration_s <= SHORT_S else 1
        argv += ["-l", str(load.duration_s), "-t", f"{late_s or self._procedure.late_s:g}"]
        argv += ["-S", f"{step_s:g}", "-Q", str(load.rate)]
        size, dnssec_ok = edns_of(self._bench.scenario, self.edns_bytes)
        argv += ["-e"] if size else []
        argv += ["-D"] if dnssec_ok else []
        for option in settings["long_options"]:
            argv += ["-O", option]
        return argv
