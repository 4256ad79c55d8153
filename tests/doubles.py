"""A bench in memory: a server and a generator that print what the real ones print."""

import gzip
from dataclasses import dataclass, field

from tests.bench_document import DOCUMENT

from leaselab.lab.bench_file import parse_bench
from leaselab.measure.bench_trial import BenchTrials
from leaselab.measure.sweep import Sweep, read_journal
from leaselab.model.errors import invalid_measurement, lab_broken
from leaselab.model.observation import Generated, Sample, ServerStarted

CAPACITY = 300
PLAN = {
    "runs": 3,
    "wait_s": 0.5,
    "goal": {"relative_width": 0.1, "late_s": 0.5},
    "limits": {"trial_s": 1, "scout_s": 1, "start_rate": 100, "max_rate": 10_000},
}


class Killed(BaseException):
    """The engine's process is gone: nothing of it can react."""


def bench(**plan):
    """A bench in memory; keyword arguments replace parts of the plan."""
    return parse_bench({**DOCUMENT, "plan": {**PLAN, **plan}}, "tests")


def perfdhcp_output(started, completed, *, interval_s=0.001):
    """What perfdhcp prints for a v4 trial: both stages' counts and times."""
    stages = (
        ("DISCOVER-OFFER", started, completed),
        ("REQUEST-ACK", completed, completed),
    )
    text = "Running: perfdhcp\nScenario: basic.\n***Rate statistics***\nRate: 1\n\n"
    for name, sent, received in stages:
        text += (
            f"***Statistics for: {name}***\nsent packets: {sent}\n"
            f"received packets: {received}\ndrops: {sent - received}\norphans: 0\n"
            "rejected leases: 0\nnon unique addresses: 0\n\n"
        )
    for name, _, received in stages:
        text += f"***Timestamps for packets: {name}***\n"
        for number in range(received):
            sent_at = number * interval_s
            text += f"sent / received: {_clock(sent_at)} / {_clock(sent_at + 0.0004)}\n"
        text += "\n"
    return text


def _clock(seconds):
    minutes, rest = divmod(seconds, 60)
    return f"{int(minutes):04d}{rest:09.6f}"


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
    """Leases that a partner was not told of; there is none while this is 0."""
    leases: int = 0
    settled: int = 0
    answering: bool = True
    reach: int = 10**9
    """Highest rate the generator can offer (1/s)."""
    die_in: int = 10**9
    """Trial (from 1) in which the server dies."""
    lock_lost_at: int = 10**9
    """Renewal (from 1) at which the lock turns out to be somebody else's."""
    kill_at: int = 10**9
    """Journal event (from 1) at which the engine is killed."""
    kill_before: bool = False
    """Whether that event is lost, or the last thing that lasted."""
    trials: int = 0
    renewals: int = 0
    stops: int = 0
    stop_error: Exception | None = None
    broken_output: Generated | None = None
    """What the generator's second trial leaves behind instead of a measurement."""

    # The server.

    def start(self):
        self.running = True
        server = DOCUMENT["server"]
        return ServerStarted(7, server["version"], None, server["running_config_sha256"])

    def trouble(self):
        return self.troubles.pop(0) if self.troubles else ""

    def settle(self):
        self.settled += 1

    def wipe(self):
        had, self.leases = self.leases, 0
        return (had, had - self.unknown_leases) if self.unknown_leases else (had,)

    def stop(self):
        self.running = False
        self.stops += 1
        if self.stop_error:
            raise self.stop_error

    def sample_now(self):
        if self.trials >= self.die_in:
            raise invalid_measurement("the server died while it was measured: killed")
        return Sample(1.0, float(self.trials), 1000, 0, 0, {})

    def samples(self):
        return []

    def partner_samples(self):
        return []

    # The generator.

    def generate(self, argv, _environment, timeout_s):
        assert timeout_s > 0
        if "-x" not in argv:
            return _printed(perfdhcp_output(1, int(self.answering)))
        self.trials += 1
        if self.trials == 2 and self.broken_output is not None:
            return self.broken_output
        rate, count = option(argv, "-r"), option(argv, "-n")
        # scattered, but always the same at the same rate
        capacity = CAPACITY * (1 + (rate * 7919 % 21 - 10) / 400)
        started = min(count, self.reach)
        answered = min(started, int(capacity))
        self.leases = answered
        return _printed(perfdhcp_output(started, answered, interval_s=1 / started))

    # The lock and the disk.

    def renew(self):
        self.renewals += 1
        if self.renewals >= self.lock_lost_at:
            raise lab_broken("the bench is in use", found="ben@desk")

    def record(self, name, data):
        at = len(self.events) + 1
        if at == self.kill_at and self.kill_before:
            raise Killed
        self.events.append((name, data))
        if at == self.kill_at:
            raise Killed

    def write_bytes(self, name, content):
        self.files[name] = content
        return name

    # Whoever watches.

    def phase(self, text):
        assert text

    def run_started(self, index):
        assert index

    def trial_started(self, request):
        assert request.rate

    def trial_done(self, trial, *, replayed):
        assert replayed in (True, False)
        assert trial.rate

    def run_done(self, index, estimate):
        assert estimate.lower.rate < estimate.upper.rate
        assert index

    def sweep(self, of=None):
        """A new engine, to measure on this world."""
        of = of or bench()
        trials = BenchTrials(of, self, self, self, clock=lambda: 0.0)
        return Sweep(of, self, trials, self, self, self, clock=lambda: 0.0)

    def measure(self, of=None):
        """Measure what this world's journal does not hold yet; return the sweep."""
        sweep = self.sweep(of)
        sweep.measure(read_journal(self.events))
        return sweep


def _printed(text, status=0):
    return Generated(status, gzip.compress(text.encode(), 1, mtime=0), "")
