"""Which configurations carry a load, and how soon they serve everyone."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.examples import (
    MAX_RATES,
    burst_result,
    edited,
    example_cell,
    example_result,
    invalid_result,
)

from leaselab.analysis.demand.capacity import (
    Basis,
    Burst,
    Carries,
    Rate,
    configurations,
    serving,
)
from leaselab.analysis.demand.demand import Demand, Population, Restart, Spread

RECORD = example_result()
LOW, HIGH = RECORD.figure.ci95
RATE = Rate(example_cell(), 990.0, 1010.0)


def needing(rate):
    """A demand of so many transactions per second."""
    return Demand(Population(1000, 1000 / rate), Spread())


def restarting(clients, within_s=None):
    return Demand(Population(clients, 43_200), Restart(within_s))


def single(records, demand):
    (configuration,) = configurations(records, demand)
    return configuration


def burst(clients, low_s, high_s):
    return Burst(example_cell(id=f"b-{clients}"), clients, low_s, high_s)


@pytest.mark.parametrize(
    ("needed", "carries"),
    [(LOW - 1, Carries.YES), (RECORD.figure.value, Carries.PERHAPS), (HIGH + 1, Carries.NO)],
)
def test_the_lower_end_of_the_interval_has_to_carry_it(needed, carries):
    entry = single([RECORD], needing(needed))
    assert entry.carries is carries
    assert entry.head_room == pytest.approx(LOW / needed)


def test_of_runs_too_few_for_an_interval_the_lowest_counts():
    procedure = replace(RECORD.procedure, rounds=1, trim=0)
    record = example_result([6000.0], procedure=procedure)
    assert single([record], needing(3000)).head_room == pytest.approx(2.0)


def test_what_the_generator_could_not_exceed_is_a_lower_end():
    record = replace(invalid_result(), at_least=5000.0)
    less, more = (single([record], needing(rate)) for rate in (4000, 6000))
    assert (less.carries, more.carries) == (Carries.YES, Carries.PERHAPS)
    assert less.head_room == pytest.approx(1.25)


def test_a_load_that_the_server_itself_did_not_keep_says_nothing():
    record = edited(
        replace(invalid_result(), at_least=5000.0),
        lambda result: result["reasons"][0].update(word="not-sustained"),
    )
    judged = single([record], needing(4000))
    assert (judged.carries, judged.head_room) == (Carries.UNKNOWN, None)
    assert judged.serving is None


def test_the_most_head_room_comes_first():
    slow = example_result([rate / 2 for rate in MAX_RATES], scenario="a-slow")
    without = replace(invalid_result(scenario="v6-memfile"), at_least=None)
    entries = configurations([without, slow, RECORD], needing(10))
    assert [each.cell.scenario for each in entries] == ["v4-memfile", "a-slow", "v6-memfile"]


@pytest.mark.parametrize(
    "edit",
    [
        lambda result: result["servers"]["server"].update(durability="memory"),
        lambda result: result["servers"]["server"].update(version="3.0.0"),
        lambda result: result["bench"].update(name="rack1"),
        lambda result: result["bench"].update(environment="2"),
        lambda result: result["scenario"]["server"]["options"].update(queue_size=1),
        lambda result: result["servers"]["server"]["tuning"].update(memfile_persist=False),
        lambda result: result["scenario"].update(partner=True),
        lambda result: result["scenario"]["load"].update(clients=1000),
        lambda result: result["bench"]["hosts"]["server"].update(os="another"),
    ],
)
def test_a_burst_of_other_settings_stands_by_itself(edit):
    other = edited(burst_result(5000, [9.0, 9.3, 9.6], token="0002"), edit)
    entries = configurations([RECORD, other], restarting(5000, 60))
    by_rate = {each.rate is not None: each for each in entries}
    assert by_rate[True].serving.basis is Basis.MAX_RATE
    assert by_rate[False].serving.basis is Basis.MEASURED
    assert by_rate[False].carries is Carries.YES


def test_bursts_without_a_max_rate_are_one_configuration():
    few, many = (
        burst_result(clients, [took, took], token=token)
        for clients, took, token in ((1000, 2.0, "0002"), (5000, 9.0, "0003"))
    )
    entry = single([few, many], restarting(5000))
    assert (entry.rate, entry.serving.id) == (None, many.id)


def test_a_burst_beside_is_no_configuration_of_its_own():
    other = burst_result(5000, [9.0, 9.3, 9.6], token="0002", version="3.0.0")
    same = burst_result(5000, [9.0, 9.3, 9.6], token="0003")
    (configuration,) = configurations([RECORD], restarting(5000), [other, same])
    assert configuration.serving.id == same.id


def test_a_burst_that_did_not_serve_all_says_nothing_of_them():
    record = burst_result(5000, [9.0, None, 9.6], token="0002")
    assert single([RECORD, record], restarting(5000)).serving.basis is Basis.MAX_RATE


BURSTS = [burst(1000, 2, 3), burst(5000, 9, 10), burst(50_000, 80, 90)]


@pytest.mark.parametrize(
    ("clients", "bursts", "expected"),
    [
        (9900, [], (Basis.MAX_RATE, None, 10.0, None)),  # or longer
        (5000, BURSTS, (Basis.MEASURED, 5000, 10, 10)),
        (2000, BURSTS, (Basis.LARGER, 5000, 10, 10)),
        # more than any had are multiplied, and bounded by nothing
        (10_000, BURSTS[:2], (Basis.SMALLER, 5000, 20.0, None)),
    ],
)
def test_the_smallest_burst_that_is_large_enough_counts(clients, bursts, expected):
    taken = serving(clients, RATE, bursts)
    assert (taken.basis, taken.clients, taken.seconds, taken.high_s) == expected
    assert taken.high_s or taken.low_s == pytest.approx(clients / 1010)
    assert serving(clients, None, ()) is None


@given(
    st.integers(1, 10**6),
    st.integers(0, 10**6),
    st.lists(st.integers(1, 10**6), max_size=4, unique=True),
)
def test_more_clients_never_need_less_time(clients, more, sizes):
    """As far as larger bursts take longer, which the test makes them do."""
    bursts = [burst(size, 0.01 * size, 0.011 * size) for size in sizes]
    was, now = (serving(each, RATE, bursts) for each in (clients, clients + more))
    assert now.seconds >= was.seconds
    assert was.low_s <= was.seconds


@pytest.mark.parametrize(
    ("within_s", "carries"), [(60, Carries.YES), (9.3, Carries.PERHAPS), (1, Carries.NO)]
)
def test_a_restart_in_a_given_time_is_judged_by_the_burst(within_s, carries):
    record = burst_result(5000, [9.0, 9.3, 9.6], token="0002")
    entry = single([RECORD, record], restarting(5000, within_s))
    assert entry.carries is carries
    assert entry.head_room == pytest.approx(within_s / entry.serving.seconds)
    assert entry.serving.low_s < 9.3 < entry.serving.seconds == entry.serving.high_s


def test_a_measured_restart_comes_before_one_that_is_only_derived():
    slow = burst_result(5000, [59.0, 59.3, 61.6], token="0002")
    other = edited(RECORD, lambda result: result["scenario"]["load"].update(clients=1000))
    entries = configurations([other, RECORD, slow], restarting(5000, 60))
    assert [each.in_time for each in entries] == [Basis.MEASURED, Basis.MAX_RATE]
    assert {each.carries for each in entries} == {Carries.PERHAPS}
    assert entries[0].head_room < entries[1].head_room


def test_a_max_rate_alone_never_promises_a_restart():
    assert single([RECORD], restarting(6000, 3600)).carries is Carries.PERHAPS
    assert single([RECORD], restarting(6000, 0.5)).carries is Carries.NO
