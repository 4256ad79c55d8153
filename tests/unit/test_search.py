"""The search proves a bracket on any server, whatever the earlier runs said."""

from __future__ import annotations

import math
import random

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.examples import trial_of

from leaselab.measure.outcomes import Outcomes
from leaselab.measure.search import Searched, search
from leaselab.measure.search_error import SearchError, SearchReason, noisy
from leaselab.model.errors import Outcome
from leaselab.model.procedures.max_rate import MaxRate
from leaselab.model.record import TOO_FEW_CLIENTS
from leaselab.model.trial import Load, Part, Trial

PROCEDURE = MaxRate()


def keeps(rate, max_rate):
    """Completes its capacity whatever is offered."""
    return min(1.0, max_rate * (1 - PROCEDURE.loss_ratio) / rate)


def collapses(rate, max_rate):
    """Completes less, the more is offered."""
    return keeps(rate, max_rate) ** 1.8 if rate > max_rate else keeps(rate, max_rate)


def cliff(rate, max_rate):
    """Answers all or nothing: there is nothing to read from its losses."""
    return 1.0 if rate <= max_rate else 0.0


def lossy(rate, max_rate):
    """Loses a constant 2 % at any passing load, so its losses mislead."""
    return 0.98 if rate <= max_rate else min(0.9, 1.2 * max_rate / rate)


def optimist(rate, max_rate):
    """Loses just over the goal at any overload, so its losses mislead upwards."""
    return 1.0 if rate <= max_rate else min(0.974, 1.2 * max_rate / rate)


SERVERS = (keeps, collapses, cliff, lossy, optimist)


class Bench:
    """A server with a known max rate and a generator with a known reach."""

    def __init__(self, passed, max_rate, reach=10**9, noise=()):
        self.passed, self.max_rate, self.reach = passed, max_rate, reach
        self.noise, self.loads = list(noise), []

    def __call__(self, load: Load) -> Trial:
        self.loads.append(load)
        factor = self.noise[len(self.loads) % len(self.noise)] if self.noise else 1.0
        offered = min(load.rate, self.reach)
        attempted = offered * load.duration_s
        completed = math.floor(attempted * self.passed(offered, self.max_rate * factor) + 1e-9)
        short = {"valid": False, "reason": "generator-limited"}
        how = {} if attempted >= 0.99 * load.rate * load.duration_s else short
        lost = attempted - completed
        return trial_of(load.rate, load.duration_s, lost, attempted=attempted, **how)


def assert_proven(outcome: Searched):
    bracket = outcome.bracket
    lower, upper = outcome.trials[bracket.lower_trial], outcome.trials[bracket.upper_trial]
    assert (bracket.lower, bracket.upper) == (lower.rate, upper.rate)
    assert 0 < (upper.rate - lower.rate) / upper.rate <= PROCEDURE.relative_width
    assert PROCEDURE.passes(lower)
    assert upper.valid
    assert not PROCEDURE.passes(upper)
    assert lower.duration_s == upper.duration_s == PROCEDURE.trial_s
    assert lower.rate <= outcome.max_rate <= upper.rate


def failure(measure, match="", procedure=PROCEDURE):
    """The error that a search ends with."""
    with pytest.raises(SearchError, match=match) as caught:
        search(measure, procedure)
    return caught.value


max_rates = st.floats(120, 150_000)
servers = st.sampled_from(SERVERS)


@settings(max_examples=4 * settings.default.max_examples)
@given(passed=servers, max_rate=max_rates, earlier=st.lists(max_rates, max_size=8))
def test_a_run_brackets_any_monotone_server_whatever_earlier_ones_say(
    passed, max_rate, earlier
):
    """Their max rates are all that a run knows of them; the first knows of none."""
    bench = Bench(passed, max_rate)
    estimate = search(bench, PROCEDURE, earlier)
    assert_proven(estimate)
    # Whole exchanges: a loss of one in some hundreds moves the goal a little.
    slack = 1 + 2 / max_rate
    assert estimate.bracket.lower <= max_rate * slack
    assert estimate.bracket.upper * slack >= max_rate
    assert len(estimate.trials) == len(bench.loads) <= PROCEDURE.max_trials
    assert all(PROCEDURE.min_rate <= item.rate <= PROCEDURE.max_rate for item in bench.loads)


@given(
    passed=servers,
    max_rate=st.floats(500, 100_000),
    noise=st.lists(st.floats(0.9, 1.1), min_size=1, max_size=40),
)
def test_noise_ends_in_a_bracket_or_in_a_failure_that_says_noisy(passed, max_rate, noise):
    bench = Bench(passed, max_rate, noise=noise)
    try:
        outcome = search(bench, PROCEDURE)
    except SearchError as error:
        outcome = error
    assert len(bench.loads) <= PROCEDURE.max_trials
    if isinstance(outcome, SearchError):
        assert outcome.reason is SearchReason.NOISY
        assert len(outcome.trials) == PROCEDURE.max_trials
    else:
        assert_proven(outcome)
        # The noise's range, a bracket's width further to either side, and rates are whole.
        slack = 1 - PROCEDURE.relative_width - 2 / max_rate
        assert 0.9 * max_rate * slack <= outcome.max_rate <= 1.1 * max_rate / slack


@given(
    max_rate=st.floats(500, 100_000),
    noise=st.lists(st.floats(0.97, 1.03), min_size=1, max_size=20),
    cut=st.integers(1, 30),
)
def test_replayed_trials_lead_to_the_same_result(max_rate, noise, cut):
    whole = search(Bench(keeps, max_rate, noise=noise), PROCEDURE)
    journal, again = list(whole.trials[:cut]), Bench(keeps, max_rate, noise=noise)

    def resumed(load):
        trial = again(load)
        finished = journal.pop(0) if journal else trial
        assert (finished.rate, finished.duration_s) == (load.rate, load.duration_s)
        return finished

    assert search(resumed, PROCEDURE) == whole


@given(
    passed=st.sampled_from((keeps, collapses, cliff)),
    max_rate=st.floats(500, 100_000),
    reach=st.integers(300, 120_000),
)
@example(passed=cliff, max_rate=2000.0, reach=2040)
def test_a_weak_generator_gives_a_bracket_below_its_reach_or_says_so(passed, max_rate, reach):
    bench = Bench(passed, max_rate, reach=reach)
    if reach >= 1.02 * max_rate:
        estimate = search(bench, PROCEDURE)
        assert_proven(estimate)
        assert estimate.bracket.upper * 0.99 <= reach
    elif reach <= 0.98 * max_rate:
        error = failure(bench, "generator is slower")
        assert error.reason is SearchReason.GENERATOR_LIMITED
        assert error.outcome is Outcome.INVALID


@given(max_rate=st.floats(8_000, 12_500))
def test_an_overloaded_server_that_keeps_up_with_its_generator_says_where_to_look(max_rate):
    """The generator reaches 13 000/s, the server nearly: one trial beyond is enough."""
    bench = Bench(keeps, max_rate, reach=13_000)
    estimate = search(bench, replace(PROCEDURE, start_rate=15_240))
    assert_proven(estimate)
    assert [trial.rate for trial in estimate.trials if not trial.valid] == [15_240]
    assert len(estimate.trials) <= 6


@pytest.mark.parametrize("reason", ["generator-limited", "generator-stalled"])
def test_what_a_scout_completed_says_where_to_look_whether_it_counts_or_not(reason):
    """Seen: full trials at 3.6 times the max rate, as two scouts there did not count."""
    bench = Bench(collapses, 10_700, reach=39_200)

    def measure(load):
        trial = bench(load)
        return trial if trial.valid else replace(trial, reason=reason)

    outcome = search(measure, replace(PROCEDURE, start_rate=10_500))
    assert_proven(outcome)
    assert outcome.max_rate == pytest.approx(10_700, rel=0.01)
    full = [load.rate for load in bench.loads if load.duration_s == PROCEDURE.trial_s]
    assert max(full) < 1.5 * 10_700
    assert sum(load.rate > 2 * 10_700 for load in bench.loads) == 1


def test_one_hiccup_of_the_generator_costs_one_trial():
    bench = Bench(keeps, 6000)

    def hiccup(load):
        trial = bench(load)
        half = {"valid": False, "reason": "generator-limited"}
        half["attempted"] = trial.attempted // 2
        return replace(trial, **half) if len(bench.loads) == 4 else trial

    estimate = search(hiccup, PROCEDURE)
    assert_proven(estimate)
    assert bench.loads[3] == bench.loads[4]
    assert len(estimate.trials) == len(search(Bench(keeps, 6000), PROCEDURE).trials) + 1


def test_a_trial_that_is_never_valid_ends_the_run_with_its_reason():
    bench = Bench(keeps, 6000)
    error = failure(
        lambda load: replace(bench(load), valid=False, reason="pool-too-full"), "pool-too-full"
    )
    assert error.reason is SearchReason.INVALID_TRIAL
    assert len(bench.loads) == 3


@pytest.mark.parametrize(
    ("max_rate", "match", "reason"),
    [
        (60, r"^search: .*lowest rate .* 99/s", SearchReason.BELOW_MIN_RATE),
        (0, "lowest rate", SearchReason.BELOW_MIN_RATE),
        (10**6, r"loss 0\.0% at 200000/s", SearchReason.ABOVE_MAX_RATE),
    ],
)
@pytest.mark.parametrize("passed", [keeps, collapses, cliff])
def test_a_server_beyond_the_rates_of_the_search_is_named(passed, max_rate, match, reason):
    assert failure(Bench(passed, max_rate), match).reason is reason


@pytest.mark.parametrize("lost", [0.03, 0.3])
def test_a_server_that_loses_at_any_load_is_distinguished_from_a_slow_one(lost):
    """It completes thousands a second, and fails at a few hundred."""
    bench = Bench(lambda rate, max_rate: min(1 - lost, max_rate / rate), 6000)
    error = failure(bench, "loses transactions at any load")
    assert error.reason is SearchReason.LOSES_AT_ANY_LOAD


def kind_of(attempted, completed):
    return Part(attempted=attempted, completed=completed, late=0, p50_s=None, p99_s=None)


@pytest.mark.parametrize("goal", [0.005, 0.025])
def test_the_max_rate_of_a_mix_is_that_of_its_worst_kind(goal):
    """As Knot, which loses updates from 35 000/s on and answers queries of 123 000/s."""

    def measure(load):
        parts = {}
        for kind, share, capacity in (("query", 0.9, 90_000), ("update", 0.1, 3500)):
            attempted = round(share * load.rate * load.duration_s)
            parts[kind] = kind_of(attempted, min(attempted, capacity * load.duration_s))
        begun = sum(part.attempted for part in parts.values())
        lost = begun - sum(part.completed for part in parts.values())
        made = trial_of(load.rate, load.duration_s, lost, attempted=begun)
        return replace(made, kinds=parts)

    estimate = search(measure, MaxRate(loss_ratio=goal))
    bracket = estimate.bracket
    assert bracket.lower <= 35_000 / (1 - goal) <= bracket.upper
    upper = estimate.trials[bracket.upper_trial]
    assert upper.loss_ratio == upper.kinds["update"].loss_ratio > goal
    assert upper.kinds["query"].loss_ratio == 0.0
    assert 1 - upper.completed / upper.attempted < goal


def mixed(shares, answers, seed):
    """A server of 23 000/s, of a load with shares of small kinds; each draws its fate.

    `answers` is the share of each small kind that is answered at all.
    """
    chance = random.Random(seed)  # noqa: S311  # a simulation

    def drawn(count, share):
        return sum(chance.random() < share for _ in range(count)) if share < 1 else count

    def measure(load):
        due = load.rate * load.duration_s
        begun = {word: drawn(due, share) for word, share in shares.items()}
        begun["renew"] = due - sum(begun.values())
        kept = min(1.0, 23_000 * chance.gauss(1, 0.002) / load.rate)
        done = {
            word: drawn(count, kept * (1 if word == "renew" else answers))
            for word, count in begun.items()
        }
        made = trial_of(load.rate, load.duration_s, due - sum(done.values()))
        parts = {word: kind_of(count, done[word]) for word, count in begun.items() if count}
        return replace(made, kinds=parts if shares else {})

    return measure


@pytest.mark.parametrize("trial_s", [2, 5, 10])
@pytest.mark.parametrize("share", [0.005, 0.016, 0.1])
def test_a_small_kind_that_is_never_answered_is_lost_at_any_load_from_the_first_trials_on(
    share, trial_s
):
    for kinds in ({"inform": share}, {"inform": share, "decline": share}):
        measure, procedure = mixed(kinds, 0.0, seed=trial_s), MaxRate(trial_s=trial_s)
        error = failure(measure, "loses informs at any load", procedure)
        assert error.reason is SearchReason.LOSES_AT_ANY_LOAD
        assert len(error.trials) <= 4
        assert "answers no informs" in str(error)


@pytest.mark.parametrize("trial_s", [2, 5])
@pytest.mark.parametrize("share", [0.0, 0.005, 0.1])
def test_small_kinds_that_are_answered_change_no_max_rate(share, trial_s):
    kinds = {"inform": share, "decline": share} if share else {}
    estimate = search(mixed(kinds, 1.0, seed=1), MaxRate(trial_s=trial_s))
    assert estimate.max_rate == pytest.approx(23_000 / (1 - PROCEDURE.loss_ratio), rel=0.01)


@pytest.mark.parametrize(("clients", "most_trials"), [(1, 5), (20, 7), (60, 7)])
def test_a_load_that_its_clients_cannot_begin_ends_a_search(clients, most_trials):
    """However fast the server is: all are under way as long as it takes for them."""

    def crowd(load):
        served = min(load.rate, 23_000, clients * 1000)
        begun = {"attempted": served * load.duration_s}
        if served < 0.99 * load.rate:
            begun |= {"valid": False, "reason": TOO_FEW_CLIENTS, "detail": f"{clients} clients"}
        return trial_of(load.rate, load.duration_s, **begun)

    error = failure(crowd, f"they began .*: {clients} clients")
    assert error.reason is SearchReason.TOO_FEW_CLIENTS
    assert len(error.trials) <= most_trials


def test_clients_that_were_too_few_for_a_moment_are_enough():
    """Such as by a pause of the server: the same load is begun as it is offered again."""
    bench, tried = Bench(keeps, 23_000), []

    def measure(load):
        tried.append(load)
        made = bench(load)
        is_short = tried.count(load) == 1 and PROCEDURE.passes(made)
        return replace(made, valid=False, reason=TOO_FEW_CLIENTS) if is_short else made

    assert_proven(search(measure, PROCEDURE))


def test_a_server_that_is_faster_while_its_store_is_empty_is_no_lossy_one():
    """dnsmasq searches all its leases: a second's trial completes twice the rate of five."""
    slow, fast = Bench(keeps, 2000), Bench(keeps, 4500)

    def measure(load):
        return (fast if load.duration_s == PROCEDURE.scout_s else slow)(load)

    estimate = search(measure, PROCEDURE)
    assert_proven(estimate)
    assert estimate.max_rate == pytest.approx(2000, rel=0.01)


def test_contradicting_outcomes_are_named_with_their_rates():
    """A server that was slow once: a failure at a rate below one that passes."""
    failed = Bench(keeps, 5500)(Load(6000, 3))
    passed = Bench(keeps, 7000)(Load(6200, 3))
    error = noisy(Outcomes((failed, passed), PROCEDURE))
    assert error.reason is SearchReason.NOISY
    assert "no bracket after 2 trials" in str(error)
    assert "contradict each other between 6000/s and 6200/s" in str(error)


def test_a_quiet_sweep_needs_one_scout_and_two_full_trials_a_run():
    runs: list[Searched] = []
    for _ in range(9):
        earlier = [run.max_rate for run in runs]
        runs.append(search(Bench(keeps, 6000.4), PROCEDURE, earlier))
    assert [[trial.duration_s for trial in run.trials] for run in runs[1:]] == [[1, 3, 3]] * 8
    assert all(abs(run.max_rate / 6000.4 - 1) < 0.001 for run in runs)


def test_earlier_runs_say_where_the_first_scout_goes_and_nothing_else():
    """Two histories that lead to one first scout lead to one run, noise and all."""
    first, other = [5900.0, 6000.0, 6100.0], [6100.0, 5900.0, 6000.0]
    noise = [1.03, 0.97, 1.01, 0.99, 1.02]
    run, other_run = (
        search(Bench(collapses, 6100, noise=noise), PROCEDURE, earlier)
        for earlier in (first, other)
    )
    assert run == other_run


def test_an_aborted_trial_may_be_the_failing_side():
    """It was asked for the full length and had lost too much for all of it."""
    inner = Bench(collapses, 6000)

    def aborting(load):
        trial = inner(load)
        if trial.loss_ratio <= 1.2 * PROCEDURE.loss_ratio:
            return trial
        attempted = trial.attempted // 2
        lost = math.ceil(attempted * trial.loss_ratio)
        made = trial_of(load.rate, load.duration_s, lost, attempted=attempted)
        return replace(made, traffic_s=load.duration_s / 2, aborted=True)

    estimate = search(aborting, PROCEDURE)
    assert_proven(estimate)
    assert estimate.trials[estimate.bracket.upper_trial].aborted
