"""An open loop of queries that counts alone, and dnsperf as the proof of what it finds.

Such a tool sends at its rate however slowly a server answers.  It says how many queries were
answered and with which RCODEs, and no percentiles of latency.  So a search by it is confirmed
by dnsperf at the confirmed rate, where answers have to be in time: the tool's role installs
that as well, and its record is the setting `proof`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from leaselab.measure.generators.adapter import GENERATOR_STALLED, Reading, Seen
from leaselab.measure.generators.dns_answers import NAMES_REPEATED, repeats
from leaselab.measure.generators.dns_reading import DnsReading, QueryTool, by_second
from leaselab.measure.generators.dnsperf import Dnsperf
from leaselab.measure.generators.transactions import Transactions, unserved
from leaselab.measure.ports import GeneratorHost
from leaselab.model.bench import Bench, GeneratorTool
from leaselab.model.procedure import Procedure
from leaselab.model.trial import Load, Second, Trial


@dataclass(frozen=True)
class Span:
    """What was sent and answered in a time."""

    seconds: float
    """Length of that time (s)."""
    queries: int
    responses: int
    rcodes: Mapping[str, int] = field(default_factory=dict)
    """Responses by RCODE, such as NOERROR; of a second they may be left out."""


@dataclass(frozen=True)
class Output:
    """What one run measured."""

    whole: Span
    seconds: tuple[Span, ...]
    """Each second, the last one included."""
    errors: int
    """Packets that it failed to send."""
    after: int = 0
    """Responses that came after the traffic; none where it stops listening then."""
    before: int = 0
    """Queries that it sent before those that count: the first of the query file."""


@dataclass(frozen=True)
class OpenLoopReading(DnsReading):
    """What such a tool printed of one load."""

    @cached_property
    def output(self) -> Output:
        """What it printed, parsed; raises a broken-lab error for what is no measurement."""
        raise NotImplementedError

    @property
    def step_s(self) -> float:
        """How exactly it reports when the traffic ended (s)."""
        return 0.0

    def dropped(self, seen: Seen) -> int:
        """Answers that the generator's host may have dropped or held up."""
        raise NotImplementedError

    @property
    def answered_at(self) -> NDArray[np.float64]:
        """When each query was answered, by the end of its second (s), shape (answered,)."""
        return by_second([second.responses for second in self.output.seconds])

    def trial(self, seen: Seen) -> Trial:
        """Return what came of the load."""
        load, whole = self.load, self.output.whole
        failures = self.expected.failures(whole.rcodes)
        counts = Transactions(
            due=max(whole.queries, load.rate * load.duration_s),
            begun=whole.queries,
            answered=whole.responses,
            queued=unserved(whole.responses, self.output.after, whole.seconds, self.step_s),
            wrong=sum(failures.values()),
        )
        (stage,) = self.bench.scenario.transaction.stages
        return self.judged(
            counts,
            seen,
            failures=failures,
            traffic_s=whole.seconds,
            latency_s={stage: None},
            per_second=tuple(
                Second(
                    t=float(place),
                    attempted=one.queries,
                    completed=one.responses,
                    p50_s=None,
                    p99_s=None,
                )
                for place, one in enumerate(self.output.seconds)
            ),
        )

    def doubts(self, counts: Transactions, seen: Seen) -> Iterator[str]:
        """Yield the words for why a trial does not count."""
        failed, may_fail = counts.failed, self.procedure.loss_ratio * counts.attempted
        if repeats(self.bench.scenario, self.output.before + counts.begun):
            yield NAMES_REPEATED
        excused = self.output.errors or failed - self.dropped(seen) <= may_fail
        if failed > may_fail and excused:
            yield GENERATOR_STALLED


class OpenLoop(QueryTool):
    """Such a tool, against the server of one bench."""

    transports = ("udp",)

    def __init__(self, bench: Bench, procedure: Procedure, host: GeneratorHost) -> None:
        super().__init__(bench, procedure, host)
        proof = GeneratorTool(**self._tool.settings["proof"], files=self._tool.files)
        self._proof = Dnsperf(dataclasses.replace(bench, generator=proof), procedure, host)

    def answers(self) -> bool:
        """Whether the server answers queries of the load, as dnsperf asks it."""
        return self._proof.answers()

    def offer(self, load: Load, *, may_abort: bool) -> Reading:
        """Run the tool, or dnsperf where a result is to be confirmed."""
        offer = self._proof.offer if load.proof else super().offer
        return offer(load, may_abort=may_abort)

    @property
    def _queries(self) -> str:
        """Path of the query file."""
        return str(self._tool.files["queries"]["path"])
