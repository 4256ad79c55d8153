"""What clients notice when a server of several dies."""

import numpy as np
import pytest
from benchmarks._packets import perfdhcp_text, printed
from tests.bench_document import DOCUMENT, host
from tests.examples import trial_of

from leaselab.lab.deploy.bench_file import parse_bench
from leaselab.measure.generators.perfdhcp.command import Perfdhcp
from leaselab.measure.procedures import method_of
from leaselab.measure.procedures.event import Death, outage_s, served
from leaselab.measure.trials import Trials
from leaselab.model.errors import LeaselabError, Outcome
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
    ],
    ids=["nobody dies", "hot standby", "a machine that stumbles", "load balancing"],
)
def test_the_outage_is_the_longest_stretch_that_is_not_served(times, seconds):
    assert outage_s(served(times, LOAD), PROCEDURE) == pytest.approx(seconds, abs=0.101)


def test_the_clock_begins_with_the_first_reply():
    late = replies((10.0, 22.5)) + 0.7
    assert outage_s(served(late, LOAD), PROCEDURE) == pytest.approx(12.5, abs=0.101)


@pytest.mark.parametrize(
    ("times", "what"),
    [
        (replies((10.0, 40.0)), "not served again"),
        (replies((1.0, 9.0)), "not served before"),
        (np.empty(0), "not served before"),
    ],
)
def test_a_load_that_is_not_served_has_no_figure(times, what):
    with pytest.raises(LeaselabError, match=what) as caught:
        outage_s(served(times, LOAD), PROCEDURE)
    assert caught.value.outcome is Outcome.INVALID


class Pair:
    """A pair of which one dies without anybody noticing, and what both hold then."""

    def __init__(self, server, partner):
        self.stores = {"server": server, "partner": partner}
        self.crashed = 0

    def crash(self):
        self.crashed += 1

    def listing(self):
        return self.stores


STORES = (
    {"10.0.0.1": "a", "10.0.0.2": "b", "10.0.0.3": "c"},
    {"10.0.0.1": "a", "10.0.0.2": "x"},
)


def test_it_is_the_server_under_test_that_dies_when_it_was_asked_to():
    pair = Pair({}, {})
    death = Death(PROCEDURE, LOAD, pair)
    assert death.after_s == 10.0
    death.happen()
    assert pair.crashed == 1


def test_what_both_hold_is_compared_entry_by_entry():
    figures = Death(PROCEDURE, LOAD, Pair(*STORES)).figures(replies((10.0, 21.3)))
    assert figures.pop("outage_s") == pytest.approx(11.3, abs=0.101)
    assert figures == {"missing": 1, "conflicting": 1, "held": 3, "held_by_partner": 2}


class Bench(Pair):
    """The pair with its generator, which prints what an undisturbed load of 40 s prints."""

    rate = 10

    def generate(self, argv, _environment, timeout_s):
        assert argv[-1] == "all"
        assert "-D" not in argv
        assert timeout_s > 40
        pairs = [(at / self.rate, at / self.rate + 0.0004) for at in range(400)]
        return printed(perfdhcp_text(400, pairs, pairs))

    def write_bytes(self, name, content):
        assert content
        return name


def test_a_round_is_one_load_under_which_the_server_dies():
    waited = []
    world = Bench(*STORES)
    partner = host("leaselab-partner", "198.18.0.20")
    bench = parse_bench(
        {
            **DOCUMENT,
            "hosts": {**DOCUMENT["hosts"], "partner": partner},
            "servers": {**DOCUMENT["servers"], "partner": DOCUMENT["servers"]["server"]},
            "scenario": {**DOCUMENT["scenario"], "partner": True},
        },
        "tests",
    )
    procedure = Event(rate=10, before_s=10, after_s=30)
    generator = Perfdhcp(bench, procedure, world)
    trials = Trials(bench, procedure, world, generator, world, sleep=waited.append)
    made = []

    def ask(load, **how):
        made.append(trials.measure(load, "run-1-trial-01", **how))
        return made[-1]

    method = method_of(procedure)
    assert method.first_load([]) == 10
    result = method.measure(ask, world, [])
    assert (waited, world.crashed) == ([10], 1)
    (trial,) = made
    assert (trial.rate, trial.duration_s, trial.attempted) == (10, 40, 400)
    assert trial.valid
    assert (result.shown_trial, result.bracket) == (0, None)
    assert result.metrics.items() >= {"lost": 0, "missing": 1, "conflicting": 1}.items()
    assert result.metrics["outage_s"] <= 0.1
    assert {kind.name for kind in procedure.metrics("exchanges")} <= set(result.metrics)


@pytest.mark.parametrize(
    ("detail", "what"),
    [("the load was not served again", "not served again"), ("", "generator-limited")],
)
def test_a_round_whose_trial_does_not_count_ends_the_measurement(detail, what):
    why = {"valid": False, "reason": "generator-limited", "detail": detail}
    trial = trial_of(500, 40, attempted=9, **why)
    with pytest.raises(LeaselabError, match=what) as caught:
        method_of(PROCEDURE).measure(lambda *_, **__: trial, Pair({}, {}), [])
    assert caught.value.outcome is Outcome.INVALID
    assert caught.value.where == "crash under 500/s"
