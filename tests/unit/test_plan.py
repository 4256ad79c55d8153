"""The parameters of a sweep, and which scenarios they fit."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leaselab.model.errors import LeaselabError, Outcome
from leaselab.model.plan import POOL_USE_LIMIT, Plan
from leaselab.model.scenario import MultiThreading, Pool, Scenario
from leaselab.model.trial import Goal, SearchLimits

SLASH_8 = Pool("10.0.0.0/8", "10.0.0.1 - 10.255.255.254")


def scenario(**fields):
    values = {
        "name": "v4-example",
        "description": "",
        "family": 4,
        "server": "kea",
        "backend": "memfile",
        "pool": SLASH_8,
    }
    return Scenario(**{**values, **fields})


def refused(match):
    return pytest.raises(LeaselabError, match=match)


@given(st.integers(-3, 30), st.integers(-3, 15))
def test_a_plan_leaves_something_after_trimming_or_is_refused(runs, trim):
    kept = runs - 2 * trim
    if trim == -1 and runs > 0:
        assert Plan(runs=runs, trim=trim).trim in (0, 1)
    elif trim >= 0 and kept > 0 and (kept > 1 or trim == 0):
        assert Plan(runs=runs, trim=trim).runs == runs
    else:
        with refused("would be left after trimming") as caught:
            Plan(runs=runs, trim=trim)
        assert caught.value.outcome is Outcome.USAGE


@pytest.mark.parametrize(
    ("fields", "match"),
    [
        ({"limits": SearchLimits(trial_s=0)}, "trial too short"),
        ({"limits": SearchLimits(scout_s=0)}, "trial too short"),
        ({"goal": Goal(loss_ratio=0.0)}, "goal out of range"),
        ({"goal": Goal(loss_ratio=1.0)}, "goal out of range"),
        ({"goal": Goal(relative_width=0.0)}, "goal out of range"),
        ({"goal": Goal(late_s=0.0)}, "late_s 0, max_trials 40"),
        ({"limits": SearchLimits(max_trials=1)}, "late_s 2, max_trials 1"),
        ({"wait_s": 3.0}, r"wait_s 3, late_s 2, wanted wait_s of 4 or more"),
        ({"limits": SearchLimits(min_rate=0)}, "no room to search"),
        ({"limits": SearchLimits(min_rate=500, max_rate=500)}, "no room to search"),
    ],
)
def test_parameters_no_sweep_could_meet_are_refused(fields, match):
    with refused(match) as caught:
        Plan(**fields)
    assert caught.value.outcome is Outcome.USAGE


def test_the_default_plan_is_nine_runs_of_which_seven_count():
    plan = Plan()
    assert (plan.runs, plan.trim) == (9, 1)
    assert (plan.goal.loss_ratio, plan.goal.late_s, plan.limits.trial_s) == (0.025, 2.0, 5)


@pytest.mark.parametrize(("runs", "trim"), [(1, 0), (3, 0), (4, 0), (5, 1), (9, 1)])
def test_few_runs_are_not_trimmed_unless_asked_for(runs, trim):
    assert Plan(runs=runs).trim == trim


def test_one_run_left_of_several_is_refused_before_anything_is_measured():
    with refused("one run would be left after trimming"):
        Plan(runs=3, trim=1)


def test_a_lease_must_outlast_the_longest_sweep():
    plan = Plan()
    longest = int(plan.longest_s)
    confirmation = (6 + 6 + 1) * (5 + 4 + 5) + 60
    assert longest == 9 * (40 * (5 + 4 + 5) + (1 + 4 + 5) + 60) + confirmation + 300
    plan.check_fits(scenario(lease_lifetime_s=longest + 1))
    with refused("leases could expire while the sweep runs") as caught:
        plan.check_fits(scenario(lease_lifetime_s=longest))
    assert caught.value.found == f"lease_lifetime_s {longest}"
    assert caught.value.outcome is Outcome.USAGE


def test_a_pool_must_hold_twice_the_largest_trial():
    plan = Plan(limits=SearchLimits(max_rate=100, trial_s=5))
    plan.check_fits(scenario(pool=Pool("10.0.0.0/8", "10.0.0.1 - 10.0.3.232")))
    with refused("one trial could fill the pool") as caught:
        plan.check_fits(scenario(pool=Pool("10.0.0.0/8", "10.0.0.1 - 10.0.3.231")))
    assert caught.value.found == "999 addresses"
    assert caught.value.wanted.startswith("at least 1000 ")


@given(st.integers(11, 1_000_000), st.integers(1, 120))
def test_a_plan_that_fits_never_fills_the_pool_beyond_the_limit(max_rate, trial_s):
    plan = Plan(limits=SearchLimits(max_rate=max_rate, trial_s=trial_s))
    here = scenario(lease_lifetime_s=10**9)
    if max_rate * trial_s <= POOL_USE_LIMIT * here.pool.size:
        plan.check_fits(here)
    else:
        with refused("one trial could fill the pool"):
            plan.check_fits(here)


# --- scenarios that no server could be configured with --------------------------------


@pytest.mark.parametrize(
    ("pool", "size"),
    [
        (SLASH_8, 16_777_214),
        (Pool("10.0.0.0/8", "10.1.2.3 - 10.1.2.3"), 1),
        (Pool("10.0.0.0/8", "10.1.0.0/16"), 65_536),
    ],
)
def test_the_size_of_a_pool(pool, size):
    assert scenario(pool=pool).pool.size == size


def test_a_v6_pool_has_2_to_the_64_addresses():
    prefix = "2001:2:0:100::/64"
    assert scenario(family=6, pool=Pool(prefix, prefix)).pool.size == 2**64


@pytest.mark.parametrize(
    ("fields", "match"),
    [
        ({"family": 5}, "unknown address family"),
        ({"family": 6}, "pool does not fit the address family"),
        ({"pool": Pool("10.0.0.0/8", "10.0.0.9 - 10.0.0.1")}, "pool does not fit"),
        ({"pool": Pool("10.0.0.0/8", "here - there")}, "pool is not usable"),
        ({"pool": Pool("10.0.0.1/8", "10.0.0.1 - 10.0.0.9")}, "has host bits set"),
        (
            {"multi_threading": MultiThreading(enabled=True, threads=4)},
            "threads 4, queue_size 0",
        ),
        ({"multi_threading": MultiThreading(enabled=True, queue_size=64)}, "threads 0"),
    ],
)
def test_a_scenario_no_server_could_serve_is_refused(fields, match):
    with refused(match) as caught:
        scenario(**fields)
    assert caught.value.outcome is Outcome.USAGE
    assert caught.value.where == "scenario v4-example"
