"""leaseload's report, and what one trial with it comes to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

import msgspec
import numpy as np
from numpy.typing import NDArray

from leaselab.measure.generators.adapter import GENERATOR_STALLED, Reading, Seen
from leaselab.measure.generators.dhcp_load import Granted, clients_of, lease_doubts
from leaselab.measure.generators.dns_answers import (
    NAMES_REPEATED,
    OTHER_ANSWERS,
    Expected,
    repeats,
)
from leaselab.measure.generators.printed import printed, unreadable
from leaselab.measure.generators.transactions import Transactions, unserved
from leaselab.model.bench import Bench
from leaselab.model.observation import Generated
from leaselab.model.procedures.burst import RESENT
from leaselab.model.trial import LEAST_OF_KIND, WHOLE, Part, Percentiles, Second, Trial

GENERATOR_SOCKET = "generator socket"
"""Place of packets that the generator's host did not take, or dropped on their way to it."""
CLOSED_CONNECTIONS = "closed connections"
"""Place of queries that were under way on connections as the server closed them."""
ENDED_EARLY = "failed"
"""`Report.ended` where more exchanges had failed than the goal allows."""


class Counts(msgspec.Struct, frozen=True):
    """Exchanges by what came of them; the others sum to `attempted`."""

    attempted: int
    completed: int
    late: int
    lost: int
    refused: int
    open: int
    """Under way as the load was ended early."""


class KindCounts(Counts, frozen=True):
    """Those of one kind."""

    p50_s: float | None
    p99_s: float | None
    after_traffic: int
    early_mean_s: float | None
    early_spread_s: float | None


class Latency(msgspec.Struct, frozen=True):
    """Latency of what was answered (s)."""

    p50: float = msgspec.field(name="p50_s")
    p90: float = msgspec.field(name="p90_s")
    p99: float = msgspec.field(name="p99_s")
    p999: float = msgspec.field(name="p99.9_s")
    max: float = msgspec.field(name="max_s")

    @property
    def percentiles(self) -> Percentiles:
        """The same, in the form of records."""
        return Percentiles(
            p50=self.p50, p90=self.p90, p99=self.p99, p999=self.p999, max=self.max
        )


class Stage(msgspec.Struct, frozen=True):
    """A message and its answer."""

    name: str
    latency: Latency | None


class ReportSecond(msgspec.Struct, frozen=True):
    """One second of the load."""

    attempted: int
    completed: int
    p50_s: float | None
    p99_s: float | None


class ReportPart(msgspec.Struct, frozen=True):
    """What was due in one part of the load."""

    attempted: int
    completed: int
    late: int
    p50_s: float | None
    p99_s: float | None


class Replies(msgspec.Struct, frozen=True):
    """Replies of one type."""

    count: int
    bytes: int


class Connections(msgspec.Struct, frozen=True):
    """What queries over TCP and TLS went through."""

    lost: int
    """Queries that were under way on a connection as it ended."""


class Report(msgspec.Struct, frozen=True):
    """What leaseload prints; times are in seconds."""

    ended: str
    traffic_s: float
    fell_behind: bool
    """More than 1 % of the load was sent late, or not at all."""
    left_out: int
    """Exchanges not begun, as the generator was too slow for the load's time."""
    counts: Counts
    kinds: Mapping[str, KindCounts]
    refused: Mapping[str, int]
    replies: Mapping[str, Replies]
    stages: tuple[Stage, ...]
    whole: Latency | None
    seconds: tuple[ReportSecond, ...]
    parts: tuple[ReportPart, ...]
    after_traffic: int
    """Completed in time, but after the traffic."""
    early_mean_s: float | None
    """Mean latency of the whole exchanges that began in the first tenth of the traffic (s)."""
    early_spread_s: float | None
    """Its standard deviation (s)."""
    bin_s: float
    bins: tuple[int, ...]
    """Exchanges completed in each time of `bin_s`."""
    duplicates: int
    malformed: int
    sent_again: int
    unsent: int
    """Messages that the generator's own host did not take."""
    dropped: int
    """Replies that the generator's own sockets dropped."""
    connections: Connections | None
    """None of what went in datagrams."""

    @property
    def rcodes(self) -> Mapping[str, int]:
        """Answers by RCODE."""
        return {word: one.count for word, one in self.replies.items()}

    @property
    def answer_bytes(self) -> float:
        """Mean size of the answers (bytes); 0 without any."""
        count = sum(reply.count for reply in self.replies.values())
        return sum(reply.bytes for reply in self.replies.values()) / count if count else 0.0


def report_of(generated: Generated, bench: Bench) -> Report:
    """Read a report; raises a broken-lab error for output that is no measurement."""
    text = printed(generated, bench)
    try:
        return msgspec.json.decode(text, type=Report)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise unreadable("leaseload", str(error), text) from error


@dataclass(frozen=True)
class LeaseloadReading(Reading):
    """What leaseload reported of one load; it is parsed when it is first asked for."""

    @cached_property
    def report(self) -> Report:
        """The report, parsed; raises a broken-lab error for what is no measurement."""
        return report_of(self.generated, self.bench)

    @property
    def answered_at(self) -> NDArray[np.float64]:
        """When each exchange completed, by the end of its bin (s), shape (completed,)."""
        ends = np.arange(1, len(self.report.bins) + 1) * self.report.bin_s
        return np.repeat(ends, self.report.bins)

    @cached_property
    def transactions(self) -> Transactions:
        """What came of the exchanges; those still open are lost."""
        report, counts = self.report, self.report.counts
        return Transactions(
            due=counts.attempted + report.left_out,
            begun=counts.attempted,
            answered=counts.completed + counts.late + counts.refused,
            slow=counts.late,
            queued=self._queued(counts, report),
            wrong=sum(self.failures().values()),
        )

    @cached_property
    def kinds(self) -> dict[str, Transactions]:
        """The same of each kind, where there are several; what was not begun is of none."""
        kinds = self.report.kinds if len(self.report.kinds) > 1 else {}
        return {
            word: Transactions(
                due=kind.attempted,
                begun=kind.attempted,
                answered=kind.completed + kind.late + kind.refused,
                slow=kind.late,
                queued=self._queued(kind, kind),
                wrong=kind.refused,
            )
            for word, kind in kinds.items()
        }

    def _queued(self, counts: Counts, ends: Report | KindCounts) -> int:
        """Of the completed those that lay in buffers as the traffic ended."""
        if self._is_uneven:
            return 0
        return min(counts.completed, queued(counts, ends, self.report.traffic_s))

    @property
    def _is_uneven(self) -> bool:
        """Whether what is under way at its end says nothing of a queue."""
        return bool(self.load.at_once or self.load.counts)

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
        return self.judged(
            self.transactions,
            seen,
            lost_at={
                GENERATOR_SOCKET: report.dropped + report.unsent,
                CLOSED_CONNECTIONS: report.connections.lost if report.connections else 0,
            },
            failures=self.failures(),
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
                    p50_s=report.kinds[word].p50_s,
                    p99_s=report.kinds[word].p99_s,
                )
                for word, counts in self.kinds.items()
            },
            figures={RESENT: float(report.sent_again)} if at_once else {},
        )

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
        kinds = [kind for kind in self.kinds.values() if kind.attempted >= LEAST_OF_KIND]
        beyond = max(one.failed - loss_ratio * one.attempted for one in (counts, *kinds))
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
            duplicates=report.duplicates,
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


def queued(counts: Counts, ends: Report | KindCounts, traffic_s: float) -> int:
    """Exchanges that lay in buffers as the traffic of so many seconds ended."""
    answered = counts.completed + counts.late
    usual_s, spread_s = ends.early_mean_s or 0.0, ends.early_spread_s or 0.0
    return unserved(answered, ends.after_traffic, traffic_s, usual_s, spread_s)
