"""`leaselab dev bench bisect`: honest histories, fair judging, promises that can be missed."""

import dataclasses
import json

import pytest
from benchmarks import bisect as benchmark
from benchmarks._duels import Cell
from benchmarks._histories import (
    COMMITS,
    DESIGNS,
    History,
    Kind,
    Searched,
    history_of,
    searched,
)

from leaselab.analysis.duels.culprits import Gap

FLAT = [1.0] * (COMMITS + 1)


@pytest.mark.parametrize(("kind", "many"), [(Kind.NONE, 0), (Kind.ONE, 1), (Kind.TWO, 2)])
def test_a_history_is_slower_from_each_culprit_on(kind, many):
    history = history_of(kind, 3)
    assert len(history.culprits) == many
    for place in range(1, COMMITS + 1):
        step = history.speeds[place] / history.speeds[place - 1]
        assert (step < 0.97) == (place in history.culprits)


def test_of_some_histories_every_fifth_commit_does_not_build():
    broken = [history_of(Kind.BROKEN, seed).broken for seed in range(50)]
    assert 0.15 < sum(map(len, broken)) / (50 * COMMITS) < 0.25
    assert not any({0, COMMITS} & item for item in broken)


def test_a_gain_before_the_culprit_hides_it():
    history = history_of(Kind.GAIN, 3)
    (culprit,) = history.culprits
    assert history.code[-1] == pytest.approx(1.1 * 0.95)
    assert history.code[culprit - 1] == pytest.approx(1.1)
    result = searched(benchmark.SHIPPED, Kind.GAIN, Cell(0.0, 0.01), 3)[1]
    assert not result.named


def test_layouts_acquit_what_is_slower_by_its_place_alone():
    """Of the culprits that a search names where builds scatter, some are innocent."""
    cell, seeds = Cell(0.0, 0.01), range(16)
    alone, laid_out = (
        [searched(design, Kind.BUILDS, cell, seed) for seed in seeds]
        for design in (benchmark.SHIPPED, benchmark.LAID_OUT)
    )
    wrong = [sum(item.wrong(history) for history, item in made) for made in (alone, laid_out)]
    assert wrong[0] > wrong[1] == 0
    assert sum(item.right(history) for history, item in laid_out) >= 10


@pytest.mark.parametrize(
    ("named", "broken", "right", "wrong"),
    [
        ([Gap(19, 20)], {}, True, False),
        ([Gap(20, 21)], {}, False, True),
        ([Gap(18, 20)], {}, False, True),
        ([Gap(19, 20), Gap(4, 5)], {}, False, True),
        ([], {}, False, False),
        # a culprit may be named with the commits before it that do not build
        ([Gap(17, 20)], {18, 19}, True, False),
        ([Gap(17, 20)], {18}, False, True),
    ],
)
def test_what_is_named_is_right_or_an_innocent_is_named(named, broken, right, wrong):
    result = Searched(frozenset(named), 1.0, 8)
    history = History(FLAT, frozenset({20}), frozenset(broken))
    assert (result.right(history), result.wrong(history)) == (right, wrong)


@pytest.mark.parametrize(
    "design", [design for design in DESIGNS if not design.endswith(" 5 %")]
)
def test_without_noise_a_design_finds_the_culprit(design):
    """But for the one whose threshold is as large as the drop: there a coin decides."""
    quiet = Cell(0.0, 0.0001, start=0.0001, place=0.0)
    history, result = searched(design, Kind.ONE, quiet, 5)
    assert result.right(history)


def test_the_shortened_benchmark_is_kept_and_says_so(monkeypatch, capsys):
    monkeypatch.setattr(benchmark, "NOISES", benchmark.NOISES[:1])
    assert benchmark.main(["--json", "--histories", "4", "--processes", "1"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["kept"] is True
    assert {row["design"] for row in document["rows"]} == set(DESIGNS)
    assert document["sweep_s"] == 450


ROW = benchmark.Row(5.0, 1.0, "one", benchmark.SHIPPED, 200, 96.0, 0.5, 1.0, 2.0, 8.0)


def test_a_promise_is_missed_by_what_is_not_found_and_by_an_innocent_named():
    assert ROW.kept
    assert not dataclasses.replace(ROW, right=94.5).kept
    assert not dataclasses.replace(ROW, wrong=1.5).kept
