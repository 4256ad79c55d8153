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
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from leaselab.measure.generators.adapter import (
    GENERATOR_LIMITED,
    GENERATOR_STALLED,
    TIMEOUT_SLACK_S,
    Reading,
    Seen,
)
from leaselab.measure.generators.dns_answers import (
    NAMES_REPEATED,
    check_names,
    check_queries,
    edns_of,
    expected_of,
    repeats,
    transport_of,
)
from leaselab.measure.generators.dns_reading import DnsReading, by_second
from leaselab.measure.generators.dnsperf import Dnsperf
from leaselab.measure.generators.transactions import Transactions, unserved
from leaselab.measure.ports import GeneratorHost
from leaselab.model.bench import Bench, GeneratorTool
from leaselab.model.errors import usage_error
from leaselab.model.load import Load
from leaselab.model.procedure import Procedure
from leaselab.model.record import SERVER, Scenario
from leaselab.model.trial import Second, Trial

TRANSPORTS = ("udp",)


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
        """How exactly it tells when the traffic ended (s)."""
        return 0.0

    def dropped(self, seen: Seen) -> int:
        """Answers that the generator's host may have dropped or held up."""
        raise NotImplementedError

    @property
    def answered_at(self) -> NDArray[np.float64]:
        """When each query was answered, by the end of its second (s), shape (answered,)."""
        return by_second([one.responses for one in self.output.seconds])

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
        is_short = counts.falls_short(self.procedure.loss_ratio)
        counts = counts.as_begun if is_short else counts
        doubts = self._doubts(counts, seen)
        reason = GENERATOR_LIMITED if is_short else next(doubts, "")
        (stage,) = self.bench.scenario.transaction.stages
        return Trial(
            rate=load.rate,
            duration_s=load.duration_s,
            attempted=counts.attempted,
            completed=counts.completed,
            late=counts.late,
            lost=counts.lost,
            failures=failures,
            traffic_s=whole.seconds,
            valid=not reason,
            reason=reason,
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
            argv=self.argv,
        )

    def _doubts(self, counts: Transactions, seen: Seen) -> Iterator[str]:
        """Yield the words for why a trial does not count."""
        failed, may_fail = counts.failed, self.procedure.loss_ratio * counts.attempted
        if repeats(self.bench.scenario, self.output.before + counts.begun):
            yield NAMES_REPEATED
        excused = self.output.errors or failed - self.dropped(seen) <= may_fail
        if failed > may_fail and excused:
            yield GENERATOR_STALLED


class OpenLoop:
    """Such a tool, against the server of one bench."""

    procedures: ClassVar[tuple[type[Procedure], ...]]
    """Procedures that need no more than counts."""
    reading: ClassVar[type[OpenLoopReading]]

    def __init__(self, bench: Bench, procedure: Procedure, host: GeneratorHost) -> None:
        self._bench = bench
        self._tool = bench.generator
        self._procedure = procedure
        self._host = host
        self._expected = expected_of(bench.scenario)
        proof = GeneratorTool(**self._tool.settings["proof"], files=self._tool.files)
        self._proof = Dnsperf(dataclasses.replace(bench, generator=proof), procedure, host)

    @classmethod
    def check_fits(cls, scenario: Scenario, procedure: Procedure) -> None:
        """Refuse what is not over UDP, or needs more than counts (usage errors)."""
        tool = scenario.generator
        transport_of(scenario, TRANSPORTS, tool)
        edns_of(scenario, tool)
        check_names(scenario, tool)  # dnsperf confirms
        check_queries(scenario, procedure, tool)
        if not isinstance(procedure, cls.procedures):
            raise usage_error(
                f"{tool} tells no percentiles of latency, and sends nothing but a rate",
                where=f"scenario {scenario.name}",
                found=f"procedure {procedure.name}",
                wanted=" or ".join(str(one.__struct_config__.tag) for one in cls.procedures),
                todo="take a load of dnsperf",
            )

    @property
    def capacity(self) -> int | None:
        """Queries that a trial may ask, where names must not come again."""
        return self._proof.capacity

    @property
    def takes_clients(self) -> bool:
        """Nobody in particular asks."""
        return False

    def answers(self) -> bool:
        """Whether the server answers queries of the load, as dnsperf asks it."""
        return self._proof.answers()

    def offer(self, load: Load, *, may_abort: bool) -> Reading:
        """Run the tool, or dnsperf where a result is to be confirmed.

        Raises a broken-lab error for output that is no measurement.
        """
        if load.proof:
            return self._proof.offer(load, may_abort=may_abort)
        argv = self.command(load)
        longest_s = load.duration_s + self._procedure.wait_s + TIMEOUT_SLACK_S
        generated = self._host.generate(argv, self._tool.environment, longest_s)
        return self.reading(
            self._bench, self._procedure, load, tuple(argv), generated, self._expected
        )

    def command(self, load: Load) -> list[str]:
        """Build the argv of one run."""
        raise NotImplementedError

    @property
    def _server(self) -> str:
        """The server's test address."""
        return self._bench.server.test_address or self._bench.hosts[SERVER].test_address

    @property
    def _queries(self) -> str:
        """Path of the query file."""
        return str(self._tool.files["queries"]["path"])
