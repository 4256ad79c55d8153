"""What one trial with leaseload comes to, by its report."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import msgspec
import numpy as np
from numpy.typing import NDArray

from leaselab.leases.history import History
from leaselab.measure.generators.adapter import GENERATOR_STALLED, Reading, Seen
from leaselab.measure.generators.dhcp_load import (
    Granted,
    clients_of,
    lease_doubts,
    too_few_words,
)
from leaselab.measure.generators.dns.answers import (
    NAMES_REPEATED,
    OTHER_ANSWERS,
    Expected,
    repeats,
)
from leaselab.measure.generators.leaseload.history import history_of
from leaselab.measure.generators.leaseload.output import (
    Counts,
    KindCounts,
    Report,
    ReportSecond,
    filled_of,
    history_in,
    report_of,
)
from leaselab.measure.generators.transactions import MISSING_SHARE, Transactions, unserved
from leaselab.measure.stalls import Binned
from leaselab.model.errors import invalid_measurement
from leaselab.model.kinds import deciding
from leaselab.model.procedures.burst import RESENT
from leaselab.model.procedures.max_rate import MaxRate
from leaselab.model.record import SERVER, TOO_FEW_CLIENTS
from leaselab.model.trial import WHOLE, Part, Second, Trial

GENERATOR_SOCKET = "generator socket"
"""Place of packets that the generator's host did not take, or dropped on their way to it."""
CLOSED_CONNECTIONS = "closed connections"
"""Place of queries that were under way on connections as the server closed them."""
LEAST_FILL_RATE = 500.0
"""Leases that a server gives to clients before a load, at the least (1/s)."""
HISTORY = "--history"
"""Option by which what clients see of their leases is before the report."""
ENDED_EARLY = "failed"
"""`Report.ended` where more exchanges had failed than the goal allows."""


@dataclass(frozen=True)
class LeaseloadReading(Reading):
    """What leaseload reported of one load; it is parsed when it is first asked for."""

    @cached_property
    def report(self) -> Report:
        """The report, parsed; raises a broken-lab error for what is no measurement.

        Where the server left clients without their leases before the load, an
        invalid-measurement error.
        """
        given = filled_of(self.generated)
        if given is not None:
            raise invalid_measurement(
                "the server did not give all clients their leases before the load",
                where=self.bench.hosts[SERVER].access.name,
                found=f"{given.leases} leases of {given.clients} clients",
                wanted=f"all of them, {LEAST_FILL_RATE:.0f}/s at the least",
                todo="measure fewer clients (--scale), or see the server's pools and log",
            )
        return report_of(self.generated, self.bench)

    @property
    def answered_at(self) -> NDArray[np.float64]:
        """When each exchange completed, by the end of its bin (s), shape (completed,)."""
        answered = self.report.bins.answered
        return np.repeat(np.arange(1, len(answered) + 1) * self.report.bin_s, answered)

    @property
    def binned(self) -> Binned:
        """The exchanges by bins."""
        lists = msgspec.structs.asdict(self.report.bins)
        del lists["answered"]
        whole = {name: np.array(list_, dtype=np.float64) for name, list_ in lists.items()}
        return Binned(self.report.bin_s, **whole)

    @property
    def mean_latency_s(self) -> float | None:
        """As in the base class, of a load that was counted by bins."""
        bins = self.report.bins
        answered = sum(bins.completed) + sum(bins.late)
        return math.fsum(bins.latency_s) / answered if answered else None

    @property
    def started_at_s(self) -> float:
        """As in the base class."""
        return self.report.started_at_s

    @property
    def history(self) -> History | None:
        """What clients saw of their leases; None of a load whose clients do not say it."""
        if HISTORY not in self.argv:
            return None
        return history_of(history_in(self.generated, self.bench))

    @cached_property
    def transactions(self) -> Transactions:
        """What came of the exchanges; those still open are lost."""
        report, counts = self.report, self.report.counts
        return Transactions(
            due=counts.attempted + report.left_out + report.starved,
            begun=counts.attempted,
            starved=report.starved,
            answered=counts.completed + counts.late + counts.refused,
            slow=counts.late,
            queued=self._queued(counts, report),
            wrong=sum(self.failures().values()),
        )

    @cached_property
    def kinds(self) -> dict[str, Transactions]:
        """The same of each kind, where there are several; what was left out is of none."""
        kinds, starved = self.report.kinds, self._starved
        if len(kinds.keys() | starved) < 2:
            return {}
        begun = {
            word: Transactions(
                due=kind.attempted + starved[word],
                begun=kind.attempted,
                answered=kind.completed + kind.late + kind.refused,
                slow=kind.late,
                queued=self._queued(kind, kind),
                wrong=kind.refused,
                starved=starved[word],
            )
            for word, kind in kinds.items()
        }
        return {
            word: Transactions(due=count, begun=0, answered=0, starved=count)
            for word, count in starved.items()
        } | begun

    @property
    def _starved(self) -> Counter[str]:
        """Exchanges for which no client waited with a lease, by kind."""
        starved = Counter[str]()
        for second in self.report.seconds if self.report.starved else ():
            for word, times in second.kinds.items():
                starved[word] += times.due - times.sent
        return +starved

    def short(self, counts: Transactions) -> str:
        """Return the word for a load that was not offered, where that matters; else empty.

        Of the kinds that need a lease as much may be missing as of a whole load.  Where the
        server has refused the leases of most clients, what is missing is its own loss.  So it
        is of a search where the goal was missed by what was begun, which is less than was due.
        """
        report = self.report
        if report.left_out >= report.starved:
            return super().short(counts)
        if 2 * report.counts.refused > clients_of(self.bench.scenario, self.load):
            return ""
        if isinstance(self.procedure, MaxRate) and self._misses_by_begun:
            return ""
        due = sum(kind.due for kind in self.kinds.values() if kind.starved) or counts.due
        judged = (counts, *self._deciding())
        few = report.starved > MISSING_SHARE * due
        few |= any(one.falls_short(self.procedure.loss_ratio) for one in judged)
        return TOO_FEW_CLIENTS if few else ""

    @property
    def _misses_by_begun(self) -> bool:
        """Whether what was begun, or a kind of it, lost more than the goal allows."""
        whole = self.transactions.as_begun
        kinds = {word: kind.as_begun for word, kind in self.kinds.items()}
        judged = [whole, *(kinds[word] for word in deciding(whole, kinds))]
        return any(one.failed > self.procedure.loss_ratio * one.begun for one in judged)

    def _deciding(self) -> list[Transactions]:
        """The kinds that are judged alone."""
        return [self.kinds[word] for word in deciding(self.transactions, self.kinds)]

    def _queued(self, counts: Counts, ends: Report | KindCounts) -> int:
        """Of the completed those that lay in buffers as the traffic ended.

        What is under way at the end of a burst, or of a load in parts, says nothing of that.
        """
        if self.load.at_once or self.load.counts:
            return 0
        answered = counts.completed + counts.late
        usual_s, spread_s = ends.early_mean_s or 0.0, ends.early_spread_s or 0.0
        after, traffic_s = ends.after_traffic, self.report.traffic_s
        return min(counts.completed, unserved(answered, after, traffic_s, usual_s, spread_s))

    def failures(self) -> dict[str, int]:
        """Exchanges answered in another way than expected, by kind."""
        raise NotImplementedError

    def of_protocol(self, seen: Seen, *, passes: bool) -> Iterator[str]:
        """Yield the words of the protocol's own doubts."""
        raise NotImplementedError

    def trial(self, seen: Seen) -> Trial:
        """Return what came of the load."""
        report, at_once = self.report, self.load.at_once
        asked = self.bench.scenario.transaction.stages
        # Renewals and the like have stages of their own; a release has no answer.
        stages = dict.fromkeys(asked)
        stages |= {stage.name: stage.latency for stage in report.stages if stage.latency}
        if len(stages) > 1:
            stages[WHOLE] = report.whole
        is_short = bool(self.short(self.transactions))
        kinds = {
            word: counts.as_begun if is_short else counts for word, counts in self.kinds.items()
        }
        made = self.judged(
            self.transactions,
            seen,
            lost_at={
                GENERATOR_SOCKET: report.dropped + report.unsent,
                CLOSED_CONNECTIONS: report.connections.lost if report.connections else 0,
            },
            failures=self.failures(),
            events=report.events,
            traffic_s=self._traffic_s(),
            aborted=report.ended == ENDED_EARLY,
            latency_s={
                name: latency.percentiles if latency else None
                for name, latency in stages.items()
            },
            per_second=tuple(
                Second(
                    t=float(place),
                    attempted=one.attempted,
                    completed=one.completed,
                    p50_s=one.p50_s,
                    p99_s=one.p99_s,
                )
                for place, one in enumerate(self._seconds())
            ),
            parts=self._parts(),
            kinds={
                word: Part(
                    attempted=counts.attempted,
                    completed=counts.completed,
                    late=counts.late,
                    p50_s=report.kinds[word].p50_s if counts.begun else None,
                    p99_s=report.kinds[word].p99_s if counts.begun else None,
                )
                for word, counts in kinds.items()
            },
            figures={RESENT: float(report.sent_again)} if at_once else {},
        )
        if made.reason != TOO_FEW_CLIENTS:
            return made
        reply_s = report.whole.p50 if report.whole else None
        words = too_few_words(self.bench.scenario, self.load, self.procedure, reply_s)
        return msgspec.structs.replace(made, detail=words)

    def _parts(self) -> tuple[Part, ...]:
        """Return what was due in each part of a load that was asked for in parts."""
        parts = self.report.parts if self.load.counts else ()
        return tuple(Part(**msgspec.structs.asdict(part)) for part in parts)

    def _seconds(self) -> tuple[ReportSecond, ...]:
        """Return the seconds of the traffic; of clients at once, until all are served."""
        seconds = self.report.seconds
        return seconds if self.load.at_once else seconds[: self.load.duration_s]

    def _traffic_s(self) -> float:
        """How long exchanges were begun; of clients at once, until all were served (s)."""
        report = self.report
        if not self.load.at_once:
            return report.traffic_s
        is_whole = report.counts.completed == self.load.at_once and report.whole is not None
        return report.whole.max if is_whole and report.whole else float(self.load.duration_s)

    def doubts(self, counts: Transactions, seen: Seen) -> Iterator[str]:
        """Yield the words for why the trial does not count."""
        report, loss_ratio = self.report, self.procedure.loss_ratio
        judged = (counts, *self._deciding())
        beyond = max(one.failed - loss_ratio * one.attempted for one in judged)
        passes = beyond <= 0
        yield from self.of_protocol(seen, passes=passes)
        if not passes and beyond <= report.dropped + report.unsent:
            yield GENERATOR_STALLED
        # Of a long load one part may say so, though the whole passes.
        lacking = any(part.loss_ratio > loss_ratio for part in self._parts())
        if report.fell_behind and (lacking or not passes):
            yield GENERATOR_STALLED


@dataclass(frozen=True)
class ClientsReading(LeaseloadReading):
    """What leaseload reported of DHCP clients."""

    def failures(self) -> dict[str, int]:
        """Exchanges that the server refused, by its words for it."""
        return dict(self.report.refused)

    def of_protocol(self, seen: Seen, *, passes: bool) -> Iterator[str]:
        """Yield what leases and replies say against it."""
        report, counts = self.report, self.report.counts
        granted = Granted(
            clients=clients_of(self.bench.scenario, self.load),
            attempted=counts.attempted,
            answered=counts.completed + counts.late,
            refusals=counts.refused,
            # The checker of the history judges them.
            duplicates=0 if HISTORY in self.argv else report.duplicates,
            malformed=report.malformed,
        )
        yield from lease_doubts(self.bench, granted, seen, passes=passes)


@dataclass(frozen=True)
class QueriesReading(LeaseloadReading):
    """What leaseload reported of DNS queries."""

    expected: Expected

    def failures(self) -> dict[str, int]:
        """Answers with other RCODEs than expected, or with too many of one of them."""
        return self.expected.failures(self.report.rcodes)

    def of_protocol(self, seen: Seen, *, passes: bool) -> Iterator[str]:  # noqa: ARG002  # of a protocol
        """Yield what the answers say against it."""
        if repeats(self.bench.scenario, self.report.counts.attempted):
            yield NAMES_REPEATED
        if passes and not self.expected.same_size(self.report.answer_bytes):
            yield OTHER_ANSWERS
