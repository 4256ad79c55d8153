"""perfdhcp: its command line, what its output means, and when it cannot be believed.

Facts this adapter rests on (perfdhcp of Kea 2.2 to 2.6, read in its source and tried):

- ``drops`` counts what is still in flight as lost unless ``-W`` waits for it.
- Exit status 3 means that exchanges failed, which is data.
- Clients are numbered: client i has the MAC address or DUID of ``-b`` plus i.
- With ``-A1`` v6 clients speak through a relay, to one server's own address.
"""

from __future__ import annotations

import math
import zlib
from dataclasses import dataclass
from functools import cached_property

from leaselab.measure.generators import perfdhcp_output as reading
from leaselab.measure.generators.adapter import GENERATOR_LIMITED, GENERATOR_STALLED, Seen
from leaselab.measure.generators.perfdhcp_output import STAGES, Output, Times
from leaselab.measure.ports import GeneratorHost
from leaselab.model.bench import Bench, GeneratorTool
from leaselab.model.errors import LeaselabError, lab_broken, usage_error
from leaselab.model.load import Load
from leaselab.model.observation import Generated
from leaselab.model.pool import pool_size
from leaselab.model.procedure import Procedure
from leaselab.model.record import GENERATOR, SERVER, Scenario
from leaselab.model.trial import WHOLE, HostUse, Trial

POOL_TOO_FULL = "pool-too-full"
"""More than half of the pool was leased: allocation slows down there."""
DUPLICATE_ADDRESS = "duplicate-address"
"""The server gave one address to two clients."""
REJECTED = "rejected"
"""The server refused leases, so it did less work than it was asked for."""
MALFORMED = "malformed-replies"
"""Replies came that were no DHCP messages, and of which nobody knows what they answered."""
LOST_UPDATES = "lost-updates"
"""A server of a pair held fewer leases than clients were answered."""

DATA_STATUSES = frozenset({0, 3})
"""Exit statuses whose output is a measurement (3: some exchanges failed)."""
COUNT_SHARE = 0.998
"""Share of rate x duration that a trial starts.  perfdhcp ends as soon as all replies are
in only when it was told how many to start, and its clock of the period (``-p``) runs out
just before the last ones are due; stopping by count a little earlier saves the wait of
each trial without loss, and keeps the rate exact."""
IN_FLIGHT_S = 0.5
"""Share of a second's load that may be unanswered before an abort is thought of (s)."""
EVERYBODY = "all"
"""perfdhcp's word for the broadcast address (v4) and the servers' multicast group (v6)."""
POOL_USE_LIMIT = 0.5
"""Highest share of the pool that may be leased at the end of a trial."""
OFFERED_SHARE = 0.99
"""Share of the exchanges asked for that the generator must start."""
BUFFERED = 100
"""Exchanges of a burst that a server's socket takes at least: its buffer holds some 277
packets."""
STEAL_SHARE = 0.05
"""Share of the traffic's time that a hypervisor may take before it counts as a stall."""
START_SLACK = 2
"""Exchanges that may be missing whatever the rate: the last one is due as traffic ends."""
TIMEOUT_SLACK_S = 20.0
"""Time beyond traffic and wait after which the generator counts as hanging (s);
printing a million times takes a few seconds."""
PROBES = 5
"""Exchanges tried before a started server counts as answering nobody."""
_FIRST_MAC = 0x000C01020304
"""perfdhcp's own first client."""


class Perfdhcp:
    """perfdhcp, against the servers of one bench."""

    def __init__(self, bench: Bench, procedure: Procedure, host: GeneratorHost) -> None:
        self._tool: GeneratorTool = bench.generator
        self._procedure = procedure
        self._host = host
        self._where = bench.hosts[GENERATOR].access.name
        self._scenario = bench.scenario
        self._family = int(bench.scenario.load["family"])
        self._interface = bench.hosts[GENERATOR].test_interface
        # Benches of older releases know the address of the host alone.
        self._server = bench.server.test_address or bench.hosts[SERVER].test_address
        self._relayed = self._family == 6 and bool(bench.scenario.load.get("relayed"))
        # Both servers of a pair have to hear a client; v6 clients multicast, relays need not.
        if bench.scenario.partner or (self._family == 6 and not self._relayed):
            self._server = EVERYBODY

    @staticmethod
    def check_fits(scenario: Scenario, procedure: Procedure) -> None:
        """Refuse a scenario whose leases or pool cannot hold a procedure (usage error)."""
        where = f"scenario {scenario.name}"
        lifetime_s = scenario.server.options.get("lease_lifetime_s", math.inf)
        if lifetime_s <= procedure.longest_s:
            raise usage_error(
                "leases could expire while the sweep runs",
                where=where,
                found=f"lease_lifetime_s {lifetime_s}",
                wanted=f"more than {procedure.longest_s:.0f} s, the longest this can take",
                todo="raise lease_lifetime_s, or lower --runs or --trial-s",
            )
        size = pool_size(scenario.load["pool"])
        if procedure.most_attempted > POOL_USE_LIMIT * size:
            raise usage_error(
                "one trial could fill the pool beyond half, where allocation slows down",
                where=where,
                found=f"{size} addresses",
                wanted=f"at least {procedure.most_attempted / POOL_USE_LIMIT:.0f}, twice what "
                "is offered until the server is reset",
                todo="enlarge the pool, or offer less: a lower rate, or for a shorter time",
            )

    def answers(self) -> bool:
        """Whether the server completes an exchange; a few tries, a second each.

        With both stages limited to one packet perfdhcp ends as soon as the reply
        is there, or after a second without one.
        """
        argv = self._begun("single")
        argv += ["-r", "1", "-n", "1", "-n", "1", "-W", "1000000", "-d", "1", self._server]
        for _ in range(PROBES):
            text = self._text(self._host.generate(argv, {}, TIMEOUT_SLACK_S))
            if reading.parse_probe(text, self._family):
                return True
        return False

    def offer(self, load: Load, *, may_abort: bool) -> PerfdhcpReading:
        """Run perfdhcp; raises a broken-lab error for output that is no measurement."""
        argv = self.command(load, may_abort=may_abort)
        longest_s = load.duration_s + self._procedure.wait_s + TIMEOUT_SLACK_S
        generated = self._host.generate(argv, self._tool.environment, longest_s)
        return PerfdhcpReading(self, tuple(argv), generated, load, may_abort)

    def command(self, load: Load, *, may_abort: bool) -> list[str]:
        """Build the argv of one trial.

        Every exchange is a new client (``-R`` is more than the trial can start).
        The trial ends by count (``-n``, both stages); ``-p`` bounds it where the
        generator cannot keep up.  ``-d`` is the procedure's lateness, so that an
        overtaken reply is not dropped before it is late.
        """
        late_s, wait_s = self._procedure.late_s, self._procedure.wait_s
        count = exchanges(load)
        argv = self._begun(self._tool.threading)
        argv += ["-r", str(load.rate), "-R", str(2 * count + 1000), "-p", str(load.duration_s)]
        argv += ["-n", str(count), "-n", str(count)]
        argv += ["-W", str(round(wait_s * 1e6)), "-d", f"{late_s:g}"]
        argv += ["-u", "-t", "1", "-x", "t"]
        if load.first_client:
            argv += ["-b", f"mac={_mac(_FIRST_MAC + load.first_client)}"]
        if may_abort:
            argv += ["-D", str(abort_after(load, self._procedure))]
        return [*argv, self._server]

    def _begun(self, threading: str) -> list[str]:
        """Return the beginning of every command: the clients and their interface."""
        argv = [self._tool.path, f"-{self._family}"]
        argv += ["-A1"] if self._relayed else []
        return [*argv, "-g", threading, "-l", self._interface]

    def parsed(self, generated: Generated) -> Output:
        """Parse what a trial printed."""
        return reading.parse(self._text(generated), self._family)

    def trial(self, read: PerfdhcpReading, seen: Seen) -> Trial:
        """Judge a reading."""
        output, load, counts = read.output, read.load, read.counts
        first, second = STAGES[self._family]
        reason = self._doubt(read, seen)
        return Trial(
            rate=load.rate,
            duration_s=load.duration_s,
            attempted=counts.attempted,
            completed=counts.completed,
            late=counts.late,
            lost=counts.lost,
            traffic_s=traffic_s(output, load),
            valid=not reason,
            reason=reason,
            aborted=read.aborted,
            latency_s={
                first: reading.percentiles(output.first.latency_s),
                second: reading.percentiles(output.second.latency_s),
                WHOLE: reading.percentiles(output.exchanges.latency_s),
            },
            per_second=reading.per_second(output, load.duration_s),
            argv=read.argv,
        )

    def judge(self, output: Output, rate: int) -> Counts:
        """Count completed, late and lost exchanges of a trial at an offered rate (1/s)."""
        return judge(output, self._procedure.late_s, rate)

    def hopeless(self, counts: Counts, load: Load) -> bool:
        """Whether a trial with these failures fails however it would have gone on."""
        may_lose = self._procedure.loss_ratio * load.rate * load.duration_s
        return counts.late + counts.lost > may_lose

    def abort_after(self, load: Load) -> int:
        """As `abort_after`, by the procedure of this adapter."""
        return abort_after(load, self._procedure)

    def _doubt(self, read: PerfdhcpReading, seen: Seen) -> str:
        """Return the word for why a trial does not count, empty when it does.

        A server that refuses what is too much for it has failed like any other: so has a
        pair that a load breaks.  Only a pass is doubted for it: one server alone, or one
        whose partner was not told, does less work than was asked for.  Servers of a pair may
        differ by the exchanges that stayed without an answer, but no answered client may be
        unknown to either; one that was not in its state is doubted for that instead.
        """
        output, load, counts = read.output, read.load, read.counts
        failed = counts.late + counts.lost
        may_fail = self._procedure.loss_ratio * counts.attempted
        passes = failed <= may_fail
        refusals = output.first.rejected + output.second.rejected + seen.refused
        wanted = load.rate * load.duration_s
        size = pool_size(self._scenario.load["pool"])
        untold = (
            not seen.trouble
            and len(seen.held) > 1
            and min(seen.held.values()) < output.second.received
        )
        found = (
            (GENERATOR_LIMITED, not read.aborted and not _enough(counts.attempted, wanted)),
            (MALFORMED, output.malformed > 0),
            (DUPLICATE_ADDRESS, output.second.duplicates > 0),
            (REJECTED, passes and refusals > 0),
            (POOL_TOO_FULL, counts.attempted > POOL_USE_LIMIT * size),
            (
                GENERATOR_STALLED,
                not passes and failed - _stalls_cost(output, load, seen.generator) <= may_fail,
            ),
            (LOST_UPDATES, passes and untold),
        )
        return next((word for word, is_so in found if is_so), "")

    def _text(self, generated: Generated) -> bytes:
        """Decompress what perfdhcp printed, once its exit status allows it."""
        try:
            text = zlib.decompress(generated.output_gz, wbits=31)
        except zlib.error as error:
            if generated.status in DATA_STATUSES:
                raise self._broken(f"its output is cut short: {error}") from error
            text = b""
        if generated.status not in DATA_STATUSES:
            reason = _reason(generated.status)
            lines = (generated.error or text.decode("ascii", "replace")).strip().splitlines()
            raise self._broken(f"{reason}: {lines[-1]}" if lines else reason)
        if complaint := reading.complaint(generated.error):
            raise self._broken(f"its receiver has ended: {complaint}")
        return text

    def _broken(self, what: str) -> LeaselabError:
        return lab_broken(
            f"{self._tool.path}: {what}",
            where=self._where,
            todo="the trial was not counted; the sweep can be resumed when the host is well",
        )


@dataclass(frozen=True)
class Counts:
    """An output judged; sums to `attempted`."""

    attempted: int
    completed: int
    late: int
    """Both replies came, one of them late, or after the end of what was served in the
    traffic's time: see `perfdhcp_output.unserved`."""
    lost: int


@dataclass(frozen=True)
class PerfdhcpReading:
    """What perfdhcp printed of one load; it is parsed when it is first asked for."""

    adapter: Perfdhcp
    argv: tuple[str, ...]
    generated: Generated
    load: Load
    may_abort: bool

    @property
    def output_gz(self) -> bytes:
        """What perfdhcp printed, to be kept."""
        return self.generated.output_gz

    @cached_property
    def output(self) -> Output:
        """The same, parsed."""
        return self.adapter.parsed(self.generated)

    @cached_property
    def counts(self) -> Counts:
        """The same, counted."""
        return self.adapter.judge(self.output, self.load.rate)

    @cached_property
    def aborted(self) -> bool:
        """Whether perfdhcp gave up early, rather than offering too little."""
        limit = self.adapter.abort_after(self.load) if self.may_abort else None
        return was_aborted(self.output, self.load, limit)

    @property
    def conclusive(self) -> bool:
        """False where it gave up, and might still have passed."""
        return not self.aborted or self.adapter.hopeless(self.counts, self.load)

    @property
    def answered_at(self) -> Times:
        """When each exchange's last reply came (s since the start, shape (answered,))."""
        return self.output.second.received_at

    def trial(self, seen: Seen) -> Trial:
        """Return what came of the load."""
        return self.adapter.trial(self, seen)


def abort_after(load: Load, procedure: Procedure) -> int:
    """Unanswered first-stage exchanges after which a trial is hopeless.

    What the procedure allows the whole trial to lose, plus what may be in flight.
    perfdhcp counts the latter as dropped until the reply comes, so the caller
    still has to prove an aborted trial's failure.
    """
    return round(procedure.loss_ratio * load.rate * load.duration_s + IN_FLIGHT_S * load.rate)


def exchanges(load: Load) -> int:
    """Number of exchanges that a trial starts unless it is cut short."""
    return math.ceil(COUNT_SHARE * load.rate * load.duration_s)


def judge(output: Output, late_s: float, rate: int) -> Counts:
    """Count completed, late and lost exchanges of a trial at an offered rate (1/s)."""
    joined = output.exchanges
    answered = joined.started_at.size
    completed = int((joined.slowest_s <= late_s).sum())
    completed -= min(completed, reading.unserved(joined, output.first.sent / rate))
    return Counts(
        output.first.sent, completed, answered - completed, output.first.sent - answered
    )


def traffic_s(output: Output, load: Load) -> float:
    """How long exchanges were really started (s).

    As long as the exchanges started take at the rate asked for, unless the
    generator aborted or fell behind: then as long as the answered requests
    span, or as many seconds as its reports show it sending.
    """
    if _enough(output.first.sent, load.rate * load.duration_s):
        return output.first.sent / load.rate
    if output.first.received:
        return min(float(load.duration_s), float(output.first.sent_at.max()))
    sending = [report for report in output.reports if report[0] < output.first.sent]
    return float(min(load.duration_s, len(sending) + 1))


def was_aborted(output: Output, load: Load, limit: int | None) -> bool:
    """Whether perfdhcp gave up early, rather than offering too little.

    Both leave fewer exchanges started than asked.  A generator that gave up
    had kept the rate for as long as it sent, and had left at least
    `limit` exchanges unanswered when it stopped, some of which may have
    come back since.
    """
    if limit is None or _enough(output.first.sent, load.rate * load.duration_s):
        return False
    return _enough(output.first.sent, load.rate * traffic_s(output, load))


def _enough(started: int, wanted: float) -> bool:
    """Whether the generator offered what was asked."""
    return started >= OFFERED_SHARE * wanted - START_SLACK


def _stalls_cost(output: Output, load: Load, generator: HostUse | None) -> float:
    """Exchanges that the generator's own stalls may have cost, at most.

    What it has missed comes in a burst, and of that a server loses what its socket's
    buffer does not take.
    """
    stopped = reading.stalls_s(output, load.rate)
    if generator is not None:
        taken = generator.steal_s if generator.steal_s > STEAL_SHARE * load.duration_s else 0
        hidden_s = max(generator.throttled_s, taken) - sum(stopped)
        stopped = [*stopped, max(0.0, hidden_s)]
    cost = sum(max(0.0, load.rate * stall_s - BUFFERED) for stall_s in stopped)
    return cost + (generator.receive_errors if generator is not None else 0)


def _mac(number: int) -> str:
    return ":".join(f"{byte:02x}" for byte in number.to_bytes(6, "big"))


def _reason(status: int) -> str:
    """Say what an exit status of the generator's shell means."""
    if status == 127:
        return "not found on the host"
    if status in (124, 137):
        return "was killed, or did not end in time"
    if status < 0 or status > 128:
        return f"was ended by signal {abs(status) % 128}"
    return f"failed with exit status {status}"
