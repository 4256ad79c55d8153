"""Queries offered by a tool of their own: what all such tools have in common."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from leaselab.measure.generators.adapter import Adapter, Reading, Seen
from leaselab.measure.generators.dns.answers import (
    TRANSPORTS,
    Expected,
    check_names,
    check_queries,
    edns_of,
    expected_of,
    is_recorded,
    most_queries,
    transport_of,
)
from leaselab.measure.ports import GeneratorHost
from leaselab.model.bench import Bench
from leaselab.model.errors import usage_error
from leaselab.model.procedure import Procedure
from leaselab.model.scenario import Scenario
from leaselab.model.trial import RECORDED, Load


@dataclass(frozen=True)
class DnsReading(Reading):
    """What a tool printed of one load; it is parsed when it is first asked for."""

    expected: Expected

    def hosts_cost(self, seen: Seen, waiting: int) -> int:
        """Queries that the generator's host may have cost.

        Answers that it dropped, and those that waited while it stood still for longer than an
        answer may take: `waiting` is how many may do so at once.
        """
        if seen.generator is None:
            return 0
        stood_s = max(seen.generator.steal_s, seen.generator.throttled_s)
        stalled = waiting if stood_s >= self.procedure.late_s else 0
        return seen.generator.receive_errors + stalled


class QueryTool(Adapter):
    """A tool that sends queries, against the server of one bench."""

    transports: ClassVar[tuple[str, ...]] = TRANSPORTS
    """How it can send them."""
    edns_bytes: ClassVar[tuple[int, ...]] = ()
    """Sizes of answers that it can say by EDNS (bytes)."""
    reading: ClassVar[type[DnsReading]]

    def __init__(self, bench: Bench, procedure: Procedure, host: GeneratorHost) -> None:
        super().__init__(bench, procedure, host)
        self._transport = transport_of(bench.scenario, self.transports)
        self._is_v6 = bench.scenario.load.get("family") == 6
        self._expected = expected_of(bench.scenario)

    @classmethod
    def check_fits(cls, scenario: Scenario, procedure: Procedure) -> None:
        """Raise a usage error for what queries cannot have, or the tool cannot send."""
        edns_of(scenario, cls.edns_bytes)
        check_names(scenario)  # dnsperf asks them, or confirms
        if is_recorded(scenario):
            raise usage_error(
                f"{scenario.generator} sends queries at even distances",
                where=f"scenario {scenario.name}: arrivals",
                found=RECORDED,
                todo="add --generator leaseload",
            )
        check_queries(scenario, procedure, cls.transports)

    @property
    def capacity(self) -> int | None:
        """Queries that a trial may ask, where names must not come again."""
        return most_queries(self._bench.scenario)

    def offer(self, load: Load, *, may_abort: bool) -> Reading:  # noqa: ARG002  # none gives up
        """Run the tool; raises a broken-lab error for output that is no measurement."""
        argv = self.command(load)
        generated = self.generate(argv, self.longest_s(load))
        return self.reading(
            self._bench, self._procedure, load, tuple(argv), generated, self._expected
        )

    def command(self, load: Load) -> list[str]:
        """Build the argv of one run."""
        raise NotImplementedError


def by_second(counts: Sequence[int]) -> NDArray[np.float64]:
    """When each query was answered, by the end of its second (s), shape (answered,).

    `counts` are the answers in each second.
    """
    return np.repeat(np.arange(1.0, len(counts) + 1), counts)
