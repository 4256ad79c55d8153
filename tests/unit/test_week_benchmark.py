"""`leaselab dev bench week`: what is asked of the lab, and what is reported."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import pytest
from benchmarks import week as benchmark
from benchmarks._week_figures import spread
from benchmarks._week_table import hours

from leaselab.analysis.arrivals import Kind, demand
from leaselab.analysis.delays import quantile
from leaselab.analysis.workload import EVEN, WEEK_H, Lab

YEARS_H = 300 * WEEK_H
SMALL = ["--weeks", "2", "--benches", "1", "3", "--nightly", "5"]


@pytest.fixture(scope="module")
def years():
    """What comes in three hundred weeks without nights."""
    return demand(Lab(nightly=0), YEARS_H, 1, 0)


def test_as_many_commits_come_as_was_said(years):
    commits = sum(1 + commit.skipped for commit in years.commits)
    assert commits / (YEARS_H / 24) == pytest.approx(2.6, rel=0.05)


def test_as_many_are_measured_as_the_arithmetic_says(years):
    measured = len(years.commits) / (YEARS_H / 24)
    assert measured == pytest.approx(Lab().measured_a_day, rel=0.04)
    assert measured < 2.6 / 1.5


def test_a_poll_finds_one_commit_the_newest(years):
    results = [commit.found_h for commit in years.commits]
    assert len(set(results)) == len(results)
    assert all(at * 4 == round(at * 4) for at in results)
    assert all(0 <= c.found_h - c.pushed_h <= 0.25 for c in years.commits)


@pytest.mark.parametrize(("office", "share"), [(0.8, 0.8), (EVEN, 50 / 168), (1.0, 1.0)])
def test_commits_keep_to_the_working_hours_that_they_are_said_to(office, share):
    commits = demand(Lab(nightly=0, per_commit=0, office=office), YEARS_H / 3, 1, 0).commits
    working = [c for c in commits if c.pushed_h % WEEK_H < 120 and 8 <= c.pushed_h % 24 < 18]
    assert len(working) / len(commits) == pytest.approx(share, abs=0.03)


def test_every_commit_has_its_scenarios(years):
    assert len(years.jobs) == 5 * len(years.commits)
    assert {item.kind for item in years.jobs} == {Kind.COMMIT}


def test_a_night_is_its_scenarios_spread_over_some_hours():
    asked = demand(Lab(nightly=30, commits_a_day=0), WEEK_H, 1, 0)
    assert [item.group for item in asked.jobs] == [n for n in range(7) for _ in range(30)]
    assert all(20 <= item.ready_h % 24 < 24 for item in asked.jobs)
    assert {item.commit for item in asked.jobs} == {None}


def test_a_night_measures_the_newest_commit_of_its_evening():
    asked = demand(Lab(nightly=1), WEEK_H, 1, 0)
    nights = [item for item in asked.jobs if item.kind is Kind.NIGHT and item.commit]
    assert nights
    for night in nights:
        known = [c for c in asked.commits if c.found_h <= night.began_h]
        assert night.commit is known[-1]


def test_a_weekly_set_asks_for_benches_at_once_on_saturdays():
    lab = Lab(nightly=0, commits_a_day=0, experiments=13, points=8)
    asked = demand(lab, 100 * WEEK_H, 1, 0).jobs
    assert {item.kind for item in asked} == {Kind.WEEK}
    assert [item.group for item in asked] == [n for n in range(100) for _ in range(13)]
    assert {item.ready_h % WEEK_H for item in asked} == {5 * 24.0}
    mean_h = sum(item.measure_h for item in asked) / len(asked)
    assert mean_h == pytest.approx(8.0, rel=0.03)
    asked_h = 13 / 7 * (8 + 6 / 60)
    assert lab.asked_h == pytest.approx(asked_h)


def test_a_duel_takes_the_mean_that_was_said(years):
    times = [60 * item.measure_h for item in years.jobs]
    mean = Lab().duel_min
    assert sum(times) / len(times) == pytest.approx(mean, rel=0.03)
    assert min(times) < 0.5 * mean
    assert max(times) > 1.6 * mean


def test_a_sweep_takes_the_mean_that_was_said():
    asked = demand(Lab(nightly=20, commits_a_day=0), 20 * WEEK_H, 1, 0)
    times = [item.measure_h for item in asked.jobs]
    assert sum(times) / len(times) == pytest.approx(1.0, rel=0.03)
    assert min(times) < 0.6
    assert max(times) > 1.6


def test_every_third_commit_has_the_duels_of_a_sample():
    asked = demand(Lab(nightly=0, per_commit=0, sampled=2, every=3), WEEK_H, 1, 0)
    assert {item.kind for item in asked.jobs} == {Kind.SAMPLE}
    measured = [item.commit.number for item in asked.jobs]
    assert measured == [n for n in range(0, len(asked.commits), 3) for _ in range(2)]


def test_duels_of_nights_and_weeks_are_of_the_newest_commit():
    lab = Lab(nightly=0, per_commit=0, night_duels=4, week_duels=3)
    asked = demand(lab, 2 * WEEK_H, 1, 0)
    kinds = [item.kind for item in asked.jobs]
    assert kinds.count(Kind.NIGHT_DUEL) == 14 * 4
    assert kinds.count(Kind.WEEK_DUEL) == 2 * 3
    for item in asked.jobs:
        known = [c for c in asked.commits if c.found_h <= item.began_h]
        assert item.commit is (known[-1] if known else None)


def test_what_is_asked_more_leaves_all_else_as_it_was():
    few, more = demand(Lab(), WEEK_H, 1, 0), demand(Lab(night_duels=7), WEEK_H, 1, 0)
    assert few.commits == more.commits
    assert set(few.jobs) < set(more.jobs)


def test_ranges_by_hand_come_in_working_hours():
    asked = demand(Lab(nightly=0, commits_a_day=0, ranges=2.0), YEARS_H, 1, 0)
    assert len(asked.jobs) / 300 == pytest.approx(2.0, rel=0.1)
    assert {item.kind for item in asked.jobs} == {Kind.RANGE}
    assert all(8 <= item.ready_h % 24 < 18 for item in asked.jobs)


def test_labs_of_all_sizes_meet_the_same_demand():
    lab = Lab(nightly=5)
    assert demand(lab, WEEK_H, 1, 4) == demand(replace(lab, benches=9), WEEK_H, 1, 4)
    assert demand(lab, WEEK_H, 1, 4) != demand(lab, WEEK_H, 1, 5)
    assert demand(lab, WEEK_H, 1, 4) != demand(lab, WEEK_H, 2, 4)


def test_the_load_is_what_is_asked_for_over_what_there_is():
    lab = Lab(
        benches=2, nightly=10, commits_a_day=0, prepare_min=0, finish_min=0, mtbf_h=math.inf
    )
    assert lab.load == pytest.approx(10 / 48)
    assert replace(lab, benches=4).load == pytest.approx(lab.load / 2)
    assert replace(lab, measure_min=30).load == pytest.approx(lab.load / 2)
    halved = replace(lab, mtbf_h=8.5, repair_h=8.0)
    assert halved.load == pytest.approx(2 * lab.load)


def test_quantiles_know_what_was_never_done():
    times = [1.0, 2.0, 3.0, math.inf]
    assert [quantile(times, share) for share in (0.5, 0.75, 0.95)] == [2.0, 3.0, math.inf]
    assert math.isnan(quantile([], 0.5))
    quantiles = spread([[1.0], [], [2.0, 9.0]])
    assert (quantiles.median, quantiles.most, quantiles.weeks) == (2.0, 9.0, (1.0, 2.0))
    assert [hours(time) for time in (0.25, 168.0, 169.0, math.inf)] == [
        "0.2",
        "168.0",
        ">168",
        ">168",
    ]


def printed(capsys, *words):
    assert benchmark.main([*SMALL, *words]) == 0
    return capsys.readouterr()


def test_json_is_one_document_the_same_for_a_seed(capsys):
    first, again = printed(capsys, "--json").out, printed(capsys, "--json").out
    assert first == again
    assert first != printed(capsys, "--json", "--seed", "2").out
    document = json.loads(first)
    assert [row["lab"]["benches"] for row in document["rows"]] == [1, 3]
    item, three = (row["figures"] for row in document["rows"])
    assert item["delay"]["median"] > three["delay"]["median"] > 0.4
    assert item["used"] > three["used"]


def test_what_an_overloaded_lab_never_does_is_null(capsys):
    document = json.loads(printed(capsys, "--json", "--measure-min", "2000").out)
    figures = document["rows"][0]["figures"]
    assert figures["delay"]["p95"] is None
    assert figures["late"] > 0.5
    assert document["rows"][0]["load"] > 1


def test_the_table_has_a_row_for_each_lab_and_says_what_it_rests_on(capsys):
    captured = printed(capsys, "--mtbf-h", "inf", "--commits-first")
    rows = [line for line in captured.out.splitlines() if line.startswith("│")]
    assert [row.split("│")[2].strip() for row in rows] == ["1", "3"]
    assert "seed 1; 2.6 commits a day" in captured.out
    assert "breaks every inf h" in captured.out
    assert "commits before nights" in captured.out
    assert "5 a night, 3 benches" in captured.err


def test_the_drawing_has_a_line_for_each_number_of_scenarios(tmp_path, capsys):
    file = tmp_path / "week.svg"
    printed(capsys, "--nightly", "5", "8", "--svg", str(file))
    drawn = file.read_text(encoding="utf-8")
    assert drawn.startswith("<svg")
    assert "5 scenarios a night" in drawn
    assert "8 scenarios a night" in drawn


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        (["--benches", "0"], "--benches (found 0, wanted 1 or more)"),
        (["--nightly", "-1"], "--nightly (found -1, wanted 0 or more)"),
        (["--weeks", "0"], "--weeks (found 0, wanted 1 or more)"),
        (["--office", "1.5"], "--office (found 1.5, wanted 0 to 1)"),
        (["--mtbf-h", "0"], "--mtbf-h (found 0.0, wanted above 0)"),
        (["--commits-a-push", "0.5"], "--commits-a-push (found 0.5, wanted 1 or more)"),
        (["--measure-min", "nan"], "--measure-min (found nan, wanted above 0)"),
    ],
)
def test_a_number_that_makes_no_lab_is_a_usage_error(capsys, words, wanted):
    assert benchmark.main([*SMALL, *words]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert wanted in captured.err
