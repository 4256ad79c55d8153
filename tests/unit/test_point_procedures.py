"""Points of other procedures than the search: fixed loads, bursts, fillings, deaths."""

from dataclasses import fields, replace

import msgspec
import pytest
from tests.doubles import CAPACITY, World, bench
from tests.formula import Zones, begun_point, formula_bench, formula_trials
from tests.sweeps import ended, killed_once, without_times

from leaselab.measure.generators.adapter import GENERATOR_STALLED
from leaselab.measure.generators.dhcp_load import POOL_TOO_FULL
from leaselab.measure.server_use import memory_mib, written_rate
from leaselab.measure.trials import Trials
from leaselab.model.errors import Outcome
from leaselab.model.record import TOO_FEW_CLIENTS, Provenance
from leaselab.model.trial import Sample
from leaselab.run.record import KeptConfig, record_of

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


@pytest.mark.parametrize(
    "procedure", [SHORT, DEATH, AT_ONCE, FILLING], ids=lambda value: value["name"]
)
@pytest.mark.parametrize("before", [False, True])
def test_any_procedure_killed_at_every_event_goes_on_to_the_same_result(procedure, before):
    whole = World(unknown_leases=3)
    wanted = without_times(whole.measure(bench(**procedure)).rounds)
    assert len(whole.events) >= 6
    for at in range(1, len(whole.events) + 1):
        world, point = killed_once(procedure, at, before=before, unknown_leases=3)
        assert without_times(point.rounds) == wanted
        # An interrupted filling repeats its round, a fixed load that was interrupted its load.
        if procedure in (AT_ONCE, DEATH):
            assert [name for name, _ in world.events] == [name for name, _ in whole.events]
            again = before and whole.events[at - 1][0] == "trial"
            assert world.trials == whole.trials + again


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


def sample(t, **fields):
    known = {"cpu_s": 0.0, "rss_bytes": None, "udp_drops": 0, "held": 0, "counters": {}}
    return Sample(t=t, **{**known, **fields})


def test_a_round_reports_the_most_memory_and_what_the_server_wrote_where_it_counts_that():
    first, *_ = World().measure(bench()).rounds
    trial = first.trials[first.shown_trial]

    def sampled(*taken):
        return msgspec.structs.replace(trial, samples={"server": taken, "partner": ()})

    memory = [sample(1.0, rss_bytes=2**20), sample(2.0, rss_bytes=3 * 2**20), sample(3.0)]
    assert memory_mib([sampled(*memory), trial]) == 3.0
    assert memory_mib([trial]) is None
    taken = [sample(1.0, written=100), sample(2.0), sample(3.0, written=5100), sample(4.0)]
    assert written_rate(sampled(*taken)) == 2500.0
    assert written_rate(sampled(*taken[:2])) is None
    assert first.metrics["written_rate"] is None


@pytest.mark.parametrize("capabilities", [(), ("reload",)])
def test_a_round_ends_with_a_reload_of_a_server_that_can(capabilities):
    """Few can: else each page would have an empty column."""
    rack = bench(rounds=2)
    server = replace(rack.server, capabilities=capabilities)
    rack = replace(rack, servers={**rack.servers, "server": server})
    world = World()
    point = world.measure(rack)
    reload_s = 2.5 if capabilities else None
    assert [round_.metrics["reload_s"] for round_ in point.rounds] == [reload_s] * 2
    assert world.reloads == (2 if capabilities else 0)
    record = record_of(
        *("20261124T080000Z-tests-0001", rack, point),
        setup_s=1.0,
        started_at="2026-11-24T08:00:00.000Z",
        owner="a.tester@desk",
        configs=dict.fromkeys(rack.servers, KeptConfig("config/kea.conf", "0" * 64)),
        experiment=None,
        provenance=Provenance(leaselab_version="0.1.0"),
    )
    reported = {metric.name: metric.value for metric in record.metrics}
    assert reported.get("reload_s") == reload_s
    assert ("reload_s" in reported) == bool(capabilities)
    assert reported["start_s"] == point.rounds[0].metrics["start_s"] == 0.25


@pytest.mark.parametrize(
    ("limit_s", "served", "took_s"), [(5, 700, 700 / CAPACITY), (2, 600, None)]
)
def test_clients_that_begin_at_once_take_a_time_unless_some_are_not_served(
    limit_s, served, took_s
):
    point = World().measure(bench(**{**AT_ONCE, "limit_s": limit_s}))
    for round_ in point.rounds:
        (trial,) = round_.trials
        assert (trial.at_once, trial.rate, trial.duration_s) == (700, 0, limit_s)
        assert (trial.valid, trial.completed, trial.lost) == (True, served, 700 - served)
        assert sum(second.completed for second in trial.per_second) == served
        metrics = round_.metrics
        assert metrics["served_s"] == (took_s and pytest.approx(took_s, rel=0.01))
        assert metrics["served_rate"] == (took_s and pytest.approx(CAPACITY, rel=0.01))
        assert metrics["served_ratio"] == pytest.approx(served / 700)
        assert (metrics["resent"], metrics["resent_ratio"]) == (1400, 2.0)
        assert metrics["cpu_us"] > 0
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
        metrics = round_.metrics
        assert metrics["filled"] == 0.9
        assert metrics["filled_after"] == pytest.approx(0.95)
        assert metrics["completed_rate"] == pytest.approx(50, rel=0.01)
        assert (metrics["cpu_us"], round_.shown) == (load.cpu_us, load)


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


class Silent(World):
    """A server that does not report what it holds."""

    def sample_now(self):
        return msgspec.structs.replace(super().sample_now(), held=None)


@pytest.mark.parametrize(
    ("world", "what", "reported", "rounds"),
    [
        (World(room=1500), "cannot be filled", "1500 of 2000 held after ", 1),
        (Silent(), "does not report how much it holds", "", 0),
    ],
)
def test_a_server_that_takes_no_more_or_is_silent_ends_a_filling(world, what, reported, rounds):
    error, point = ended(world, bench(**FILLING))
    assert error.outcome is Outcome.INVALID
    assert what in error.what
    assert error.found.startswith(reported)
    assert len(point.rounds) == rounds


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


def test_a_fixed_load_is_offered_for_its_time_and_a_stall_is_waited_for():
    point = World().measure(bench(**SHORT))
    for round_ in point.rounds:
        assert [trial.rate for trial in round_.trials] == [200, 200, 200]
        assert len({trial.argv[trial.argv.index("-l") :] for trial in round_.trials}) == 3
        assert (round_.bracket, round_.shown.rate) == (None, 200)
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
        assert [broken.rule for broken in trial.violations] == ["forgotten"]
        assert "-D" not in trial.argv
        names = {kind.name for kind in point.method.procedure.metrics("exchanges")}
        assert names <= set(round_.metrics)
