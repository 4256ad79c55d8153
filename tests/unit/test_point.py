"""A point: what ends it, what it leaves behind, and how it goes on."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.dns import left
from tests.doubles import CAPACITY, Killed, World, bench, perfdhcp_output
from tests.sweeps import ended, quiet, whole_rounds, without_times

from leaselab.measure.search_error import SearchReason
from leaselab.measure.trials import FOREIGN_REPLY, NOT_IN_STATE
from leaselab.model.errors import Outcome, lab_broken
from leaselab.model.observation import Foreign
from leaselab.run.measurement import run_points


def test_every_run_has_its_bracket_and_the_files_of_its_trials():
    world, point = quiet()
    assert [round_.index for round_ in point.rounds] == [1, 2, 3]
    for round_ in point.rounds:
        bracket = round_.bracket
        lower, upper = round_.trials[bracket.lower_trial], round_.trials[bracket.upper_trial]
        assert lower.loss_ratio <= 0.025 < upper.loss_ratio
        assert (lower.rate, upper.rate) == (bracket.lower, bracket.upper)
        assert bracket.lower <= round_.metrics["max_rate"] <= bracket.upper
        assert abs(round_.metrics["max_rate"] - CAPACITY) < 0.1 * CAPACITY
        assert {trial.raw_file for trial in round_.trials} <= set(world.files)
    assert len(world.files) == sum(len(round_.trials) for round_ in point.rounds)
    assert not world.running
    assert world.stops == len(point.rounds), "a server is started and stopped once a run"


@settings(max_examples=40)
@given(st.lists(st.tuples(st.integers(0, 999), st.booleans()), min_size=1, max_size=4))
def test_a_sweep_killed_anywhere_goes_on_to_the_same_result(kills):
    """Whatever was killed, no trial that lasted is made again."""
    world, (whole, _) = World(), quiet()
    lost = 0
    for at, before in kills:
        world.kill_at, world.kill_before = 1 + at % len(whole.events), before
        count = len(world.events)
        try:
            point = world.measure()
        except Killed:
            assert len(world.events) >= count
            lost += before
        else:
            break
    else:
        world.kill_at = 10**9
        point = world.measure()
    assert without_times(point.rounds) == whole_rounds()
    assert [name for name, _ in world.events] == [name for name, _ in whole.events]
    assert world.files == whole.files
    assert whole.trials <= world.trials <= whole.trials + lost


def test_a_journal_that_another_search_wrote_is_refused():
    world = World()
    world.kill_at = 3
    with pytest.raises(Killed):
        world.measure()
    world.kill_at = 10**9
    world.events[-1][1]["trial"]["rate"] += 1
    error, point = ended(world)
    assert error.outcome is Outcome.LAB
    assert "the journal does not follow from this version's search" in str(error)
    assert point.rounds == []
    assert not world.running


@pytest.mark.parametrize("die_in", [1, None])
def test_a_server_that_dies_ends_the_sweep_as_invalid_with_its_trials_kept(die_in):
    world = World(die_in=die_in or quiet()[0].trials)
    error, point = ended(world)
    assert error.outcome is Outcome.INVALID
    assert "the server died" in str(error)
    *finished, last = point.rounds or [None]
    assert without_times(finished) == whole_rounds()[: len(finished)]
    assert (last is None) is (die_in == 1)
    assert last is None or (last.metrics["max_rate"] is None and len(last.trials) >= 1)
    assert [name for name, _ in world.events].count("round-done") == len(finished)
    assert not world.running


def test_a_lost_lock_stops_the_sweep_and_keeps_its_journal():
    world = World(lock_lost_at=4)
    error, point = ended(world)
    assert error.outcome is Outcome.LAB
    assert "ben@desk" in str(error)
    assert point.rounds == []
    assert [name for name, _ in world.events].count("trial") == 2
    assert not world.running
    world.lock_lost_at = 10**9
    assert without_times(world.measure().rounds) == whole_rounds()


def test_a_pass_of_a_broken_pair_is_made_again_and_the_pair_settles_first():
    (first, *_) = quiet()[1].rounds
    passed = next(n for n, trial in enumerate(first.trials) if trial.loss_ratio <= 0.025)
    trouble = "hot-standby, the partner partner-down"
    world = World(troubles=[*[""] * passed, trouble])
    trials = [trial for round_ in world.measure().rounds for trial in round_.trials]
    (bad,) = [trial for trial in trials if not trial.valid]
    assert [trial.trouble for trial in trials if trial.trouble] == [bad.trouble] == [trouble]
    assert (bad.reason, world.settled) == (NOT_IN_STATE, 1)
    again = trials[trials.index(bad) + 1]
    assert (again.valid, again.rate) == (True, bad.rate)


OFFER = Foreign("reply", "DHCPOFFER", "02:00:00:00:00:07", "192.0.2.7", "192.0.2.7", 2)


ANOTHER = "DHCPOFFER from 192.0.2.7 (02:00:00:00:00:07), server identifier 192.0.2.7, 2 times"


def test_a_trial_in_which_another_speaks_dhcp_is_made_again():
    """Asked for once before the start, the watch reports the second trial."""
    point = World(heard=[[], [], [OFFER]]).measure()
    _, bad, again, *_ = point.rounds[0].trials
    assert (bad.valid, bad.reason, bad.detail) == (False, FOREIGN_REPLY, ANOTHER)
    assert (again.valid, again.detail, again.rate) == (True, "", bad.rate)
    error, _ = ended(World(heard=[[], *[[OFFER]] * 9]))
    assert error.reason is SearchReason.INVALID_TRIAL
    assert error.found == f"foreign-reply: {ANOTHER}"


def test_no_server_is_started_where_another_serves():
    world = World(heard=[[OFFER]])
    error, _ = ended(world)
    assert (error.outcome, error.found) == (Outcome.LAB, ANOTHER)
    assert (world.started_at, world.trials) == (0, 0)
    assert without_times(world.measure().rounds) == whole_rounds()


def test_what_is_answered_late_is_reported_after_the_warm_up():
    world = World(heard=[[], [OFFER]])
    error, _ = ended(world, bench(warm_up_s=1))
    assert (error.outcome, error.found) == (Outcome.LAB, ANOTHER)
    assert (world.trials, world.running) == (1, False)


@pytest.mark.parametrize(("die_in", "why"), [(10**9, ""), (0, ": the server died")])
def test_a_server_that_answers_nobody_is_a_broken_server(die_in, why):
    world = World(answering=False, die_in=die_in)
    error, _ = ended(world)
    assert (error.outcome, error.where) == (Outcome.BUILD, "leaselab-server")
    assert f"completes no DHCPv4 exchange with the generator{why}" in str(error)
    assert world.trials == 0
    assert not world.running


@pytest.mark.parametrize("fault", [{"loses": 1.0}, {"answering": False}])
def test_a_network_that_fails_is_the_lab_and_no_loss_of_the_server(fault):
    error, _ = ended(World(**fault, neighbor="198.18.0.10 dev eth1 FAILED"))
    assert (error.outcome, error.where) == (Outcome.LAB, "leaselab-generator")
    assert "FAILED" in error.found


def test_what_is_no_measurement_is_never_a_loss_and_the_sweep_goes_on():
    half = perfdhcp_output(100, 100).encode()[:2000]
    world = World(broken_output=left(half))
    error, point = ended(world)
    assert error.outcome is Outcome.LAB
    assert "does not parse" in str(error)
    assert point.rounds == []
    assert [name for name, _ in world.events].count("trial") == 1
    assert not world.running
    world.broken_output = None
    assert without_times(world.measure().rounds) == whole_rounds()


def test_a_generator_that_is_slower_than_the_server_says_nothing_about_it():
    world = World(reach=200)
    error, point = ended(world)
    assert error.outcome is Outcome.INVALID
    assert "the traffic generator is slower than the server" in str(error)
    assert world.slept_s == [], "that is not waited for"
    assert point.rounds[-1].metrics["max_rate"] is None
    limited = [
        trial for trial in point.rounds[-1].trials if trial.reason == "generator-limited"
    ]
    assert error.found.startswith(f"201/s offered at most, of {limited[0].rate}/s")
    assert ("2.5%" in error.wanted, "more processors" in error.todo) == (True, True)


def test_the_first_error_is_reported_when_the_server_cannot_be_stopped_either():
    world = World(lock_lost_at=4, stop_error=lab_broken("no way to the host"))
    error, _ = ended(world)
    assert "the bench is in use" in str(error)


@settings(max_examples=10)
@given(
    st.lists(
        st.tuples(st.integers(0, 1), st.integers(1, 40), st.booleans()), min_size=1, max_size=3
    )
)
def test_an_interleaved_experiment_killed_anywhere_goes_on_to_the_same_results(kills):
    """A kill in one point's round leaves the other's journal as it was."""

    def measured(worlds):
        points = [world.point(bench()) for world in worlds]
        run_points(points, interleaved=True, done=lambda _: None)
        return points

    worlds = [World(), World(loses=0.01)]
    wanted = [without_times(point.rounds) for point in measured([World(), World(loses=0.01)])]
    for place, at, before in kills:
        worlds[place].kill_at, worlds[place].kill_before = at, before
        try:
            points = measured(worlds)
        except Killed:
            worlds[place].kill_at = 10**9
            continue
        break
    else:
        points = measured(worlds)
    assert [without_times(point.rounds) for point in points] == wanted
