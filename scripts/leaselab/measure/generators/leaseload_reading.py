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
from leaselab.model.trial import WHOLE, Part, Percentiles, Second, Trial

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
    except msgspec.MsgspecError as error:
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
            queued=0 if self._is_uneven else min(counts.completed, queued(report)),
            wrong=sum(self.failures().values()),
        )

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
        if len(asked) > 1:
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
        report = self.report
        failed, may_fail = counts.failed, self.procedure.loss_ratio * counts.attempted
        passes = failed <= may_fail
        yield from self.of_protocol(seen, passes=passes)
        own = report.dropped + report.unsent
        if not passes and failed - own <= may_fail:
            yield GENERATOR_STALLED
        # Of a long load one part may say so, though the whole passes.
        loss_ratio = self.procedure.loss_ratio
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


def queued(report: Report) -> int:
    """Exchanges that lay in buffers as the traffic ended."""
    answered = report.counts.completed + report.counts.late
    usual_s, spread_s = report.early_mean_s or 0.0, report.early_spread_s or 0.0
    return unserved(answered, report.after_traffic, report.traffic_s, usual_s, spread_s)
