"""The interface of a traffic generator's adapter, at the level of a trial.

An adapter owns the command line, the reading of what the tool prints, the early end, what
makes a trial doubtful, and the probe that proves that a server answers.  No other module
depends on the tool.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from leaselab.leases.history import History
from leaselab.measure.counting import Step, count
from leaselab.measure.generators.printed import printed
from leaselab.measure.generators.transactions import Transactions
from leaselab.measure.ports import GeneratorHost, Server
from leaselab.measure.stalls import Binned
from leaselab.model.bench import Bench
from leaselab.model.observation import Counted, Generated
from leaselab.model.procedure import Procedure
from leaselab.model.procedures.cost import NOTHING, Cost
from leaselab.model.procedures.profile import LATENCY_US
from leaselab.model.record import GENERATOR, GENERATOR_LIMITED, SERVER
from leaselab.model.scenario import Scenario
from leaselab.model.trial import HostUse, Load, Trial

GENERATOR_STALLED = "generator-stalled"
"""The generator, or its host, stood still and caught up in a burst, or dropped replies:
without that the trial might have passed."""
POOL_TOO_FULL = "pool-too-full"
"""More than half of the pool was leased: allocation slows down there."""

TIMEOUT_SLACK_S = 20.0
"""Time beyond traffic and wait after which a generator counts as hanging (s): some print for
seconds."""
PROBES = 5
"""Probes tried before a started server counts as not answering."""


@dataclass(frozen=True, slots=True)
class Seen:
    """What was seen of a trial beside the generator's own output."""

    refused: int = 0
    """Requests that the server says it refused."""
    generator: HostUse | None = None
    """What happened to the generator's host; None where it was not read."""
    held: Mapping[str, int] = field(default_factory=dict)
    """What each server held when it was reset, by role."""
    in_use: int | None = None
    """What the server under test held after the load; None where it did not report it."""
    trouble: str = ""
    """How several servers differed from the state asked for; empty when they did not."""


@dataclass(frozen=True)
class Reading:
    """What a tool printed of one load; parsed when it is first asked for."""

    bench: Bench
    procedure: Procedure
    load: Load
    argv: tuple[str, ...]
    generated: Generated

    @property
    def output_gz(self) -> bytes:
        """What the tool printed, to be kept."""
        return self.generated.output_gz

    @property
    def conclusive(self) -> bool:
        """False where it was ended early, and might still have passed."""
        return True

    @property
    def answered_at(self) -> Any:  # noqa: ANN401  # numpy's array
        """When each transaction's last reply came (s since the start, shape (answered,))."""
        raise NotImplementedError

    @property
    def binned(self) -> Binned:
        """The transactions by short times, where its load was counted so."""
        raise NotImplementedError

    @property
    def mean_latency_s(self) -> float | None:
        """Mean latency of what was answered (s); None where the tool does not say it."""
        return None

    @property
    def started_at_s(self) -> float:
        """When the load began, by the clock of the generator's host (s since 1970)."""
        raise NotImplementedError

    @property
    def history(self) -> History | None:
        """What clients saw of their leases; None where the tool does not say it."""
        return None

    def trial(self, seen: Seen) -> Trial:
        """Return what came of the load: its figures, and the adapter's doubts."""
        raise NotImplementedError

    def text(self) -> bytes:
        """The same, decompressed; raises a broken-lab error where there is no measurement."""
        return printed(self.generated, self.bench)

    def short(self, counts: Transactions) -> str:
        """Return the word for a load that was not offered, where that matters; else empty."""
        return GENERATOR_LIMITED if counts.falls_short(self.procedure.loss_ratio) else ""

    def doubts(self, counts: Transactions, seen: Seen) -> Iterator[str]:
        """Yield the further words for why a trial does not count."""
        raise NotImplementedError

    def judged(self, counts: Transactions, seen: Seen, **fields: Any) -> Trial:  # noqa: ANN401
        """Return the trial of these counts, with its doubts.

        A procedure that fills the pool lifts the doubt that it is full.  `fields` are the
        further ones of the trial.
        """
        if self.procedure.samples and (mean_s := self.mean_latency_s) is not None:
            fields["figures"] = {LATENCY_US: 1e6 * mean_s}
        short = self.short(counts)
        counts = counts.as_begun if short else counts
        words = [*([short] if short else []), *self.doubts(counts, seen)]
        lifted = {POOL_TOO_FULL} if self.procedure.fills else set()
        reason = next((word for word in words if word not in lifted), "")
        return Trial.of(
            self.load,
            attempted=counts.attempted,
            completed=counts.completed,
            late=counts.late,
            lost=counts.lost,
            valid=not reason,
            reason=reason,
            waived=tuple(word for word in words if word in lifted),
            argv=self.argv,
            **fields,
        )


class Adapter:
    """One generator, ready to offer loads to one point."""

    waits: ClassVar[bool] = True
    """Whether it waits for late replies after a load that lost some."""

    def __init__(self, bench: Bench, procedure: Procedure, host: GeneratorHost) -> None:
        """`procedure` says what is late, and how much a trial may lose."""
        self._bench = bench
        self._tool = bench.generator
        self._procedure = procedure
        self._host = host
        self._own = bench.hosts[GENERATOR]
        self._where = bench.hosts[SERVER].access.name
        self._server = bench.server.test_address or bench.hosts[SERVER].test_address

    @classmethod
    def check_fits(cls, scenario: Scenario, procedure: Procedure) -> None:
        """Raise a usage error where a scenario's load does not suit a procedure."""
        raise NotImplementedError

    @property
    def capacity(self) -> int | None:
        """How much one load may take: of what servers can hold, or of what must not come again.

        None where nothing bounds it.
        """
        raise NotImplementedError

    @property
    def takes_clients(self) -> bool:
        """Whether a load may say how many clients there are, which come back in turn.

        False where it has no distinct clients, or where the scenario sets their number.
        """
        return False

    def answers(self) -> bool:
        """Whether the server completes a transaction: a running process is no proof.

        A few tries at a low rate, as it may just have started.  Raises a server-broken error
        where it answers in another way than the load expects.
        """
        raise NotImplementedError

    def steps(self) -> Sequence[Step]:
        """Return the loads by which a server is counted; only where it offers closed ones."""
        raise NotImplementedError

    def count(self, server: Server) -> Counted:
        """Count what the server does for each transaction."""
        simulated = isinstance(self._procedure, Cost) and self._procedure.simulate != NOTHING
        return count(
            server, self._host, self._tool.environment, self.steps(), simulated=simulated
        )

    def offer(self, load: Load, *, may_abort: bool) -> Reading:
        """Offer a load and read what came of it; raises a broken-lab error.

        The reading may be lazy: what takes long waits until it is asked for.
        """
        raise NotImplementedError

    def generate(self, argv: Sequence[str], most_s: float) -> Generated:
        """Run the tool; `most_s` is how long it takes where it does not hang (s)."""
        return self._host.generate(argv, self._tool.environment, most_s + TIMEOUT_SLACK_S)

    def clock_ahead_s(self) -> float:
        """Return the clock of the generator's host less the engine's (s)."""
        return self._host.clock_ahead_s()

    def unreached(self) -> str:
        """Return what the generator's host knows of a server's host that it does not reach.

        Empty where it reaches it: then it is the server that does not answer.
        """
        bench = self._bench
        return self._host.unreached(
            bench.server.test_address or bench.hosts[SERVER].test_address
        )

    def longest_s(self, load: Load) -> float:
        """How long the traffic of a load and the wait for its replies take (s)."""
        return load.duration_s + self._procedure.wait_s
