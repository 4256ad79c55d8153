"""One trial on a real bench: traffic, what came of it, and a clean store for the next."""

from __future__ import annotations

import time
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from typing import Any

from leaselab.measure import perfdhcp, validity
from leaselab.measure.ports import Generator, Host, Recorder, Server, Watch
from leaselab.model import moment
from leaselab.model.bench import Bench
from leaselab.model.errors import LeaselabError, lab_broken, server_broken
from leaselab.model.observation import Foreign, Generated, HostReading, HostUse, Sample
from leaselab.model.trial import Latency, Trial, TrialRequest

TIMEOUT_SLACK_S = 20.0
"""Time beyond traffic and wait after which the generator counts as hanging (s);
printing a million times takes a few seconds."""
PROBES = 5
"""Exchanges tried before a started server counts as answering nobody."""


@dataclass(frozen=True, slots=True)
class BenchTrials:
    """Makes trials with one generator against one server."""

    bench: Bench
    server: Server
    generator: Generator
    recorder: Recorder | None = None
    """Where raw output is kept; needed for `measure`."""
    hosts: Mapping[str, Host] = field(default_factory=dict)
    """By role: hosts to be read before and after each trial."""
    watch: Watch | None = None
    """Who listens for DHCP that is not the bench's."""
    clock: Callable[[], float] = time.monotonic

    @property
    def target(self) -> perfdhcp.Target:
        """Where the exchanges go."""
        return perfdhcp.Target(
            family=self.bench.scenario.family,
            interface=self.bench.hosts["generator"].test_interface,
            server_address=(
                perfdhcp.EVERYBODY
                if self.bench.scenario.high_availability.pair
                else self.bench.hosts["server"].test_address
            ),
        )

    def start_server(self) -> None:
        """Start the server clean, and prove by an exchange that it serves.

        Raises a server-broken error when it does not, a broken-lab error before it where
        anybody else's DHCP was heard since the last trial.
        """
        self.refuse_foreign(validity.foreign_doubt(self._foreign())[1])
        self.server.start()
        if not self._answers():
            raise server_broken(
                "the server started, but completes no exchange with the generator",
                where=self.bench.hosts["server"].access.name,
                todo="look at its log, and at the test network: leaselab check",
            )
        self.server.wipe()  # the exchange that proved it has left a lease

    def refuse_foreign(self, found: str) -> None:
        """Raise a broken-lab error for DHCP that is not the bench's, where any was found."""
        if found:
            raise lab_broken(
                "there is DHCP on the test network that is not the bench's",
                where=self.bench.hosts["generator"].access.name,
                found=found,
                wanted="nobody but the bench: its server would answer strangers, and strangers "
                "its clients",
                todo="give the test network a switch or VLAN of its own, or end what was heard",
            )

    def _foreign(self) -> Sequence[Foreign]:
        return self.watch.foreign() if self.watch is not None else ()

    def _answers(self) -> bool:
        """Whether the server completes an exchange; a few tries, a second each."""
        argv = perfdhcp.probe_command(self.bench.generator, self.target)
        for _ in range(PROBES):
            generated = self.generator.generate(argv, {}, TIMEOUT_SLACK_S)
            text = self.text(generated)
            if perfdhcp.parse_probe(text, self.bench.scenario.family):
                return True
        return False

    def measure(
        self, request: TrialRequest, name: str, *, may_abort: bool = True
    ) -> tuple[Trial, dict[str, Any]]:
        """Make one trial on an empty lease store; return it with its document.

        The store is empty again afterwards.  `name` is the trial's own within
        the sweep and names its raw output.  An abort that turns out to have been
        too early is repeated to the end; the attempt stays in the document.  Without
        `may_abort` it runs to its end however much is lost.
        """
        trial, document = self._attempt(request, name, may_abort=may_abort)
        if trial is None:
            again, whole = self._attempt(request, f"{name}-again", may_abort=False)
            if again is None:
                raise AssertionError("a trial that may not abort has aborted")
            whole["wall_s"] += document["wall_s"]
            return again, {**whole, "early_attempt": document}
        return trial, document

    def _attempt(
        self, request: TrialRequest, name: str, *, may_abort: bool
    ) -> tuple[Trial | None, dict[str, Any]]:
        """Make it once; no trial where it was aborted and might still have passed."""
        goal, plan = self.bench.plan.goal, self.bench.plan
        began = self.clock()
        self.server.samples()  # those of the time between trials are nobody's
        argv = perfdhcp.command(
            self.bench.generator,
            self.target,
            request,
            goal,
            wait_s=plan.wait_s,
            may_abort=may_abort,
        )
        readings = [self._read()]
        before = self.server.sample_now()
        started_at = datetime.now(UTC)
        generated = self.generator.generate(
            argv,
            self.bench.generator.environment,
            request.duration_s + plan.wait_s + TIMEOUT_SLACK_S,
        )
        after = self.server.sample_now()
        readings.append(self._read())
        samples, partner_samples = self.server.samples(), self.server.partner_samples()
        trouble = self.server.trouble()
        if trouble:
            self.server.settle()
        with self._wiping() as wiped:
            raw_file = self._recorder.write_bytes(f"raw/{name}.txt.gz", generated.output_gz)
            output = perfdhcp.parse(self.text(generated), self.bench.scenario.family)
            counts = perfdhcp.judge(output, goal, request.rate)
        limit = perfdhcp.abort_after(request, goal) if may_abort else None
        aborted = validity.was_aborted(output, request, limit)
        if aborted and not perfdhcp.is_hopeless(counts, request, goal):
            return None, {
                **asdict(counts),
                "started_at": moment.timestamp(started_at),
                "traffic_s": validity.traffic_s(output, request),
                "argv": list(argv),
                "raw_file": raw_file,
                "wall_s": self.clock() - began,
            }
        uses = {
            role: HostUse.between(one, readings[1][role]) for role, one in readings[0].items()
        }
        held = wiped.result()
        foreign, detail = validity.foreign_doubt(self._foreign())
        reason = (
            foreign
            or validity.doubt(
                output,
                counts,
                request,
                goal,
                aborted=aborted,
                pool_size=self.bench.scenario.pool.size,
                refused=_refused(before, after),
                generator=uses.get("generator"),
            )
            or validity.pair_doubt(counts, goal, trouble, output.second.received, held)
        )
        trial = Trial(
            rate=request.rate,
            duration_s=request.duration_s,
            traffic_s=validity.traffic_s(output, request),
            valid=not reason,
            reason=reason,
            aborted=aborted,
            detail=detail,
            **asdict(counts),
        )
        document = {
            **trial_document(trial),
            "started_at": moment.timestamp(started_at),
            "latency_s": {
                "offer": _latency(perfdhcp.latency(output.first.latency_s)),
                "ack": _latency(perfdhcp.latency(output.second.latency_s)),
                "exchange": _latency(perfdhcp.latency(output.exchanges.latency_s)),
            },
            "hosts": {
                role: {**asdict(use), "work_s": list(use.work_s)} for role, use in uses.items()
            },
            "per_second": perfdhcp.per_second(output, request.duration_s),
            "samples": [asdict(sample) for sample in samples],
            "partner_samples": [asdict(sample) for sample in partner_samples],
            "leases_held": list(held),
            "pair_trouble": trouble,
            "cpu_us_per_exchange": _cpu_us(before, after, trial),
            "argv": list(argv),
            "raw_file": raw_file,
            "wall_s": self.clock() - began,
        }
        return trial, document

    def _read(self) -> dict[str, HostReading]:
        """Read the watched hosts, at the same time."""
        if not self.hosts:
            return {}
        with ThreadPoolExecutor(max_workers=len(self.hosts)) as pool:
            return dict(
                zip(
                    self.hosts,
                    pool.map(lambda host: host.read(), self.hosts.values()),
                    strict=True,
                )
            )

    @property
    def _recorder(self) -> Recorder:
        if self.recorder is None:
            raise AssertionError("trials are measured with a recorder")
        return self.recorder

    @contextmanager
    def _wiping(self) -> Iterator[Future[Sequence[int]]]:
        """Empty the lease store for the next trial while this one's output is read.

        The two keep different hosts busy, and both stand between two trials.
        """
        with ThreadPoolExecutor(max_workers=1) as pool:
            wiped = pool.submit(self.server.wipe)
            yield wiped
            wiped.result()

    def text(self, generated: Generated) -> bytes:
        """Decompress the generator's output, once its exit status allows it."""
        try:
            text = zlib.decompress(generated.output_gz, wbits=31)
        except zlib.error as error:
            if generated.status in perfdhcp.DATA_STATUSES:
                raise self._broken(f"its output is cut short: {error}") from error
            text = b""
        if generated.status not in perfdhcp.DATA_STATUSES:
            reason = _reason(generated.status)
            lines = (generated.error or text.decode("ascii", "replace")).strip().splitlines()
            raise self._broken(f"{reason}: {lines[-1]}" if lines else reason)
        if complaint := perfdhcp.complaint(generated.error):
            raise self._broken(f"its receiver has ended: {complaint}")
        return text

    def _broken(self, what: str) -> LeaselabError:
        tool = self.bench.generator
        return lab_broken(
            f"{tool.path}: {what}",
            where=self.bench.hosts["generator"].access.name,
            todo="the trial was not counted; the sweep can be resumed when the host is well",
        )


def trial_document(trial: Trial) -> dict[str, Any]:
    """Return the part of a trial's document that `trial_from` reads back."""
    return {**asdict(trial), "loss_ratio": trial.loss_ratio}


def trial_from(document: dict[str, Any]) -> Trial:
    """Rebuild a trial from its document, also of an older version, which has fewer fields."""
    return Trial(
        **{name: document[name] for name in Trial.__dataclass_fields__ if name in document}
    )


def _latency(value: Latency | None) -> dict[str, float] | None:
    if value is None:
        return None
    return {
        "p50": value.p50,
        "p90": value.p90,
        "p99": value.p99,
        "p99.9": value.p999,
        "max": value.max,
    }


def _refused(before: Sample, after: Sample) -> int:
    """Requests refused in between, where the server counts them."""
    if before.refused is None or after.refused is None:
        return 0
    return after.refused - before.refused


def _cpu_us(before: Sample, after: Sample, trial: Trial) -> float | None:
    if not trial.completed:
        return None
    return 1e6 * (after.cpu_s - before.cpu_s) / trial.completed


def _reason(status: int) -> str:
    """Say what an exit status of the generator's shell means."""
    if status == 127:
        return "not found on the host"
    if status in (124, 137):
        return "was killed, or did not end in time"
    if status < 0 or status > 128:
        return f"was ended by signal {abs(status) % 128}"
    return f"failed with exit status {status}"
