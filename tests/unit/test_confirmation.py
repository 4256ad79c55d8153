"""What is offered after the last round of a max rate, and what its trials say."""

from collections.abc import Sequence

import msgspec
import pytest
from msgspec.structs import replace
from tests.examples import round_of, trial_of

from leaselab.analysis.figures.credibility import slow_afterwards
from leaselab.measure.procedures.confirmation import Confirming
from leaselab.measure.search_error import SearchReason
from leaselab.model.procedures.max_rate import MaxRate
from leaselab.model.record import GENERATOR_LIMITED, NOT_OFFERED, Bracket, Confirmation, Round
from leaselab.model.trial import Part, Second, Trial

PROCEDURE = MaxRate(rounds=3)
RATES = (2000.0, 2020.0, 1990.0)


def kind(attempted: int, lost: int = 0) -> Part:
    completed = attempted - lost
    return Part(attempted=attempted, completed=completed, late=0, p50_s=None, p99_s=None)


def lossy(rate: int, losses: Sequence[float], reason: str = "") -> Trial:
    """A trial that loses these shares, second by second."""
    completed = [round(rate * (1 - loss)) for loss in losses]
    lost = rate * len(losses) - sum(completed)
    seconds = tuple(
        Second(t=float(place), attempted=rate, completed=done, p50_s=None, p99_s=None)
        for place, done in enumerate(completed)
    )
    how = {"valid": not reason, "reason": reason, "per_second": seconds}
    return trial_of(rate, len(losses), lost, **how)


def searched(rate: float, *more: Trial) -> Round:
    lower, upper = round(rate * 0.995), round(rate * 1.004)
    bracket = Bracket(lower=lower, upper=upper, lower_trial=0, upper_trial=1)
    trials = (lossy(lower, [0.02] * 3), lossy(upper, [0.03] * 3), *more)
    return round_of(*trials, metrics={"max_rate": rate}, bracket=bracket)


ROUNDS = [searched(rate) for rate in RATES]
BELOW, ABOVE = Confirming(PROCEDURE, ROUNDS, ()).rate, Confirming(PROCEDURE, ROUNDS, ()).above


def loads(shows, capacity=None, rounds=ROUNDS, procedure=PROCEDURE):
    """The rates and lengths that are asked for, and what is said in the end.

    `shows` returns the trial of a load, given the number of trials before it.
    """
    made: list[Trial] = []
    while (load := Confirming(procedure, rounds, made, capacity).next()) is not None:
        made.append((served if load.rate > ABOVE else shows)(load, len(made)))
    result = Confirming(procedure, rounds, made, capacity)
    return [(item.rate, item.duration_s) for item in made], result.objection(), result


def served(load, _number):
    """A sound server: it serves 2000/s, whatever is offered."""
    return lossy(load.rate, [max(0.0, 1 - 2000 / load.rate)] * load.duration_s)


def at(rate, losses, reason="", where=lambda _number: True):
    """A server that loses so much at one load, in the trials that count; else it is sound."""

    def shows(load, number):
        if load.rate != rate or not where(number):
            return served(load, number)
        return lossy(rate, (losses * load.duration_s)[: load.duration_s], reason)

    return shows


def lengths(made):
    return [seconds for rate, seconds in made if rate == BELOW]


def test_one_trial_without_a_rest_one_above_the_rounds_an_overload_and_what_held_again():
    made, against, confirming = loads(served)
    assert made == [(BELOW, 60), (ABOVE, 3), (4 * BELOW, 3), (BELOW, 3)]
    assert BELOW < 0.95 * min(RATES) < max(RATES) * 1.05 < ABOVE
    assert (against, confirming.loss_ratio) == (None, 0)


@pytest.mark.parametrize(
    ("slow", "trials", "said"), [(1, 2, ""), (2, 2, "loss 30.0 %"), (0, 1, "")]
)
def test_a_server_that_stays_slow_after_an_overload_is_asked_twice_and_doubted(
    slow, trials, said
):
    made, against, confirming = loads(at(BELOW, [0.3], where=lambda n: 3 <= n < 3 + slow))
    assert made[3:] == [(BELOW, 3)] * trials
    assert (against, confirming.loss_ratio) == (None, 0), "what held is what decides"
    record = Confirmation(
        rate=BELOW,
        loss_ratio=0.0,
        holds=True,
        traffic_s=0.0,
        wall_s=0.0,
        trials=tuple(confirming.made),
    )
    assert slow_afterwards(record, PROCEDURE).startswith(said)
    assert bool(slow_afterwards(record, PROCEDURE)) is bool(said)


@pytest.mark.parametrize(
    ("rates", "said"),
    [
        ((408.0, 205.0, 408.0, 208.0, 408.0), "from 208/s to 408/s"),
        ((408.0, 205.0, 408.0, 407.0, 408.0), ""),
    ],
)
def test_runs_of_two_speeds_have_no_mean(rates, said):
    procedure = MaxRate(rounds=5, trim=1)
    rounds = [searched(rate) for rate in rates]
    apart = Confirming(procedure, rounds, ()).apart()
    assert (apart and apart.reason) is (SearchReason.NOISY if said else None)
    assert said in str(apart)


@pytest.mark.parametrize(("lost", "said"), [(0.02, SearchReason.LOSES_AT_ANY_LOAD), (0, None)])
def test_losses_far_below_an_overload_are_those_of_any_load_unless_none_is_below(lost, said):
    """At four times the rate 90 % are served: by chance, or as each flush loses a few."""
    made: list[Trial] = []
    while (load := Confirming(PROCEDURE, ROUNDS, made).next()) is not None:
        loss = lost if load.rate == BELOW else 0.1
        made.append(lossy(load.rate, [loss] * load.duration_s))
    against = Confirming(PROCEDURE, ROUNDS, made).objection()
    assert (against and against.reason) is said


def test_its_clients_come_back_as_a_longer_trial_would_fill_the_server():
    load = Confirming(PROCEDURE, ROUNDS, ()).next()
    assert load.clients == 3 * load.rate
    # Where nothing is reset, all that there are have their leases.
    keeps = msgspec.structs.replace(PROCEDURE, reset="at-start")
    assert Confirming(keeps, ROUNDS, ()).next().clients == 0


def test_a_server_that_is_fast_for_a_while_does_not_sustain_it():
    made, against, _ = loads(at(BELOW, [0.0] * 8 + [0.26] * 60))
    assert against.reason is SearchReason.NOT_SUSTAINED
    assert made == [(BELOW, 60), (4 * BELOW, 3)]
    assert f"{0.74 * BELOW:.0f}/s completed in the last third" in against.found


def test_losses_that_come_now_and_then_are_looked_at_for_longer_and_the_last_decides():
    dead_1_s_in_40 = [0.0] * 9 + [1.0] + [0.0] * 30
    made, against, confirming = loads(at(BELOW, dead_1_s_in_40))
    assert lengths(made)[:3] == [60, 120, 240]
    assert against is None or against.reason is SearchReason.NOT_SUSTAINED
    assert confirming.loss_ratio == pytest.approx(6 / 240)


def test_updates_that_are_lost_now_and_then_are_looked_at_for_longer():
    """They are a tenth of the load: seconds of all kinds scatter less than theirs."""

    def now_and_then(load, number):
        trial = at(BELOW, [0.011] * 3 + [0.0] * 12)(load, number)
        updates = trial.attempted // 10
        queries = trial.attempted - updates
        kinds = {"query": kind(queries), "update": kind(updates, trial.lost)}
        return replace(trial, kinds=kinds) if load.rate == BELOW else trial

    made, against, confirming = loads(now_and_then)
    assert lengths(made) == [60, 120, 240, 3, 3]
    assert confirming.loss_ratio == pytest.approx(0.022, rel=0.02)
    assert against is None


def test_a_start_that_is_cold_for_long_is_no_want_of_endurance():
    cold = at(BELOW, [0.5] * 8 + [0.0] * 60, where=lambda number: number == 0)
    made, against, confirming = loads(cold)
    assert lengths(made) == [60, 120, 3]
    assert (against, confirming.loss_ratio) == (None, 0)


def test_losses_that_no_load_explains_have_the_result_confirmed_for_longer():
    odd = searched(2000.0, lossy(1500, [0.0, 0.9, 0.0]))
    made, against, _ = loads(served, rounds=[*ROUNDS[1:], odd])
    assert made[0] == (BELOW, 120)
    assert against is None


@pytest.mark.parametrize(("passes", "said"), [(1, None), (9, SearchReason.WARMING_UP)])
def test_a_server_that_became_faster_since_the_rounds_has_no_figure(passes, said):
    _, against, _ = loads(at(ABOVE, [0.0], where=lambda number: number <= passes))
    assert (against and against.reason) is said
    assert not said or "--set warm_up_s=5" in str(against), "the advice has a value"


def test_a_load_above_the_rounds_that_the_generator_cannot_offer_is_given_up():
    made, against, _ = loads(at(ABOVE, [0.0], GENERATOR_LIMITED))
    assert 1 < sum(rate == ABOVE for rate, _ in made) < 7
    assert against is None


@pytest.mark.parametrize("word", NOT_OFFERED)
def test_trials_that_do_not_count_confirm_nothing(word):
    made, against, _ = loads(at(BELOW, [0.0], word))
    assert len(lengths(made)) == 3
    assert against.reason.value == word


@pytest.mark.parametrize(
    ("losses", "kinds", "advice"),
    [
        ([0.0] * 30 + [0.2] * 30, {}, "--set trial_s=68"),
        ([0.0] * 2 + [0.1] * 58, {}, "in its log and counters"),
        ([0.0] * 60, {"inform": kind(9, 9)}, "in its log and counters"),
    ],
)
def test_longer_trials_are_advised_where_they_would_see_more(losses, kinds, advice):
    _, against, _ = loads(lambda load, _number: replace(lossy(load.rate, losses), kinds=kinds))
    assert against.reason is SearchReason.NOT_SUSTAINED
    assert advice in str(against)
    assert ("of the informs" in str(against)) is bool(kinds)


def test_a_load_that_may_ask_for_so_much_only_is_offered_in_parts():
    made, against, _ = loads(served, capacity=20 * BELOW)
    assert made[:4] == [(BELOW, 20), (BELOW, 20), (BELOW, 20), (ABOVE, 3)]
    assert against is None


def test_what_is_confirmed_is_near_the_figure_however_far_a_round_is_off():
    rounds = [*(searched(2000.0) for _ in range(4)), searched(500.0)]
    assert Confirming(MaxRate(rounds=5), rounds, ()).rate == 1500
    assert Confirming(MaxRate(confirm_s=0), ROUNDS, ()).next() is None, "it is switched off"
