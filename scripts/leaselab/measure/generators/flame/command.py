"""flame (Flamethrower): an open loop of queries, confirmed by dnsperf.

It says how many queries were answered and with which RCODEs, and no percentiles of latency.  So
a search by it is confirmed by dnsperf at the confirmed rate, where answers have to be in time:
its role installs that as well, and its record is the setting `proof`.

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
- It ends with status 0 for any outcome, and with 1 where it cannot begin.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from leaselab.measure.generators.adapter import GENERATOR_STALLED, Reading, Seen
from leaselab.measure.generators.dns.answers import NAMES_REPEATED, repeats
from leaselab.measure.generators.dns.trial import DnsReading, QueryTool, by_second
from leaselab.measure.generators.dnsperf.command import Dnsperf
from leaselab.measure.generators.flame.output import Output, parse
from leaselab.measure.generators.transactions import Transactions, unserved
from leaselab.measure.ports import GeneratorHost
from leaselab.model.bench import Bench, GeneratorTool
from leaselab.model.procedure import Procedure
from leaselab.model.trial import Load, Second, Trial

LEAD_S = 2
"""Time before the load in which it reads the query file (s)."""
REPORT_S = 0.02
"""By how much its reports may differ from the second that they are of (s)."""
DELAY_MS = 1
"""``-d``: how often each sender looks what is due (ms)."""


@dataclass(frozen=True)
class FlameReading(DnsReading):
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


class Flame(QueryTool):
    """flame, against the server of one bench."""

    reading = FlameReading
    transports = ("udp",)

    def __init__(self, bench: Bench, procedure: Procedure, host: GeneratorHost) -> None:
        super().__init__(bench, procedure, host)
        proof = GeneratorTool(**self._tool.settings["proof"], files=self._tool.files)
        self._proof = Dnsperf(dataclasses.replace(bench, generator=proof), procedure, host)

    def answers(self) -> bool:
        """Whether the server answers queries of the load, as dnsperf asks it."""
        return self._proof.answers()

    def offer(self, load: Load, *, may_abort: bool) -> Reading:
        """Run flame, or dnsperf where a result is to be confirmed."""
        offer = self._proof.offer if load.proof else super().offer
        return offer(load, may_abort=may_abort)

    def command(self, load: Load) -> list[str]:
        """Build the argv of one run: a flow of next to nothing, then of the load.

        Nothing but reports goes to standard output; elsewhere they would be a file more.
        """
        senders = int(self._tool.settings["senders"])
        rate = senders * math.ceil(load.rate / senders)
        flow = f"{senders},{1000 * LEAD_S};{rate},{1000 * load.duration_s}"
        argv = [self._tool.path, "-v", "0", "-o", "/dev/stdout", "-F", "inet", "-P", "udp"]
        argv += ["-b", self._own.test_address, "-p", "53"]
        argv += ["-f", str(self._tool.files["queries"]["path"]), "-c", str(senders)]
        argv += ["-q", str(self._tool.settings["batch"]), "-d", str(DELAY_MS)]
        argv += ["-t", str(math.ceil(self._procedure.late_s))]
        argv += ["-l", str(LEAD_S + load.duration_s), "--qps-flow", flow]
        return [*argv, self._server]
