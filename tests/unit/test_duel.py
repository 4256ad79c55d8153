"""The verdict of a duel, its looks and its power."""

import math
import random

import numpy as np
import pytest
from msgspec.structs import replace as replace_struct
from scipy import stats
from tests.examples import round_of, trial_of
from tests.refusals import refused

from leaselab.analysis.duels.duel import LEAST_LOSS, Answer, Said, judge, places_differ
from leaselab.analysis.duels.estimate import Estimate, estimate, power, trimmed
from leaselab.model.procedures import procedure_of
from leaselab.model.procedures.duel import LEAST_ROUNDS, Duel

PLAN, SAME = Duel(rounds=20), Answer.SAME


def made(ratios, *, loss=0.05, cpu=1.0):
    """Rounds of A, and of B at these ratios to it."""

    def rounds(rates, cpu_us):
        return [
            round_of(
                index=index,
                metrics={"completed_rate": rate, "loss_ratio": loss, "cpu_us": cpu_us},
                traffic_s=6.0,
                wall_s=20.0,
            )
            for index, rate in enumerate(rates, start=1)
        ]

    second = [1000.0 * ratio for ratio in ratios]
    return rounds([1000.0] * len(ratios), 50.0), rounds(second, 50.0 * cpu)


def scattered(ratio, count, sd=0.01, seed=1):
    chance = random.Random(seed)  # noqa: S311 - a simulation
    return [ratio * math.exp(sd * chance.gauss(0, 1)) for _ in range(count)]


# ---- the statistics


def test_nothing_is_reported_before_the_first_look_and_between_two_the_last_one_stands():
    first, second, *_ = PLAN.looks
    ratios = scattered(0.99, second - 1, sd=0.03)
    assert judge(PLAN, *made(ratios[: first - 1])) is None
    assert judge(PLAN, *made(ratios)) == judge(PLAN, *made(ratios[:first]))


WALK = [math.exp(-0.022 + 0.024 * math.sin(at * math.pi / 8)) for at in range(33)]
SHUFFLED = random.Random(8).sample(WALK, len(WALK))  # noqa: S311 - a simulation


@pytest.mark.parametrize(
    ("rounds", "ratios", "answer", "correlated"),
    [
        # ratios that go on from round to round make a change doubtful
        (len(WALK), WALK, Answer.UNKNOWN, True),
        (len(WALK), SHUFFLED, Answer.SLOWER, False),
        # but neither a large change nor none
        (20, [0.9 + 0.0002 * at for at in range(20)], Answer.SLOWER, False),
        (20, [math.exp(0.012 * math.sin(at * math.pi / 10)) for at in range(20)], SAME, False),
        # seen of a server that was 41 % slower, on a busy machine
        (6, [0.669, 0.646, 0.561, 0.491, 0.598, 0.561, 0.599], Answer.SLOWER, False),
        (20, [0.0] * 8, Answer.SLOWER, False),
    ],
)
def test_ratios_that_go_on_from_round_to_round_are_no_answer_unless_it_is_plain(
    rounds, ratios, answer, correlated
):
    judgement = judge(Duel(rounds=rounds), *made(ratios))
    assert (judgement.answer, judgement.correlated) == (answer, correlated)
    assert (judgement.ratio < 0.01) is (ratios[0] == 0.0)


def test_what_scatters_too_much_ends_without_an_answer():
    judgement = judge(PLAN, *made(scattered(0.98, PLAN.rounds, sd=0.08)))
    assert (judgement.answer, judgement.final) == (Answer.UNKNOWN, True)
    assert judgement.power < 0.5


@pytest.mark.parametrize("spoiled", [0, 3, 5])
def test_a_few_rounds_that_are_far_off_move_nothing(spoiled):
    ratios = scattered(0.97, PLAN.rounds, sd=0.008)
    ratios[2 : 2 + 3 * spoiled : 3] = [0.75, 1.3, 0.8, 1.25, 0.7][:spoiled]
    judgement = judge(PLAN, *made(ratios))
    assert judgement.answer is Answer.SLOWER
    assert judgement.ratio == pytest.approx(0.97, abs=0.006)


def test_a_change_that_is_too_small_to_count_is_none_however_sure_it_is():
    judgement = judge(PLAN, *made(scattered(0.99, min(PLAN.looks), sd=0.00005)))
    assert (judgement.answer, judgement.look) == (Answer.SAME, 1)
    assert judgement.p < 0.001
    assert judgement.bound == pytest.approx(0.01, abs=0.005)


def test_the_order_of_a_round_is_taken_out():
    """Some rounds have another order and place; that is no noise, and no change."""
    swing = [1.02 if PLAN.order_of(index) else 0.98 for index in range(1, PLAN.rounds + 1)]
    judgement = judge(
        PLAN, *made([s * r for s, r in zip(swing, scattered(1, 20, 0.001), strict=True)])
    )
    assert judgement.answer is Answer.SAME
    assert judgement.ratio == pytest.approx(1.0, abs=0.002)
    assert judgement.order == pytest.approx(1.02, abs=0.002)


def test_rounds_in_which_neither_server_lost_anything_do_not_count():
    first, second = made(scattered(0.9, 8), loss=LEAST_LOSS / 2)
    assert judge(PLAN, first, second) is None


def having(rounds, name, values):
    """The same rounds, with these values of a figure."""
    return [
        replace_struct(round_, metrics={**round_.metrics, name: value})
        for round_, value in zip(rounds, values, strict=True)
    ]


def beside(name, more, sd, *, ratios=(1.0,) * PLAN.rounds, seed=1):
    """Rounds in which a figure of B is so much more, with this scatter, beside the rates."""
    first, second = made(ratios)
    noise = scattered(more, len(ratios), sd, seed)
    return (
        having(first, name, [0.2] * len(ratios)),
        having(second, name, [0.2 * of for of in noise]),
    )


def test_a_round_counts_whichever_of_the_two_was_fast_in_it():
    """One that is dropped as the first server was fast would make the second one faster."""
    ratios = scattered(1.0, 12, sd=0.01)
    first, second = made(ratios)
    fast = [ratio < 0.99 for ratio in ratios]
    losses = [0.0 if item and at else 0.05 for at, item in enumerate(fast)]
    judgement = judge(Duel(rounds=12), having(first, "loss_ratio", losses), second)
    assert sum(fast[1:]) > 0
    assert judgement.rounds == 12


@pytest.mark.parametrize(
    ("ratios", "losses", "rounds", "capped", "ratio"),
    [
        # rounds count from the first load that is too much for both
        ([1.05, 1.08, *scattered(1.2, 10, sd=0.004)], [0.0] * 2 + [0.03] * 10, 10, False, 1.2),
        # a server that serves all of every load is faster by at least so much
        (scattered(1.08, 12, sd=0.002), [0.0] * 12, 12, True, 1.08),
    ],
)
def test_a_load_that_a_server_serves_is_a_lower_limit_of_its_rate(
    *, ratios, losses, rounds, capped, ratio
):
    first, second = made(ratios)
    judgement = judge(Duel(rounds=12), first, having(second, "loss_ratio", losses))
    assert (judgement.answer, judgement.rounds) == (Answer.FASTER, rounds)
    assert (judgement.capped, judgement.ratio) == (capped, pytest.approx(ratio, abs=0.01))


def test_errors_that_are_larger_by_the_error_budget_ask_for_more():
    for ratio, answer in ((0.97, Answer.SLOWER), (1.0, Answer.SAME)):
        rounds = made(scattered(ratio, PLAN.rounds, sd=0.008))
        plain = judge(PLAN, *rounds)
        known = judge(replace_struct(PLAN, wider=8.0), *rounds)
        assert (plain.answer, known.answer) == (answer, Answer.UNKNOWN)
        assert known.error > 5 * plain.error  # which rounds that are alike may have widened
        assert known.power < plain.power


@pytest.mark.parametrize(
    ("name", "more", "sd"),
    [("cpu_us", 1.025, 0.02), ("p99_s", 1.5, 0.2), ("start_s", 1.4, 0.2)],
)
def test_no_change_waits_while_another_figure_looks_worse(name, more, sd):
    """Of a figure that scatters, it is not sure at the first look whether it counts."""
    first, second = beside(name, more, sd, seed=4)
    plain, looked = judge(PLAN, *made([1.0] * 5)), judge(PLAN, first[:5], second[:5])
    assert (plain.final, plain.answer) == (True, Answer.SAME)
    assert (looked.final, looked.waits) == (False, (name,))


@pytest.mark.parametrize(
    ("more", "sd", "said"),
    [
        (1.5, 0.02, Said.WORSE),
        (1.5, 0.45, Said.LIKELY),
        (1.0, 0.02, Said.EXCLUDED),
        (1.0, 0.6, Said.UNKNOWN),
    ],
)
def test_each_figure_has_a_word_and_no_change_that_is_looked_for_is_passed_over(more, sd, said):
    """A bound that is larger than what is looked for excludes nothing."""
    result = judge(PLAN, *beside("p99_s", more, sd))
    (p99,) = [item for item in result.others if item.name == "p99_s"]
    assert p99.said is said
    assert (p99.bound <= p99.least) is (said is Said.EXCLUDED)
    assert result.main.said is Said.EXCLUDED


@pytest.mark.parametrize(("metric", "counted"), [("completed_rate", 11), ("cpu_us", 9)])
def test_rounds_that_were_dropped_do_not_count_and_are_said(metric, counted):
    """Nor do those in which a load was looked for, where it is not about the limit."""
    first, second = made(scattered(0.97, 12, sd=0.005), cpu=1.05)
    spoiled = trial_of(1000, 3, 0, valid=False, reason="generator-limited")
    second[3] = replace_struct(second[3], trials=(spoiled,), metrics={})
    result = judge(Duel(rounds=12, metric=metric), first, second)
    assert (result.answer, result.rounds, result.dropped) == (Answer.SLOWER, counted, 1)


@pytest.mark.parametrize(
    ("name", "more", "worse"),
    [
        *(("cpu_us", 1.05, True), ("p99_s", 1.4, True), ("p99_s", 1.05, False)),
        *(("memory_mib", 1.15, True), ("memory_mib", 1.02, False)),
        *(("start_s", 1.5, True), ("start_s", 1.05, False)),
    ],
)
def test_other_figures_have_a_smallest_change_of_their_own(name, more, worse):
    ratios = scattered(1.0, PLAN.rounds, sd=0.003)
    judgement = judge(PLAN, *beside(name, more, 0.01, ratios=ratios, seed=7))
    assert judgement.answer is Answer.SAME
    assert [metric.name for metric in judgement.worse] == [name] * worse
    assert "cpu_us" in [other.name for other in judgement.others]
    (other,) = [metric for metric in judgement.others if metric.name == name]
    assert other.ratio == pytest.approx(more, rel=0.02)


def test_no_change_is_said_of_what_may_be_a_small_gain_but_not_of_what_looks_like_one():
    """Only a drop has to be excluded: duels of equal servers end sooner by that."""
    level = scattered(1.0, 8, sd=0.01, seed=2)
    level = [item / math.prod(level) ** (1 / 8) for item in level]
    equal = judge(PLAN, *made([item * 1.01 for item in level]))
    assert (equal.answer, equal.final) == (Answer.SAME, True)
    assert equal.bound > 0.01
    faster = judge(PLAN, *made([item * 1.016 for item in level]))
    assert (faster.answer, faster.final) == (Answer.UNKNOWN, False)


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
    far = [0.8 if PLAN.order_of(index) else 1.25 for index in range(1, 5)]
    differ = [a * b for a, b in zip(far, scattered(1, 4, 0.01), strict=True)]
    assert places_differ(PLAN, *made(differ))
    assert places_differ(PLAN, *made(scattered(1.0, 4))) is None


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
    assert estimate(PLAN, [(1, 0.0), (2, 0.0), (3, 0.0)]) is None
    orders = [PLAN.order_of(index) for index in range(1, 5)]
    assert sorted(orders) == [0, 0, 1, 1]
    result = estimate(
        PLAN, [(index, 0.1 + 0.2 * of) for index, of in enumerate(orders, start=1)]
    )
    assert (result.mean, result.error, result.df) == (pytest.approx(0.2), pytest.approx(0), 2)


def test_an_interval_is_that_of_students_t():
    ends = Estimate(mean=0.02, error=0.01, df=9).interval(0.95)
    assert ends == pytest.approx(np.exp(stats.t.interval(0.95, 9, loc=0.02, scale=0.01)))


def test_power_is_what_a_simulation_finds():
    """The share of duels at the last look alone that call a drop slower."""
    plan = Duel(rounds=LEAST_ROUNDS * 3)
    sd, alpha = 0.02, plan.alarms[-1]
    trim = trimmed(plan.rounds)
    df = plan.rounds - 2 * trim - 2
    expected = power(sd / math.sqrt(plan.rounds), df, 0.03, alpha, least=0.015)
    chance = random.Random(5)  # noqa: S311 - a simulation
    hits = 0
    for _ in range(400):
        values = [(i, math.log(0.97) + sd * chance.gauss(0, 1)) for i in range(plan.rounds)]
        seen = estimate(plan, values)
        hits += seen.p_below(1.0) < alpha and seen.ratio < 0.985
    assert hits / 400 == pytest.approx(expected, abs=0.08)


@pytest.mark.parametrize(
    ("parameters", "what"),
    [
        ({"rounds": 3}, "rounds is not valid .found 3, wanted a whole number from 4"),
        ({"over": 1.0}, "over is not valid .found 1.0, wanted a number above 1 to 2"),
        ({"find": 0.6}, "find is not valid"),
        ({"rate": 9, "max_rate": 8}, "out of range"),
        ({"reset": "at-start"}, "a duel resets its servers itself"),
    ],
)
def test_a_duel_that_could_come_to_no_answer_is_refused(parameters, what):
    with refused(what):
        procedure_of({"name": "duel", **parameters})


def test_a_budget_is_rounds_and_too_small_a_one_is_refused():
    plan = Duel()
    assert 600 < plan.within(900).rounds * plan.round_s <= 900
    with refused("too little time"):
        plan.within(40)
