"""Waits for benches as `plan` reckons them: those of the simulated lab, and of theory."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from benchmarks._week import simulate
from benchmarks._week_figures import COUNTED, UNTIL_H, observe
from hypothesis import given, settings
from hypothesis import strategies as st

from leaselab.analysis.arrivals import Demand, Job, Kind, demand
from leaselab.analysis.delays import quantile, serve
from leaselab.analysis.workload import WEEK_H, Lab

CALM = Lab(check_min=0, mtbf_h=math.inf)
"""A lab whose benches never break, and are checked in no time."""


@pytest.mark.parametrize(
    "lab",
    [
        replace(CALM, benches=1, nightly=8),
        replace(CALM, benches=3, nightly=30, commits_a_day=12),
        replace(CALM, benches=2, nightly=6, night_duels=20, week_duels=9, open_h=16),
        replace(CALM, benches=2, nightly=0, per_commit=2, sampled=5, every=4, commits_a_day=20),
        replace(CALM, benches=2, nightly=20, experiments=3, ranges=2),
    ],
)
def test_waits_are_those_of_the_simulation_job_by_job(lab):
    for week in range(3):
        asked = demand(lab, 2 * WEEK_H, 1, week)
        log = simulate(lab, asked, (0.0, 3 * WEEK_H), 8 * WEEK_H, (1, week))
        simulated = {id(ran.job): (ran.waited_h, ran.done_h) for ran in log.ran}
        reckoned = serve(lab, asked)
        assert len(reckoned) == len(simulated) > 100
        for item in reckoned:
            assert simulated[id(item.job)] == pytest.approx(
                (item.waited_h, item.done_h), abs=1e-6
            )


@pytest.mark.parametrize(("benches", "nightly"), [(2, 10), (3, 30), (2, 25)])
def test_hourly_checks_move_the_delay_of_a_push_by_little(benches, nightly):
    """The simulation has them, `plan` has not."""
    lab = Lab(benches=benches, nightly=nightly, commits_a_day=8, mtbf_h=math.inf)

    def asked(week):
        return demand(lab, UNTIL_H, 1, week)

    simulated = observe(lab, asked, 1, 12).delay
    reckoned = [
        max(job.done_h for job in jobs) - group
        for week in range(12)
        for group, jobs in _pushes(serve(lab, asked(week)))
    ]
    assert quantile(reckoned, 0.5) == pytest.approx(simulated.median, rel=0.1)
    assert quantile(reckoned, 0.95) == pytest.approx(simulated.p95, rel=0.2)


def _pushes(served):
    """When each commit of the week that counts was pushed, and its jobs."""
    jobs = [
        item
        for item in served
        if item.job.kind is Kind.COMMIT and COUNTED[0] <= item.job.belongs_h < COUNTED[1]
    ]
    jobs.sort(key=lambda value: value.job.group)
    for _, group in itertools.groupby(jobs, key=lambda job: job.job.group):
        together = list(group)
        yield together[0].job.began_h, together


@pytest.mark.parametrize(("benches", "load"), [(1, 0.5), (2, 0.7), (4, 0.8)])
def test_waits_are_those_of_erlang(benches, load):
    rng = np.random.default_rng(5)
    jobs, mean_h = 60_000, 0.2
    arrivals = rng.exponential(mean_h / (benches * load), jobs).cumsum()
    asked = Demand(
        (),
        tuple(
            Job(Kind.COMMIT, at, length, 0, at, None)
            for at, length in zip(arrivals, rng.exponential(mean_h, jobs), strict=True)
        ),
    )
    lab = Lab(benches=benches, prepare_min=0, finish_min=0)
    waits = [job.waited_h for job in serve(lab, asked)]
    offered = benches * load
    terms = [offered**number / math.factorial(number) for number in range(benches)]
    busy = offered**benches / math.factorial(benches) / (1 - load)
    wanted = busy / (sum(terms) + busy) * mean_h / (benches * (1 - load))
    assert sum(waits) / len(waits) == pytest.approx(wanted, rel=0.08)


def test_nothing_begins_while_the_benches_are_closed():
    lab = Lab(benches=2, nightly=10, commits_a_day=10, open_h=16)
    served = serve(lab, demand(lab, WEEK_H, 1, 0))
    assert all((item.began_h + 1e-9) % 24 >= 8 for item in served)
    assert any(item.waited_h > 0 for item in served)


labs = st.builds(
    Lab,
    benches=st.integers(1, 4),
    per_commit=st.integers(0, 6),
    nightly=st.integers(0, 12),
    night_duels=st.integers(0, 12),
    sampled=st.integers(0, 4),
    every=st.integers(1, 5),
    commits_a_day=st.floats(0, 20),
    open_h=st.sampled_from([12.0, 16.0, 24.0]),
)


@settings(max_examples=40)
@given(labs, st.integers(0, 5))
def test_one_bench_more_never_makes_a_job_without_a_build_wait_longer(lab, week):
    lab = replace(lab, build_warm_min=0, build_cold_min=0)
    asked = demand(lab, WEEK_H, 1, week)
    fewer, more = serve(lab, asked), serve(replace(lab, benches=lab.benches + 1), asked)
    for item, other in zip(fewer, more, strict=True):
        assert other.began_h <= item.began_h + 1e-9
