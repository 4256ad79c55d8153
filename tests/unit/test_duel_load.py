"""The load of a duel: how it is found, raised and followed."""

import math
import random
from types import SimpleNamespace

import msgspec
import pytest
from tests.examples import trial_of
from tests.refusals import refused

from leaselab.measure.overload import lifted, next_load, next_sight, sighted
from leaselab.measure.procedures.duel import DuelTrials
from leaselab.model.errors import LeaselabError, Outcome
from leaselab.model.procedures.duel import FILLING_SHARE, Duel
from leaselab.model.trial import Load

PLAN = Duel(rounds=20)


def trial(rate, capacity, *, valid=True, reason=""):
    return trial_of(rate, 3, 3 * max(0, rate - capacity), valid=valid, reason=reason)


def looked_for(completes, most=math.inf):
    """The load that is found for a server, and the trials that were made for it.

    It completes so much of a load; the generator offers so much `most`.
    """
    looked = []
    while (rate := sighted(PLAN, looked)) is None:
        wanted = next_sight(PLAN, looked)
        short = {"valid": False, "reason": "generator-limited"} if wanted > most else {}
        looked.append(trial(wanted, completes(wanted), **short))
    return rate, looked


def limited(capacity, bursts=0.0):
    """A server that completes its capacity; bursts lose this share of any load."""
    return lambda wanted: min(capacity, (1 - bursts) * wanted)


@pytest.mark.parametrize("capacity", [30, 700, 6000, 90_000])
def test_a_load_a_little_above_the_server_is_found_in_few_trials(capacity):
    rate, looked = looked_for(limited(capacity))
    assert 0.02 <= 1 - capacity / rate <= 0.15
    assert len(looked) <= 16


def test_a_server_that_collapses_under_load_has_the_lightest_load_that_is_too_much():
    rate, _ = looked_for(lambda wanted: wanted if wanted <= 5000 else 2000)
    assert 5000 < rate <= 5250


@pytest.mark.parametrize("bursts", [0.03, 0.08, 0.12])
@pytest.mark.parametrize("capacity", [900, 7000, 13_600])
def test_a_load_that_loses_by_bursts_alone_is_too_light(capacity, bursts):
    rate, looked = looked_for(limited(capacity, bursts))
    assert 1.02 <= rate / capacity <= 1.65
    assert len(looked) <= 26


@pytest.mark.parametrize("knee", [6, 8, 16])
def test_a_soft_limit_is_looked_for_where_a_heavier_load_is_completed_no_faster(knee):
    def soft(offered, capacity=7000):
        return capacity * (1 + (capacity / offered) ** knee) ** (-1 / knee)

    rate, _ = looked_for(soft)
    assert soft(rate, 0.97 * 7000) / soft(rate) == pytest.approx(0.97, abs=0.005)


def test_trials_that_scatter_seldom_lead_to_a_far_heavier_load():
    loads = []
    for seed in range(200):
        chance = random.Random(seed)  # noqa: S311  # no secret
        rate, _ = looked_for(lambda _: 7000 * math.exp(0.05 * chance.gauss(0, 1)))  # noqa: B023
        loads.append(rate / 7000)
    loads.sort()
    assert (loads[100] <= 1.2, loads[180] <= 1.4) == (True, True)


def test_a_server_that_drifts_too_much_has_a_load_by_all_limits_that_were_seen():
    looked = [trial(rate, 900 + 7 * at) for at in range(15) for rate in (1000 + at, 1200 + at)]
    assert 0.9 < sighted(PLAN, looked) / 1020 < 1.3


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

    assert lifted_to(2000, most=1400)[0] == 1260, "not beyond what the generator offers"


@pytest.mark.parametrize(
    ("capacity", "most", "bursts", "said"),
    [
        (14_200, 15_300, 0.0, "cannot offer enough more"),
        (19_000, 15_300, 0.03, "cannot offer enough more"),
        (14_200, 14_000, 0.0, "generator is slower"),
        (14_200, 14_000, 0.01, "generator is slower"),
    ],
)
def test_a_generator_has_to_offer_enough_more_than_is_served(capacity, most, bursts, said):
    with refused(said, Outcome.INVALID):
        looked_for(limited(capacity, bursts), most)
    rate, _ = looked_for(limited(13_000), 15_300)
    assert 13_000 < rate <= 15_300


def test_a_max_rate_that_leaves_no_room_for_a_heavier_load_is_to_be_raised():
    with pytest.raises(LeaselabError, match=r"no load was found.*raise max_rate"):
        next_sight(Duel(max_rate=2000), [trial(1900, 1800)])


def test_what_the_generator_failed_to_offer_once_is_tried_again():
    limited = trial(2000, 1500, valid=False, reason="generator-limited")
    assert next_sight(PLAN, [limited]) == 2000
    assert next_sight(PLAN, [limited, limited]) == 1575
    served = trial(2000, 3000, valid=False, reason="generator-limited")
    assert next_sight(PLAN, [served]) == 2000
    with pytest.raises(LeaselabError, match="slower than the server"):
        next_sight(PLAN, [served, served])


@pytest.mark.parametrize("load", [next_sight, lambda plan, made: lifted(plan, 2000, made)])
def test_clients_that_are_too_few_for_a_duels_load_end_it(load):
    few = trial(2000, 3000, valid=False, reason="too-few-clients")
    few = msgspec.structs.replace(few, detail="9 clients")
    with pytest.raises(LeaselabError, match=r"too few clients.*: 9 clients"):
        load(PLAN, [few, few])


def test_a_heavier_load_of_which_nothing_is_completed_shows_the_limit():
    looked = [trial(rate, most) for rate, most in ((1050, 1000), (1260, 0)) for _ in "12"]
    assert sighted(PLAN, looked) == 1050
    looked = [trial(1000, 0, valid=False, reason="malformed-replies")] * 30
    with pytest.raises(LeaselabError, match="no load was found"):  # not without end
        next_sight(PLAN, looked)


def round_at(loss, completed, looked=()):
    """A round at 1000/s, and the trials by which its load was looked for."""
    metrics = {"loss_ratio": loss, "completed_rate": completed}
    return SimpleNamespace(
        warm_ups=looked, trials=[SimpleNamespace(rate=1000)], metrics=metrics
    )


@pytest.mark.parametrize(
    ("losses", "expected"),
    [
        *(((0.001, 0.05), 1050), ((0.05, 0.001), 1050), ((0.05, 0.08), 1000)),
        *(((0.3, 0.05), 1000), ((0.3, 0.4), 756), ((None, 0.3), 1000)),
    ],
)
def test_the_load_follows_the_faster_server_from_round_to_round(losses, expected):
    rounds = (
        [round_at(0.0, 1000), round_at(loss, None if loss is None else 1000 * (1 - loss))]
        for loss in losses
    )
    assert next_load(PLAN, *rounds) == expected


@pytest.mark.parametrize(
    ("looked", "expected"),
    # A server that loses half of its best load keeps that; one that lost little of it while
    # the load was looked for has become slower, or keeps up for a second alone.
    [([trial(1000, 500)] * 3, 1000), ([trial(1000, 930)], 540), ([], 540)],
)
def test_a_load_that_only_the_first_round_lost_is_given_up(looked, expected):
    begun = round_at(0.5, 500, looked)
    assert next_load(PLAN, [begun, begun], [begun, begun]) == expected


def test_a_server_grows_old_under_a_load_that_it_serves_and_that_its_pool_takes():
    trials, most = DuelTrials(PLAN), PLAN.most_attempted
    assert trials.aging(100, 7, 20) == Load(round(100 * FILLING_SHARE), 20, clients=7)
    assert trials.aging(most, 7, 20).rate == most // 20
