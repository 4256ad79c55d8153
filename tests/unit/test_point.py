"""A point: what ends it, what it leaves behind, and how it goes on."""

import gzip
from dataclasses import replace
from functools import cache

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.doubles import CAPACITY, Killed, World, bench, perfdhcp_output

from leaselab.measure.generators.adapter import GENERATOR_STALLED
from leaselab.measure.generators.dhcp_load import LOST_UPDATES, POOL_TOO_FULL
from leaselab.measure.point import journaled
from leaselab.measure.search_error import SearchReason
from leaselab.measure.server_use import memory_mib, written_rate
from leaselab.measure.trials import FOREIGN_REPLY, FOREIGN_REQUEST, NOT_IN_STATE
from leaselab.model.errors import LeaselabError, Outcome, lab_broken
from leaselab.model.journal import entry_of
from leaselab.model.observation import Foreign, Generated
from leaselab.model.procedure import PAUSE_LIMIT_S
from leaselab.model.trial import Sample
from leaselab.run.measurement import run_points

SOME_TIME = "2026-11-23T00:00:00Z"


def without_times(rounds):
    """Rounds as they are but for when they were made."""
    return [
        msgspec.structs.replace(
            round_,
            started_at=SOME_TIME,
            trials=tuple(
                msgspec.structs.replace(trial, started_at=SOME_TIME) for trial in round_.trials
            ),
        )
        for round_ in rounds
    ]


def rates(point):
    return [round_.metrics["max_rate"] for round_ in point.rounds]


def ended(world, of=None):
    """The error that ends the point or breaks its lab, and the point."""
    point = world.point(of)
    try:
        while not point.finished:
            point.advance()
    except LeaselabError as error:  # of a broken lab: others are the point's own
        return error, point
    assert point.error is not None
    return point.error, point


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


@cache
def quiet(**parameters):
    """The world of a sweep that nothing interrupted, and its point."""
    world = World()
    return world, world.measure(bench(**parameters))


def whole_rounds():
    return without_times(quiet()[1].rounds)


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


CONFIRMED = {"warm_up_s": 1, "confirm_s": 6}


def test_a_sweep_warms_up_and_confirms_its_result_and_counts_the_seconds():
    world = World(cold=0.3)
    point = world.measure(bench(**CONFIRMED))
    assert [len(round_.warm_ups) for round_ in point.rounds] == [1, 1, 1]
    for round_ in point.rounds:
        assert abs(round_.metrics["max_rate"] - CAPACITY) < 0.1 * CAPACITY
        assert round_.traffic_s > sum(trial.traffic_s for trial in round_.trials)
    confirmation = point.confirmation
    assert confirmation.holds
    assert [trial.rate > confirmation.rate for trial in confirmation.trials] == [
        False,
        True,
        True,
    ]
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
    assert waited == [
        f"waiting {seconds} s: generator-stalled, {row} trials in a row"
        for row, seconds in enumerate(pauses, start=2)
    ]


def test_a_sweep_killed_while_it_waits_goes_on_to_the_same_result():
    disturbed = range(4, 9)
    for at in range(4, 20):
        world = World(stalls_in=disturbed, kill_at=at)
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
    last = quiet(**CONFIRMED)[0].trials - 3
    world = World(stalls_in=range(last + 1, last + 1 + stalled))
    confirmation = world.measure(bench(**CONFIRMED)).confirmation
    assert confirmation.holds
    assert sum(trial.valid for trial in confirmation.trials) == 3
    assert len(confirmation.trials) == 3 + stalled
    assert world.slept_s == pauses


def test_a_disturbance_that_lasts_is_no_verdict_on_the_server():
    """Not-sustained would be one."""
    world = World(stalls_in=range(quiet(**CONFIRMED)[0].trials - 2, 10**6))
    error, point = ended(world, bench(**CONFIRMED))
    assert error.reason is SearchReason.INVALID_TRIAL
    assert "disturbed" in error.what
    assert not point.confirmation.holds
    below = [
        trial for trial in point.confirmation.trials if trial.rate == point.confirmation.rate
    ]
    assert len(below) == 6


def test_a_load_that_was_not_offered_confirms_nothing():
    """Each trial served all that there was, which was half of what it had to be."""
    last = quiet(**CONFIRMED)[0].trials - 4

    class Tired(World):
        def generate(self, argv, environment, timeout_s):
            if self.trials > last:
                self.reach = CAPACITY // 2
            return super().generate(argv, environment, timeout_s)

    error, point = ended(Tired(), bench(**CONFIRMED))
    assert error.reason is SearchReason.GENERATOR_LIMITED
    assert error.where == "confirmation"
    assert not point.confirmation.holds


def test_trials_of_a_confirmation_run_to_their_end():
    """A server that is dead for part of them has all of that time count."""
    aborted = []

    class Watched(World):
        def generate(self, argv, environment, timeout_s):
            aborted.append("-D" in argv)
            return super().generate(argv, environment, timeout_s)

    confirmation = Watched().measure(bench(**CONFIRMED)).confirmation
    assert any(aborted)
    assert not any(aborted[-len(confirmation.trials) :])


def test_the_lock_is_renewed_for_the_whole_of_each_trial():
    """Those of a confirmation are many times longer than those of a round."""
    renewed = []

    class Watched(World):
        def renew(self, busy_s=0.0):
            renewed.append(busy_s)
            super().renew(busy_s)

        def generate(self, argv, environment, timeout_s):
            if "-p" in argv:  # not that of who answers
                assert renewed[-1] >= int(argv[argv.index("-p") + 1])
            return super().generate(argv, environment, timeout_s)

    assert Watched().measure(bench(**CONFIRMED)).confirmation.holds
    assert max(renewed) == CONFIRMED["confirm_s"]


def test_a_pair_is_confirmed_and_not_overloaded():
    """Four times what it serves breaks a pair, and a broken pair is a broken lab."""
    of = bench(rounds=1, **CONFIRMED)
    pair = msgspec.structs.replace(of.scenario, partner=True)
    point = World().measure(replace(of, scenario=pair))
    confirmation = point.confirmation
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


def test_a_server_that_dies_ends_the_sweep_as_invalid_with_its_trials_kept():
    world = World(die_in=quiet()[0].trials)
    error, point = ended(world)
    assert error.outcome is Outcome.INVALID
    assert "the server died" in str(error)
    *finished, last = point.rounds
    assert without_times(finished) == whole_rounds()[: len(finished)]
    assert last.metrics["max_rate"] is None
    assert len(last.trials) >= 1
    assert [name for name, _ in world.events].count("round-done") == len(finished)
    assert not world.running


def test_a_server_that_dies_in_the_first_trial_leaves_no_run():
    error, point = ended(World(die_in=1))
    assert error.outcome is Outcome.INVALID
    assert point.rounds == []


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
    world = World(troubles=[*[""] * passed, "hot-standby, the partner partner-down"])
    point = world.measure()
    trials = [trial for round_ in point.rounds for trial in round_.trials]
    bad = [trial for trial in trials if not trial.valid]
    reported = [trial.trouble for trial in trials if trial.trouble]
    assert reported == ["hot-standby, the partner partner-down"]
    assert world.settled == 1
    assert [trial.reason for trial in bad] == [NOT_IN_STATE]
    again = trials[trials.index(bad[0]) + 1]
    assert again.valid
    assert again.rate == bad[0].rate


def test_leases_that_a_partner_never_got_are_an_invalid_measurement():
    world = World(unknown_leases=1)
    error, point = ended(world)
    assert error.outcome is Outcome.INVALID
    assert LOST_UPDATES in str(error)
    reasons = {trial.reason for trial in point.rounds[0].trials}
    assert LOST_UPDATES in reasons
    assert not world.running


OFFER = Foreign("reply", "DHCPOFFER", "02:00:00:00:00:07", "192.0.2.7", "192.0.2.7", 2)
ANOTHER = "DHCPOFFER from 192.0.2.7 (02:00:00:00:00:07), server identifier 192.0.2.7, 2 times"
CLIENT = Foreign("request", "DHCPDISCOVER", "02:00:00:00:00:08", "192.0.2.8", "", 1)


@pytest.mark.parametrize(
    ("foreign", "word", "detail"),
    [
        ([CLIENT, OFFER], FOREIGN_REPLY, ANOTHER),
        ([CLIENT], FOREIGN_REQUEST, "DHCPDISCOVER from 192.0.2.8 (02:00:00:00:00:08)"),
    ],
)
def test_a_trial_in_which_another_speaks_dhcp_is_made_again(foreign, word, detail):
    """Asked for once before the start, the watch reports the second trial."""
    point = World(heard=[[], [], foreign]).measure()
    _, bad, again, *_ = point.rounds[0].trials
    assert (bad.valid, bad.reason, bad.detail) == (False, word, detail)
    assert (again.valid, again.detail) == (True, "")
    assert again.rate == bad.rate


def test_a_server_that_always_answers_is_an_invalid_measurement_with_its_name():
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


def test_a_server_that_answers_nobody_is_a_broken_server():
    world = World(answering=False)
    error, _ = ended(world)
    assert (error.outcome, error.where) == (Outcome.BUILD, "leaselab-server")
    assert "completes no DHCPv4 exchange" in str(error)
    assert world.trials == 0
    assert not world.running


GOOD = perfdhcp_output(100, 100).encode()


@pytest.mark.parametrize(
    ("left", "what"),
    [
        (Generated(0, gzip.compress(b"rubbish\n"), ""), "does not parse"),
        (Generated(0, gzip.compress(b""), ""), "does not parse"),
        (Generated(0, gzip.compress(GOOD[: len(GOOD) // 2]), ""), "does not parse"),
        (Generated(3, gzip.compress(GOOD)[:-20], ""), "cut short"),
        (Generated(137, gzip.compress(GOOD), ""), "was killed"),
        (Generated(139, gzip.compress(b""), "Segmentation fault"), "signal 11"),
        (Generated(-1, b"", ""), "signal"),
        (Generated(127, b"", "env: 'perfdhcp': No such file"), "not found on the host"),
        (Generated(1, gzip.compress(b"Failed to bind\n"), ""), "Failed to bind"),
    ],
)
def test_what_is_no_measurement_is_never_a_loss_and_the_sweep_goes_on(left, what):
    world = World(broken_output=left)
    error, point = ended(world)
    assert error.outcome is Outcome.LAB
    assert what in str(error)
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
    assert error.found.startswith(f"of {limited[0].rate}/s asked for it offered 201/s at most")
    assert "the server's best trial: loss 0.0%" in error.found
    assert "2.5%" in error.wanted
    assert "more processors" in error.todo


def test_the_first_error_is_reported_when_the_server_cannot_be_stopped_either():
    world = World(lock_lost_at=4, stop_error=lab_broken("no way to the host"))
    error, _ = ended(world)
    assert "the bench is in use" in str(error)


SHORT = {"name": "fixed-load", "duration_s": 3, "trial_s": 1}
"""A fixed load in three trials a round."""
DEATH = {"name": "event", "before_s": 2, "after_s": 3}
AT_ONCE = {"name": "burst", "clients": 700, "limit_s": 5}
POOL = "10.0.0.1 - 10.0.7.208"
SIZE = 2000
"""Addresses that it has."""
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


def killed_once(procedure, at, *, before):
    """A world whose engine was killed at an event and went on to the end, and its point."""
    world = World(kill_at=at, kill_before=before)
    with pytest.raises(Killed):
        world.measure(bench(**procedure))
    world.kill_at = 10**9
    return world, world.measure(bench(**procedure))


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


def test_a_death_under_load_says_how_long_nobody_was_served_and_what_was_lost():
    world = World(unknown_leases=3)
    point = world.measure(bench(**DEATH))
    assert world.crashes == 2
    for round_ in point.rounds:
        assert round_.metrics["outage_s"] == 0.0  # this world's partner is there at once
        assert round_.metrics["missing"] == 3
        assert len(round_.trials) == 1


@settings(max_examples=10)
@given(
    st.lists(
        st.tuples(st.integers(0, 1), st.integers(1, 40), st.booleans()),
        min_size=1,
        max_size=3,
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
