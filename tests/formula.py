"""A DNS server and its load generator, made of formulas: one stage, and RCODEs.

Nothing of the product knows them but by their names; what is measured of them has to go
through all of it.
"""

from __future__ import annotations

import math
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

import msgspec
import numpy as np
from tests.bench_document import DOCUMENT
from tests.doubles import Killed

from leaselab.archive.store import Store
from leaselab.lab.deploy.bench_file import parse_bench
from leaselab.measure.point import Point, journaled
from leaselab.measure.procedures import method_of
from leaselab.measure.stalls import Binned
from leaselab.measure.trials import Trials
from leaselab.model.journal import Fault, entry_of, written
from leaselab.model.observation import (
    HostReading,
    Operated,
    OperationKind,
    Sampled,
    ServerStarted,
)
from leaselab.model.record import Experiment, Provenance
from leaselab.model.trial import Part, Percentiles, Sample, Second, Trial
from leaselab.run.record import KeptConfig, record_of

STAGE = "query-answer"
SCENARIO = {
    "name": "zones-10k",
    "description": "Ten thousand zones",
    "server": {"kind": "formula", "options": {"zones": 10_000}},
    "generator": "flood",
    "transaction": {"name": "DNS query", "plural": "queries", "stages": [STAGE]},
    "load": {"names": "uniform"},
    "factors": {"zones": 10_000},
}


CACHED = 20_000
"""Queries after which a server that has a cache has all answers in it."""


@dataclass(frozen=True)
class FloodReading:
    """What the flood says of one load."""

    load: object
    capacity: float
    answered: tuple = ()
    """Queries that were answered in each second."""
    argv: tuple[str, ...] = ("flood", "--queries")
    output_gz: bytes = b""
    conclusive: bool = True
    stalls: list = field(default_factory=list)
    """Begin and length of what its server stood still for (s)."""
    started_at_s = 0.0
    history = None

    @property
    def answered_at(self):
        return np.linspace(0.0, self.load.duration_s, self._completed)

    @property
    def binned(self):
        """By milliseconds, of queries that come evenly; all that waits is served at once."""
        due = np.arange(0, self.load.duration_s, 1 / self.load.rate)
        latency = np.full(due.size, 0.0004)
        for begin, length in self.stalls:
            latency += np.where(due >= begin, np.maximum(0.0, begin + length - due), 0.0)
        bins = 1000 * self.load.duration_s

        def count(times, weights=None):
            places = np.minimum((1000 * times).astype(int), bins - 1)
            return np.bincount(places, weights, minlength=bins).astype(float)

        attempted = count(due)
        none = np.zeros(bins)
        return Binned(
            0.001, count(due + latency), attempted, attempted, none, count(due, latency)
        )

    @property
    def _completed(self):
        if self.load.at_once:
            return int(min(self.load.at_once, self.capacity * self.load.duration_s))
        return sum(self.answered)

    def trial(self, seen):  # noqa: ARG002  # the port's
        if self.load.at_once:
            return self._burst()
        attempted = sum(self.load.counts) or self.load.rate * self.load.duration_s
        refused = (attempted - self._completed) // 2
        return Trial(
            rate=self.load.rate,
            duration_s=self.load.duration_s,
            attempted=attempted,
            completed=self._completed,
            late=0,
            lost=attempted - self._completed - refused,
            failures={"REFUSED": refused} if refused else {},
            traffic_s=float(self.load.duration_s),
            latency_s={
                STAGE: Percentiles(p50=0.0002, p90=0.0004, p99=0.002, p999=0.004, max=0.01)
            },
            per_second=tuple(
                Second(
                    t=second,
                    attempted=self.load.rate,
                    completed=answered,
                    p50_s=0.0002,
                    p99_s=0.002,
                )
                for second, answered in enumerate(self.answered)
            ),
            parts=self._parts(),
            argv=self.argv,
        )

    def _parts(self):
        """Each part is a second."""
        return tuple(
            Part(attempted=due, completed=answered, late=0, p50_s=0.0002, p99_s=0.002)
            for due, answered in zip(self.load.counts, self.answered, strict=False)
        )

    def _burst(self):
        clients, served = self.load.at_once, self._completed
        return Trial(
            rate=0,
            duration_s=self.load.duration_s,
            at_once=clients,
            attempted=clients,
            completed=served,
            late=0,
            lost=clients - served,
            traffic_s=served / self.capacity,
            argv=self.argv,
        )


class Flood:
    """A generator of queries, and the adapter of it."""

    per_s = 50_000.0
    takes_clients = True
    capacity = None
    """Nothing is given out that could be used up."""

    def __init__(self, bench, procedure, host):  # noqa: ARG002
        self.host = host

    @staticmethod
    def check_fits(scenario, procedure):
        """Any load does."""

    def unreached(self):
        return ""

    def answers(self):
        return True

    def offer(self, load, *, may_abort):  # noqa: ARG002
        if load.at_once:
            self.host.queries += load.at_once
            return FloodReading(load, self.host.capacity)
        scatter = 1 + (load.rate * 7919 % 21 - 10) / 4000
        answered = tuple(
            self.host.answers(rate, scatter, load.clients)
            for rate in load.counts or [load.rate] * load.duration_s
        )
        self.host.queries += load.rate * load.duration_s
        return FloodReading(load, self.host.capacity, answered, stalls=self.host.stalls)

    def clock_ahead_s(self):
        return 0.0


STALLS_S = {"reload": 0.25, "pause-1s": 1.0}
"""What can be done to the server, and for how long it stands still then (s)."""


@dataclass
class Zones:
    """The server, both hosts, the disk and the lock."""

    capacity: float = Flood.per_s
    cold: float = 1.0
    """How fast it is while its cache is empty, over `capacity`."""
    queries: int = 0
    cached: int = 0
    """Queries answered since its cache was emptied."""
    grows: float = 0.0
    """By how much a query costs more for each client it holds, over what it costs without."""
    held: int = 0
    """Clients answered since it was emptied."""
    resets: int = 0
    functions: dict = field(default_factory=lambda: {"main;answer": 9.0, "main;receive": 2.0})
    """What a query costs by stack (us); one more microsecond has no sample."""
    waits: dict = field(default_factory=lambda: {"database": 40.0, "page fault": 3.0})
    """What a query waits for by cause (us)."""
    profiled_from: int = 0
    """Queries before the profile was begun."""
    files: dict = field(default_factory=dict)
    events: list = field(default_factory=list)
    kill_at: float = math.inf
    """The journal's event before which the engine is killed."""
    stalls: list = field(default_factory=list)
    """Begin and length of what it stood still for under the load (s)."""

    def answers(self, asked, scatter, clients=0):
        """What it answers in a second of so many queries; 0 `clients`: each is a new one."""
        speed = self.capacity * scatter * (1 if self.cached >= CACHED else self.cold)
        answered = 0
        for _ in range(20 if self.grows else 1):
            slower = 1 + self.grows * self.held
            answered += (part := int(min(asked, speed / slower) / (20 if self.grows else 1)))
            self.held = min(self.held + part, clients or math.inf)
        self.cached += answered
        return answered

    def start(self):
        self.cached, self.held = 0, 0
        return ServerStarted(7, "1.0", None, "1" * 64)

    def trouble(self):
        return ""

    def settle(self):
        """At once."""

    def reset(self):
        self.cached, self.held = 0, 0
        self.resets += 1
        return {}

    def stop(self):
        """Nothing is left."""

    def sample_now(self):
        return Sample(
            t=float(self.queries),
            cpu_s=1e-6 * (1 + sum(self.functions.values())) * self.queries,
            rss_bytes=360_000_000,
            udp_drops=0,
            held=None,
            counters={"QryAuthAns": self.queries},
        )

    def samples(self):
        return {"server": [self.sample_now(), self.sample_now()]}

    def begin_profile(self):
        self.profiled_from = self.queries

    def end_profile(self):
        """A sample for each 100 us of CPU time, as even as it can be."""
        queries = self.queries - self.profiled_from
        stacks = {
            stack: round(queries * spent / 100) for stack, spent in self.functions.items()
        }
        samples = sum(stacks.values())
        waits = {cause: 1e-6 * spent * queries for cause, spent in self.waits.items()}
        return Sampled("cpu-clock:u", samples, 1e-4 * samples, 0, stacks, waits)

    def operations(self):
        return {name: OperationKind(f"It does {name}.", "it answers") for name in STALLS_S}

    @contextmanager
    def operating(self):
        """Operate it 5 s after the begin of a load, and each 15 s."""
        self.stalls.clear()
        yield self.operate

    def operate(self, name):
        begun = 5.0 + 15.0 * len(self.stalls)
        self.stalls.append((begun, STALLS_S[name]))
        return Operated(name, begun, begun, begun + 0.1, begun + STALLS_S[name], "")

    def read(self, link_changes=0):  # noqa: ARG002  # the port's
        return HostReading(0.01, 0.0, None, 0)

    def renew(self, busy_s=0.0):
        """Nobody else wants it."""

    def record(self, entry):
        if len(self.events) + 1 >= self.kill_at:
            self.kill_at = math.inf
            raise Killed
        self.events.append(written(entry))

    def write_bytes(self, name, content):
        self.files[name] = content
        return name

    def __call__(self, *_, **__):
        """Nobody listens."""


def formula_document(**procedure):
    """The bench document of one formula, measured by a procedure with these parameters."""
    server = {**DOCUMENT["servers"]["server"], "name": "formula", "holds": ""}
    return {
        **DOCUMENT,
        "scenario": SCENARIO,
        "servers": {"server": server},
        "generator": {"name": "flood", "path": "/usr/bin/flood", "version": "3.1"},
        "procedure": procedure,
    }


def formula_bench(**procedure):
    """The same as the engine has it."""
    return parse_bench(formula_document(**procedure), "tests")


def formula_trials(bench, zones, generator=None):
    """Trials of a formula, by a flood unless another generator is given."""
    generator = generator or Flood(bench, bench.procedure, zones)
    hosts = {"server": zones, "generator": zones}
    return Trials(bench, bench.procedure, zones, generator, zones, hosts, sleep=lambda _: None)


def begun_point(bench, zones, trials=None, *, listener=None, sleep=lambda _: None):
    """A point that goes on from the events of its formula; `listener` hears of it."""
    trials = trials or formula_trials(bench, zones)
    return Point(
        method_of(bench.procedure, trials.generator.capacity),
        trials,
        zones,
        zones,
        listener or zones,
        journaled(entry_of(*event) for event in zones.events),
        sleep=sleep,
    )


def formula_point(bench, zones, listener=None):
    """A point that is measured to its end; `listener` hears of it."""
    point = begun_point(bench, zones, listener=listener)
    while not point.finished:
        point.advance()
    return point


def archived(
    root,
    number,
    capacity=Flood.per_s,
    experiment=None,
    factors=None,
    *,
    functions=None,
    **procedure,
):
    """The record of the formula, measured and sealed into a folder of results."""
    bench = formula_bench(**procedure)
    if factors:
        scenario = msgspec.structs.replace(bench.scenario, factors=factors)
        bench = replace(bench, scenario=scenario)
    zones = Zones(capacity, functions=functions or Zones().functions)
    point = formula_point(bench, zones)
    record = record_of(
        f"20261123T12000{number}Z-{SCENARIO['name']}-000{number}",
        bench,
        point,
        setup_s=1.0,
        started_at=f"2026-11-23T12:00:0{number}.000Z",
        owner="a.tester@desk",
        configs={"server": KeptConfig("config/formula.conf", "0" * 64)},
        experiment=experiment,
        provenance=Provenance(leaselab_version="0.1.0"),
    )
    # a formula needs no time, and rounds of one moment are on no clock
    apart = tuple(
        msgspec.structs.replace(
            round_, started_at=f"2026-11-23T12:{2 * round_.index:02d}:00.000Z"
        )
        for round_ in record.rounds
    )
    ended = f"2026-11-23T12:{2 * len(apart):02d}:59.000Z"
    record = msgspec.structs.replace(record, rounds=apart, finished_at=ended)
    store = Store(root)
    with store.create(record.id) as running:
        running.record(Fault(text="none"))
        running.write_text("bench.json", "{}")
        for name in record.files:
            running.write_bytes(name, zones.files.get(name, b"zones 10000\n"))
        store.seal(running, record)
    return store.load(record.id)


PROFILE = {"name": "profile", "rate": 1000, "rounds": 4, "duration_s": 10}


def archived_profiles(root, slower):
    """Two points of an experiment of profiles; `slower` is what the second one's queries cost.

    It is by stack, as `Zones.functions`.
    """
    ids = tuple(f"20261123T12000{number}Z-{SCENARIO['name']}-000{number}" for number in (1, 2))
    experiment = Experiment(id=ids[0], points=ids, interleaved=True)
    return [
        archived(root, number, experiment=experiment, functions=functions, **PROFILE)
        for number, functions in ((1, None), (2, slower))
    ]
