"""Duels that another figure than the completed rate decides: direction, load and rounds."""

import math
import random
from dataclasses import dataclass, field, replace

import msgspec
import pytest
from tests.doubles import Killed
from tests.examples import round_of
from tests.formula import Zones, begun_point, formula_bench

from leaselab.analysis.duels.duel import Answer, judge
from leaselab.model.errors import Outcome
from leaselab.model.observation import Sampled
from leaselab.model.procedures.duel import BELOW, METRICS, Duel
from leaselab.run.duel import DuelRounds

OTHERS = [name for name in METRICS if name != "completed_rate"]


def world(plan, ratio, *, sd=0.01, seed=1, rate=1.0):
    """Rounds of A, and of B whose figure is at this ratio to A's; both scatter."""
    chance = random.Random(seed)  # noqa: S311 - a simulation

    def made(index, level, served):
        scatter = math.exp(sd * chance.gauss(0, 1))
        metrics = {"completed_rate": 1000.0 * served, "loss_ratio": 0.0}
        metrics[plan.metric] = level * scatter
        return round_of(index=index, metrics=metrics, traffic_s=0.0, wall_s=2.0)

    indices = range(1, plan.rounds + 1)
    return [[made(index, *of) for index in indices] for of in ((0.2, 1.0), (0.2 * ratio, rate))]


def ended(plan, first, second):
    """The verdict at the look that ends the duel."""
    for look in plan.looks:
        verdict = judge(plan, first[:look], second[:look])
        if verdict is not None and verdict.final:
            return verdict
    raise AssertionError("a duel ends at its last look")


# ---- the verdict


@pytest.mark.parametrize("metric", OTHERS)
def test_more_is_worse_of_all_figures_but_the_rate_from_half_of_what_is_looked_for(metric):
    plan = Duel(metric=metric)
    more, less = (ended(plan, *world(plan, ratio)) for ratio in (1.5, 0.6))
    assert (more.answer, less.answer) == (Answer.SLOWER, Answer.FASTER)
    assert more.ratio == pytest.approx(1.5, rel=0.03)
    assert more.ci95[0] < more.ratio < more.ci95[1]
    assert less.ci95[1] < 1
    for part, answer in ((0.4, Answer.SAME), (0.6, Answer.SLOWER)):
        verdict = ended(plan, *world(plan, 1 + part * plan.find, sd=0.0005))
        assert verdict.answer is answer
    assert verdict.power > 0.95


def test_equal_starts_raise_no_alarm_and_a_start_that_takes_longer_is_found():
    """At a scatter of 12 % from start to start, with the rate the same."""
    plan = Duel(metric="start_s")
    equal = [ended(plan, *world(plan, 1.0, sd=0.12, seed=seed)).answer for seed in range(200)]
    slow = [ended(plan, *world(plan, 1.25, sd=0.12, seed=seed)).answer for seed in range(60)]
    assert equal.count(Answer.SLOWER) <= 4
    assert equal.count(Answer.SAME) >= 180
    assert slow.count(Answer.SLOWER) >= 55


def test_a_rate_that_drops_below_the_load_is_worse_besides():
    plan = Duel(metric="memory_mib")
    verdict = ended(plan, *world(plan, 1.02, sd=0.005))
    assert verdict.answer is Answer.SAME
    assert 0.02 < verdict.bound < plan.find, "in the terms of the figure"
    verdict = ended(plan, *world(plan, 1.0, rate=0.8))
    assert verdict.answer is Answer.SAME
    (rate,) = verdict.worse
    assert (rate.name, rate.ratio) == ("completed_rate", pytest.approx(0.8))


# ---- the rounds


@dataclass
class Starter(Zones):
    """A server whose starts and reloads take this long (s)."""

    takes_s: float = 0.2
    letter: str = ""
    log: list = field(default_factory=list)
    reloads: int = 0
    stalls_for: float = 1.0
    """How long an operation stops it, over what it usually does (ratio)."""

    def start(self):
        self.log.append(self.letter)
        chance = random.Random(f"{self.letter} {len(self.events)}")  # noqa: S311 - a simulation
        took_s = self.takes_s * math.exp(0.01 * chance.gauss(0, 1))
        return msgspec.structs.replace(super().start(), start_s=took_s)

    def reload(self):
        self.reloads += 1
        return self.takes_s * (1 + 0.001 * (self.reloads % 5))

    def operate(self, name):
        done = super().operate(name)
        begun, length = self.stalls.pop()
        self.stalls.append((begun, self.stalls_for * length))
        return done

    def sample_now(self):
        return msgspec.structs.replace(super().sample_now(), rss_bytes=int(4e8 * self.takes_s))

    def begin_profile(self):
        raise AssertionError("a duel profiles nothing")

    def end_profile(self):
        return Sampled("", 0, 0.0, 0, {})


def fight(metric, a, b, **parameters):
    """A duel by a metric between two formulas, to its end: its verdict and its points."""
    bench = formula_bench(name="duel", rounds=12, rate=8000, metric=metric, **parameters)
    server = replace(bench.server, capabilities=("reload",))
    bench = replace(bench, servers={"server": server})
    points = tuple(begun_point(bench, zones) for zones in (a, b))
    DuelRounds(points).run()
    return judge(bench.procedure, *(point.rounds for point in points)), points


def two(b_s=0.2, capacity=9000):
    log = []
    return (
        Starter(9000, takes_s=0.2, letter="A", log=log),
        Starter(capacity, takes_s=b_s, letter="B", log=log),
    )


@pytest.mark.parametrize(
    ("metric", "capacity", "asked", "outcomes"),
    [
        ("start_s", 0, {}, [None, Outcome.BUILD]),
        ("stall_s", 9000, {"operations": ["relaod"]}, [Outcome.USAGE, None]),
    ],
)
def test_a_server_that_serves_nothing_or_lacks_an_operation_ends_the_duel(
    metric, capacity, asked, outcomes
):
    verdict, points = fight(metric, *two(capacity=capacity), **asked)
    assert verdict is None
    assert [point.error and point.error.outcome for point in points] == outcomes
    assert capacity or "completes nothing" in str(points[1].error)


@pytest.mark.parametrize(("b_s", "answer"), [(0.2, Answer.SAME), (0.4, Answer.SLOWER)])
@pytest.mark.parametrize("metric", ["start_s", "reload_s"])
def test_rounds_of_starts_have_no_load_but_the_proof_that_each_serves(metric, b_s, answer):
    a, b = two(b_s)
    verdict, points = fight(metric, a, b)
    assert (verdict.answer, verdict.final) == (answer, True)
    assert verdict.ratio == pytest.approx(b_s / 0.2, rel=0.03)
    for point in points:
        assert [len(made.trials) for made in point.rounds] == [0] * len(point.rounds)
        proofs = [len(made.warm_ups) for made in point.rounds]
        assert proofs == [1, *[0] * (len(proofs) - 1)]
        assert point.rounds[0].warm_ups[0].completed > 0
    wanted = ["BA" if Duel().order_of(made.index) else "AB" for made in points[0].rounds]
    assert "".join(a.log) == "".join(wanted)
    assert (a.reloads > 0) == (metric == "reload_s")


def test_a_start_takes_seconds_and_a_round_of_load_many():
    assert Duel(metric="start_s").round_s < 2
    assert Duel().round_s > 10
    assert Duel(metric="start_s").within(60).rounds > 30


@pytest.mark.parametrize("metric", ["memory_mib", "cpu_us", "p99_s"])
def test_what_is_no_rate_is_measured_at_one_load_that_both_serve(metric):
    a, b = two(0.4)
    verdict, points = fight(metric, a, b)
    rates = {trial.rate for point in points for made in point.rounds for trial in made.trials}
    assert len(rates) == 1
    assert rates.pop() / 9000 == pytest.approx(BELOW, rel=0.05)
    losses = {made.metrics["loss_ratio"] for point in points for made in point.rounds}
    assert losses == {0.0}
    slower = metric == "memory_mib"
    assert verdict.answer is (Answer.SLOWER if slower else Answer.SAME)
    assert points[0].method.procedure.metrics("queries")[0].name == metric


@pytest.mark.parametrize(("longer", "answer"), [(1.0, Answer.SAME), (4.0, Answer.SLOWER)])
def test_both_are_operated_in_each_trial_of_a_duel_about_stalls(longer, answer):
    a, b = two()
    b.stalls_for = longer
    verdict, points = fight("stall_s", a, b, operations=["reload"], every_s=10)
    assert (verdict.answer, verdict.final) == (answer, True)
    assert verdict.ratio == pytest.approx(longer, rel=0.03)
    assert not verdict.worse
    for point, server in zip(points, (a, b), strict=True):
        last = point.rounds[-1]
        (trial,) = last.trials
        assert (trial.duration_s, trial.rate) == (15, points[0].rounds[0].trials[0].rate)
        assert [made.name for made in trial.operations] == ["reload"]
        assert last.metrics["stall_s"] == pytest.approx(0.25 * server.stalls_for, abs=0.01)
        assert last.metrics["step_1_stall_s"] == last.metrics["stall_s"]


@pytest.mark.parametrize("metric", ["start_s", "memory_mib"])
@pytest.mark.parametrize("side", [0, 1])
@pytest.mark.parametrize("at", [2, 3, 5, 8])
def test_a_duel_that_was_killed_goes_on_to_the_same_answer(metric, side, at):
    both = two(0.3)
    both[side].kill_at = at
    with pytest.raises(Killed):
        fight(metric, *both)
    verdict, _ = fight(metric, *both)
    assert (verdict.answer, verdict.final) == (Answer.SLOWER, True)
