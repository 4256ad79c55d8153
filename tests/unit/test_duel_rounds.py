"""The rounds of a duel: who is up when, at which place, and what ends both."""

import math
import random
import re
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace as replace_struct
from tests.doubles import Killed
from tests.formula import Flood, FloodReading, Zones, begun_point, formula_bench, formula_trials
from tests.refusals import refused

from leaselab.analysis.duels.duel import LEAST_LOSS, Answer, judge
from leaselab.model.errors import Outcome, invalid_measurement, lab_broken, server_broken
from leaselab.model.procedures.duel import LEAST_ROUNDS, PAUSE_S, Duel
from leaselab.run.duel import DuelRounds

PLAN = Duel()


class Fighter(Zones):
    """One server of a duel; it writes down what is done with it."""

    def __init__(self, letter, log, capacity, **fields):
        super().__init__(capacity, **fields)
        self.letter, self.log, self.fails = letter, log, None
        self.limited, self.trials = (), 0
        """Trials of full length that the generator is too slow for, by their number."""
        self.tires, self.began = math.inf, 0
        """Queries since its start after which it is slower."""
        self.chance = random.Random(1)  # noqa: S311 - a simulation
        self.uneven, self.pace = 0.0, 1.0
        """By how much its starts differ (ratio)."""

    def start(self):
        self.log.append(f"start {self.letter}")
        self.began = self.queries
        self.pace = 1 + self.uneven * self.chance.gauss(0, 1)
        return super().start()

    def stop(self):
        self.log.append(f"stop {self.letter}")

    def answers(self, *asked):
        if self.fails is not None and len(self.events) >= self.fails[0]:
            raise self.fails[1]
        rate, scatter, *clients = asked
        tired = self.queries - self.began > self.tires
        return super().answers(rate, scatter * self.pace * (0.9 if tired else 1.0), *clients)


class Limited(FloodReading):
    """A load that was not all offered."""

    def trial(self, seen):
        made = super().trial(seen)
        return replace_struct(made, valid=False, reason="generator-limited")


class Asking(Flood):
    """The generator; it writes down whom it asks, and where."""

    def __init__(self, bench, procedure, host, slow):
        super().__init__(bench, procedure, host)
        self.slow = slow
        self.place = bench.server.test_address[-1]

    def offer(self, load, *, may_abort):
        self.host.log.append(f"{self.host.letter}{self.place} {load.rate}")
        whole = self.host.capacity
        self.host.capacity = whole * self.slow
        self.host.trials += load.duration_s == PLAN.trial_s
        limited = load.duration_s == PLAN.trial_s and self.host.trials in self.host.limited
        try:
            reading = super().offer(load, may_abort=may_abort)
            return Limited(**vars(reading)) if limited else reading
        finally:
            self.host.capacity = whole


def trials_of(fighter, bench, slow=1.0):
    return formula_trials(bench, fighter, Asking(bench, bench.procedure, fighter, slow))


def two(a=9000, b=9000, **fields):
    """Both servers of a duel, which write into one log."""
    log = []
    return Fighter("A", log, a, **fields), Fighter("B", log, b, **fields)


def fight(fighters=None, *, both=False, sleep=lambda _: None, slow_place=1.0, **parameters):
    """A duel between two formulas, fought to its end; its points, and what they were asked.

    The second place completes so much of what the first one does (ratio).
    """
    bench = formula_bench(name="duel", rounds=12, rate=8000, **parameters)
    bench = replace(bench, servers={"server": replace(bench.server, test_address="place 1")})
    fighters = fighters or two()
    points = tuple(
        begun_point(bench, fighter, trials_of(fighter, bench), sleep=sleep)
        for fighter in fighters
    )
    second = replace(bench, servers={"server": replace(bench.server, test_address="place 2")})
    elsewhere = tuple(trials_of(fighter, second, slow=slow_place) for fighter in fighters)
    DuelRounds(points, elsewhere if both else None).run()
    return points, fighters[0].log


def verdict(points):
    return judge(points[0].method.procedure, *(point.rounds for point in points))


@pytest.mark.parametrize("both", [False, True])
@pytest.mark.parametrize(
    ("b", "answer"),
    [
        (9000, Answer.SAME),
        (8550, Answer.SLOWER),
        (9900, Answer.FASTER),
        (13_500, Answer.FASTER),  # at its own limit
    ],
)
def test_two_servers_are_distinguished_and_the_duel_ends_with_the_answer(b, answer, both):
    points, _ = fight(two(b=b), both=both)
    judgement = verdict(points)
    assert (judgement.answer, judgement.final, judgement.capped) == (answer, True, False)
    assert judgement.ratio == pytest.approx(b / 9000, abs=0.02)
    assert [len(point.rounds) for point in points] in ([4, 4], [5, 5])
    assert all(point.finished and point.error is None for point in points)


@pytest.mark.parametrize("both", [False, True])
@pytest.mark.parametrize("side", [0, 1])
def test_a_round_that_the_generator_was_too_slow_for_is_dropped(side, both):
    """It stays in the record, and the load of the next one is looked for again."""
    fighters = two(b=8550)
    fighters[side].limited = {2}
    points, _ = fight(fighters, both=both)
    assert [round_.is_dropped for round_ in points[side].rounds[:3]] == [False, True, False]
    result = verdict(points)
    assert (result.answer, result.dropped) == (Answer.SLOWER, 1)
    assert result.ratio == pytest.approx(0.95, abs=0.01)
    looked = {
        round_.index
        for point in points
        for round_ in point.rounds
        for item in round_.warm_ups
        if (item.rate, item.duration_s) == (8000, 1)
    }
    assert looked == {1, 3}
    assert all(point.error is None for point in points)


@pytest.mark.parametrize(
    ("limited", "how", "rounds", "said"),
    [
        (({2, 5, 6}, {4, 7}), {"both": False}, 6, "generator-limited"),
        (({2, 5, 6}, {4, 7}), {"both": True}, 6, "generator-limited"),
        # after the first rounds
        (((), ()), {"both": True, "slow_place": 0.8}, LEAST_ROUNDS, "the two places.*one addr"),
    ],
)
def test_three_dropped_rounds_in_a_row_or_places_that_differ_end_it(limited, how, rounds, said):
    fighters = two()
    fighters[0].limited, fighters[1].limited = limited
    points, _ = fight(fighters, **how)
    assert [len(point.rounds) for point in points] == [rounds] * 2
    for point in points:
        assert point.error.outcome is Outcome.INVALID
        assert re.search(said, str(point.error))


@pytest.mark.parametrize("both", [False, True])
def test_a_server_that_tires_is_found_by_old_rounds_alone(both):
    """The first round is old, and so are further ones while it differs from the others."""
    fighters = two()
    fighters[1].tires, fighters[1].uneven = 60_000, 0.01
    points, _ = fight(fighters, both=both)
    result = verdict(points)
    assert (result.answer, [item.name for item in result.worse]) == (Answer.SAME, ["old_rate"])
    assert result.ratio == pytest.approx(1.0, abs=0.02)
    old = [bool(round_.metrics["old_rate"]) for round_ in points[1].rounds]
    assert (old[:5], sum(old)) == ([True, False, False, False, False], 4)


def filling(loop, clients_s):
    """A duel of servers whose transactions cost more, the more they hold; what came of it."""
    points, _ = fight(two(b=9000 / loop, grows=2e-4), both=True, clients_s=clients_s)
    return verdict(points), points


@pytest.mark.parametrize(("loop", "answer"), [(1.0, Answer.SAME), (1.05, Answer.SLOWER)])
def test_a_loop_of_5_percent_is_found_where_servers_slow_down_as_they_fill(loop, answer):
    """The slower one would hold less, and so seem nearly as fast, if each client were new."""
    result, points = filling(loop, clients_s=1)
    assert result.answer is answer
    assert result.ratio == pytest.approx(1 / loop, abs=0.005)
    sizes = {round_.metrics["clients"] for point in points for round_ in point.rounds}
    assert sizes == {math.ceil(0.6 * points[0].rounds[0].trials[-1].rate)}
    hidden, _ = filling(loop, clients_s=0)
    assert hidden.ratio == 1.0 or hidden.ratio > 1 / loop + 0.01


@pytest.mark.parametrize(("b", "lengths"), [(9000, [1]), (5000, [1, 2])])
def test_all_clients_are_served_before_the_trials_and_nothing_is_emptied_after_them(b, lengths):
    """A server that is far slower gets them more slowly, and holds as many."""
    fighters = two(b=b)
    points, _ = fight(fighters, both=True)
    first, second = (point.rounds[-1].warm_ups for point in points)
    clients = {point.rounds[0].metrics["clients"] for point in points}
    assert {fighter.held for fighter in fighters} == clients
    assert [trial.loss_ratio for trial in first] == [0.0]
    assert [first[0].completed] == pytest.approx([*clients], abs=2)
    assert [trial.duration_s for trial in second] == lengths
    too_much = [trial.loss_ratio > LEAST_LOSS for trial in second]
    assert too_much == [True] * (len(lengths) - 1) + [False]


def test_what_comes_every_other_round_meets_both_servers():
    """Of each four rounds two have each order, and not always the same two."""
    plans = [Duel(seed=seed) for seed in ("one", "another")]
    orders = [
        [[plan.order_of(4 * block + at) for at in range(1, 5)] for block in range(50)]
        for plan in plans
    ]
    for of in orders:
        assert all(sum(block) == 2 for block in of)
        assert len({tuple(block) for block in of}) == 6
        assert abs(sum(block[0] + block[2] for block in of) - 50) < 20
    assert orders[0] != orders[1]
    firsts = {Duel(seed=str(seed)).order_of(index) for seed in range(20) for index in (1, 5)}
    assert firsts == {0}


def test_before_each_round_is_a_pause_of_another_length():
    waited = []
    fight(sleep=waited.append)
    assert len(waited) >= 4
    assert len(set(waited)) == len(waited)
    assert all(0 <= seconds <= PAUSE_S for seconds in waited)


@pytest.mark.parametrize("clients_s", [0, 1])
def test_a_faster_server_has_the_load_of_the_second_round_at_once(clients_s):
    """Also where the rounds have a warm-up as long as the trials that looked for the load."""
    points, _ = fight(two(b=13_500), clients_s=clients_s, warm_up_s=1)
    loads = [round_.trials[-1].rate for round_ in points[1].rounds]
    assert loads[1] == pytest.approx(1.06 * 13_500, rel=0.03)


def test_both_up_take_turns_from_trial_to_trial_and_are_stopped_together():
    """They are never at one place, and each is at both."""
    _, lines = fight(both=True, trials=2)
    second = lines[lines.index("stop A") + 1 :]
    assert PLAN.order_of(2) == 1
    asked = ["B1", "A2", "B1", "A2", "A2", "B1"]
    assert [line.split()[0] for line in second[:8]] == ["start", "start", *asked]
    assert sorted(second[8:10]) == ["stop A", "stop B"]
    asked = [line.split()[0] for line in lines if line[0] in "AB"]
    rounds = [set(asked[at : at + 6]) for at in range(len(asked) - 18, len(asked), 6)]
    wanted = [{"A2", "B1"} if PLAN.order_of(index) else {"A1", "B2"} for index in (3, 4, 5)]
    assert rounds == wanted


def test_within_a_round_both_have_the_same_load_a_little_above_the_first():
    points, _ = fight(two(b=7000))
    for round_, other in zip(points[0].rounds, points[1].rounds, strict=True):
        rates = {trial.rate for trial in (*round_.trials, *other.trials)}
        assert len(rates) == 1
        assert 1.02 <= rates.pop() / 9000 <= 1.15


@pytest.mark.parametrize("both", [False, True])
@pytest.mark.parametrize(
    ("side", "at", "error"),
    [(1, 4, server_broken("it died")), (0, 2, invalid_measurement("no load was found"))],
)
def test_a_server_that_fails_ends_both_and_is_the_only_one_to_blame(both, side, at, error):
    fighters = two()
    fighters[side].fails = (at, error)
    points, _ = fight(fighters, both=both)
    assert [point.error for point in points] == [error if of == side else None for of in (0, 1)]
    assert all(point.finished for point in points)
    assert not points[1].rounds


def test_a_broken_lab_is_raised_and_ends_nothing():
    fighters = two()
    fighters[1].fails = (4, lab_broken("the switch is off"))
    with refused("switch", Outcome.LAB):
        fight(fighters)


@settings(max_examples=30)
@given(st.integers(0, 1), st.integers(1, 30), st.booleans(), st.integers(0, 4))
def test_a_duel_killed_anywhere_goes_on_to_the_same_answer(side, at, both, limited):
    whole, _ = fight(two(b=8550), both=both)
    fighters = two(b=8550)
    fighters[side].kill_at = at
    fighters[at % 2].limited = {limited}
    try:
        points, _ = fight(fighters, both=both)
    except Killed:
        points, _ = fight(fighters, both=both)
    assert verdict(points).answer is verdict(whole).answer
    if not limited:
        assert [len(point.rounds) for point in points] == [len(point.rounds) for point in whole]
