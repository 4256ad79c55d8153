"""One trial on a bench: doubts beside the generator's own, and what happens in it."""

from dataclasses import dataclass, field, replace
from functools import partial

import msgspec
import numpy as np
import pytest
from tests.bench_document import DOCUMENT
from tests.examples import trial_of
from tests.refusals import refused

from leaselab.lab.deploy.bench_file import parse_bench
from leaselab.measure.generators.adapter import Seen
from leaselab.measure.trials import (
    FOREIGN_REPLY,
    FOREIGN_REQUEST,
    NO_FIGURE,
    NOT_IN_STATE,
    SUPPORT_LIMITED,
    Trials,
    lost_at,
)
from leaselab.model.errors import LeaselabError, Outcome, invalid_measurement, lab_broken
from leaselab.model.observation import Foreign, HostReading
from leaselab.model.procedures.max_rate import MaxRate
from leaselab.model.record import GENERATOR_LIMITED
from leaselab.model.scenario import ServerOptions
from leaselab.model.trial import HostUse, Load, Sample, Trial

LOAD = Load(100, 5)
REPLY = Foreign("reply", "DHCPOFFER", "02:00:00:00:00:08", "192.0.2.1", "192.0.2.1", 2)
REQUEST = Foreign("request", "DHCPDISCOVER", "02:00:00:00:00:09", "0.0.0.0", "", 1)  # noqa: S104


made = partial(trial_of, 100, 5)


@dataclass
class Reading:
    """What a generator printed of a load; notes what it is judged with."""

    result: Trial = field(default_factory=made)
    conclusive: bool = True
    output_gz: bytes = b"raw"
    argv: tuple = ()
    answered_at: np.ndarray = field(default_factory=lambda: np.array([0.1, 0.2]))
    seen: Seen | None = None
    started_at_s: float = 0.0

    def trial(self, seen):
        self.seen = seen
        return self.result


@dataclass
class World:
    """Server, generator, watch, disk and hosts."""

    readings: list = field(default_factory=lambda: [Reading()])
    heard: list = field(default_factory=list)
    """What is heard of others each time the watch is asked; nothing afterwards."""
    state: str = ""
    """How several servers differ from the state asked for."""
    answering: bool = True
    did: list = field(default_factory=list)
    aborts: list = field(default_factory=list)
    waited: list = field(default_factory=list)
    link_changes: list = field(default_factory=list)
    now: float = 0.0

    def start(self):
        self.did.append("start")

    def trouble(self):
        return self.state

    def settle(self):
        self.did.append("settle")

    def reset(self):
        self.did.append("reset")
        return {"server": 500, "partner": 499}

    def sample_now(self):
        return sample(t=self.now, cpu_s=self.now, refused=int(3 * self.now))

    def samples(self):
        return {"server": [self.sample_now()], "partner": []}

    def answers(self):
        self.did.append("answers")
        return self.answering

    def offer(self, load, *, may_abort):
        assert load == LOAD
        self.did.append("offer")
        self.aborts.append(may_abort)
        self.now += 7.0
        return self.readings.pop(0)

    def clock_ahead_s(self):
        return 40.0

    def foreign(self):
        return self.heard.pop(0) if self.heard else ()

    def write_bytes(self, name, content):
        self.did.append((name, content))
        return name

    def read(self, link_changes=0):
        self.link_changes.append(link_changes)
        return HostReading(0.01 + self.now, 2.0 * self.now, None, int(10 * self.now))

    def trials(self):
        ports = (MaxRate(), self, self, self, {"generator": self}, self)
        times = {"clock": lambda: self.now, "sleep": self.waited.append}
        return Trials(parse_bench(DOCUMENT, "tests"), *ports, **times)

    def measure(self, **how):
        return self.trials().measure(LOAD, "run-1-trial-01", **how)


def test_a_trial_holds_what_was_seen_beside_the_generators_output():
    world = World()
    trial = world.measure()
    assert (trial.valid, trial.raw_file, trial.wall_s) == (True, "raw/run-1-trial-01.txt.gz", 7)
    assert ("raw/run-1-trial-01.txt.gz", b"raw") in world.did
    assert world.did.count("reset") == 1
    assert (trial.trouble, world.did.count("settle")) == ("", 0)
    assert trial.held == {"server": 500, "partner": 499}
    assert list(trial.samples) == ["server"]
    use = {"work_s": (0.01, 7.01), "steal_s": 14.0, "throttled_s": 0.0, "receive_errors": 70}
    assert trial.hosts == {"generator": HostUse(**use)}
    assert trial.cpu_us == pytest.approx(14_000)  # 7 s for 500


def test_the_generator_judges_with_what_the_server_and_the_host_say():
    reading = Reading()
    trial = World(readings=[reading], state="waiting").measure()
    assert reading.seen.held == trial.held
    assert reading.seen.generator == trial.hosts["generator"]
    assert (reading.seen.refused, reading.seen.trouble) == (21, "waiting")


def test_a_trouble_of_any_length_is_cut():
    trial = World(readings=[Reading(made(lost=100))], state="x" * 20_000).measure()
    assert (len(trial.trouble), trial.trouble[-3:]) == (10_000, "x …")


USE = {"work_s": (0.01, 0.01), "steal_s": 0.0, "throttled_s": 0.0, "receive_errors": 0}


def sample(**changed):
    nothing = {"t": 1.0, "cpu_s": 0.0, "rss_bytes": 0, "udp_drops": 0, "held": 0}
    return Sample(**{**nothing, "counters": {}, **changed})


def test_each_lost_packet_has_a_place():
    uses = {
        "generator": HostUse(**USE, interface_drops=2),
        "server": HostUse(**USE, backlog_drops=3),
    }
    before, after = sample(udp_drops=10), sample(udp_drops=70)
    trial = made(lost=100, lost_at={"generator socket": 5})
    assert lost_at(trial, before, after, uses) == {
        "generator socket": 5,
        "generator interface": 2,
        "server backlog": 3,
        "server receive buffer": 60,
        "unanswered": 30,
    }
    assert lost_at(made(), before, after, uses) == {}, "nothing was lost"
    few = lost_at(made(lost=10), sample(), sample(udp_drops=11), {})
    assert few == {"server receive buffer": 11}


class Printing(Reading):
    """A generator that counts answers of a kind whose name is a page long."""

    def trial(self, _seen):
        return made(lost=1, failures={"x" * 20_000: 1})


class Falling(World):
    """A host whose counter of dropped datagrams falls."""

    def read(self, link_changes=0):  # noqa: ARG002  # the port's
        return HostReading(0.01, 0.0, None, 70 - int(10 * self.now))


@pytest.mark.parametrize(
    ("world", "what"),
    [
        (World(readings=[Printing()]), "failures: too long"),
        (Falling(), r"`int` >= 0 - at `\$.hosts\[...\].receive_errors`"),
    ],
)
def test_what_no_result_can_hold_breaks_the_lab_in_its_trial(world, what):
    """And not hours later, as the result is sealed."""
    with refused(what, Outcome.LAB, "run-1-trial-01"):
        world.measure()


@pytest.mark.parametrize(
    ("heard", "word", "detail"),
    [
        ([], NOT_IN_STATE, ""),
        ([REQUEST], FOREIGN_REQUEST, str(REQUEST)),
        ([REPLY], FOREIGN_REPLY, str(REPLY)),
        ([REQUEST, REPLY], FOREIGN_REPLY, str(REPLY)),
    ],
)
def test_foreign_traffic_is_the_first_doubt_and_names_its_sender(heard, word, detail):
    trial = World(heard=[heard], state="waiting").measure()
    assert (trial.valid, trial.reason) == (False, word)
    assert not detail or trial.detail == detail


@pytest.mark.parametrize(
    ("reading", "word"),
    [
        (Reading(), NOT_IN_STATE),
        (Reading(made(lost=100)), ""),
        (Reading(made(valid=False, reason=GENERATOR_LIMITED)), GENERATOR_LIMITED),
    ],
)
def test_servers_that_are_not_in_their_state_void_a_pass_alone(reading, word):
    """A load that breaks a pair and fails has failed."""
    world = World(readings=[reading], state="partner-down")
    trial = world.measure()
    assert (trial.reason, trial.valid) == (word, not word)
    assert trial.trouble == "partner-down"
    assert world.did.index("settle") < world.did.index("reset")


@dataclass
class Supported(World):
    """A recursor, and the authority that it asks, of which samples come each second."""

    busy: float = 1.0
    """Processors that the authority uses while the load lasts, of one."""

    def samples(self):
        spent = [sample(t=float(at), cpu_s=self.busy * min(at, 5)) for at in range(8)]
        return {"server": [self.sample_now()], "partner": spent}

    def trials(self):
        made = super().trials()
        support = ServerOptions(kind="nsd", options={})
        scenario = msgspec.structs.replace(made.bench.scenario, support=support)
        hosts = {**made.bench.hosts, "partner": made.bench.hosts["server"]}
        return replace(made, bench=replace(made.bench, scenario=scenario, hosts=hosts))


@pytest.mark.parametrize(
    ("lost", "busy", "word"), [(100, 0.95, SUPPORT_LIMITED), (100, 0.7, ""), (0, 0.95, "")]
)
def test_a_loss_while_a_companion_service_is_full_is_not_the_servers(lost, busy, word):
    """An authority at its limit makes any recursor look slow; one that keeps up does not."""
    processors = DOCUMENT["hosts"]["server"]["facts"].get("processors", 1)
    world = Supported(readings=[Reading(made(lost=lost))], busy=busy * processors)
    trial = world.measure()
    assert (trial.reason, trial.valid) == (word, not word)
    assert ("95% of its processors" in trial.detail) == bool(word)


@pytest.mark.parametrize(("heard", "word"), [([], ""), ([REPLY], FOREIGN_REPLY)])
def test_an_early_end_that_might_have_passed_is_repeated_to_the_end(heard, word):
    """What was heard of others in it is not forgotten."""
    early = Reading(made(lost=20, aborted=True), conclusive=False)
    world = World(readings=[early, Reading()], heard=[heard])
    trial = world.measure()
    assert (trial.reason, world.aborts) == (word, [True, False])
    assert (trial.lost, trial.aborted, trial.wall_s) == (0, False, 14)
    assert trial.raw_file == "raw/run-1-trial-01-again.txt.gz"
    attempt = trial.early_attempt
    assert (attempt.attempted, attempt.lost, attempt.wall_s) == (500, 20, 7)
    assert attempt.raw_file == "raw/run-1-trial-01.txt.gz"
    assert world.did.count("reset") == 2


def test_a_load_may_leave_what_the_server_holds():
    world = World()
    assert world.measure(reset=False).held == {}
    assert "reset" not in world.did
    world = World()
    world.trials().start_server()
    assert world.did == ["start", "answers", "reset"], "it is tried, and reset again"


@dataclass
class Happening:
    """Something that happens under a load."""

    world: World
    error: LeaselabError | None = None
    ends_server: bool = True
    link_changes: int = 0

    def happen(self, until):
        until(12.0)
        self.world.did.append("happen")

    def fields(self, answers, began_at, samples):
        if self.error:
            raise self.error
        last_s = began_at + float(answers.answered_at.max())
        return {"figures": {"last_s": last_s, "samples": float(len(samples))}}


def test_what_happens_under_a_load_has_its_figures_and_resets_nothing():
    world = World(readings=[Reading(made(lost=40))], state="partner-down")
    trial = world.measure(may_abort=False, reset=False, during=Happening(world))
    assert world.waited in ([12.0], [5.0])  # the load lasts 7 s, and may have begun
    assert world.aborts == [False]
    assert trial.figures == {"lost": 40.0, "last_s": 0.2, "samples": 0.0}
    assert (trial.valid, trial.raw_file) == (True, "raw/run-1-trial-01.txt.gz")
    assert sorted(map(str, world.did[:2])) == ["happen", "offer"]
    assert len(world.did) == 3  # nothing is reset or settled: the server is dead


def test_what_leaves_the_server_alive_has_its_figures_and_all_of_another_trial():
    """Its times are by the engine's clock, of which the generator's is 40 s ahead."""
    world = World(readings=[Reading(made(lost=40), started_at_s=1040.0)])
    trial = world.measure(may_abort=False, during=Happening(world, ends_server=False))
    assert trial.figures == {"last_s": pytest.approx(1000.2), "samples": 1.0}
    assert (trial.cpu_us is None, world.did.count("reset")) == (False, 1)


def test_a_link_that_was_made_to_change_is_that_of_the_servers_host():
    world = World(readings=[Reading(made(), started_at_s=1040.0)])
    trials = replace(world.trials(), hosts={"server": world, "generator": world})
    cut = Happening(world, ends_server=False, link_changes=2)
    trials.measure(LOAD, "cut", may_abort=False, during=cut)
    assert sorted(world.link_changes) == [0, 0, 0, 2]


def test_what_happened_without_a_figure_is_a_trial_that_says_why():
    world = World()
    error = invalid_measurement("the load was not served again")
    trial = world.measure(during=Happening(world, error))
    assert (trial.valid, trial.reason) == (False, NO_FIGURE)
    assert trial.detail == "the load was not served again"
    assert trial.figures == {"lost": 0.0}
    world = World()
    with refused("cannot be listed", Outcome.LAB):
        world.measure(during=Happening(world, lab_broken("cannot be listed")))
