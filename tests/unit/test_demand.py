"""What clients ask for, in transactions per second."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leaselab.analysis.demand.demand import Demand, Population, Restart, Rush, Spread
from leaselab.model.errors import LeaselabError

HOUR_S, DAY_S = 3600, 86_400

populations = st.builds(
    Population,
    clients=st.integers(1, 10**7),
    renewal_s=st.floats(1, 1e7),
    new_per_day=st.floats(0, 10),
)
arrivals = st.one_of(
    st.just(Spread()),
    st.builds(Rush, share=st.floats(0.001, 1), window_s=st.floats(1, 1e6)),
    st.builds(Restart, within_s=st.floats(1, 1e5) | st.none()),
)


@pytest.mark.parametrize(
    ("clients", "lease_s", "rate"),
    [
        (10_000, 0.5 * HOUR_S, 11),
        (500_000, HOUR_S, 278),
        (1_000_000, DAY_S, 23),
        (6_000_000, 0.5 * HOUR_S, 6667),
        (6_000_000, 30 * DAY_S, 5),
    ],
)
def test_it_agrees_with_the_published_table_of_lease_times(clients, lease_s, rate):
    """That of the workshop on Kea's performance, which renews at half, too."""
    assert round(Population(clients, 0.5 * lease_s).steady.total) == rate


def test_new_clients_come_on_top_of_those_that_renew_and_evenly_spread_that_is_the_peak():
    """86 400 clients whose leases of 24 h are renewed at half: two a second."""
    demand = Demand(Population(86_400, 0.5 * DAY_S, new_per_day=0.5), Spread())
    steady = demand.steady
    assert (steady.new, steady.renewals, steady.total) == (0.5, 2.0, 2.5)
    assert demand.peak == steady


def test_in_a_rush_the_others_renew_as_ever():
    """1000 clients, 800 of them within 10 s; the other 200 renew every 100 s."""
    peak = Rush(0.8, 10).peak(Population(1000, 100))
    assert peak.new == 80.0
    assert peak.renewals == pytest.approx(2.0)


@pytest.mark.parametrize(("window_s", "waves"), [(50, 0), (100, 0), (101, 1), (250, 2)])
def test_in_a_long_rush_the_first_renew_while_the_last_arrive(window_s, waves):
    peak = Rush(1.0, window_s).peak(Population(1000, 100))
    assert peak.new == 1000 / window_s
    assert peak.renewals == pytest.approx(waves * 1000 / window_s)


@given(st.floats(0.001, 1), st.integers(1, 300), st.integers(1, 300), st.integers(0, 1000))
def test_no_second_of_a_rush_needs_more_than_its_peak(share, window_s, renewal_s, moment_s):
    """Counted by client, during the rush and long after it: who arrives or renews then."""
    population = Population(1000, renewal_s)
    came = [moment_s - renewals * renewal_s for renewals in range(moment_s // renewal_s + 1)]
    arriving = share * population.clients / window_s
    needed = arriving * sum(0 <= second < window_s for second in came)
    others = (1 - share) * population.steady.renewals
    peak = Rush(share, window_s).peak(population).total
    assert needed + others <= peak * (1 + 1e-9)


def test_a_restart_in_a_given_time_needs_all_of_them_in_it():
    population = Population(86_400, 0.5 * DAY_S)
    assert Restart(60).peak(population).new == 1440.0
    assert Restart(60).peak(population).renewals == 0.0
    assert Restart().peak(population) == population.steady
    assert Demand(population, Restart(60)).limit_s == 60
    assert Demand(population, Spread()).limit_s is None


@given(populations, arrivals, st.integers(0, 10**6))
def test_more_clients_never_need_less(population, arrival, more):
    larger = Population(population.clients + more, population.renewal_s, population.new_per_day)
    for kind in ("new", "renewals", "total"):
        was, now = (getattr(arrival.peak(item), kind) for item in (population, larger))
        assert now >= was
        was, now = (getattr(item.steady, kind) for item in (population, larger))
        assert now >= was


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Population(0, 10), "no clients"),
        (lambda: Population(1, 0), "no time after which they renew"),
        (lambda: Population(1, math.inf), "no time after which they renew"),
        (lambda: Population(1, math.nan), "no time after which they renew"),
        (lambda: Population(1, 10, -0.1), "0.1 is a tenth"),
        (lambda: Rush(0, 10), "share of the clients"),
        (lambda: Rush(1.1, 10), "share of the clients"),
        (lambda: Rush(0.5, 0), "the duration of a rush"),
        (lambda: Restart(0), "--within-s must be above 0"),
    ],
)
def test_what_is_none_is_refused(make, message):
    with pytest.raises(LeaselabError, match=message):
        make()
