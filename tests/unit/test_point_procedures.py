"""Points of other procedures than the search: fixed loads, bursts, fillings, deaths."""

from dataclasses import fields, replace

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.doubles import CAPACITY, Killed, World, bench
from tests.formula import Zones, begun_point, formula_bench, formula_trials
from tests.sweeps import ended, killed_once, without_times

from leaselab.measure.generators.adapter import GENERATOR_STALLED
from leaselab.measure.generators.dhcp_load import POOL_TOO_FULL
from leaselab.measure.server_use import memory_mib, written_rate
from leaselab.measure.trials import Trials
from leaselab.model.errors import Outcome
from leaselab.model.record import TOO_FEW_CLIENTS
from leaselab.model.trial import Sample

SHORT = {"name": "fixed-load", "duration_s": 3, "trial_s": 1}
"""A fixed load in three trials a round."""
DEATH = {"name": "event", "before_s": 2, "after_s": 3}
AT_ONCE = {"name": "burst", "clients": 700, "limit_s": 5}
POOL = "10.0.0.1 - 10.0.7.208"
"""Of 2000 addresses."""
FILLING = {
    "name": "fill",
    "pool": POOL,
    "fill": 0.9,
    "fill_rate": 250,
    "trial_s": 3,
    "rate": 50,
    "duration_s": 2,
}


@settings(max_examples=10)
@given(
    st.sampled_from([SHORT, DEATH]),
    st.lists(st.tuples(st.integers(1, 20), st.booleans()), min_size=1, max_size=3),
)
def test_any_procedure_killed_anywhere_goes_on_to_the_same_result(procedure, kills):
    whole = World(unknown_leases=3)
    wanted = whole.measure(bench(**procedure)).rounds
    world = World(unknown_leases=3)
    for at, before in kills:
        world.kill_at, world.kill_before = at, before
        try:
            point = world.measure(bench(**procedure))
        except Killed:
            continue
        break
    else:
        world.kill_at = 10**9
        point = world.measure(bench(**procedure))
    assert without_times(point.rounds) == without_times(wanted)
    if procedure is DEATH:  # a fixed load that was interrupted is offered again
        assert [name for name, _ in world.events] == [name for name, _ in whole.events]


@pytest.mark.parametrize("procedure", [AT_ONCE, FILLING], ids=lambda value: value["name"])
@pytest.mark.parametrize("before", [False, True])
def test_a_burst_and_a_filling_killed_at_every_event_go_on_to_the_same_result(
    procedure, before
):
    whole = World()
    wanted = without_times(whole.measure(bench(**procedure)).rounds)
    assert len(whole.events) >= 6
    for at in range(1, len(whole.events) + 1):
        world, point = killed_once(procedure, at, before=before)
        assert without_times(point.rounds) == wanted
        if procedure is AT_ONCE:  # an interrupted filling repeats its round
            assert [name for name, _ in world.events] == [name for name, _ in whole.events]
            assert world.trials == whole.trials + (
                before and whole.events[at - 1][0] == "trial"
            )


def test_a_filling_that_was_killed_repeats_its_round_and_the_journal_reports_it():
    whole = World()
    whole.measure(bench(**FILLING))
    names = [name for name, _ in whole.events]
    first = names.index("round-done")
    world, _ = killed_once(FILLING, first, before=False)
    assert [name for name, _ in world.events] == [*names[:first], *names]
    assert [data["index"] for name, data in world.events if name == "round"] == [1, 1, 2]
    assert world.trials == whole.trials + names[:first].count("trial")


def test_clients_that_keep_their_leases_get_them_by_slower_loads_where_some_were_lost():
    """A server that serves 300/s: the first load is too much for it, the next is not."""
    plan = formula_bench(reset="at-start", warm_up_s=1, warm_up_rate=600)
    for clients, wanted in ((600, [(600, 1), (150, 4)]), (0, [(600, 1)])):
        scenario = msgspec.structs.replace(plan.scenario, load={"clients": clients})
        point = begun_point(replace(plan, scenario=scenario), Zones(capacity=300.0))
        made = list(point.warm_up(2000, "warm-up-{}".format))
        assert [(trial.rate, trial.duration_s) for trial in made] == wanted


def test_a_doubt_of_a_warm_up_is_no_foreign_traffic():
    class Short(Trials):
        def measure(self, *asked, **how):
            made = super().measure(*asked, **how)
            few = {"valid": False, "reason": TOO_FEW_CLIENTS, "detail": "9 clients"}
            return msgspec.structs.replace(made, **few)

    plan, zones = formula_bench(reset="at-start", warm_up_s=1), Zones()
    usual = formula_trials(plan, zones)
    trials = Short(**{each.name: getattr(usual, each.name) for each in fields(Trials)})
    (made,) = begun_point(plan, zones, trials).warm_up(2000, "warm-up-{}".format)
    assert made.detail == "9 clients"


def test_a_round_reports_how_long_the_start_took_and_the_most_memory():
    first, *_ = World().measure(bench()).rounds
    assert first.metrics["start_s"] == 0.25
    taken = [
        Sample(t=t, cpu_s=0.0, rss_bytes=rss, udp_drops=0, held=0, counters={})
        for t, rss in ((1.0, 2**20), (2.0, 3 * 2**20), (3.0, None))
    ]
    trial = first.trials[0]
    samples = {"server": tuple(taken), "partner": ()}
    made = [msgspec.structs.replace(trial, samples=samples), trial]
    assert memory_mib(made) == 3.0
    assert memory_mib([trial]) is None


def test_a_round_ends_with_a_reload_of_a_server_that_can():
    rack = bench(rounds=2)
    able = replace(rack.server, capabilities=("reload",))
    world = World()
    rounds = world.measure(replace(rack, servers={**rack.servers, "server": able})).rounds
    assert [round_.metrics["reload_s"] for round_ in rounds] == [2.5, 2.5]
    assert world.reloads == 2
    (other, *_) = World().measure(rack).rounds
    assert other.metrics["reload_s"] is None


def test_a_round_reports_what_the_server_wrote_per_second_where_it_counts_that():
    first, *_ = World().measure(bench()).rounds
    trial = first.trials[first.shown_trial]
    plain = Sample(t=1.0, cpu_s=0.0, rss_bytes=None, udp_drops=0, held=0, counters={})
    taken = [
        msgspec.structs.replace(plain, t=t, written=written)
        for t, written in ((1.0, 100), (2.0, None), (3.0, 5100), (4.0, None))
    ]
    counted = msgspec.structs.replace(trial, samples={"server": tuple(taken)})
    assert written_rate(counted) == 2500.0
    alone = msgspec.structs.replace(trial, samples={"server": tuple(taken[:2])})
    assert written_rate(alone) is None
    assert first.metrics["written_rate"] is None


def test_clients_that_begin_at_once_are_all_served_and_it_is_reported_how_long_it_took():
    point = World().measure(bench(**AT_ONCE))
    for round_ in point.rounds:
        (trial,) = round_.trials
        assert (trial.at_once, trial.rate, trial.duration_s) == (700, 0, 5)
        assert round_.metrics["served_s"] == pytest.approx(700 / CAPACITY, rel=0.01)
        assert round_.metrics["served_rate"] == pytest.approx(CAPACITY, rel=0.01)
        assert (round_.metrics["resent"], round_.metrics["resent_ratio"]) == (1400, 2.0)
        assert round_.metrics["served_ratio"] == 1.0
        assert round_.metrics["cpu_us"] > 0
        assert sum(second.completed for second in trial.per_second) == 700
    assert point.error is None


def test_a_burst_that_is_not_served_in_time_counts_and_has_no_time():
    point = World().measure(bench(**{**AT_ONCE, "limit_s": 2}))
    for round_ in point.rounds:
        (trial,) = round_.trials
        assert (trial.valid, trial.completed, trial.lost) == (True, 600, 100)
        assert (round_.metrics["served_s"], round_.metrics["served_rate"]) == (None, None)
        assert round_.metrics["served_ratio"] == pytest.approx(6 / 7)
        assert (round_.metrics["resent"], trial.traffic_s) == (1400, 2.0)
    assert point.error is None


def test_a_burst_whose_replies_the_generator_dropped_is_made_again():
    world = World(stalls_in=range(1, 3))
    first, _ = world.measure(bench(**AT_ONCE)).rounds
    assert [trial.reason for trial in first.trials] == [GENERATOR_STALLED] * 2 + [""]
    assert first.shown_trial == 2
    error, _ = ended(World(stalls_in=range(10**6)), bench(**AT_ONCE))
    assert (error.outcome, error.found) == (Outcome.INVALID, GENERATOR_STALLED)


def test_a_server_is_filled_as_far_as_its_samples_say_and_loaded_by_others():
    point = World().measure(bench(**FILLING))
    for round_ in point.rounds:
        *filling, load = round_.trials
        assert sum(trial.completed for trial in filling) == 1800
        assert max(trial.rate for trial in filling) == 250
        assert max(trial.duration_s for trial in filling) == 3
        assert (load.rate, load.duration_s) == (50, 2)
        first = [trial.argv[trial.argv.index("-x") :] for trial in round_.trials]
        assert len(set(first)) == len(first), "each has clients of its own"
        assert round_.metrics["filled"] == 0.9
        assert round_.metrics["filled_after"] == pytest.approx(0.95)
        assert round_.metrics["completed_rate"] == pytest.approx(50, rel=0.01)
        assert round_.metrics["cpu_us"] == load.cpu_us
        assert round_.shown == load


def test_the_rule_of_a_half_full_pool_is_lifted_for_a_filling_and_noted():
    first, _ = World().measure(bench(**FILLING)).rounds
    noted = [trial.waived for trial in first.trials]
    assert noted[0] == ()
    assert noted[-1] == (POOL_TOO_FULL,)
    assert all(trial.valid for trial in first.trials)
    full = {**SHORT, "pool": POOL, "duration_s": 6}  # 1200 of 2000 in the end
    first, _ = World().measure(bench(**full)).rounds
    assert [trial.reason for trial in first.trials] == ["", "", "", "", "", POOL_TOO_FULL]
    assert [trial.waived for trial in first.trials] == [()] * 6


def test_a_server_that_takes_no_more_ends_the_filling():
    world = World(room=1500)
    error, point = ended(world, bench(**FILLING))
    assert error.outcome is Outcome.INVALID
    assert "cannot be filled" in error.what
    assert error.found.startswith("1500 of 2000 held after ")
    assert len(point.rounds) == 1


def test_a_server_that_does_not_report_what_it_holds_cannot_be_filled():
    class Silent(World):
        def sample_now(self):
            return msgspec.structs.replace(super().sample_now(), held=None)

    error, _ = ended(Silent(), bench(**FILLING))
    assert error.outcome is Outcome.INVALID
    assert "does not report how much it holds" in error.what


@pytest.mark.parametrize(("again", "loads"), [(1, 2), (9, 2)])
def test_a_load_that_a_stall_spoiled_is_offered_again_while_it_fits(again, loads):
    """Of 200 free addresses a spoiled one takes 60: it fits once more, and then not."""
    (first, *_) = World().measure(bench(**FILLING)).rounds
    at = len(first.trials)
    world = World(stalls_in=range(at, at + again))
    of = bench(**{**FILLING, "rate": 60})
    error, point = (None, world.measure(of)) if again == 1 else ended(world, of)
    made = [trial for trial in point.rounds[0].trials if trial.rate == 60]
    assert len(made) == loads
    if again == 1:
        assert point.rounds[0].metrics["filled"] == pytest.approx(0.93)
    else:
        assert (error.outcome, error.found) == (Outcome.INVALID, GENERATOR_STALLED)


def test_a_fixed_load_is_offered_for_its_time_by_other_clients_in_each_trial():
    point = World().measure(bench(**SHORT))
    assert len(point.rounds) == 2
    for round_ in point.rounds:
        assert [trial.rate for trial in round_.trials] == [200, 200, 200]
        assert len({trial.argv[trial.argv.index("-l") :] for trial in round_.trials}) == 3
        assert round_.metrics["completed_rate"] == pytest.approx(200, rel=0.01)
        assert round_.metrics["loss_ratio"] < 0.01
        assert 0 < round_.metrics["p50_s"] <= round_.metrics["p99_s"]
        assert (round_.bracket, round_.shown.rate) == (None, 200)


def test_a_fixed_load_that_stalls_is_waited_for_and_made_again():
    world = World(stalls_in=range(2, 4))
    first, _ = world.measure(bench(**SHORT)).rounds
    assert [trial.reason for trial in first.trials] == ["", *[GENERATOR_STALLED] * 2, "", ""]
    assert world.slept_s == [5.0]


def test_a_death_under_load_says_how_long_nobody_was_served_and_what_was_lost():
    world = World(unknown_leases=3)
    point = world.measure(bench(**DEATH))
    assert world.crashes == 2
    for round_ in point.rounds:
        assert round_.metrics["outage_s"] == 0.0  # this world's partner is there at once
        assert round_.metrics["violations"] == 3
        (trial,) = round_.trials
        assert (trial.rate, trial.duration_s, round_.shown_trial) == (200, 5, 0)
        (lost,) = trial.violations
        assert (lost.rule, lost.lines[-1]) == (
            "forgotten",
            "the server that answers next does not know it",
        )
        assert "-D" not in trial.argv
        names = {kind.name for kind in point.method.procedure.metrics("exchanges")}
        assert names <= set(round_.metrics)
