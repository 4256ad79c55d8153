"""Lease safety: right servers pass whatever the network does, and broken ones are found."""

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.lease_servers import BROKEN, Server, history_of

from leaselab.leases.check import DECLINED_S, check
from leaselab.leases.history import LINGER, NEVER, SECOND, Kind, Recorder
from leaselab.leases.modes import MODES
from leaselab.model.lease_safety import FORGOTTEN, TWICE

SHARES = st.sampled_from([0.0, 0.1, 0.4])


def rules_of(events, **words):
    """The rules that a history of events has broken."""
    recorder = Recorder()
    for kind, client, address, sent, answered, more in events:
        at = NEVER if answered is None else round(answered * SECOND)
        given = {"valid_s": 60, **more} if kind in (Kind.GRANTED, Kind.RENEWED) else more
        recorder.add(kind, client, address, round(sent * SECOND), at, **given)
    return {violation.rule for violation in check(recorder.history(), **words)}


@given(st.integers(0, 2**32), SHARES, SHARES, SHARES, st.booleans())
def test_a_right_server_passes_whatever_is_lost_late_or_sent_again(
    seed, lost, late, resent, answers_all
):
    network = {"lost": lost, "late": late, "resent": resent, "answers_all": answers_all}
    assert check(history_of(Server(), Random(seed), **network)) == ()  # noqa: S311  # no secret


@pytest.mark.parametrize("kind", BROKEN, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("network", [{}, {"lost": 0.1, "answers_all": False}])
def test_each_broken_server_is_found(kind, network):
    broken = set()
    for seed in range(16):
        history = history_of(kind(), Random(seed), actions=100, **network)  # noqa: S311
        broken |= {violation.rule for violation in check(history)}
    assert broken >= BROKEN[kind]


def got(client, address, sent, answered, kind=Kind.GRANTED, **more):
    return kind, client, address, sent, answered, more


A = got("a", "10.0.0.1", 0, 1)


@pytest.mark.parametrize(
    ("then", "rules"),
    [
        (got("b", "10.0.0.1", 1.5, 2), {"twice"}),
        # A server acts somewhere between message and answer, and counts whole seconds.
        (got("b", "10.0.0.1", 0.5, 2), {"twice"}),
        (got("b", "10.0.0.1", 58, 58.9), {"twice"}),
        (got("b", "10.0.0.1", 58, 59.1), set()),
        (got("b", "10.0.0.1", 2, None), set()),
        (got("a", "10.0.0.1", 2, 3), set()),
        (got("a", "10.0.0.2", 2, 3, asked="10.0.0.1"), {"forgotten", "other"}),
        (got("a", "10.0.0.2", 2, 3, asked="10.0.0.2"), set()),
        (got("a", "10.0.0.2", 2, 3, Kind.OFFERED), {"forgotten"}),
        (got("a", "10.0.0.2", 0.5, 3, Kind.OFFERED), set()),
        (got("a", "10.0.0.2", 2, 3, Kind.RENEWED, asked="10.0.0.1"), {"forgotten"}),
        (got("a", "", 2, 3, Kind.REFUSED, asked="10.0.0.1"), {"refused"}),
        (got("a", "", 58, 60, Kind.REFUSED, asked="10.0.0.1"), set()),
        (got("a", "", 2, 3, Kind.REFUSED, asked="10.0.0.9"), set()),
        # Who was moved needs another address, and a client may have a prefix, too.
        (got("a", "2001:db8::/56", 2, 3, Kind.OFFERED), set()),
    ],
)
def test_what_comes_after_a_lease_is_judged_by_what_is_certain(then, rules):
    assert rules_of([A, then]) == rules


def test_what_may_have_ended_a_lease_excuses_what_comes_after_it():
    refused = got("a", "", 5, 6, Kind.REFUSED, asked="10.0.0.1")
    assert rules_of([A, refused]) == {"refused"}
    for ending in (
        got("a", "10.0.0.1", 2, None, Kind.RELEASED),
        got("a", "10.0.0.1", 5.5, None, Kind.DECLINED),
        got("a", "10.0.0.2", 2, None),
    ):
        assert rules_of([A, ending, refused]) == set(), ending
    released, later = got("a", "10.0.0.1", 0, None, Kind.RELEASED), 1 + LINGER / SECOND
    again = got("a", "10.0.0.1", later, later + 1)
    refused = got("a", "", later + 2, later + 3, Kind.REFUSED, asked="10.0.0.1")
    assert rules_of([released, again, refused]) == {"refused"}


def test_a_renewal_that_shortens_a_lease_ends_it_sooner():
    renewed = got("a", "10.0.0.1", 2, 3, Kind.RENEWED, valid_s=5)
    assert rules_of([A, renewed, got("b", "10.0.0.1", 20, 21)]) == set()
    assert rules_of([A, renewed, got("b", "10.0.0.1", 4, 5)]) == {"twice"}


@pytest.mark.parametrize(
    ("answered", "next_offer", "rules"),
    [
        (3, "10.0.0.1", {"declined"}),
        (None, "10.0.0.1", set()),  # it may have been lost
        (None, "10.0.0.2", {"declined"}),  # the server knows that it is not the client's
    ],
)
def test_a_decline_without_an_answer_counts_where_a_later_offer_proves_it(
    answered, next_offer, rules
):
    declined = got("a", "10.0.0.1", 2, answered, Kind.DECLINED)
    history = [A, declined, got("a", next_offer, 4, 5, Kind.OFFERED)]
    assert rules_of([*history, got("b", "10.0.0.1", 20, 21, Kind.OFFERED)]) == rules
    later = got("b", "10.0.0.1", 2 + DECLINED_S, 3 + DECLINED_S, Kind.OFFERED)
    assert rules_of([*history, later]) == rules - {"declined"} or next_offer == "10.0.0.1"


@pytest.mark.parametrize(
    ("store", "said"),
    [({"10.0.0.1": "a"}, None), ({}, "does not know it"), ({"10.0.0.1": "b"}, "client b")],
)
def test_the_server_that_answers_next_knows_each_lease(store, said):
    recorder = Recorder()
    for client, address in (("a", "10.0.0.1"), ("c", "10.0.0.3")):
        recorder.add(Kind.GRANTED, client, address, 0, SECOND, valid_s=60)
    recorder.add(Kind.RELEASED, "c", "10.0.0.3", 2 * SECOND)
    violations = check(recorder.history(), store=store)
    assert [violation.rule for violation in violations] == [FORGOTTEN] * bool(said)
    assert not said or said in violations[0].lines[-1]


def test_the_shortest_counter_example_says_who_got_what_when():
    recorder, more = Recorder(), {"valid_s": 60, "server": "192.0.2.1"}
    for number, client in enumerate("abc"):
        at = 10 * number * SECOND
        recorder.add(Kind.GRANTED, client, "10.0.0.1", at, at + 1500, **more)
    (violation,) = check(recorder.history())
    assert (violation.rule, violation.count) == (TWICE, 2)
    assert violation.lines == (
        "0.000000 s  client a asks for 10.0.0.1",
        "0.001500 s  client a gets 10.0.0.1 until 60.000000 s, by server 192.0.2.1",
        "10.000000 s  client b asks for 10.0.0.1",
        "10.001500 s  client b gets 10.0.0.1 until 70.000000 s, by server 192.0.2.1",
        "both have it for 48.9985 s",
    )


def test_what_a_mode_permits_has_the_manual_s_reason():
    recorder = Recorder()
    for client in "ab":
        recorder.add(Kind.GRANTED, client, "10.0.0.1", 0, 1, valid_s=60)
    for mode in MODES.values():
        (violation,) = check(recorder.history(), mode=mode)
        assert violation.permitted == mode.permits.get(TWICE, "")
    assert not MODES["connected"].permits
