"""A duel: which server is faster, when that is known, and what is done until then."""

import math
import random
from dataclasses import replace
from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace as replace_struct
from tests.doubles import Killed
from tests.examples import round_of, trial_of
from tests.formula import Flood, Zones, formula_bench

from leaselab.analysis.duel import (
    LEAST_LOSS,
    Answer,
    estimate,
    judge,
    places_differ,
    power,
    trimmed,
)
from leaselab.measure.overload import lifted, next_load, next_sight, sighted
from leaselab.measure.point import Point, journaled
from leaselab.measure.procedures import method_of
from leaselab.measure.trials import Trials
from leaselab.model.errors import (
    LeaselabError,
    Outcome,
    invalid_measurement,
    lab_broken,
    server_broken,
)
from leaselab.model.journal import entry_of
from leaselab.model.procedures import procedure_of
from leaselab.model.procedures.duel import LEAST_ROUNDS, PAUSE_S, Duel, order_of
from leaselab.run.duel import Fight

PLAN = Duel(rounds=20)


def made(ratios, *, loss=0.05, cpu=1.0):
    """Rounds of A, and of B at these ratios to it."""

    def round_at(index, rate, cpu_us):
        metrics = {"completed_rate": rate, "loss_ratio": loss, "cpu_us": cpu_us}
        return round_of(index=index, metrics=metrics, traffic_s=6.0, wall_s=20.0)

    first = [round_at(index, 1000.0, 50.0) for index in range(1, len(ratios) + 1)]
    second = [
        round_at(index, 1000.0 * ratio, 50.0 * cpu)
        for index, ratio in enumerate(ratios, start=1)
    ]
    return first, second


def scattered(ratio, count, sd=0.01, seed=1):
    chance = random.Random(seed)  # noqa: S311 - a simulation
    return [ratio * math.exp(sd * chance.gauss(0, 1)) for _ in range(count)]


# ---- the statistics


@pytest.mark.parametrize(
    ("ratio", "answer"),
    [(0.95, Answer.SLOWER), (1.0, Answer.SAME), (1.05, Answer.FASTER)],
)
def test_a_large_change_or_none_is_reported_at_an_early_look(ratio, answer):
    first_look = PLAN.looks[1]
    judgement = judge(PLAN, *made(scattered(ratio, first_look, sd=0.002)))
    assert (judgement.answer, judgement.final) == (answer, True)
    assert judgement.ci95[0] < ratio < judgement.ci95[1]


def test_nothing_is_reported_before_the_first_look_and_between_two_the_last_one_stands():
    first, second, *_ = PLAN.looks
    ratios = scattered(0.99, second - 1, sd=0.03)
    assert judge(PLAN, *made(ratios[: first - 1])) is None
    assert judge(PLAN, *made(ratios)) == judge(PLAN, *made(ratios[:first]))


def test_what_scatters_too_much_ends_without_an_answer():
    judgement = judge(PLAN, *made(scattered(0.98, PLAN.rounds, sd=0.08)))
    assert (judgement.answer, judgement.final) == (Answer.UNKNOWN, True)
    assert judgement.power < 0.5


def test_a_change_that_is_too_small_to_count_is_none_however_sure_it_is():
    judgement = judge(PLAN, *made(scattered(0.99, min(PLAN.looks), sd=0.00005)))
    assert (judgement.answer, judgement.look) == (Answer.SAME, 1)
    assert judgement.p < 0.001
    assert judgement.bound == pytest.approx(0.01, abs=0.005)


def test_the_order_of_a_round_is_taken_out():
    """Some rounds have another order and place; that is no noise, and no change."""
    swing = [1.02 if order_of(index) else 0.98 for index in range(1, PLAN.rounds + 1)]
    judgement = judge(
        PLAN, *made([s * r for s, r in zip(swing, scattered(1, 20, 0.001), strict=True)])
    )
    assert judgement.answer is Answer.SAME
    assert judgement.ratio == pytest.approx(1.0, abs=0.002)
    assert judgement.order == pytest.approx(1.02, abs=0.002)


def test_rounds_in_which_neither_server_lost_anything_do_not_count():
    first, second = made(scattered(0.9, 8), loss=LEAST_LOSS / 2)
    assert judge(PLAN, first, second) is None


def lossy(rounds, losses):
    """The same rounds with these losses."""
    return [
        replace_struct(round_, metrics={**round_.metrics, "loss_ratio": loss})
        for round_, loss in zip(rounds, losses, strict=True)
    ]


def test_a_round_counts_whichever_of_the_two_was_fast_in_it():
    """One that is dropped as the first server was fast would make the second one faster."""
    ratios = scattered(1.0, 12, sd=0.01)
    first, second = made(ratios)
    fast = [ratio < 0.99 for ratio in ratios]
    first = lossy(first, [0.0 if item and at else 0.05 for at, item in enumerate(fast)])
    judgement = judge(Duel(rounds=12), first, second)
    assert sum(fast[1:]) > 0
    assert judgement.rounds == 12


def test_rounds_count_from_the_first_load_that_is_too_much_for_both():
    ratios = [1.05, 1.08, *scattered(1.2, 10, sd=0.004)]
    first, second = made(ratios)
    second = lossy(second, [0.0, 0.0, *[0.03] * 10])
    judgement = judge(Duel(rounds=12), first, second)
    assert (judgement.rounds, judgement.capped) == (10, False)
    assert judgement.ratio == pytest.approx(1.2, abs=0.01)


def test_a_server_that_serves_all_of_every_load_is_faster_by_at_least_so_much():
    first, second = made(scattered(1.08, 12, sd=0.002))
    judgement = judge(Duel(rounds=12), first, lossy(second, [0.0] * 12))
    assert (judgement.answer, judgement.capped) == (Answer.FASTER, True)


def test_a_server_that_completes_nothing_is_slower():
    judgement = judge(PLAN, *made([0.0] * 8))
    assert judgement.answer is Answer.SLOWER
    assert judgement.ratio < 0.01


@pytest.mark.parametrize("spoiled", [0, 3, 5])
def test_a_few_rounds_that_are_far_off_move_nothing(spoiled):
    ratios = scattered(0.97, PLAN.rounds, sd=0.008)
    ratios[2 : 2 + 3 * spoiled : 3] = [0.75, 1.3, 0.8, 1.25, 0.7][:spoiled]
    judgement = judge(PLAN, *made(ratios))
    assert judgement.answer is Answer.SLOWER
    assert judgement.ratio == pytest.approx(0.97, abs=0.006)


def test_ratios_that_go_on_from_round_to_round_are_no_answer():
    walk = [math.exp(-0.022 + 0.024 * math.sin(at * math.pi / 8)) for at in range(33)]
    judgement = judge(Duel(), *made(walk))
    assert (judgement.answer, judgement.correlated) == (Answer.UNKNOWN, True)
    random.Random(8).shuffle(walk)  # noqa: S311 - a simulation
    judgement = judge(Duel(), *made(walk))
    assert (judgement.answer, judgement.correlated) == (Answer.SLOWER, False)


def test_a_large_change_is_reported_though_ratios_go_on_from_round_to_round():
    judgement = judge(PLAN, *made([0.9 + 0.0002 * at for at in range(PLAN.rounds)]))
    assert (judgement.answer, judgement.correlated) == (Answer.SLOWER, False)


def test_a_server_that_is_far_slower_in_each_round_is_slower_whatever_goes_on():
    """Seen of a server that was 41 % slower, on a busy machine."""
    ratios = [0.669, 0.646, 0.561, 0.491, 0.598, 0.561, 0.599]
    judgement = judge(Duel(rounds=6), *made(ratios))
    assert (judgement.answer, judgement.correlated) == (Answer.SLOWER, False)


def test_processor_time_is_judged_too_and_worse_by_itself():
    judgement = judge(PLAN, *made(scattered(0.99, PLAN.rounds, sd=0.003), cpu=1.05))
    assert judgement.answer is Answer.SAME
    assert [metric.name for metric in judgement.worse] == ["cpu_us"]
    assert judgement.cpu.ratio == pytest.approx(1.05)


def test_no_change_waits_while_processor_time_looks_like_more():
    """Of CPU time that scatters, it is not sure at the first look whether it counts."""
    first, second = made([1.0] * PLAN.rounds)
    cost = scattered(1.025, PLAN.rounds, sd=0.02, seed=4)
    second = [
        replace_struct(round_, metrics={**round_.metrics, "cpu_us": 50.0 * of})
        for round_, of in zip(second, cost, strict=True)
    ]
    plain, looked = judge(PLAN, *made([1.0] * 5)), judge(PLAN, first[:5], second[:5])
    assert (plain.final, plain.answer) == (True, Answer.SAME)
    assert looked.cpu.ratio > 1.015
    assert looked.final is False


@pytest.mark.parametrize(
    ("name", "more", "worse"),
    [
        ("p99_s", 1.4, True),
        ("p99_s", 1.05, False),
        ("memory_mib", 1.15, True),
        ("memory_mib", 1.02, False),
        ("start_s", 1.5, True),
        ("start_s", 1.05, False),
    ],
)
def test_other_figures_have_a_smallest_change_of_their_own(name, more, worse):
    first, second = made(scattered(1.0, PLAN.rounds, sd=0.003))
    noise = scattered(1.0, PLAN.rounds, sd=0.01, seed=7)
    first = [replace_struct(round_, metrics={**round_.metrics, name: 0.2}) for round_ in first]
    second = [
        replace_struct(round_, metrics={**round_.metrics, name: 0.2 * more * of})
        for round_, of in zip(second, noise, strict=True)
    ]
    judgement = judge(PLAN, first, second)
    assert judgement.answer is Answer.SAME
    assert [metric.name for metric in judgement.worse] == [name] * worse
    assert name in [other.name for other in judgement.others]


def test_no_change_is_said_of_what_may_be_a_small_gain_but_not_of_what_looks_like_one():
    """Only a drop has to be excluded: duels of equal servers end sooner by that."""
    level = scattered(1.0, 8, sd=0.01, seed=2)
    level = [item / math.prod(level) ** (1 / 8) for item in level]
    equal = judge(PLAN, *made([item * 1.01 for item in level]))
    assert (equal.answer, equal.final) == (Answer.SAME, True)
    assert equal.bound > 0.01
    faster = judge(PLAN, *made([item * 1.016 for item in level]))
    assert (faster.answer, faster.final) == (Answer.UNKNOWN, False)


def test_rounds_that_go_on_make_a_change_doubtful_and_no_change_not():
    walk = [math.exp(0.012 * math.sin(at * math.pi / 10)) for at in range(20)]
    judgement = judge(PLAN, *made(walk))
    assert (judgement.answer, judgement.correlated) == (Answer.SAME, False)


def test_the_interval_holds_the_truth_as_often_as_it_says_whenever_the_duel_ends():
    """An interval of 95 % at each look would hold it in 91 of 100 at -2 %."""
    plan, held = Duel(rounds=20), 0
    for seed in range(300):
        ratios = scattered(0.98, plan.rounds, sd=0.02, seed=seed)
        for look in plan.looks:
            judgement = judge(plan, *made(ratios[:look]))
            if judgement.final:
                break
        held += judgement.ci95[0] <= 0.98 <= judgement.ci95[1]
    assert held >= 0.95 * 300


def test_places_that_differ_are_seen_in_the_first_rounds():
    """The second server is at the slow place in rounds of the first order."""
    far = [0.8 if order_of(index) else 1.25 for index in range(1, 5)]
    assert places_differ(
        *made([a * b for a, b in zip(far, scattered(1, 4, 0.01), strict=True)])
    )
    assert places_differ(*made(scattered(1.0, 4))) is None


def test_all_looks_together_have_the_permitted_errors():
    for rounds in range(LEAST_ROUNDS, 100):
        plan = Duel(rounds=rounds)
        assert sum(plan.alarms) == pytest.approx(plan.false_alarm)
        assert 0 < sum(plan.misses) < plan.missed
        assert min(*plan.alarms, *plan.misses) > 0
        assert len(plan.alarms) == len(plan.misses) == len(plan.looks)
        assert [*plan.looks] == sorted({*plan.looks})
        assert plan.looks[-1] == rounds


def test_an_estimate_needs_two_rounds_of_each_order():
    assert estimate([(1, 0.0), (2, 0.0), (3, 0.0)]) is None
    orders = [order_of(index) for index in range(1, 5)]
    assert sorted(orders) == [0, 0, 1, 1]
    result = estimate([(index, 0.1 + 0.2 * of) for index, of in enumerate(orders, start=1)])
    assert (result.mean, result.error, result.df) == (pytest.approx(0.2), pytest.approx(0), 2)


def test_power_grows_with_the_drop_and_falls_with_the_noise():
    def chance(error, drop):
        return power(error, 20, drop, 0.005, least=0.015)

    assert chance(0.005, 0.03) > chance(0.01, 0.03)
    assert chance(0.005, 0.03) > chance(0.005, 0.02)
    assert chance(0.0, 0.03) == 1.0


def test_power_is_what_a_simulation_finds():
    """The share of duels at the last look alone that call a drop slower."""
    plan = Duel(rounds=LEAST_ROUNDS * 3)
    sd, alpha = 0.02, plan.alarms[-1]
    trim = trimmed(plan.rounds)
    df = plan.rounds - 2 * trim - 2
    expected = power(sd / math.sqrt(plan.rounds), df, 0.03, alpha, least=0.015)
    chance = random.Random(5)  # noqa: S311 - a simulation
    result = 0
    for _ in range(400):
        values = [(i, math.log(0.97) + sd * chance.gauss(0, 1)) for i in range(plan.rounds)]
        item = estimate(values)
        result += item.p_below(1.0) < alpha and item.ratio < 0.985
    assert result / 400 == pytest.approx(expected, abs=0.08)


@pytest.mark.parametrize(
    ("parameters", "what"),
    [
        ({"rounds": 3}, "rounds is out of range .found 3, wanted a whole number from 4"),
        ({"over": 1.0}, "over is out of range .found 1.0, wanted a number above 1 to 2"),
        ({"find": 0.6}, "find is out of range"),
        ({"rate": 9, "max_rate": 8}, "out of range"),
        ({"reset": "at-start"}, "a duel resets its servers itself"),
    ],
)
def test_a_duel_that_could_come_to_no_answer_is_refused(parameters, what):
    with pytest.raises(LeaselabError, match=what):
        procedure_of({"name": "duel", **parameters})


def test_a_budget_is_rounds_and_too_small_a_one_is_refused():
    plan = Duel()
    assert 600 < plan.within(900).rounds * plan.round_s <= 900
    with pytest.raises(LeaselabError, match="too little time"):
        plan.within(40)


# ---- the load


def trial(rate, capacity, *, valid=True, reason=""):
    return trial_of(rate, 3, 3 * max(0, rate - capacity), valid=valid, reason=reason)


@pytest.mark.parametrize("capacity", [30, 700, 6000, 90_000])
def test_a_load_a_little_above_the_server_is_found_in_few_trials(capacity):
    looked = []
    while (rate := sighted(PLAN, looked)) is None:
        looked.append(trial(next_sight(PLAN, looked), capacity))
    assert 0.02 <= 1 - capacity / rate <= 0.15
    assert len(looked) <= 16


def test_a_server_that_collapses_under_load_has_the_lightest_load_that_is_too_much():
    looked = []
    while (rate := sighted(PLAN, looked)) is None:
        wanted = next_sight(PLAN, looked)
        looked.append(trial(wanted, wanted if wanted <= 5000 else 2000))
    assert 5000 < rate <= 5250


def looked_for(capacity, most=math.inf, *, bursts=0.0):
    """The load that is found for a server, and the trials that were made for it.

    The generator offers so much `most`; bursts lose this share of any load.
    """
    looked = []
    while (rate := sighted(PLAN, looked)) is None:
        wanted = next_sight(PLAN, looked)
        short = {"valid": False, "reason": "generator-limited"} if wanted > most else {}
        looked.append(trial(wanted, min(capacity, (1 - bursts) * wanted), **short))
    return rate, looked


@pytest.mark.parametrize("bursts", [0.03, 0.08, 0.12])
@pytest.mark.parametrize("capacity", [900, 7000, 13_600])
def test_a_load_that_loses_by_bursts_alone_is_too_light(capacity, bursts):
    rate, looked = looked_for(capacity, bursts=bursts)
    assert 1.02 <= rate / capacity <= 1.65
    assert len(looked) <= 26


def test_a_server_that_drifts_too_much_has_a_load_by_all_limits_that_were_seen():
    looked = [trial(rate, 900 + 7 * at) for at in range(15) for rate in (1000 + at, 1200 + at)]
    assert 0.9 < sighted(PLAN, looked) / 1020 < 1.3


def soft(capacity, offered, knee=8):
    """What a server completes whose limit is a soft knee."""
    return capacity * (1 + (capacity / offered) ** knee) ** (-1 / knee)


@pytest.mark.parametrize("knee", [6, 8, 16])
def test_a_soft_limit_is_looked_for_where_a_heavier_load_is_completed_no_faster(knee):
    looked = []
    while (rate := sighted(PLAN, looked)) is None:
        wanted = next_sight(PLAN, looked)
        looked.append(trial(wanted, soft(7000, wanted, knee)))
    shown = soft(0.97 * 7000, rate, knee) / soft(7000, rate, knee)
    assert shown == pytest.approx(0.97, abs=0.005)


def lifted_to(capacity, rate=1050, most=math.inf):
    """The load that the second server looks for, and how many trials that takes."""
    made_by = []
    while not (rate_found := lifted(PLAN, rate, made_by))[1]:
        short = {"valid": False, "reason": "generator-limited"} if rate_found[0] > most else {}
        made_by.append(trial(rate_found[0], capacity, **short))
    return rate_found[0], len(made_by)


def test_the_load_is_raised_to_what_the_second_server_does_not_serve():
    assert lifted_to(1000) == (1050, 1)
    rate, trials = lifted_to(1300)
    assert 1.02 <= rate / 1300 <= 1.1
    assert trials <= 4


def test_the_load_is_not_raised_beyond_what_the_generator_offers():
    assert lifted_to(2000, most=1400)[0] == 1260


def test_a_generator_that_offers_enough_more_than_is_served_will_do():
    rate, _ = looked_for(13_000, most=15_300)
    assert 13_000 < rate <= 15_300


def test_a_generator_that_offers_a_little_more_than_is_served_shows_no_limit():
    with pytest.raises(LeaselabError, match="cannot offer enough more") as caught:
        looked_for(14_200, most=15_300)
    assert caught.value.outcome is Outcome.INVALID


@pytest.mark.parametrize("bursts", [0.0, 0.01])
def test_a_generator_that_offers_a_little_less_than_is_served_is_not(bursts):
    with pytest.raises(LeaselabError, match="generator is slower") as caught:
        looked_for(14_200, most=14_000, bursts=bursts)
    assert caught.value.outcome is Outcome.INVALID


def test_a_generator_that_offers_less_than_what_bursts_are_lost_of_shows_no_limit():
    with pytest.raises(LeaselabError, match="cannot offer enough more"):
        looked_for(19_000, most=15_300, bursts=0.03)


def test_a_max_rate_that_leaves_no_room_for_a_heavier_load_is_to_be_raised():
    looked = [trial(1900, 1800)]
    with pytest.raises(LeaselabError, match="no load was found") as caught:
        next_sight(Duel(max_rate=2000), looked)
    assert "raise max_rate" in str(caught.value)


def test_what_the_generator_failed_to_offer_once_is_tried_again():
    limited = trial(2000, 1500, valid=False, reason="generator-limited")
    assert next_sight(PLAN, [limited]) == 2000
    assert next_sight(PLAN, [limited, limited]) == 1575


def test_no_load_is_looked_for_without_end():
    looked = [trial(1000, 0, valid=False, reason="malformed-replies")] * 30
    with pytest.raises(LeaselabError, match="no load was found"):
        next_sight(PLAN, looked)


@pytest.mark.parametrize(
    ("losses", "expected"),
    [
        ((0.001, 0.05), 1050),
        ((0.05, 0.001), 1050),
        ((0.05, 0.08), 1000),
        ((0.3, 0.05), 1000),
        ((0.3, 0.4), 756),
        ((None, 0.3), 1000),
    ],
)
def test_the_load_follows_the_faster_server_from_round_to_round(losses, expected):
    def lost(loss):
        completed = None if loss is None else 1000 * (1 - loss)
        return SimpleNamespace(
            trials=[SimpleNamespace(rate=1000)],
            metrics={"loss_ratio": loss, "completed_rate": completed},
        )

    begun = lost(0.0)
    assert next_load(PLAN, *([begun, lost(loss)] for loss in losses)) == expected


# ---- the rounds


class Log:
    """What both servers were asked, in order."""

    def __init__(self):
        self.lines = []


class Fighter(Zones):
    """One server of a duel; it writes down what is done with it."""

    def __init__(self, letter, log, capacity, **fields):
        super().__init__(capacity, **fields)
        self.letter, self.log, self.fails = letter, log, None

    def start(self):
        self.log.lines.append(f"start {self.letter}")
        return super().start()

    def stop(self):
        self.log.lines.append(f"stop {self.letter}")

    def answers(self, *asked):
        if self.fails is not None and len(self.events) >= self.fails[0]:
            raise self.fails[1]
        return super().answers(*asked)


class Asking(Flood):
    """The generator; it writes down whom it asks, and where."""

    def __init__(self, bench, procedure, host, slow):
        super().__init__(bench, procedure, host)
        self.slow = slow
        self.place = bench.server.test_address[-1]

    def offer(self, load, *, may_abort):
        self.host.log.lines.append(f"{self.host.letter}{self.place} {load.rate}")
        whole = self.host.capacity
        self.host.capacity = whole * self.slow
        try:
            return super().offer(load, may_abort=may_abort)
        finally:
            self.host.capacity = whole


def trials_of(fighter, bench, recorder=None, slow=1.0):
    hosts = {"server": fighter, "generator": fighter}
    generator = Asking(bench, bench.procedure, fighter, slow)
    return Trials(bench, bench.procedure, fighter, generator, recorder or fighter, hosts)


def fight(
    a=9000,
    b=9000,
    *,
    both=False,
    fighters=None,
    sleep=lambda _: None,
    slow_place=1.0,
    **parameters,
):
    """A duel between two formulas, fought to its end; its points.

    The second place completes so much of what the first one does (ratio).
    """
    bench = formula_bench(name="duel", rounds=12, rate=8000, **parameters)
    bench = replace(bench, servers={"server": replace(bench.server, test_address="place 1")})
    log = Log()
    fighters = fighters or (Fighter("A", log, a), Fighter("B", log, b))
    points = tuple(
        Point(
            method_of(bench.procedure),
            trials_of(fighter, bench),
            fighter,
            fighter,
            fighter,
            journaled(entry_of(*event) for event in fighter.events),
            sleep=sleep,
        )
        for fighter in fighters
    )
    second = replace(bench, servers={"server": replace(bench.server, test_address="place 2")})
    elsewhere = tuple(trials_of(fighter, second, slow=slow_place) for fighter in fighters)
    elsewhere = elsewhere if both else None
    Fight(points, elsewhere).run()
    return points, fighters


def verdict(points):
    return judge(points[0].method.procedure, *(point.rounds for point in points))


@pytest.mark.parametrize("both", [False, True])
@pytest.mark.parametrize(
    ("b", "answer"), [(9000, Answer.SAME), (8550, Answer.SLOWER), (9900, Answer.FASTER)]
)
def test_two_servers_are_distinguished_and_the_duel_ends_with_the_answer(b, answer, both):
    points, _ = fight(b=b, both=both)
    judgement = verdict(points)
    assert (judgement.answer, judgement.final) == (answer, True)
    assert [len(point.rounds) for point in points] in ([4, 4], [5, 5])
    assert all(point.finished and point.error is None for point in points)


def filling(b, clients_s):
    """A duel of servers whose transactions cost more, the more they hold; what came of it."""
    log = Log()
    fighters = [Fighter(name, log, rate, grows=2e-4) for name, rate in (("A", 9000), ("B", b))]
    points, _ = fight(fighters=fighters, both=True, clients_s=clients_s)
    return verdict(points), points


@pytest.mark.parametrize(("loop", "answer"), [(1.0, Answer.SAME), (1.05, Answer.SLOWER)])
def test_a_loop_of_5_percent_is_found_where_servers_slow_down_as_they_fill(loop, answer):
    """The slower one would hold less, and so seem nearly as fast, if each client were new."""
    result, points = filling(9000 / loop, clients_s=1)
    assert result.answer is answer
    assert result.ratio == pytest.approx(1 / loop, abs=0.005)
    sizes = {round_.metrics["clients"] for point in points for round_ in point.rounds}
    assert sizes == {math.ceil(0.75 * points[0].rounds[0].trials[-1].rate)}
    hidden, _ = filling(9000 / loop, clients_s=0)
    assert hidden.ratio == 1.0 or hidden.ratio > 1 / loop + 0.01


def test_all_clients_are_served_before_the_trials_and_nothing_is_emptied_after_them():
    points, fighters = fight(both=True)
    for point, fighter in zip(points, fighters, strict=True):
        assert {item.held for item in fighters} == {point.rounds[0].metrics["clients"]}
        last = point.rounds[-1].warm_ups
        assert [trial.loss_ratio for trial in last] == [0.0]
        assert sum(trial.completed for trial in last) == pytest.approx(fighter.held, abs=2)


def test_a_server_that_cannot_serve_all_clients_at_once_gets_them_more_slowly():
    """One that is far slower than the other holds as many."""
    points, fighters = fight(b=6000, both=True)
    first, second = (point.rounds[-1].warm_ups for point in points)
    assert [trial.loss_ratio for trial in first] == [0.0]
    assert [item.duration_s for item in second] == [1, 2]
    assert second[0].loss_ratio > LEAST_LOSS > second[1].loss_ratio
    assert fighters[0].held == fighters[1].held


def test_one_up_at_a_time_takes_turns_in_the_order_of_each_round():
    _, (first, _) = fight()
    started = [line[-1] for line in first.log.lines if line.startswith("start")]
    wanted = ["BA" if order_of(index) else "AB" for index in range(1, 5)]
    assert "".join(started[:8]) == "".join(wanted)


def test_what_comes_every_other_round_meets_both_servers():
    """Of each four rounds two have each order, and not always the same two."""
    orders = [[order_of(4 * block + at) for at in range(1, 5)] for block in range(50)]
    assert all(sum(block) == 2 for block in orders)
    assert len({tuple(block) for block in orders}) == 6
    assert abs(sum(block[0] + block[2] for block in orders) - 50) < 20


def test_before_each_round_is_a_pause_of_another_length():
    waited = []
    fight(sleep=waited.append)
    assert len(waited) >= 4
    assert len(set(waited)) == len(waited)
    assert all(0 <= seconds <= PAUSE_S for seconds in waited)


def test_a_faster_server_is_measured_at_its_own_limit():
    for both in (True, False):
        points, _ = fight(b=13_500, both=both)
        judgement = verdict(points)
        assert (judgement.answer, judgement.capped) == (Answer.FASTER, False)
        assert judgement.ratio == pytest.approx(1.5, abs=0.02)


def test_places_that_differ_end_the_duel_after_the_first_rounds():
    points, _ = fight(both=True, slow_place=0.8)
    assert [len(point.rounds) for point in points] == [LEAST_ROUNDS] * 2
    for point in points:
        assert point.error.outcome is Outcome.INVALID
        assert "the two places" in str(point.error)
        assert "less completed at one address" in str(point.error)


def test_both_up_take_turns_from_trial_to_trial_and_are_stopped_together():
    _, (first, _) = fight(both=True, trials=2)
    lines = first.log.lines
    second = lines[lines.index("stop A") + 1 :]
    assert order_of(2) == 1
    asked = ["B1", "A2", "B1", "A2", "A2", "B1"]
    assert [line.split()[0] for line in second[:8]] == ["start", "start", *asked]
    assert sorted(second[8:10]) == ["stop A", "stop B"]


def test_two_that_are_up_are_never_at_one_place_and_each_is_at_both():
    _, (first, _) = fight(both=True, trials=2)
    asked = [line.split()[0] for line in first.log.lines if line[0] in "AB"]
    rounds = [set(asked[at : at + 6]) for at in range(len(asked) - 18, len(asked), 6)]
    wanted = [{"A2", "B1"} if order_of(index) else {"A1", "B2"} for index in (3, 4, 5)]
    assert rounds == wanted


def test_within_a_round_both_have_the_same_load_a_little_above_the_first():
    points, _ = fight(b=7000)
    for round_, other in zip(points[0].rounds, points[1].rounds, strict=True):
        rates = {trial.rate for trial in (*round_.trials, *other.trials)}
        assert len(rates) == 1
        assert 1.02 <= rates.pop() / 9000 <= 1.15


@pytest.mark.parametrize("both", [False, True])
def test_a_server_that_fails_ends_both_and_is_the_only_one_to_blame(both):
    log = Log()
    fighters = (Fighter("A", log, 9000), Fighter("B", log, 9000))
    fighters[1].fails = (4, server_broken("it died"))
    points, _ = fight(both=both, fighters=fighters)
    assert [point.error is None for point in points] == [True, False]
    assert all(point.finished for point in points)


@pytest.mark.parametrize("both", [False, True])
def test_a_load_that_is_not_found_is_a_matter_of_the_first_server(both):
    log = Log()
    fighters = (Fighter("A", log, 9000), Fighter("B", log, 9000))
    fighters[0].fails = (2, invalid_measurement("no load was found"))
    points, _ = fight(both=both, fighters=fighters)
    assert [point.error is None for point in points] == [False, True]
    assert not points[1].rounds


def test_a_broken_lab_is_raised_and_ends_nothing():
    log = Log()
    fighters = (Fighter("A", log, 9000), Fighter("B", log, 9000))
    fighters[1].fails = (4, lab_broken("the switch is off"))
    with pytest.raises(LeaselabError, match="switch"):
        fight(fighters=fighters)


@settings(max_examples=30)
@given(st.integers(0, 1), st.integers(1, 30), st.booleans())
def test_a_duel_killed_anywhere_goes_on_to_the_same_answer(side, at, both):
    whole, _ = fight(b=8550, both=both)
    log = Log()
    fighters = (Fighter("A", log, 9000), Fighter("B", log, 8550))
    fighters[side].kill_at = at
    try:
        points, _ = fight(both=both, fighters=fighters)
    except Killed:
        points, _ = fight(both=both, fighters=fighters)
    assert verdict(points).answer is verdict(whole).answer
    assert [len(point.rounds) for point in points] == [len(point.rounds) for point in whole]
