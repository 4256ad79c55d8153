"""One trial on a real bench: a load, what came of it, and a server that is reset after it."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import msgspec
from msgspec.structs import replace

from leaselab.measure.generators.adapter import GENERATOR_STALLED, Adapter, Reading, Seen
from leaselab.measure.ports import Clock, During, Host, Recorder, Server, Watch
from leaselab.model import moment
from leaselab.model.bench import Bench
from leaselab.model.bounds import OutOfBoundsError, clipped, misfit
from leaselab.model.errors import LeaselabError, Outcome, lab_broken, server_broken
from leaselab.model.observation import Counted, Foreign, HostReading, ServerStarted
from leaselab.model.procedure import Procedure
from leaselab.model.record import GENERATOR, GENERATOR_LIMITED, PARTNER, SERVER
from leaselab.model.trial import EarlyAttempt, HostUse, Load, Sample, Trial

FOREIGN_REPLY = "foreign-reply"
"""A server that is not the bench's answered on the test network."""
FOREIGN_REQUEST = "foreign-request"
"""A client that is not the bench's asked there: the server may have served it."""
FOREIGN = (FOREIGN_REPLY, FOREIGN_REQUEST)
NOT_IN_STATE = "pair-state"
"""Several servers were not, or not any more, in the state asked for as the trial ended."""
SUPPORT_LIMITED = "support-limited"
"""The supporting service had no processor time left: a loss is not the server's own."""
# An authority at its limit makes any recursor look slow.
SUPPORT_SHARE = 0.9
"""Share of its processors from which on it may be what limits."""
NO_FIGURE = "no-figure"
"""What happened under the load came to no figure; the trial's detail says why."""


@dataclass(frozen=True, slots=True)
class Trials:
    """Makes trials with one generator against the servers of one point."""

    bench: Bench
    procedure: Procedure
    server: Server
    generator: Adapter
    recorder: Recorder
    hosts: Mapping[str, Host] = field(default_factory=dict)
    """By role: hosts to be read before and after each trial."""
    watch: Watch | None = None
    """Who listens for servers and clients that are not the bench's."""
    clock: Clock = time.monotonic
    sleep: Callable[[float], None] = time.sleep

    def start_server(self) -> ServerStarted:
        """Start the server clean, and prove by a transaction that it serves.

        Raises a server-broken error when it does not, a broken-lab error before it where
        foreign traffic was received since the last trial.
        """
        self.refuse_foreign(_foreign_doubt(self._foreign())[1])
        started = self.server.start()
        if not self.generator.answers():
            raise self._silent()
        self.server.reset()  # what proved it has left its trace
        return started

    def count(self) -> Counted:
        """Count what the server does for each transaction, apart from the test network."""
        return self.generator.count(self.server)

    def _silent(self) -> LeaselabError:
        """Return the error of a server that answers nothing; raises what else explains that.

        A host that is gone, a link or a network that carries nothing is not the server's fault.
        """
        self._read()
        own = self.bench.scenario.transaction.name
        what = f"the server started, but completes no {own} with the generator"
        where = self.bench.hosts[SERVER].access.name
        try:
            self.server.sample_now()
        except LeaselabError as error:
            if error.outcome is not Outcome.INVALID:
                raise
            return server_broken(f"{what}: {error.what}", where=where, todo=error.todo)
        self._refuse_unreached()
        return server_broken(
            what,
            where=where,
            todo="look at its log, and at the test network: leaselab lab check",
        )

    def _refuse_unreached(self) -> None:
        """Raise a broken-lab error where the generator does not reach the server's host."""
        if neighbor := self.generator.unreached():
            raise lab_broken(
                "the server's host does not answer on the test network",
                where=self.bench.hosts[GENERATOR].access.name,
                found=neighbor,
                wanted=f"a reachable neighbor {self.bench.server.test_address}",
                todo="look at the links, the switch and their interfaces: leaselab lab check",
            )

    def refuse_foreign(self, found: str) -> None:
        """Raise a broken-lab error for traffic that is not the bench's, where any was found."""
        if found:
            own = self.bench.scenario.transaction.plural
            raise lab_broken(
                f"foreign traffic on the test network: it is not from the {own} of this bench",
                where=self.bench.hosts[GENERATOR].access.name,
                found=found,
                wanted="no hosts but those of the bench: the server would answer the others",
                todo="give the test network a switch or VLAN of its own, or stop the foreign "
                "host",
            )

    def measure(
        self,
        load: Load,
        name: str,
        *,
        may_abort: bool = True,
        reset: bool = True,
        during: During | None = None,
    ) -> Trial:
        """Make one trial; afterwards the server is as after its start, unless not `reset`.

        `name` is the trial's own within the point and names its raw output.  An abort that
        turns out to have been too early is repeated to the end; the attempt stays in the
        trial.  Without `may_abort` it runs to its end however much is lost.  What happens
        `during` the load may leave a server that can neither be read nor reset.
        """
        began = self.clock()
        with _fitting_a_result(name):
            early = None
            if during is not None and during.ends_server:
                trial = self._last(load, name, during)
            else:
                trial, conclusive = self._attempt(
                    load, name, may_abort=may_abort, reset=reset, during=during
                )
                if not conclusive:
                    early = _early(replace(trial, wall_s=self.clock() - began))
                    again = f"{name}-again"
                    trial, _ = self._attempt(load, again, may_abort=False, reset=reset)
            trial = replace(trial, early_attempt=early, wall_s=self.clock() - began)
            # the types of numbers alone are checked by no constructor
            msgspec.convert(msgspec.to_builtins(trial), Trial)
        return trial

    def _attempt(
        self,
        load: Load,
        name: str,
        *,
        may_abort: bool,
        reset: bool,
        during: During | None = None,
    ) -> tuple[Trial, bool]:
        """Make it once; whether it is conclusive, or was aborted and might have passed."""
        self.server.samples()  # those of the time between trials belong to none
        readings = [self._read()]
        before = self.server.sample_now()
        started_at = datetime.now(UTC)
        ahead_s = self.generator.clock_ahead_s() if during else 0.0
        reading = (
            self._happening(load, during)
            if during
            else self.generator.offer(load, may_abort=may_abort)
        )
        after = self.server.sample_now()
        readings.append(self._read(during.link_changes if during else 0))
        samples = self.server.samples()
        trouble = clipped(self.server.trouble())
        if trouble:
            self.server.settle()
        fields: Mapping[str, Any] = {}
        if during:  # before what the server holds is gone
            began_at = reading.started_at_s - ahead_s
            fields = during.fields(reading, began_at, samples.get(SERVER, ()))
        with self._resetting(reset=reset) as held:
            raw_file = self.recorder.write_bytes(f"raw/{name}.txt.gz", reading.output_gz)
            conclusive = reading.conclusive
        uses = _uses(*readings)
        seen = Seen(
            refused=_refused(before, after),
            generator=uses.get(GENERATOR),
            held=held.result(),
            in_use=after.held,
            trouble=trouble,
        )
        try:
            trial = reading.trial(seen)
        except LeaselabError as error:
            if error.outcome is Outcome.INVALID:
                self._refuse_unreached()
            raise
        if trial.attempted and not trial.completed:
            self._refuse_unreached()
        if self.procedure.of_generator:
            trial = of_generator(trial)
        if conclusive:  # else foreign traffic counts against the next attempt as well
            trial = self._doubted(trial, trouble, samples.get(PARTNER, ()))
        spent = None
        if trial.completed and before.cpu_s is not None and after.cpu_s is not None:
            spent = 1e6 * (after.cpu_s - before.cpu_s) / trial.completed
        trial = replace(
            trial,
            lost_at=lost_at(trial, before, after, uses),
            started_at=moment.timestamp(started_at),
            samples={role: tuple(taken) for role, taken in samples.items() if taken},
            held=dict(seen.held),
            trouble=trouble,
            hosts=uses,
            cpu_us=spent,
            raw_file=raw_file,
        )
        return _with_fields(trial, fields), conclusive

    def _happening(self, load: Load, during: During) -> Reading:
        """Offer a load to its end, while something happens."""
        with ThreadPoolExecutor(max_workers=1) as pool:
            traffic = pool.submit(self.generator.offer, load, may_abort=False)
            began = self.clock()
            during.happen(lambda at_s: self.sleep(max(0.0, began + at_s - self.clock())))
            return traffic.result()

    def _last(self, load: Load, name: str, during: During) -> Trial:
        """Make a trial in which the server ends, to its end; nothing is reset after it."""
        started_at = datetime.now(UTC)
        readings = [self._read()]
        reading = self._happening(load, during)
        readings.append(self._read())
        raw_file = self.recorder.write_bytes(f"raw/{name}.txt.gz", reading.output_gz)
        uses = _uses(*readings)
        trial = reading.trial(Seen(generator=uses.get(GENERATOR)))
        trial = replace(trial, figures={"lost": float(trial.attempted - trial.completed)})
        try:
            trial = _with_fields(trial, during.fields(reading, 0.0, ()))
        except LeaselabError as error:
            if error.outcome is not Outcome.INVALID:
                raise
            trial = replace(trial, valid=False, reason=NO_FIGURE, detail=clipped(str(error)))
        return replace(
            trial,
            started_at=moment.timestamp(started_at),
            hosts=uses,
            raw_file=raw_file,
        )

    def _doubted(self, trial: Trial, trouble: str, others: Sequence[Sample]) -> Trial:
        """Add the doubts that no generator knows of; foreign traffic comes before its own.

        `others` are samples of the partner's host.
        """
        word, detail = _foreign_doubt(self._foreign())
        if word:
            return replace(trial, valid=False, reason=word, detail=clipped(detail))
        if trouble and self.procedure.passes(trial):
            return replace(trial, valid=False, reason=NOT_IN_STATE)
        if self.bench.scenario.support and trial.valid and not self.procedure.passes(trial):
            processors = self.bench.hosts[PARTNER].facts.get("processors") or 1
            share = _busiest(others, max(1, int(trial.traffic_s))) / processors
            if share >= SUPPORT_SHARE:
                detail = (
                    f"it used {share:.0%} of its processors; wanted below {SUPPORT_SHARE:.0%}"
                )
                return replace(trial, valid=False, reason=SUPPORT_LIMITED, detail=detail)
        return trial

    def _foreign(self) -> Sequence[Foreign]:
        return self.watch.foreign() if self.watch is not None else ()

    def _read(self, link_changes: int = 0) -> dict[str, HostReading]:
        """Read the watched hosts, at the same time; `link_changes` are of the server's."""
        if not self.hosts:
            return {}

        def read(role: str) -> HostReading:
            return self.hosts[role].read(link_changes if role == SERVER else 0)

        with ThreadPoolExecutor(max_workers=len(self.hosts)) as pool:
            return dict(zip(self.hosts, pool.map(read, self.hosts), strict=True))

    @contextmanager
    def _resetting(self, *, reset: bool) -> Iterator[Future[Mapping[str, int]]]:
        """Reset the server for the next trial while this one's output is read.

        The two keep different hosts busy, and both stand between two trials.
        """
        with ThreadPoolExecutor(max_workers=1) as pool:
            wanted = reset and not self.procedure.keeps
            held = pool.submit(self.server.reset if wanted else dict)
            yield held
            held.result()


def _with_fields(trial: Trial, fields: Mapping[str, Any]) -> Trial:
    """Add what came of what happened; a trial that does not count keeps its own reason."""
    figures = {**trial.figures, **fields.get("figures", {})}
    kept = {} if trial.valid else {"reason": trial.reason, "detail": trial.detail}
    return replace(trial, **{**fields, **kept, "figures": figures})


@contextmanager
def _fitting_a_result(name: str) -> Iterator[None]:
    """Raise a broken-lab error where what was read of the hosts fits no result."""
    try:
        yield
    except (OutOfBoundsError, msgspec.ValidationError) as error:
        raise lab_broken(
            "what was read of the hosts in a trial does not fit a result",
            where=name,
            found=misfit(error),
            wanted="results/schema.json",
            todo="the trial was not counted; see whether the hosts work, then resume the sweep",
        ) from error


def of_generator(trial: Trial) -> Trial:
    """Return a trial by which the limit of the generator is looked for.

    Transactions that were due and that it did not begin are lost, and what it was too slow for
    is no doubt.
    """
    missing = max(0, round(trial.rate * trial.traffic_s) - trial.attempted)
    whole = replace(trial, attempted=trial.attempted + missing, lost=trial.lost + missing)
    if trial.reason not in (GENERATOR_LIMITED, GENERATOR_STALLED):
        return whole
    return replace(whole, valid=True, reason="", waived=(*trial.waived, trial.reason))


def lost_at(
    trial: Trial, before: Sample, after: Sample, uses: Mapping[str, HostUse]
) -> dict[str, int]:
    """Return where packets were dropped while a trial lost transactions, by place.

    Each lost transaction has lost a packet, so what no place accounts for was never answered.
    The generator's adapter knows what its own sockets dropped.
    """
    if not trial.lost:
        return {}
    places = dict(trial.lost_at)
    for role, use in uses.items():
        places[f"{role} interface"] = use.interface_drops
        places[f"{role} backlog"] = use.backlog_drops
    if before.udp_drops is not None and after.udp_drops is not None:
        places["server receive buffer"] = after.udp_drops - before.udp_drops
    places["unanswered"] = max(0, trial.lost - sum(places.values()))
    return {place: packets for place, packets in places.items() if packets}


def _foreign_doubt(foreign: Sequence[Foreign]) -> tuple[str, str]:
    """Return the word for traffic that is not the bench's, and whose it is; empty without any.

    Of both kinds it is the reply that may have been taken for the server's own.
    """
    if not foreign:
        return "", ""
    replies = [one for one in foreign if one.kind == "reply"]
    word = FOREIGN_REPLY if replies else FOREIGN_REQUEST
    return word, "; ".join(str(reply) for reply in replies or foreign)


def _busiest(samples: Sequence[Sample], seconds: int) -> float:
    """Processors that a server used in its busiest seconds, which may lie apart.

    A trial's samples are also of the time in which late replies are waited for.
    """
    pairs = [
        (after.cpu_s - before.cpu_s) / (after.t - before.t)
        for before, after in itertools.pairwise(samples)
        if before.cpu_s is not None and after.cpu_s is not None and after.t - before.t > 0.5
    ]
    most = sorted(pairs, reverse=True)[:seconds]
    return sum(most) / len(most) if most else 0.0


def _early(trial: Trial) -> EarlyAttempt:
    return EarlyAttempt(
        **{name: getattr(trial, name) for name in EarlyAttempt.__struct_fields__}
    )


def _refused(before: Sample, after: Sample) -> int:
    """Requests refused in between, where the server counts them."""
    if before.refused is None or after.refused is None:
        return 0
    return after.refused - before.refused


def _uses(
    before: Mapping[str, HostReading], after: Mapping[str, HostReading]
) -> dict[str, HostUse]:
    """What happened to each host from one reading to the next, by role."""
    return {
        role: HostUse(
            work_s=(one.work_s, after[role].work_s),
            steal_s=after[role].steal_s - one.steal_s,
            throttled_s=(after[role].throttled_s or 0.0) - (one.throttled_s or 0.0),
            receive_errors=after[role].receive_errors - one.receive_errors,
            interface_drops=after[role].interface_drops - one.interface_drops,
            backlog_drops=after[role].backlog_drops - one.backlog_drops,
        )
        for role, one in before.items()
    }
