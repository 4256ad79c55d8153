"""A bench in memory: a server and a generator that print what the real ones print."""

from dataclasses import dataclass, field

from benchmarks._packets import perfdhcp_text, printed
from tests.bench_document import DOCUMENT

from leaselab.lab.deploy.bench_file import parse_bench
from leaselab.measure.generators import adapter_of
from leaselab.measure.point import Point, journaled
from leaselab.measure.procedures import method_of
from leaselab.measure.trials import Trials
from leaselab.model.errors import invalid_measurement, lab_broken
from leaselab.model.journal import (
    Confirming,
    Phase,
    RoundDone,
    TrialBegun,
    TrialMade,
    entry_of,
    written,
)
from leaselab.model.observation import Generated, HostReading, ServerStarted
from leaselab.model.trial import Sample

CAPACITY = 300
PROCEDURE = {
    "rounds": 3,
    "wait_s": 1.0,
    "relative_width": 0.1,
    "late_s": 0.5,
    "trial_s": 1,
    "scout_s": 1,
    "start_rate": 100,
    "max_rate": 10_000,
    "warm_up_s": 0,
    "confirm_s": 0,
}
BURST = {"rounds": 2, "wait_s": 1.0, "late_s": 0.5, "warm_up_s": 0}
STEADY = {"rounds": 2, "wait_s": 1.0, "late_s": 0.5, "warm_up_s": 0, "rate": 200}


class Killed(BaseException):
    """The engine's process is gone: nothing of it can react."""


def bench(name="max-rate", pool="", **parameters):
    """A bench in memory, of a procedure with these parameters."""
    usual = {"max-rate": PROCEDURE, "burst": BURST}.get(name, STEADY)
    procedure = {"name": name, **usual, **parameters}
    scenario = DOCUMENT["scenario"]
    if pool:
        scenario = {**scenario, "load": {**scenario["load"], "pool": pool}}
    return parse_bench({**DOCUMENT, "scenario": scenario, "procedure": procedure}, "tests")


def perfdhcp_output(started, completed, *, interval_s=0.001):
    """What perfdhcp prints for a v4 trial: both stages' counts and times."""
    sent_at = [number * interval_s for number in range(completed)]
    pairs = [(at, at + 0.0004) for at in sent_at]
    return perfdhcp_text(started, pairs, pairs)


def avalanche_output(clients, served, resent):
    """What perfdhcp prints of clients that begin at once, `CAPACITY` of whom are served a s."""
    pairs = [(0.0001 * number, (number + 1) / CAPACITY) for number in range(served)]
    text = perfdhcp_text(clients, pairs, pairs)
    end = f"It took 00:00:01.234567 to provision {clients} clients. \n"
    end += f"Requests sent + resent: {clients + served + resent}\nRequests resent: {resent}\n"
    return f"{text}{end}Responses received: {2 * served}\n"


def option(argv, name):
    return int(argv[list(argv).index(name) + 1])


@dataclass
class World:
    """Both hosts, the disk and the lock: what outlives a killed engine."""

    events: list = field(default_factory=list)
    files: dict = field(default_factory=dict)
    running: bool = False
    troubles: list = field(default_factory=list)
    """How the pair differs from the state asked for, trial by trial; nothing afterwards."""
    unknown_leases: int = 0
    """Leases that a partner does not know; there is no partner while this is 0."""
    leases: int = 0
    """What the last trial left."""
    held: int = 0
    """What all trials since the last reset or start have left."""
    room: int = 10**9
    """Most that it holds, whatever is asked of it."""
    settled: int = 0
    answering: bool = True
    neighbor: str = ""
    """What the generator's host knows of a server that it does not reach."""
    reach: int = 10**9
    """Highest rate the generator can offer (1/s)."""
    die_in: int = 10**9
    """Trial (from 1) in which the server dies."""
    lock_lost_at: int = 10**9
    """Renewal (from 1) at which the lock turns out to be another user's."""
    kill_at: int = 10**9
    """Journal event (from 1) at which the engine is killed."""
    kill_before: bool = False
    """Whether that event is lost, or the last thing that lasted."""
    trials: int = 0
    renewals: int = 0
    stops: int = 0
    crashes: int = 0
    reloads: int = 0
    stop_error: Exception | None = None
    dead_every: int = 0
    """Every so many trials the server stands still for half of one; 0: never."""
    loses: float = 0.0
    """Share of the exchanges that the server loses at any load."""
    cold: float = 0.0
    """Share of its capacity that it lacks in its first trial after a start."""
    started_at: int = 0
    heard: list = field(default_factory=list)
    """What is heard of others by each time the watch is asked; nothing afterwards."""
    stalls_in: range = range(0)
    """Trials (from 1) of which the generator's host drops the replies of half."""
    dropped: int = 0
    """Datagrams that the generator's host has dropped."""
    phases: list = field(default_factory=list)
    """What the engine said it does between trials."""
    slept_s: list = field(default_factory=list)
    """How long the engine waited, each time."""
    broken_output: Generated | None = None
    """What the generator's second trial leaves behind instead of a measurement."""

    # The server.

    def start(self):
        self.running, self.held = True, 0
        self.started_at = self.trials
        server = DOCUMENT["servers"]["server"]
        known = (7, server["version"], None, server["running_config_sha256"])
        return ServerStarted(*known, start_s=0.25)

    def trouble(self):
        return self.troubles.pop(0) if self.troubles else ""

    def settle(self):
        self.settled += 1

    def reset(self):
        had, self.leases, self.held = self.leases, 0, 0
        if not self.unknown_leases:
            return {"server": had}
        return {"server": had, "partner": had - self.unknown_leases}

    def stop(self):
        self.running = False
        self.stops += 1
        if self.stop_error:
            raise self.stop_error

    def sample_now(self):
        if self.trials >= self.die_in:
            raise invalid_measurement("the server died while it was measured: killed")
        spent = float(self.trials)
        held = min(self.held, self.room)
        return Sample(t=1.0, cpu_s=spent, rss_bytes=1000, udp_drops=0, held=held, counters={})

    def samples(self):
        return {}

    def reload(self):
        self.reloads += 1
        return 2.5

    def crash(self, _roles):
        self.crashes += 1

    def listing(self):
        known = {f"10.0.0.{number}": f"client {number}" for number in range(self.leases)}
        partner = dict(list(known.items())[: len(known) - self.unknown_leases])
        return {"server": known, "partner": partner}

    def operations(self):
        return {}

    def operating(self):
        raise NotImplementedError

    # Both hosts, and the network between them.

    def foreign(self):
        return self.heard.pop(0) if self.heard else []

    def read(self, link_changes=0):  # noqa: ARG002  # the port's
        return HostReading(0.01, 0.0, None, self.dropped)

    # The generator.

    def unreached(self, _address):
        return self.neighbor

    def clock_ahead_s(self):
        return 0.0

    def generate(self, argv, _environment, timeout_s):
        assert timeout_s > 0
        if "-x" not in argv:
            return printed(perfdhcp_output(1, int(self.answering)))
        self.trials += 1
        if self.trials == 2 and self.broken_output is not None:
            return self.broken_output
        if "avalanche" in argv:
            return self._burst(option(argv, "-R"), int(argv[3]))
        rate, count = option(argv, "-r"), option(argv, "-n")
        # scattered, but always the same at the same rate
        capacity = CAPACITY * (1 + (rate * 7919 % 21 - 10) / 400)
        if self.trials == self.started_at + 1:
            capacity *= 1 - self.cold
        started = min(count, self.reach)
        answered = min(started, int(capacity * option(argv, "-p")))
        answered = int(answered * (1 - self.loses))
        if self.dead_every and self.trials % self.dead_every == 0:
            answered //= 2
        if self.trials in self.stalls_in:
            self.dropped += answered
            answered //= 2
        self.leases = answered
        self.held += answered
        return printed(
            perfdhcp_output(started, answered, interval_s=option(argv, "-p") / started)
        )

    def _burst(self, clients, limit_s):
        served = min(clients, CAPACITY * limit_s)
        if self.trials in self.stalls_in:
            self.dropped += clients
        self.leases = self.held = served
        return printed(avalanche_output(clients, served, resent=2 * clients))

    # The lock and the disk.

    def renew(self, _busy_s=0.0):
        self.renewals += 1
        if self.renewals >= self.lock_lost_at:
            raise lab_broken("the bench is in use", found="ben@desk")

    def record(self, entry):
        at = len(self.events) + 1
        if at == self.kill_at and self.kill_before:
            raise Killed
        self.events.append(written(entry))
        if at == self.kill_at:
            raise Killed

    def write_bytes(self, name, content):
        self.files[name] = content
        return name

    # The observer.

    def __call__(self, entry, *, replayed=False):
        assert replayed in (True, False)
        match entry:
            case Phase():
                assert entry.text
                self.phases.append(entry.text)
            case TrialBegun():
                assert entry.load.rate or entry.load.at_once
            case TrialMade() | Confirming():
                assert entry.trial.rate or entry.trial.at_once
            case RoundDone():
                assert entry.round.metrics
            case _:
                assert entry.index

    def point(self, of=None):
        """A new engine, to measure on this world."""
        of = of or bench()
        adapter = adapter_of(of.scenario)(of, of.procedure, self)
        hosts = {"server": self, "generator": self}
        trials = Trials(
            of,
            of.procedure,
            self,
            adapter,
            self,
            hosts,
            self,
            clock=lambda: 0.0,
            sleep=lambda _: None,
        )
        return Point(
            method_of(of.procedure, adapter.capacity),
            trials,
            self,
            self,
            self,
            journaled(entry_of(*event) for event in self.events),
            clock=lambda: 0.0,
            sleep=self.slept_s.append,
        )

    def measure(self, of=None):
        """Measure what this world's journal does not hold yet; return the point."""
        point = self.point(of)
        while not point.finished:
            point.advance()
        return point
