"""The simulated lab: nothing is lost or done twice; test_queueing.py holds it to theory."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import pytest
import simpy
from benchmarks._locks import Bench, Locks
from benchmarks._week import simulate
from benchmarks._week_figures import COUNTED, UNTIL_H, observe

from leaselab.analysis.arrivals import Commit, Demand, Job, Kind, demand
from leaselab.analysis.workload import WEEK_H, Lab

PLAIN = Lab(
    prepare_min=0,
    finish_min=0,
    check_min=0,
    build_warm_min=0,
    build_cold_min=0,
    mtbf_h=math.inf,
)
"""A lab that takes no time but for measuring, and whose benches never break."""
ROUGH = Lab(benches=3, nightly=30, mtbf_h=40.0, repair_h=6.0)
"""One whose benches break all the time."""


def job(ready_h, measure_h, commit=None, kind=Kind.COMMIT, group=0):
    return Job(kind, ready_h, measure_h, group, ready_h, commit)


def run(lab, jobs, until_h=1e6, chance=(1, 0)):
    return simulate(lab, Demand((), tuple(jobs)), (0.0, jobs[-1].ready_h + 1), until_h, chance)


def overlaps(spans):
    """Pairs of neighbouring spans (from, to) of which the second begins too early."""
    return [
        (earlier, other)
        for earlier, other in itertools.pairwise(sorted(spans))
        if other[0] < earlier[1]
    ]


@pytest.fixture(scope="module")
def rough():
    asked = demand(ROUGH, UNTIL_H, 3, 0)
    return asked, simulate(ROUGH, asked, COUNTED, UNTIL_H, (3, 0))


def test_no_bench_serves_two_at_once(rough):
    _, log = rough
    for bench in range(ROUGH.benches):
        held = [(hold.began_h, hold.ended_h) for hold in log.holds if hold.bench == bench]
        assert len(held) > 100
        assert overlaps(held) == []


def test_every_job_of_the_week_ends_exactly_once(rough):
    asked, log = rough
    week = [item for item in asked.jobs if COUNTED[0] <= item.belongs_h < COUNTED[1]]
    ended = [hold.job for hold in log.holds if hold.job in week and hold.whole]
    assert len(week) > 200
    assert sorted(map(id, ended)) == sorted(map(id, week))


def test_a_job_is_broken_off_as_often_as_it_met_a_broken_bench(rough):
    _, log = rough
    broken = sum(ran.broken for ran in log.ran)
    attempts = [hold for hold in log.holds if hold.job and not hold.whole]
    assert 10 < broken == len(attempts)
    assert sum(ran.done_h is None for ran in log.ran) < 60


def test_no_job_gets_a_bench_that_has_lost_its_label(rough):
    _, log = rough
    assert len(log.away) > 10
    for bench, since_h, to_h in log.away:
        begun = [h.began_h for h in log.holds if h.bench == bench and h.job]
        assert not [at for at in begun if since_h < at < to_h]


def test_a_whole_bench_is_away_for_its_repair_and_the_next_check():
    lab = replace(PLAIN, benches=1, mtbf_h=50.0, repair_h=10.0)
    log = simulate(lab, Demand((), ()), (0.0, 30_000.0), 30_000.0, (1, 0))
    away_h = sum(to - since for _, since, to in log.away) / len(log.away)
    assert away_h == pytest.approx(10.5, rel=0.08)
    assert sum(to - since for _, since, to in log.away) / 30_000 == pytest.approx(
        1 - lab.available, rel=0.08
    )


def test_failures_delay_and_lose_nothing():
    calm = observe(replace(ROUGH, mtbf_h=math.inf), asked_of(ROUGH), 2, 6)
    rough = observe(ROUGH, asked_of(ROUGH), 2, 6)
    assert calm.retries == calm.away == 0 < rough.retries
    assert rough.commits == calm.commits
    assert rough.delay.median > calm.delay.median
    assert rough.night.median > calm.night.median


def asked_of(lab, seed=2):
    return lambda week: demand(lab, UNTIL_H, seed, week)


@pytest.mark.parametrize(("benches", "nightly"), [(1, 5), (5, 60)])
def test_benches_are_used_as_much_as_the_load_says(benches, nightly):
    lab = Lab(benches=benches, nightly=nightly, mtbf_h=math.inf)
    observed = observe(lab, asked_of(lab), 2, 8)
    assert observed.used == pytest.approx(lab.load, rel=0.08)


def test_commits_first_helps_commits_at_the_cost_of_nights():
    lab = Lab(benches=2, nightly=30)
    alike = observe(lab, asked_of(lab), 2, 6)
    first = observe(replace(lab, commits_first=True), asked_of(lab), 2, 6)
    assert first.delay.p95 < 0.7 * alike.delay.p95
    assert first.night.median > alike.night.median
    assert first.used == pytest.approx(alike.used, rel=0.02)


def test_jobs_of_one_commit_wait_for_one_build():
    commit = Commit(0, 0.0, 0.0, 0, build_h=0.5)
    log = run(replace(PLAIN, benches=3), [job(0.0, 1.0, commit) for _ in range(4)])
    assert [ran.done_h for ran in log.ran] == pytest.approx([1.5, 1.5, 1.5, 2.5])


def test_the_builder_makes_one_commit_at_a_time():
    commits = [Commit(number, 0.0, 0.0, 0, build_h=0.5) for number in range(2)]
    log = run(replace(PLAIN, benches=2), [job(0.0, 1.0, commit) for commit in commits])
    assert [ran.done_h for ran in log.ran] == pytest.approx([1.5, 2.0])


def test_a_bench_that_breaks_again_before_its_check_is_repaired_again():
    lab = replace(PLAIN, benches=1, mtbf_h=1.0, repair_h=0.5)
    log = simulate(lab, Demand((), ()), (0.0, 2000.0), 2000.0, (1, 0))
    assert len(log.away) > 100
    assert max(to - since for _, since, to in log.away) < 40


def test_first_come_is_first_served():
    lab = replace(PLAIN, benches=2)
    asked = demand(replace(lab, nightly=30), WEEK_H, 1, 0)
    log = simulate(lab, asked, (0.0, WEEK_H), UNTIL_H, (1, 0))
    begun = {id(hold.job): hold.began_h for hold in log.holds if hold.job}
    starts = [begun[id(ran.job)] for ran in log.ran]
    assert starts == sorted(starts)


@pytest.fixture
def held():
    """Two benches, both taken."""
    env = simpy.Environment()
    benches = [Bench(env, number) for number in range(2)]
    locks = Locks(env, benches)
    assert [locks.any(0).value, locks.any(0).value] == benches
    return locks, benches


def test_a_check_of_a_bench_takes_its_turn_among_jobs(held):
    locks, (first, other) = held
    before, check, after = locks.any(0), locks.one(first), locks.any(0)
    locks.release(first)
    assert before.triggered
    locks.release(other)
    assert after.triggered
    assert not check.triggered
    locks.release(first)
    assert check.value is first


def test_a_bench_without_its_label_goes_to_its_check_alone(held):
    locks, (first, other) = held
    waiting = locks.any(0)
    first.labelled = False
    locks.release(first)
    assert not waiting.triggered
    assert locks.one(first).value is first
    locks.release(other)
    assert waiting.value is other


def test_a_lock_that_nobody_holds_cannot_be_released(held):
    locks, (first, _) = held
    locks.release(first)
    with pytest.raises(ValueError, match="free already"):
        locks.release(first)


def test_a_night_is_done_with_its_sweeps_and_its_duels():
    lab = replace(PLAIN, nightly=0, commits_a_day=0, night_duels=6, duel_min=30, night_over_h=0)
    night = observe(replace(lab, benches=1), asked_of(lab), 2, 3).night
    assert 2.5 < night.median < 3.7
    slower = replace(lab, benches=1, nightly=2)
    assert observe(slower, asked_of(slower), 2, 3).night.median > night.median + 1
