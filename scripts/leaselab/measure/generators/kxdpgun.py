"""kxdpgun: an open loop of queries, and counts alone; dnsperf proves what it finds.

It sends at its rate however slowly a server answers, past the kernel's sockets (AF_XDP), and so
needs capabilities that its role checks.  It tells no latency, so a search by it is confirmed by
dnsperf at the confirmed rate, where answers have to be in time: the role installs that as well,
and its record is the setting `proof`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from leaselab.measure.generators.adapter import (
    GENERATOR_LIMITED,
    GENERATOR_STALLED,
    Reading,
    Seen,
)
from leaselab.measure.generators.dns_answers import (
    NAMES_REPEATED,
    Expected,
    check_queries,
    expected_of,
    repeats,
    transport_of,
)
from leaselab.measure.generators.dnsperf import TIMEOUT_SLACK_S, Dnsperf
from leaselab.measure.generators.dnsperf_reading import enough
from leaselab.measure.generators.kxdpgun_output import Output, parse
from leaselab.measure.generators.printed import printed
from leaselab.measure.ports import GeneratorHost
from leaselab.model.bench import Bench, GeneratorTool
from leaselab.model.errors import usage_error
from leaselab.model.load import Load
from leaselab.model.observation import Generated
from leaselab.model.procedure import Procedure
from leaselab.model.procedures.max_rate import MaxRate
from leaselab.model.record import GENERATOR, SERVER, Scenario
from leaselab.model.trial import Second, Trial

TRANSPORTS = ("udp",)


@dataclass(frozen=True)
class KxdpgunReading:
    """What kxdpgun printed of one load; it is parsed when it is first asked for."""

    bench: Bench
    procedure: Procedure
    load: Load
    argv: tuple[str, ...]
    generated: Generated
    expected: Expected

    @property
    def output_gz(self) -> bytes:
        """What kxdpgun printed, to be kept."""
        return self.generated.output_gz

    @property
    def conclusive(self) -> bool:
        """It is never ended early."""
        return True

    @cached_property
    def output(self) -> Output:
        """The same, parsed; raises a broken-lab error for what is no measurement."""
        where = self.bench.hosts[GENERATOR].access.name
        text = printed(self.generated, self.bench.generator.path, where)
        return parse(text, self.generated.error)

    @property
    def answered_at(self) -> NDArray[np.float64]:
        """When each query was answered, by the end of its second (s), shape (answered,)."""
        counts = [one.responses for one in self.output.seconds]
        return np.repeat(np.arange(1.0, len(counts) + 1), counts)

    def trial(self, seen: Seen) -> Trial:  # noqa: ARG002  # its packets pass the host's sockets
        """Return what came of the load."""
        load, whole = self.load, self.output.whole
        failures = self.expected.failures(whole.rcodes)
        completed = whole.responses - sum(failures.values())
        reason = next(self._doubts(completed), "")
        (stage,) = self.bench.scenario.transaction.stages
        return Trial(
            rate=load.rate,
            duration_s=load.duration_s,
            attempted=whole.queries,
            completed=completed,
            late=0,
            lost=whole.queries - whole.responses,
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

    def _doubts(self, completed: int) -> Iterator[str]:
        """Yield the words for why a trial does not count."""
        queries = self.output.whole.queries
        if not enough(queries, self.load.rate * self.load.duration_s):
            yield GENERATOR_LIMITED
        if repeats(self.bench.scenario, queries):
            yield NAMES_REPEATED
        passes = queries - completed <= self.procedure.loss_ratio * queries
        if self.output.errors and not passes:
            yield GENERATOR_STALLED


class Kxdpgun:
    """kxdpgun, against the server of one bench."""

    capacity = None
    """Nothing is given out that could be used up."""

    def __init__(self, bench: Bench, procedure: Procedure, host: GeneratorHost) -> None:
        self._bench = bench
        self._tool = bench.generator
        self._procedure = procedure
        self._host = host
        self._expected = expected_of(bench.scenario)
        proof = GeneratorTool(**self._tool.settings["proof"], files=self._tool.files)
        self._proof = Dnsperf(dataclasses.replace(bench, generator=proof), procedure, host)

    @staticmethod
    def check_fits(scenario: Scenario, procedure: Procedure) -> None:
        """Refuse all but a search over UDP (usage errors): there is no latency."""
        transport_of(scenario, TRANSPORTS, "kxdpgun")
        check_queries(scenario, procedure, "kxdpgun")
        if not isinstance(procedure, MaxRate):
            raise usage_error(
                "kxdpgun tells no latency, and sends nothing but a rate",
                where=f"scenario {scenario.name}",
                found=f"procedure {procedure.name}",
                wanted="max-rate",
                todo="take a load of dnsperf",
            )

    def answers(self) -> bool:
        """Whether the server answers queries of the load, as dnsperf asks it."""
        return self._proof.answers()

    def offer(self, load: Load, *, may_abort: bool) -> Reading:
        """Run kxdpgun, or dnsperf where a result is to be confirmed.

        Raises a broken-lab error for output that is no measurement.
        """
        if load.proof:
            return self._proof.offer(load, may_abort=may_abort)
        argv = self.command(load)
        longest_s = load.duration_s + self._procedure.wait_s + TIMEOUT_SLACK_S
        generated = self._host.generate(argv, self._tool.environment, longest_s)
        return KxdpgunReading(
            self._bench, self._procedure, load, tuple(argv), generated, self._expected
        )

    def command(self, load: Load) -> list[str]:
        """Build the argv of one run."""
        bench = self._bench
        generator = bench.hosts[GENERATOR]
        server = bench.server.test_address or bench.hosts[SERVER].test_address
        argv = [self._tool.path, "-j", "-S", "1000", "-m", str(self._tool.settings["mode"])]
        argv += ["-b", str(self._tool.settings["batch"])]
        argv += ["-I", generator.test_interface, "-l", generator.test_address]
        argv += ["-t", str(load.duration_s), "-Q", str(load.rate)]
        return [*argv, "-i", str(self._tool.files["queries"]["path"]), server]
