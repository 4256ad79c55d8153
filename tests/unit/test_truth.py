"""What follows from a server's settings, and how figures are set beside it."""

import pytest
from msgspec.structs import replace
from scipy import stats
from tests.examples import edited, example_result, fixed_load_result, invalid_result

from leaselab.analysis.figures.truth import (
    EXACT,
    LATE,
    LOST,
    MAX_RATE,
    REFUSED,
    ROUGH,
    Fact,
    Truth,
    binomial,
    highest_rate,
    judge,
    not_measured,
    shares_of,
    truth_of,
)
from leaselab.catalog.roles import options_of
from leaselab.model.procedures.fixed_load import FixedLoad
from leaselab.model.procedures.max_rate import MaxRate
from leaselab.model.procedures.operate import Operate
from leaselab.model.procedures.ramp import Ramp
from leaselab.model.record import MALFORMED
from leaselab.model.scenario import ServerOptions, Transaction

DEFAULTS = {
    name: option["default"] for name, option in options_of("responder", "scenario").items()
}
HALF = FixedLoad(rate=1000, duration_s=20)
NEAR = FixedLoad(rate=1000, late_s=0.2)
DHCP = Transaction(name="DHCPv4 exchange", plural="exchanges", stages=("A-B", "C-D"))
DNS = Transaction(name="DNS query", plural="queries", stages=("Q-A",))


def scenario(transaction=DHCP, **options):
    known = {**DEFAULTS, "capacity": 2000.0, **options}
    asked = example_result().scenario
    server = ServerOptions(kind="responder", options=known)
    return replace(asked, server=server, transaction=transaction)


def rate_of(*, stages=2, loss=0.025, seconds=5, **options):
    return highest_rate({**DEFAULTS, "capacity": 2000.0, **options}, stages, loss, seconds)


@pytest.mark.parametrize(
    ("asked", "procedure", "rate", "tolerance"),
    [
        (scenario(), MaxRate(), 2000 / 0.975, EXACT),
        (scenario(DNS), MaxRate(loss_ratio=0.005), 2000 / 0.995, EXACT),
        # a stall takes its share of the time
        (scenario(stall_ms=20.0, stall_every_ms=200.0), MaxRate(), 1800 / 0.975, ROUGH),
    ],
)
def test_a_max_rate_is_above_the_capacity_by_what_may_be_lost(
    asked, procedure, rate, tolerance
):
    (fact,) = truth_of(asked, procedure).facts
    assert fact == Fact(MAX_RATE, pytest.approx(rate), tolerance)


@pytest.mark.parametrize(
    "options",
    [
        {"delay_least_ms": 5.0, "delay_most_ms": 50.0},
        {"duplicate": 0.1},
        {"foreign": 0.1},
        {"warm_up_factor": 3.0, "warm_up_ms": 1000.0},
    ],
)
def test_what_does_not_take_work_leaves_the_max_rate_as_it_is(options):
    assert truth_of(scenario(**options), MaxRate()) == truth_of(scenario(), MaxRate())


def test_the_longest_of_the_stalls_that_are_made_is_true_within_ten_milliseconds():
    stalls = scenario(stalls_ms="50,200,1000")
    of_two = Operate(operations=("stall", "stall"))
    (fact,) = truth_of(stalls, of_two).facts
    assert fact == Fact("longest stall", 0.2, pytest.approx(0.05))
    assert truth_of(stalls, Operate(operations=("stall", "pause-1s"))) is None
    assert truth_of(scenario(), of_two) is None


def test_what_is_dropped_takes_half_of_the_work_where_goodput_collapses():
    # Of 2005 queries, 10 are dropped: 1995 + 5 are all that there is work for.
    assert rate_of(stages=1, loss=10 / 2005, overload="collapses") == pytest.approx(2005)
    # 2000 exchanges are 4000 packets; of 1990 both are served, and 40 first ones dropped.
    assert rate_of(loss=40 / 2030, overload="collapses") == pytest.approx(2030)
    assert truth_of(scenario(overload="collapses"), MaxRate()).facts[0].tolerance == ROUGH


def test_a_server_that_fills_is_slower_at_the_end_of_a_trial():
    """By a sum over small steps, which knows nothing of the formula."""
    rate = rate_of(doubled_by=20_000, queue=0)
    leases, backlog, step = 0.0, 0.0, 1e-4
    for _ in range(round(5 / step)):
        asked = backlog + rate * step
        served = min(asked, 2000 / (1 + leases / 20_000) * step)
        leases, backlog = leases + served, asked - served
    assert 1 - leases / (5 * rate) == pytest.approx(0.025, abs=2e-4)
    assert rate < 1700
    assert rate_of(doubled_by=10**9, queue=0) == pytest.approx(2000 / 0.975, rel=1e-4)


def test_what_waits_as_the_traffic_ends_is_not_completed():
    """As packet by packet: 1604/s of 256 that may wait, 1614/s of 64."""
    rates = [rate_of(doubled_by=20_000, queue=queue) for queue in (256, 64)]
    assert rates == [pytest.approx(1604, rel=0.002), pytest.approx(1614, rel=0.002)]
    assert rate_of(stages=1, doubled_by=10) == rate_of(stages=1), "queries leave no leases"


def test_shares_of_an_exchange_are_those_of_its_packets_together():
    options = {**DEFAULTS, "drop_first": 0.1, "drop_second": 0.5, "refuse": 0.2}
    # 10 % of the first and half of what is then neither refused are dropped.
    assert shares_of(options, 2, 2.0) == {
        LOST: pytest.approx(0.1 + 0.9 * 0.8 * 0.5),
        REFUSED: pytest.approx(0.9 * 0.2 + 0.9 * 0.8 * 0.5 * 0.2),
        LATE: 0.0,
    }
    assert shares_of(options, 1, 2.0)[LOST] == pytest.approx(0.1)


def late(stages, least, most):
    options = {**DEFAULTS, "delay_least_ms": least, "delay_most_ms": most}
    return shares_of(options, stages, 0.2)[LATE]


@pytest.mark.parametrize(
    ("least", "most", "share"),
    [(0.0, 210.0, 10 / 210), (0.0, 200.0, 0.0), (190.0, 210.0, 0.5), (250.0, 250.0, 1.0)],
)
def test_a_query_is_late_where_its_answer_is(least, most, share):
    assert late(1, least, most) == pytest.approx(share)


@pytest.mark.parametrize(
    ("least", "most"),
    [(0.0, 210.0), (0.0, 110.0), (90.0, 130.0), (50.0, 90.0), (110.0, 120.0), (100.0, 100.0)],
)
def test_an_exchange_is_late_where_its_replies_are_together(least, most):
    """By counting all pairs of many delays."""
    delays = [least + (most - least) * (place + 0.5) / 400 for place in range(400)]
    counted = sum(delay + other > 200 for delay in delays for other in delays) / 400**2
    assert late(2, least, most) == pytest.approx(counted, abs=0.005)
    asked = scenario(delay_least_ms=least, delay_most_ms=most)
    for name in ("leaseload", "perfdhcp"):  # whichever generator counts it
        facts = truth_of(replace(asked, generator=name), NEAR).facts
        assert [fact.value for fact in facts if fact.name == LATE] == [late(2, least, most)]


def test_nothing_follows_without_a_capacity_or_for_another_server_or_procedure():
    assert truth_of(scenario(capacity=0.0), MaxRate()) is None
    assert truth_of(scenario(drop_first=0.1), MaxRate()) is None
    assert truth_of(scenario(), Ramp()) is None
    assert truth_of(example_result().scenario, MaxRate()) is None


def test_malformed_replies_leave_no_trial_of_clients_that_counts():
    assert truth_of(scenario(malformed=0.1), HALF) == Truth(doubt=MALFORMED)
    names = truth_of(scenario(DNS, malformed=0.1), HALF).facts
    assert [fact.value for fact in names] == [0.0, 0.0, 0.0]


def test_a_rate_is_judged_by_its_tolerance():
    record = example_result([2000.0] * 3, procedure=MaxRate(rounds=3))
    near, far = (
        judge(Truth((Fact(MAX_RATE, value, EXACT),)), record)[0] for value in (2019.0, 2021.0)
    )
    assert (near.measured, near.within, near.id) == (2000.0, True, record.id)
    assert near.error == pytest.approx(-0.0094, abs=1e-4)
    assert not far.within


def counted(**counts):
    """The record of a fixed load of 60 000 exchanges with these failures."""
    known = {"late": 0, "lost": 0, **counts, "completed": 20_000 - sum(counts.values())}
    failures = {"NAK": known.pop("refused")} if "refused" in counts else {}

    def edit(document):
        for round_ in document["rounds"]:
            round_["trials"] = round_["trials"][:1]
            round_["trials"][0] |= {"attempted": 20_000, "failures": failures, **known}

    return edited(fixed_load_result([0.01] * 3), edit)


def test_shares_are_judged_by_their_interval():
    facts = tuple(Fact(name, value) for name, value in ((LOST, 0.006), (REFUSED, 0.0)))
    lost, refused = judge(Truth(facts), counted(lost=118))
    assert (lost.measured, lost.within) == (pytest.approx(0.0059), True)
    assert lost.interval[0] < 0.0059 < lost.interval[1]
    assert (refused.measured, refused.within, refused.error) == (0.0, True, None)
    lost, refused = judge(Truth(facts), counted(refused=118))
    assert (lost.within, refused.within) == (False, False)
    (late,) = judge(Truth((Fact(LATE, 0.1),)), counted(late=2000))
    assert late.within


def test_a_doubt_is_wanted_of_every_trial():
    def doubt_all(document):
        for round_ in document["rounds"]:
            for trial in round_["trials"]:
                trial.update(valid=False, reason=MALFORMED)

    wanted, some = Truth(doubt=MALFORMED), invalid_result()
    assert [row.within for row in judge(wanted, edited(some, doubt_all))] == [True]
    for record in (some, example_result()):
        (row,) = judge(wanted, record)
        assert (row.within, bool(row.why)) == (False, True)


def test_without_a_figure_there_is_a_reason():
    rate = Truth((Fact(MAX_RATE, 2000.0, EXACT),))
    (row,) = judge(rate, invalid_result())
    assert (row.measured, row.within) == (None, False)
    assert "started" in row.why
    (row,) = not_measured(rate, scenario(), "no such program")
    assert (row.true, row.tolerance, row.why) == (2000.0, EXACT, "no such program")
    (row,) = not_measured(Truth(doubt=MALFORMED), scenario(), "no such program")
    assert (row.figure, row.true, row.why) == (MALFORMED, None, "no such program")


@pytest.mark.parametrize(("counted", "of"), [(0, 1000), (3, 1000), (500, 1000), (1000, 1000)])
def test_an_interval_has_the_share_and_leaves_out_what_is_unlikely(counted, of):
    low, high = binomial(counted, of)
    assert low <= counted / of <= high
    if counted:
        assert stats.binom.sf(counted - 1, of, low) == pytest.approx(0.005, rel=1e-6)
    if counted < of:
        assert stats.binom.cdf(counted, of, high) == pytest.approx(0.005, rel=1e-6)
