"""One trial: a load and its result; the types that records and the engine share.

Units are in the names of fields or in their descriptions; times are UTC, ISO 8601 with ``Z``;
unknown values are null.  Transactions are what a client attempts.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Self

from msgspec import Struct, field

from leaselab.model.bounds import Amount, Bounded, Count, Figure, File, Text
from leaselab.model.kinds import Sum, deciding
from leaselab.model.lease_safety import Violation
from leaselab.model.moment import Moment

SHARES = {
    "renew": "renewals",
    "release": "releases",
    "rapid": "rapids",
    "rebind": "rebinds",
    "reboot": "reboots",
    "inform": "informs",
    "decline": "declines",
}
"""Keys of a load of clients that are shares of its exchanges, by leaseload's names for them.
The remaining clients begin without a lease.
"""

KIND_NAMES = {"new": "new clients", **SHARES, "query": "queries", "update": "updates"}
"""Names of the kinds of transactions of a load, by leaseload's words for them."""

RECORDED = "recorded"
"""Arrivals of queries at the distances that their file has; else they are even."""


@dataclass(frozen=True, slots=True)
class Load:
    """A constant rate for a fixed time, or clients that all begin at once."""

    rate: int
    """Offered load (transactions begun per second); 0 where clients begin at once."""
    duration_s: int
    """Length of the traffic period (whole seconds, as perfdhcp requires); for clients that
    begin at once, the longest time for which they retry."""
    first_client: int = 0
    """Number of the first client, so that successive loads have different clients."""
    clients: int = 0
    """Number of clients, which return in turn; 0: each client is new."""
    at_once: int = 0
    """Clients that all begin at once and send again until they are served; 0 for a rate."""

    counts: tuple[int, ...] = ()
    """Transactions begun in each of equal parts of it, whose mean is the rate; empty where all
    begin at the rate."""

    proof: bool = False
    """It confirms the result of a search: a generator without latency uses another one for
    it."""

    @property
    def words(self) -> str:
        """Words for the offered load."""
        if self.at_once:
            return f"{self.at_once} clients at once, for {self.duration_s} s at most"
        return f"{self.rate}/s for {self.duration_s} s"

    @property
    def counts_words(self) -> str:
        """Its parts, as generators take them."""
        return ",".join(map(str, self.counts))


WHOLE = "whole exchange"
"""Stage that stands for all stages of a transaction together."""


class Figures(Bounded, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Base of structs of numbers: an unknown (such as a misspelt) field is an error."""


class Reading(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The same for structs with thousands of instances: only their types bound them."""


class Description(Bounded, frozen=True, kw_only=True):
    """Base of descriptive structs: additional fields are allowed, and a reader ignores them."""


class Percentiles(Reading, frozen=True, kw_only=True):
    """Latency of one stage, over answered transactions (s)."""

    p50: Amount
    """Median (s)."""
    p90: Amount
    """90th percentile (s)."""
    p99: Amount
    """99th percentile (s)."""
    p999: Amount = field(name="p99.9")
    """99.9th percentile (s)."""
    max: Amount
    """Slowest reply (s)."""


class Second(Reading, frozen=True, kw_only=True):
    """One second of a trial's traffic."""

    t: Amount
    """Time since the traffic began (s)."""
    attempted: Count | None
    """Transactions begun in it; null where the generator does not report them."""
    completed: Count
    """Transactions whose last reply came in it."""
    p50_s: Amount | None
    """Median latency of the first stage, of the requests sent in it (s); null without any."""
    p99_s: Amount | None
    """99th percentile likewise (s)."""


class Part(Reading, frozen=True, kw_only=True):
    """What came of what was due in one of the equal parts of a load, or of one kind of it."""

    attempted: Count
    """Transactions begun."""
    completed: Count
    """Completed in time."""
    late: Count
    """Completed too late."""
    p50_s: Amount | None
    """Median latency of whole transactions (s); null without any."""
    p99_s: Amount | None
    """99th percentile likewise (s)."""

    @property
    def failed(self) -> int:
        """Lost, or answered in another way than expected."""
        return self.attempted - self.completed - self.late

    @property
    def badness(self) -> tuple[float, float]:
        """Orders parts by their loss, equal ones by their latency."""
        return self.loss_ratio, self.p99_s or 0.0

    @property
    def loss_ratio(self) -> float:
        """Share of the begun that did not complete in time (0..1)."""
        return 1.0 - self.completed / self.attempted if self.attempted else 0.0


class Around(Reading, frozen=True, kw_only=True):
    """The load around an operation, by short steps."""

    from_s: float
    """Begin of the first step, from the begin of the operation on (s)."""
    step_s: Amount
    """Length of a step (s)."""
    answered: tuple[Count, ...]
    """Transactions whose last reply came in each."""
    latency_s: tuple[Amount | None, ...]
    """Mean latency of those that were due in each (s); null where none was answered."""


class Operation(Reading, frozen=True, kw_only=True):
    """What clients noticed of an operation on the server, until the next or the end."""

    name: Text
    """Its name in the server's contract, such as ``reload``."""
    at_s: float
    """When it began, from the begin of the traffic on (s)."""
    effect_s: Amount | None
    """From its begin until its effect was seen (s); null where it had none."""
    ended_s: Amount
    """From its begin until its end (s)."""
    why: Text
    """Why it had no effect; empty where it had one."""
    stall_s: Amount | None
    """Longest time between two answers (s); null where none came any more."""
    late: Count
    """Transactions that were due in it and answered too late."""
    lost: Count
    """Those that were lost, or answered in another way than expected."""
    recovered_s: Amount | None
    """From its begin until latency was as before (s); null where it was not."""
    rss_bytes: Count | None
    """Highest resident memory of the server (bytes); null without a sample."""
    around: Around
    """The load around it."""


class Sample(Reading, frozen=True, kw_only=True):
    """One reading of a server."""

    t: Amount
    """When it was taken, by the server's clock (s since 1970-01-01 UTC)."""
    cpu_s: Amount | None
    """CPU time the server has used since it started, all its processes and threads (s)."""
    rss_bytes: Count | None
    """Resident memory (bytes)."""
    udp_drops: Count | None
    """Packets that its sockets have dropped as the receive buffer was full; null where the
    kernel does not report them."""
    held: Count | None
    """Number of entries that it stores, such as leases (see `Server.holds`); null where it did
    not answer in time."""
    counters: dict[Text, Count]
    """The server's own counters, under its own names."""
    refused: Count | None = None
    """Requests refused since the server started; null where it does not count them, or did not
    answer in time."""
    written: Count | None = None
    """Changes written to its store since the server started; null where it does not count
    them, or did not answer in time."""
    beside_cpu_s: dict[str, Amount] = {}
    """CPU time of its companion services since their start, such as its database, by name
    (s)."""


class HostUse(Reading, frozen=True, kw_only=True):
    """Changes of a host's counters during a trial."""

    work_s: tuple[Amount, Amount]
    """Time that a fixed small computation takes on the processors of the measured program,
    before and after (s)."""
    steal_s: Amount
    """Steal time: its hypervisor ran other guests on these processors (s)."""
    throttled_s: Amount
    """Time for which its control group was throttled (s)."""
    receive_errors: Count
    """Datagrams dropped as a receive buffer was full."""
    interface_drops: Count = 0
    """Packets that its interface on the test network dropped or could not send."""
    backlog_drops: Count = 0
    """Packets that its kernel dropped before any socket, as its backlog queue was full."""


class EarlyAttempt(Reading, frozen=True, kw_only=True):
    """An attempt that was ended early although it might still have passed."""

    attempted: Count
    """Transactions begun."""
    completed: Count
    """Transactions completed in time."""
    late: Count
    """Transactions that were answered too late."""
    lost: Count
    """Transactions that were never completed, including those under way at its end."""
    started_at: Moment
    """When the generator was started (UTC)."""
    traffic_s: Amount
    """How long transactions were being begun (s)."""
    argv: tuple[Text, ...]
    """Command line of the generator."""
    raw_file: File | None
    """The generator's output, gzip, by its path within the result; null where none was kept."""
    wall_s: Amount
    """From before its load to after the reset that follows, with an attempt that was aborted
    too early (s)."""


class Trial(Figures, frozen=True, kw_only=True):
    """One load and its result.

    ``completed + late + lost`` and all of `failures` together are `attempted`.
    """

    rate: Count
    """Offered load asked for (transactions/s); 0 where clients began at once."""
    duration_s: Count
    """Traffic period asked for (s); the longest one where clients began at once."""
    at_once: Count = 0
    """Clients that were to begin all at once and to retry until they are served; 0 where a rate
    was set."""
    attempted: Count
    """Transactions begun: first packets sent; all that were due where the limit of the
    generator is searched."""
    completed: Count
    """Transactions completed in time."""
    late: Count
    """Transactions that were answered, but later than the procedure's `late_s`, or out of a
    buffer after the traffic."""
    lost: Count
    """Transactions that were never completed."""
    lost_at: dict[str, Count] = {}
    """Packets that were dropped while transactions were lost, by place; `unanswered` are the
    lost transactions that no place accounts for."""
    events: dict[str, Count] = {}
    """What else the generator counted, such as replies to no transaction, or where it lost
    some; nothing of it is a further loss."""
    failures: dict[str, Count] = {}
    """Transactions answered in another way than expected, by kind such as an RCODE."""
    traffic_s: Amount
    """How long transactions were really being begun (s)."""
    valid: bool = True
    """False where the trial is not valid for the server, see `reason`."""
    reason: str = ""
    """Word for why the trial is not valid; empty when it is."""
    detail: str = ""
    """Details of the reason, such as the sender of a foreign reply; may be empty."""
    waived: tuple[str, ...] = ()
    """Words of the doubts that its procedure ignores, as it causes them on purpose."""
    aborted: bool = False
    """The generator ended it early, because it could not pass any more."""
    started_at: Moment = "1970-01-01T00:00:00Z"
    """When the generator was started (UTC)."""
    wall_s: Amount = 0.0
    """From before its load to after the reset that follows, with an attempt that was aborted
    too early (s)."""
    latency_s: dict[str, Percentiles | None] = {}
    """Latency by stage, in the order of the stages; the last is the whole transaction where it
    has several and the generator knows which replies belong together (s)."""
    per_second: tuple[Second, ...] = ()
    """The trial second by second."""
    parts: tuple[Part, ...] = ()
    """What was due in each minute of a replay; empty in other trials."""
    kinds: dict[str, Part] = {}
    """What came of each kind of transactions, such as updates; empty of one kind alone, and
    where the generator does not count them apart."""
    samples: dict[str, tuple[Sample, ...]] = {}
    """The servers during the trial, by role."""
    held: dict[str, Count] = {}
    """Entries that each server stored after the trial, counted at its reset, by role."""
    trouble: str = ""
    """How several servers differed from the requested state at the end of the trial; empty when
    they did not."""
    hosts: dict[str, HostUse] = {}
    """Changes of the hosts' counters meanwhile, by role."""
    cpu_us: Amount | None = None
    """Server CPU time for each transaction completed (us); null when unknown."""
    argv: tuple[Text, ...] = ()
    """Command line of the generator."""
    raw_file: File | None = None
    """The generator's output, gzip, by its path within the result."""
    figures: dict[str, Figure] = {}
    """Further figures of the trial by the metric's name, such as the effects of an event."""
    operations: tuple[Operation, ...] = ()
    """What clients noticed of operations on the server, in their order."""
    violations: tuple[Violation, ...] = ()
    """What servers promise their clients of leases, and have broken in the trial."""
    early_attempt: EarlyAttempt | None = None
    """An attempt before it that was ended too early; null where there was none."""

    @classmethod
    def of(cls, load: Load, **fields: Any) -> Self:  # noqa: ANN401  # those of the class
        """Return the trial of a load with these further fields."""
        return cls(
            rate=load.rate,
            duration_s=load.duration_s,
            at_once=load.at_once,
            **fields,
        )

    @property
    def load(self) -> Load:
        """The requested load without the numbers of its clients."""
        return Load(self.rate, self.duration_s, at_once=self.at_once)

    @property
    def whole(self) -> Percentiles | None:
        """Latency of the whole transaction; None where the generator does not know it."""
        return next(reversed(self.latency_s.values()), None)

    @property
    def failure_words(self) -> str:
        """Words for unexpected answers; empty without any."""
        return ", ".join(f"{count} {kind}" for kind, count in self.failures.items())

    @property
    def event_words(self) -> str:
        """Words for what else the generator counted; empty without any."""
        return ", ".join(f"{count} {what}" for what, count in self.events.items())

    @property
    def kind_words(self) -> str:
        """Words for the loss of each kind, and which decides; empty of one kind alone."""
        decides = decided_by([self])
        return ", ".join(
            f"{KIND_NAMES[word]} {100 * kind.loss_ratio:.2f} % of {kind.attempted}"
            f"{' (decides)' if word == decides else ''}"
            for word, kind in self.kinds.items()
        )

    @property
    def loss_ratio(self) -> float:
        """Share of the begun transactions that did not complete in time (0..1).

        Of several kinds that of all, or of the worst that surely loses more.  An aborted trial
        is judged by what it began.
        """
        return loss_ratio_of([self])

    @property
    def completed_rate(self) -> float:
        """Transactions completed in time per second of traffic (1/s).

        Of several kinds the rate of the whole mix: only as much as its worst kind allows.
        """
        return completed_rate_of([self]) if self.traffic_s else 0.0


def decided_by(trials: Iterable[Trial]) -> str:
    """Return the kind that decides the loss of trials together; empty where all do."""
    return _worst(trials)[0]


def loss_ratio_of(trials: Iterable[Trial]) -> float:
    """Loss ratio of trials together (0..1), as of one."""
    return _worst(trials)[1].loss_ratio


def completed_rate_of(trials: Iterable[Trial]) -> float:
    """Completed rate of trials together, per second of their traffic (1/s), as of one."""
    trials = list(trials)
    _, worst = _worst(trials)
    in_time = sum(trial.attempted for trial in trials) * (1.0 - worst.loss_ratio)
    return in_time / sum(trial.traffic_s for trial in trials)


def _worst(trials: Iterable[Trial]) -> tuple[str, Sum]:
    """What trials came to together, of the kind that lost most, or of all (empty word)."""
    whole, kinds = Sum(), defaultdict[str, Sum](Sum)
    for trial in trials:
        whole.add(trial)
        for word, part in trial.kinds.items():
            kinds[word].add(part)
    worst = max(deciding(whole, kinds), key=lambda word: kinds[word].loss_ratio, default="")
    return worst, kinds[worst] if worst else whole
