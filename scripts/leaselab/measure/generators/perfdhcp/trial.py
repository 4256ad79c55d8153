"""What one trial with perfdhcp comes to: its counts, and whether it can be believed.

And one burst: clients that begin at once, and try until they are served.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from leaselab.measure.generators.adapter import GENERATOR_STALLED, POOL_TOO_FULL, Reading, Seen
from leaselab.measure.generators.dhcp_load import (
    DUPLICATE_ADDRESS,
    REJECTED,
    STAGES,
    Granted,
    addresses_of,
    clients_of,
    lease_doubts,
)
from leaselab.measure.generators.perfdhcp.output import (
    Exchanges,
    Output,
    Times,
    parse,
    parse_resent,
    per_second,
    percentiles,
    printed,
)
from leaselab.measure.generators.transactions import (
    MISSING,
    MISSING_SHARE,
    Transactions,
    unserved,
)
from leaselab.model.pool import POOL_USE_LIMIT
from leaselab.model.procedures.burst import RESENT
from leaselab.model.record import GENERATOR_LIMITED, MALFORMED
from leaselab.model.trial import WHOLE, HostUse, Load, Second, Trial

COUNT_SHARE = 0.998
"""Share of rate x duration that a trial starts.  perfdhcp ends as soon as all replies are
in only when it has a number to start, and its clock of the period (``-p``) runs out
just before the last ones are due; stopping by count a little earlier saves the wait of
each trial without loss, and keeps the rate exact."""
BUFFERED = 100
"""Exchanges of a burst that a server's socket takes at least: its buffer holds some 277
packets."""
STEAL_SHARE = 0.05
"""Share of the traffic's time that a hypervisor may take before it counts as a stall."""
STALL_S = 0.02
"""Time without any request sent that may be a stall (s)."""
STALL_INTERVALS = 20.0
"""The same, in intervals between two requests: at low rates 20 ms are usual."""
CAUGHT_UP = 1.3
"""A stall is followed by requests faster than asked for, by this factor at least; what
follows a server that stood still is not, as its clients never stopped."""


@dataclass(frozen=True)
class PerfdhcpReading(Reading):
    """What perfdhcp printed of one load; it is parsed when it is first asked for."""

    limit: int | None
    """Unanswered exchanges after which it was to give up; None where it had to go on."""

    @cached_property
    def output(self) -> Output:
        """The same, parsed; raises a broken-lab error for what is no measurement."""
        return parse(self.text(), self.family)

    def text(self) -> bytes:
        """The same as it was printed; raises a broken-lab error like `output`."""
        return printed(self.generated, self.bench)

    @cached_property
    def counts(self) -> Transactions:
        """The same, counted."""
        due = 0 if self.aborted else exchanges(self.load)
        return judge(self.output, self.procedure.late_s, self.load.rate, due)

    @cached_property
    def aborted(self) -> bool:
        """Whether perfdhcp gave up early, rather than offering too little."""
        return was_aborted(self.output, self.load, self.limit)

    @property
    def conclusive(self) -> bool:
        """False where it gave up, and might still have passed, had it gone on."""
        may_lose = self.procedure.loss_ratio * self.load.rate * self.load.duration_s
        # What came after the end of the sending is under way, where it ended early.
        return not self.aborted or self.counts.slow + self.counts.lost > may_lose

    @property
    def answered_at(self) -> Times:
        """When each exchange's last reply came (s since the start, shape (answered,))."""
        return self.output.second.received_at

    @property
    def mean_latency_s(self) -> float | None:
        """As in the base class."""
        latency_s = self.output.exchanges.latency_s
        return float(latency_s.mean()) if latency_s.size else None

    @property
    def family(self) -> int:
        """Of addresses: 4 or 6."""
        return int(self.bench.scenario.load["family"])

    def trial(self, seen: Seen) -> Trial:
        """Return what came of the load."""
        output, load = self.output, self.load
        first, second = STAGES[self.family]
        return self.judged(
            self.counts,
            seen,
            traffic_s=traffic_s(output, load),
            aborted=self.aborted,
            latency_s={
                first: percentiles(output.first.latency_s),
                second: percentiles(output.second.latency_s),
                WHOLE: percentiles(output.exchanges.latency_s),
            },
            per_second=per_second(output, load.duration_s),
        )

    def doubts(self, counts: Transactions, seen: Seen) -> Iterator[str]:
        """Yield the words of leases, and of a generator that stood still."""
        output, load, failed = self.output, self.load, counts.failed
        may_fail = self.procedure.loss_ratio * counts.attempted
        granted = Granted(
            clients=clients_of(self.bench.scenario, load),
            attempted=counts.attempted,
            answered=output.second.received,
            refusals=output.first.rejected + output.second.rejected,
            duplicates=output.second.duplicates,
            malformed=output.malformed,
        )
        yield from lease_doubts(self.bench, granted, seen, passes=failed <= may_fail)
        if failed > may_fail >= failed - _stalls_cost(output, load, seen.generator):
            yield GENERATOR_STALLED


class BurstReading(PerfdhcpReading):
    """What perfdhcp printed of clients that began at once."""

    def trial(self, seen: Seen) -> Trial:
        """Return what came of them: each is served when its last reply comes."""
        output, load = self.output, self.load
        first, second = STAGES[self.family]
        served_at = since_first(output)
        served = served_at.size
        is_whole = served == load.at_once
        reason = self._burst_doubt(seen)
        return Trial.of(
            load,
            attempted=output.first.sent,
            completed=served,
            late=0,
            lost=output.first.sent - served,
            traffic_s=float(served_at.max()) if is_whole else float(load.duration_s),
            valid=not reason,
            reason=reason,
            latency_s={
                first: percentiles(output.first.latency_s),
                second: percentiles(output.second.latency_s),
                WHOLE: percentiles(served_at),
            },
            per_second=served_by_second(served_at),
            argv=self.argv,
            figures={RESENT: float(parse_resent(self.text()))},
        )

    def _burst_doubt(self, seen: Seen) -> str:
        """Return the word for why a burst does not count, empty when it does.

        Not all of the doubts of a steady load have a meaning: clients that go on trying are
        late by their own will.
        """
        output, clients = self.output, self.load.at_once
        served = output.second.received
        dropped = seen.generator.receive_errors if seen.generator else 0
        refusals = output.first.rejected + output.second.rejected + seen.refused
        doubts = (
            (GENERATOR_LIMITED, output.first.sent < clients),
            (MALFORMED, output.malformed > 0),
            (DUPLICATE_ADDRESS, output.second.duplicates > 0),
            (REJECTED, served == clients and refusals > 0),
            (POOL_TOO_FULL, clients > POOL_USE_LIMIT * addresses_of(self.bench.scenario)),
            # Clients whose replies the generator has dropped ask again for want of them.
            (GENERATOR_STALLED, dropped > MISSING_SHARE * clients),
        )
        return next((word for word, is_so in doubts if is_so), "")


def judge(output: Output, late_s: float, rate: int, due: int = 0) -> Transactions:
    """Count what came of a trial at an offered rate (1/s); `due` exchanges were to begin."""
    joined = output.exchanges
    return Transactions(
        due=max(due, output.first.sent),
        begun=output.first.sent,
        answered=joined.started_at.size,
        slow=int((joined.latency_s > late_s).sum()),
        queued=_unserved(joined, output.first.sent / rate),
    )


def traffic_s(output: Output, load: Load) -> float:
    """How long exchanges were really started (s).

    As long as the exchanges started take at the rate asked for, unless the
    generator aborted or fell behind: then as long as the answered requests
    span, or as many seconds as its reports show it sending.
    """
    if _enough(output.first.sent, load.rate * load.duration_s):
        return output.first.sent / load.rate
    if output.first.received:
        return min(float(load.duration_s), float(output.first.sent_at.max()))
    sending = [report for report in output.reports if report[0] < output.first.sent]
    return float(min(load.duration_s, len(sending) + 1))


def was_aborted(output: Output, load: Load, limit: int | None) -> bool:
    """Whether perfdhcp gave up early, rather than offering too little.

    Both leave fewer exchanges started than asked.  A generator that gave up
    had kept the rate for as long as it sent, and had left at least
    `limit` exchanges unanswered when it stopped, some of which may have
    come back since.
    """
    if limit is None or _enough(output.first.sent, load.rate * load.duration_s):
        return False
    return _enough(output.first.sent, load.rate * traffic_s(output, load))


def exchanges(load: Load) -> int:
    """Number of exchanges that a trial starts unless it is cut short."""
    return math.ceil(COUNT_SHARE * load.rate * load.duration_s)


def _enough(started: int, wanted: float) -> bool:
    """Whether the generator offered what was asked."""
    return started >= (1 - MISSING_SHARE) * wanted - MISSING


def _stalls_cost(output: Output, load: Load, generator: HostUse | None) -> float:
    """Exchanges that the generator's own stalls may have cost, at most.

    What it has missed comes in a burst, and of that a server loses what its socket's
    buffer does not take.
    """
    stopped = stalls_s(output, load.rate)
    if generator is not None:
        taken = generator.steal_s if generator.steal_s > STEAL_SHARE * load.duration_s else 0
        hidden_s = max(generator.throttled_s, taken) - sum(stopped)
        stopped = [*stopped, max(0.0, hidden_s)]
    cost = sum(max(0.0, load.rate * stall_s - BUFFERED) for stall_s in stopped)
    return cost + (generator.receive_errors if generator is not None else 0)


def _unserved(joined: Exchanges, traffic_s: float) -> int:
    """Exchanges that lay in buffers as the traffic of `traffic_s` seconds ended."""
    if not joined.started_at.size:
        return 0
    origin = float(joined.started_at.min())
    pending = int(np.count_nonzero(joined.answered_at > origin + traffic_s))
    early = joined.latency_s[joined.started_at < origin + traffic_s / 10]
    usual_s, spread_s = (float(early.mean()), float(early.std())) if early.size else (0.0, 0.0)
    return unserved(joined.started_at.size, pending, traffic_s, usual_s, spread_s)


def stalls_s(output: Output, rate: int) -> list[float]:
    """Each time for which the generator stood still, by the times of its requests (s).

    Only answered requests have a time.  A gap in them is a stall where requests
    follow faster than they were asked for: perfdhcp sends what it has missed at once,
    three packets a turn.
    """
    sent_at = np.sort(output.first.sent_at)
    gaps = np.diff(sent_at)
    stalls = []
    for place in np.flatnonzero(gaps > max(STALL_S, STALL_INTERVALS / rate)):
        gap = float(gaps[place])
        for share in (0.125, 0.25, 0.5):
            until = np.searchsorted(sent_at, sent_at[place + 1] + share * gap, side="right")
            if until - place - 1 > CAUGHT_UP * rate * share * gap + 3:
                stalls.append(gap)
                break
    return stalls


def since_first(output: Output) -> Times:
    """When each client of those that began at once was served, shape (served,).

    In seconds since the first answered one began, ascending: they all begin before the first
    reply is read.
    """
    if not output.second.received:
        return np.empty(0)
    return np.sort(output.second.received_at) - float(output.first.sent_at.min())


def served_by_second(served_at: Times) -> tuple[Second, ...]:
    """Second-by-second series of those clients (s, ascending, shape (served,))."""
    if not served_at.size:
        return ()
    counts = np.bincount(np.floor(served_at).astype(int))
    return tuple(
        Second(t=second, attempted=None, completed=int(count), p50_s=None, p99_s=None)
        for second, count in enumerate(counts)
    )
