"""What clients notice when a server of several dies."""

from types import SimpleNamespace

import numpy as np
import pytest
from msgspec.structs import replace
from tests.examples import trial_of
from tests.refusals import refused

from leaselab.leases.history import Kind, Recorder
from leaselab.measure.procedures import method_of
from leaselab.measure.procedures.event import Happening, outage_s, served
from leaselab.model.errors import Outcome
from leaselab.model.procedures.event import Event
from leaselab.model.trial import Load

PROCEDURE = Event(rate=500, before_s=10, after_s=30)
LOAD = Load(500, 40)


def replies(*silences, share=0.0):
    """When last replies come: all the time, but for silences (from, to) of that share."""
    times = np.arange(0, 40, 1 / LOAD.rate)
    keep_them = np.ones(times.size, dtype=bool)
    for start, end in silences:
        keep_them &= (times < start) | (times >= end)
    half = times[~keep_them][:: round(1 / share)] if share else times[:0]
    return np.sort(np.concatenate((times[keep_them], half)))


@pytest.mark.parametrize(
    ("times", "seconds"),
    [
        (replies(), 0.0),
        (replies((10.0, 22.5)), 12.5),
        (replies((4.0, 4.2), (10.0, 22.5), (30.0, 30.1)), 12.5),
        (replies((10.0, 21.0), share=0.5), 11.0),
        (replies((10.0, 22.5)) + 0.7, 12.5),
    ],
    ids=["nobody dies", "hot standby", "a stumble", "load balancing", "from the first reply"],
)
def test_the_outage_is_the_longest_stretch_that_is_not_served(times, seconds):
    assert outage_s(served(times, LOAD), PROCEDURE) == pytest.approx(seconds, abs=0.101)


def test_what_is_served_is_a_share_of_the_load_in_each_step():
    share = served(replies((10.0, 20.0), share=0.5), LOAD)
    assert share.size == 399  # the generator ends a little before its time
    assert share[50] == pytest.approx(1.0, abs=0.03)
    assert share[150] == pytest.approx(0.5, abs=0.03)


@pytest.mark.parametrize(
    ("times", "what"),
    [
        (replies((10.0, 40.0)), "not served again"),
        (replies((1.0, 9.0)), "not served before"),
        (np.empty(0), "not served before"),
    ],
)
def test_a_load_that_is_not_served_has_no_figure(times, what):
    with refused(what, Outcome.INVALID):
        outage_s(served(times, LOAD), PROCEDURE)


class Pair:
    """A pair of which one dies without anybody noticing, and what both hold then."""

    def __init__(self, server, partner):
        self.stores = {"server": server, "partner": partner}
        self.done = []

    def crash(self, roles):
        self.done.append(("crash", *roles))

    def restart(self, roles):
        self.done.append(("restart", *roles))

    def cut(self):
        self.done.append(("cut",))
        return "hot-standby-partition"

    def rejoin(self):
        self.done.append(("rejoin",))

    def settle(self):
        self.done.append(("settle",))

    def listing(self):
        return self.stores


STORES = (
    {f"10.0.0.{at}": "abc"[at - 1] for at in (1, 2, 3)},
    {"10.0.0.1": "a", "10.0.0.2": "x"},
)


def answered(clients):
    """What was answered while a server was dead, and which of these clients have a lease."""
    recorder = Recorder()
    for place, client in enumerate(clients or ""):
        address = f"10.0.0.{'abcd'.index(client) + 1}"
        recorder.add(Kind.GRANTED, client, address, place, 1000, valid_s=86_400)
    history = None if clients is None else recorder.history()
    return SimpleNamespace(answered_at=replies((10.0, 21.3)), history=history)


@pytest.mark.parametrize(
    ("changes", "done"),
    [
        ({}, [10.0, ("crash", "server")]),
        ({"who": "partner"}, [10.0, ("crash", "partner")]),
        ({"return_s": 5}, [10.0, ("crash", "server"), 15.0, ("restart", "server")]),
        (
            {"who": "both", "return_s": 5},
            [10.0, ("crash", "server", "partner"), 15.0, ("restart", "server", "partner")],
        ),
        ({"event": "partition"}, [10.0, ("cut",)]),
        ({"event": "partition", "return_s": 5}, [10.0, ("cut",), 15.0, ("rejoin",)]),
    ],
)
def test_those_die_and_return_who_were_asked_to_when_they_were(changes, done):
    pair = Pair({}, {})
    Happening(replace(PROCEDURE, **changes), LOAD, pair).happen(pair.done.append)
    assert pair.done == done


@pytest.mark.parametrize(
    ("changes", "count", "settled"),
    [
        ({}, 2, []),  # what the partner does not know
        ({"who": "partner"}, 1, []),
        ({"return_s": 5}, 3, [("settle",)]),
        ({"who": "both", "return_s": 5}, 3, [("settle",)]),
    ],
)
def test_a_lease_has_to_be_known_to_all_that_answer_at_the_end(changes, count, settled):
    pair = Pair(STORES[0], {**STORES[1], "10.0.0.4": "d"})
    happening = Happening(replace(PROCEDURE, **changes), LOAD, pair)
    fields = happening.fields(answered("abcd"), 0.0, ())
    assert fields["figures"]["violations"] == count
    assert pair.done == settled


def test_so_has_it_to_a_third_server():
    pair = Pair(*STORES)
    pair.stores["partner2"] = {}
    fields = Happening(PROCEDURE, LOAD, pair).fields(answered("abc"), 0.0, ())
    assert fields["figures"]["violations"] == 3


def test_what_a_pair_may_do_by_design_while_it_is_cut_is_no_fault():
    recorder = Recorder()
    for client in "ab":
        recorder.add(Kind.GRANTED, client, "10.0.0.1", 0, 1000, valid_s=86_400)
    happening = Happening(replace(PROCEDURE, event="partition"), LOAD, Pair(*STORES))
    happening.happen(lambda _at: None)
    both = SimpleNamespace(answered_at=replies((10.0, 21.3)), history=recorder.history())
    fields = happening.fields(both, 0.0, ())
    assert fields["figures"]["violations"] == 0
    twice, *_ = fields["violations"]
    assert (twice.rule, twice.count) == ("twice", 1)
    assert "partner-down" in twice.permitted


@pytest.mark.parametrize(("seen", "count"), [("abc", 2), ("ac", 1), ("a", 0), (None, 2)])
def test_a_lease_is_lost_that_the_partner_does_not_know_if_its_client_has_it(seen, count):
    """Without a word of clients each lease of the dead server counts."""
    fields = Happening(PROCEDURE, LOAD, Pair(*STORES)).fields(answered(seen), 0.0, ())
    assert fields["figures"].pop("outage_s") == pytest.approx(11.3, abs=0.101)
    assert fields["figures"] == {"violations": count, "held": 3, "held_by_partner": 2}
    lost = [(each.rule, each.count) for each in fields["violations"]]
    assert lost == [("forgotten", count)] * (count > 0)


@pytest.mark.parametrize(
    ("detail", "what"),
    [("the load was not served again", "not served again"), ("", "generator-limited")],
)
def test_a_round_whose_trial_does_not_count_ends_the_measurement(detail, what):
    why = {"valid": False, "reason": "generator-limited", "detail": detail}
    trial = trial_of(500, 40, attempted=9, **why)
    with refused(what, Outcome.INVALID, "crash under 500/s"):
        method_of(PROCEDURE).measure(lambda *_, **__: trial, Pair({}, {}), [])
