"""Which experiment runs on which commit, what it costs, how soon a drop is reported."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import pytest
from benchmarks._week import simulate
from benchmarks._week_figures import quantile
from hypothesis import given, settings
from hypothesis import strategies as st

from leaselab.analysis.arrivals import Kind, demand
from leaselab.analysis.delays import delays
from leaselab.analysis.planning import (
    Counts,
    Rhythm,
    Wish,
    bisects_h,
    choose,
    enough,
    plan,
    pushed_min,
)
from leaselab.analysis.workload import WEEK_H, Lab

LAB = Lab(benches=2, commits_a_day=12, open_h=16, per_commit=0, nightly=0)


def rhythms(planned):
    return {row.rhythm: len(row.scenarios) for row in planned.rows}


def test_a_few_scenarios_are_all_measured_on_each_push():
    counts = choose(LAB, Wish(5))
    assert counts == Counts(push=5, swept=1)


def test_what_does_not_fit_on_each_push_runs_on_every_nth_commit_or_each_night():
    wish = Wish(40)
    counts = choose(LAB, wish)
    assert counts.push >= 4
    assert counts.sample > 0
    assert counts.night > 0
    assert counts.push + counts.sample + counts.night == 40
    assert LAB.measured_a_day / counts.every > 1
    assert plan(LAB, wish, counts, weeks=2).working_day_load <= 0.8


def test_what_does_not_fit_each_night_runs_each_week():
    counts = choose(LAB, Wish(120))
    assert counts.push == 4
    assert counts.night > 20
    assert counts.week == 120 - 4 - counts.night


def test_sweeps_become_fewer_before_a_scenario_loses_its_night():
    lab = replace(LAB, benches=1)
    assert choose(lab, Wish(9)).swept == math.ceil(9 / 7)
    some = choose(lab, Wish(24))
    assert some.week == 0
    assert some.swept < 24 / 7


def test_those_that_have_to_be_are_on_each_push_at_the_cost_of_the_others():
    counts = choose(LAB, Wish(120, pushed=8))
    assert counts.push == 8
    assert counts.night < choose(LAB, Wish(120)).night


def test_the_minutes_of_a_push_bound_what_is_measured_on_it():
    counts = choose(LAB, Wish(10, minutes_per_commit=45))
    assert pushed_min(LAB, counts.push) <= 45 < pushed_min(LAB, counts.push + 1)


def test_where_not_even_weeks_fit_it_says_what_would():
    small, wish = replace(LAB, benches=1, open_h=4), Wish(120)
    assert choose(small, wish) is None
    would = enough(small, wish)
    assert choose(replace(small, benches=would.benches), wish)
    assert not choose(replace(small, benches=would.benches - 1), wish)
    assert choose(replace(small, open_h=would.hours), wish)
    assert not choose(replace(small, open_h=would.hours - 0.5), wish)
    assert choose(small, replace(wish, scenarios=would.scenarios))
    assert not choose(small, replace(wish, scenarios=would.scenarios + 1))


def test_a_push_that_costs_too_much_says_what_it_costs():
    wish = Wish(5, pushed=3, minutes_per_commit=10)
    assert choose(LAB, wish) is None
    assert enough(LAB, wish).minutes_per_commit == pushed_min(LAB, 3)


def test_hours_are_the_sum_of_their_parts():
    result = plan(LAB, Wish(40), choose(LAB, Wish(40)), weeks=2)
    parts = sum(row.hours for row in result.rows) + result.sweeps_h + result.bisects_h
    assert result.hours == pytest.approx(parts)
    assert result.load == pytest.approx(parts / (2 * 16 * LAB.available))


def test_an_idle_lab_reports_a_drop_after_poll_build_and_duel():
    """Half of the poll's 15 min, 5 min to prepare, 2 min to build, a long duel, 1 min."""
    lab = Lab(benches=8, commits_a_day=2, commits_a_push=1, cold=0, poll_min=15, nightly=0)
    reported, named = delays(replace(lab, per_commit=1), 1, 20)[Kind.COMMIT]
    around = (15 / 2 + 5 + 2 + lab.drop_min + 1) / 60
    assert reported.median == pytest.approx(around, abs=2 / 60)
    assert reported.p95 <= around + (15 / 2 + 1) / 60
    assert named.median == pytest.approx(reported.median, abs=1 / 60)


def test_a_night_reports_it_after_the_time_to_the_next_evening():
    lab = Lab(benches=20, commits_a_day=8, office=50 / 168, poll_min=0, per_commit=0, nightly=0)
    lab = replace(lab, night_duels=5, night_over_h=0.01, cold=0)
    reported, named = delays(lab, 1, 30)[Kind.NIGHT_DUEL]
    after = (5 + 2 + lab.drop_min + 1) / 60
    assert reported.median == pytest.approx(12 + after, abs=0.8)
    assert reported.p95 == pytest.approx(0.95 * 24 + after, abs=0.8)
    assert named.median > reported.median + lab.bisect_h(4)


def test_of_every_nth_commit_a_drop_waits_for_the_next_that_is_measured():
    lab = Lab(benches=9, commits_a_day=12, per_commit=1, sampled=1, every=4, nightly=0)
    delays_h = delays(lab, 1, 10)
    assert delays_h[Kind.SAMPLE][0].median > delays_h[Kind.COMMIT][0].median + 1


def test_a_bisect_of_one_commit_takes_no_time_and_of_more_grows_by_halves():
    assert LAB.bisect_h(1) == 0
    step = LAB.bisect_h(4) - LAB.bisect_h(2)
    assert 0 < step == pytest.approx(LAB.bisect_h(8) - LAB.bisect_h(4))
    assert LAB.bisect_h(3) == LAB.bisect_h(4)


def test_bisects_cost_nothing_where_no_commit_is_slower():
    assert bisects_h(LAB, Wish(9, drops=0), Counts(push=4, night=5)) == 0


def test_the_delay_is_that_of_the_simulated_lab():
    """Where benches do not break and are checked in no time, and duels of drops are as long."""
    lab = replace(LAB, per_commit=8, nightly=3, check_min=0, mtbf_h=math.inf, drop_min=1e-6)
    seen = []
    for week in range(10):
        asked = demand(lab, 3 * WEEK_H, 1, week)
        log = simulate(lab, asked, (0.0, 3 * WEEK_H), 6 * WEEK_H, (1, week))
        seen += [
            ran.done_h - ran.job.began_h
            for ran in log.ran
            if ran.job.kind is Kind.COMMIT and WEEK_H <= ran.job.began_h < 2 * WEEK_H
        ]
    reported, _ = delays(lab, 1, 10)[Kind.COMMIT]
    assert len(seen) > 2000
    assert reported.median == pytest.approx(quantile(seen, 0.5), rel=0.001)
    assert reported.p95 == pytest.approx(quantile(seen, 0.95), rel=0.001)


@pytest.mark.parametrize("counts", [Counts(push=3, night=4), Counts(push=9, swept=1)])
def test_one_bench_more_never_makes_a_drop_wait_longer(counts):
    wish = Wish(counts.push + counts.night)
    results = [
        plan(replace(LAB, benches=benches, cold=0), wish, counts, weeks=6)
        for benches in (1, 2, 3, 5)
    ]
    for fewer, more in itertools.pairwise(results):
        for row, other in zip(fewer.rows, more.rows, strict=True):
            assert other.verdict.median <= row.verdict.median + 1e-9
            assert other.verdict.p95 <= row.verdict.p95 + 1e-9


wishes = st.builds(Wish, scenarios=st.integers(1, 60), drops=st.floats(0, 0.1))
plans = st.builds(
    Counts,
    push=st.integers(0, 9),
    sample=st.integers(0, 9),
    every=st.integers(1, 8),
    night=st.integers(0, 20),
    week=st.integers(0, 20),
    swept=st.integers(0, 5),
)


@given(plans, st.floats(0.1, 30), st.floats(0, 30))
def test_more_commits_never_make_a_plan_cheaper(counts, few, more):
    wish = Wish(max(1, counts.push + counts.sample + counts.night + counts.week))

    def hours(commits):
        lab = replace(LAB, commits_a_day=commits)
        return counts.of(lab).asked_h

    assert hours(few + more) >= hours(few) - 1e-9
    assert bisects_h(replace(LAB, commits_a_day=few), wish, counts) >= 0


@settings(max_examples=30)
@given(wishes, st.integers(1, 4), st.floats(0.1, 30))
def test_what_is_chosen_fits_and_leaves_no_scenario_out(wish, benches, commits):
    lab = replace(LAB, benches=benches, commits_a_day=commits)
    counts = choose(lab, wish)
    if counts is None:
        assert enough(lab, wish).scenarios < wish.scenarios
        return
    assert counts.push + counts.sample + counts.night + counts.week == wish.scenarios
    busy = counts.of(lab)
    asked = busy.asked_on_a_working_day_h + bisects_h(lab, wish, counts)
    assert asked <= 0.8 * busy.offered_h


@settings(max_examples=30)
@given(wishes, st.integers(1, 4), st.floats(0.1, 30))
def test_one_bench_more_never_makes_a_plan_impossible(wish, benches, commits):
    lab = replace(LAB, benches=benches, commits_a_day=commits)
    assert choose(lab, wish) is None or choose(replace(lab, benches=benches + 1), wish)


def test_rows_name_each_scenario_once_in_order():
    wish = Wish(40)
    result = plan(LAB, wish, choose(LAB, wish), weeks=2)
    assert [place for row in result.rows for place in row.scenarios] == list(range(40))
    assert rhythms(result).keys() == {Rhythm.PUSH, Rhythm.SAMPLE, Rhythm.NIGHT}
