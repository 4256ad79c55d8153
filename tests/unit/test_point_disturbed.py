"""A sweep in a disturbed lab: pauses, and the confirmation of its result."""

from dataclasses import replace

import msgspec
import pytest
from tests.doubles import CAPACITY, Killed, World, bench
from tests.examples import trial_of
from tests.sweeps import CONFIRMED, ended, killed_once, quiet, rates

from leaselab.measure.generators.adapter import GENERATOR_STALLED
from leaselab.measure.point import journaled
from leaselab.measure.search_error import SearchReason, none_confirms
from leaselab.model.errors import Outcome
from leaselab.model.journal import entry_of
from leaselab.model.procedure import PAUSE_LIMIT_S


def test_a_sweep_warms_up_and_confirms_its_result_and_counts_the_seconds():
    world = World(cold=0.3)
    point = world.measure(bench(**CONFIRMED))
    assert [len(round_.warm_ups) for round_ in point.rounds] == [1, 1, 1]
    for round_ in point.rounds:
        assert abs(round_.metrics["max_rate"] - CAPACITY) < 0.1 * CAPACITY
        assert round_.traffic_s > sum(trial.traffic_s for trial in round_.trials)
    confirmation = point.confirmation
    assert confirmation.holds
    above = [trial.rate > confirmation.rate for trial in confirmation.trials]
    assert above == [False, True, True, False]
    assert confirmation.trials[0].duration_s == 6
    assert confirmation.rate <= 0.95 * min(round_.bracket.lower for round_ in point.rounds)
    assert confirmation.traffic_s > 6
    assert not world.running


@pytest.mark.parametrize("before", [False, True])
def test_a_sweep_killed_in_its_confirmation_goes_on_to_the_same(before):
    whole, point = quiet(**CONFIRMED)
    wanted = [trial.rate for trial in point.confirmation.trials]
    names = [name for name, _ in whole.events]
    for at in range(names.index("confirmation"), len(names) + 1):
        world, again = killed_once(CONFIRMED, at, before=before)
        assert [trial.rate for trial in again.confirmation.trials] == wanted
        assert [name for name, _ in world.events].count("confirmation") == len(wanted)


def test_a_server_that_stands_still_now_and_then_has_no_figure():
    """The trials of the search miss it, or take it for a limit."""
    world = World()
    world.measure(bench(rounds=1))
    world = World(dead_every=world.trials + 3)
    error, point = ended(world, bench(rounds=1, **CONFIRMED))
    assert error.outcome is Outcome.INVALID
    assert error.reason is SearchReason.NOT_SUSTAINED
    assert "loss " in error.found
    assert point.rounds[0].metrics["max_rate"]
    assert not point.confirmation.holds


@pytest.mark.parametrize(
    ("stalled", "pauses"), [(1, []), (2, [5]), (3, [5, 10]), (5, [5, 10, 20, 30])]
)
def test_a_disturbed_lab_is_waited_for_and_the_result_is_that_of_a_quiet_one(stalled, pauses):
    world = World(stalls_in=range(4, 4 + stalled))
    point = world.measure()
    assert world.slept_s == pauses
    reported = [data for name, data in world.events if name == "pause"]
    assert reported == [{"s": seconds, "reason": GENERATOR_STALLED} for seconds in pauses]
    assert rates(point) == rates(quiet()[1])
    bad = [trial for round_ in point.rounds for trial in round_.trials if not trial.valid]
    assert [trial.reason for trial in bad] == [GENERATOR_STALLED] * stalled
    waited = [text for text in world.phases if text.startswith("waiting")]
    assert [text.split(": ")[0] for text in waited] == [f"waiting {each} s" for each in pauses]


def test_a_sweep_killed_while_it_waits_goes_on_to_the_same_result():
    for at in range(4, 20):
        world = World(stalls_in=range(4, 9), kill_at=at)
        with pytest.raises(Killed):
            world.measure()
        world.kill_at = 10**9
        point = world.measure()
        assert rates(point) == rates(quiet()[1])
        reported = [data["s"] for name, data in world.events if name == "pause"]
        assert point.paused_s == sum(reported)
        assert 65 <= sum(reported) <= 65 + 30, "a pause that was cut short is made again"


def test_a_lab_that_stays_disturbed_ends_the_sweep_and_says_what_to_do():
    world = World(stalls_in=range(4, 100))
    error, _ = ended(world)
    assert error.reason is SearchReason.INVALID_TRIAL
    assert "6 trials in a row" in error.found
    assert "generator's host" in error.todo
    assert world.slept_s == [5, 10, 20, 30]


def test_a_sweep_does_not_wait_longer_in_all_than_it_may():
    """Five spoiled trials of six, for ever: each sixth restarts the row."""

    class Restless(World):
        def generate(self, argv, environment, timeout_s):
            self.stalls_in = range(0) if (self.trials + 1) % 6 == 0 else range(10**6)
            return super().generate(argv, environment, timeout_s)

    world = Restless()
    world.measure()
    assert sum(world.slept_s) == PAUSE_LIMIT_S
    again = journaled(entry_of(*event) for event in world.events)
    assert again.paused_s == PAUSE_LIMIT_S


@pytest.mark.parametrize(("stalled", "pauses"), [(3, [5, 10]), (5, [5, 10, 20, 30])])
def test_a_confirmation_outlives_a_disturbance_as_well(stalled, pauses):
    last = quiet(**CONFIRMED)[0].trials - 4
    world = World(stalls_in=range(last + 1, last + 1 + stalled))
    confirmation = world.measure(bench(**CONFIRMED)).confirmation
    assert confirmation.holds
    assert sum(trial.valid for trial in confirmation.trials) == 4
    assert (len(confirmation.trials), world.slept_s) == (4 + stalled, pauses)


def test_a_disturbance_that_lasts_is_no_verdict_on_the_server():
    """Not-sustained would be one."""
    world = World(stalls_in=range(quiet(**CONFIRMED)[0].trials - 3, 10**6))
    error, point = ended(world, bench(**CONFIRMED))
    assert error.reason is SearchReason.INVALID_TRIAL
    assert "disturbed" in error.what
    confirmation = point.confirmation
    assert not confirmation.holds
    assert [trial.rate for trial in confirmation.trials].count(confirmation.rate) == 6


def test_a_load_that_was_not_offered_confirms_nothing():
    """Each trial served all that there was, which was half of what it had to be."""
    last = quiet(**CONFIRMED)[0].trials - 5

    class Tired(World):
        def generate(self, argv, environment, timeout_s):
            if self.trials > last:
                self.reach = CAPACITY // 2
            return super().generate(argv, environment, timeout_s)

    error, point = ended(Tired(), bench(**CONFIRMED))
    assert error.reason is SearchReason.GENERATOR_LIMITED
    assert error.where == "confirmation"
    assert not point.confirmation.holds


def test_trials_of_a_confirmation_run_to_their_end_and_the_lock_is_renewed_for_all_of_them():
    """A server that is dead for part of them has all of that time count."""
    aborted, renewed = [], []

    class Watched(World):
        def renew(self, busy_s=0.0):
            renewed.append(busy_s)
            super().renew(busy_s)

        def generate(self, argv, environment, timeout_s):
            aborted.append("-D" in argv)
            if "-p" in argv:  # not that of who answers
                assert renewed[-1] >= int(argv[argv.index("-p") + 1])
            return super().generate(argv, environment, timeout_s)

    confirmation = Watched().measure(bench(**CONFIRMED)).confirmation
    assert confirmation.holds
    assert any(aborted)
    assert not any(aborted[-len(confirmation.trials) :])
    assert max(renewed) == CONFIRMED["confirm_s"], "many times longer than those of a round"


def test_a_pair_is_confirmed_and_not_overloaded():
    """Four times what it serves breaks a pair, and a broken pair is a broken lab."""
    of = bench(rounds=1, **CONFIRMED)
    pair = msgspec.structs.replace(of.scenario, partner=True)
    confirmation = World().measure(replace(of, scenario=pair)).confirmation
    assert confirmation.holds
    stretch, above = confirmation.trials
    assert (stretch.rate, above.rate < 1.5 * confirmation.rate) == (confirmation.rate, True)


def test_a_search_that_ends_where_a_server_loses_by_chance_is_found_out():
    """3 % at any load: where the search begins, it finds a limit that is none."""

    class Lucky(World):
        def generate(self, argv, environment, timeout_s):
            self.loses = 0.0 if self.trials % 4 == 1 else 0.03
            return super().generate(argv, environment, timeout_s)

    error, _ = ended(Lucky(), bench(rounds=1, start_rate=CAPACITY // 6, **CONFIRMED))
    assert error.outcome is Outcome.INVALID
    assert error.reason is SearchReason.LOSES_AT_ANY_LOAD


def test_trials_that_count_are_not_among_the_reasons_of_a_confirmation_that_ended():
    stalled = trial_of(900, 3, 0, valid=False, reason="generator-stalled")
    error = none_confirms([trial_of(900, 3, 0), *[stalled] * 6])
    assert error.found == "1 valid of 7 trials at 900/s: generator-stalled"
    assert "disturbed" in error.what
