"""The benchmark of verdicts: the machine that it simulates, and what a short run of it says."""

import json
import statistics
from dataclasses import replace

import pytest
from benchmarks import verdicts as benchmark
from benchmarks._duels import PLAN, Cell, Design, Machine, compared

from leaselab.analysis.duels.duel import Answer

QUIET = Cell(0.0, 0.015)


class Fixed:
    """A chance that always draws the same."""

    def gauss(self, _mean, _sd):
        return 1.0

    def uniform(self, low, high):
        return (low + high) / 2


def test_the_machine_drifts_and_comes_back():
    machine = Machine(Cell(0.05, 0.0), Fixed())
    assert machine.capacity(1.0) == pytest.approx(6000 * 1.0513, rel=0.001)
    machine.wait(1e9)
    assert machine.capacity(1.0) == pytest.approx(6000 * 1.0513, rel=0.001)
    assert machine.now_s == 1e9


@pytest.mark.parametrize("design", list(Design))
def test_the_same_seed_is_the_same_comparison(design):
    assert compared(design, QUIET, 0.03, 7) == compared(design, QUIET, 0.03, 7)
    assert compared(design, QUIET, 0.03, 7) != compared(design, QUIET, 0.03, 8)


@pytest.mark.parametrize("design", [Design.APART, Design.BOTH])
def test_a_duel_takes_as_long_as_its_rounds(design):
    ended = compared(design, QUIET, 0.0, 1)
    rounds = [number for number in PLAN.looks if number * PLAN.round_s / 60 <= ended.minutes]
    beside = ended.minutes - rounds[-1] * PLAN.round_s / 60
    assert 0 <= beside < 2.5  # the load was looked for


def test_a_short_run_finds_drops_and_no_others_and_says_so(capsys):
    arguments = ["--pairs", "8", "--processes", "1", "--cells", "drift-2-trial-1.5", "--json"]
    assert benchmark.main(arguments) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["kept"] is True
    rows = {row["design"]: row for row in document["rows"]}
    assert rows[Design.BOTH.value]["found"] > 85
    assert rows[Design.BOTH.value]["false_alarms"] == 0
    assert rows[Design.SWEEPS.value]["found"] < 100


def test_a_duel_that_misses_drops_makes_the_benchmark_fail(monkeypatch, capsys):
    ended = compared(Design.BOTH, QUIET, 0.0, 1)
    assert ended.answer is Answer.SAME
    monkeypatch.setattr(benchmark, "compared", lambda *_: ended)
    assert benchmark.main(["--pairs", "2", "--processes", "1", "--cells", "drift-0*", "--json"])
    assert json.loads(capsys.readouterr().out)["kept"] is False


def test_worlds_that_duels_were_not_made_for_are_reported_and_kept(capsys):
    arguments = ["--pairs", "12", "--processes", "1", "--json", "--cells", "place-20", "cpu"]
    benchmark.main(arguments)
    place, cpu = json.loads(capsys.readouterr().out)["worlds"]
    assert place["unknown"] == 100
    assert cpu["worse"] > 75
    assert place["minutes"] < 2


def test_a_world_in_which_duels_are_wrong_makes_the_benchmark_fail(monkeypatch, capsys):
    ended = replace(compared(Design.BOTH, QUIET, 0.03, 1), holds=False)
    monkeypatch.setattr(benchmark, "compared", lambda *_: ended)
    assert benchmark.main(["--pairs", "2", "--processes", "1", "--cells", "spoiled"])
    assert "missed" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("share", "pairs", "kept"), [(2.0, 100, True), (5.0, 100, False), (2.0, 1000, False)]
)
def test_a_promise_is_broken_by_more_than_chance(share, pairs, kept):
    assert benchmark.at_most(1.0, share, pairs) is kept
    assert benchmark.at_least(99.0, 100.0 - share, pairs) is kept
    assert benchmark.at_most(1.0, 0.0, pairs)


@pytest.mark.parametrize(("drop", "minutes"), [(0.0, 2.0), (0.03, 3.0)])
def test_duels_on_a_quiet_machine_take_minutes(drop, minutes):
    """A round needs one start of each, the first look is early, and the load is found soon."""
    cell = Cell(0.02, 0.015)
    took = [compared(Design.BOTH, cell, drop, seed).minutes for seed in range(60)]
    assert statistics.fmean(took) < 1.15 * minutes


def test_drops_are_found_though_servers_differ_from_start_to_start():
    """Each round is a start of both: two trials of each found 59 of 100."""
    cell = Cell(0.02, 0.015, start=0.04)
    results = [compared(Design.BOTH, cell, 0.03, seed).answer for seed in range(60)]
    assert results.count(Answer.SLOWER) >= 42


def test_servers_that_wander_are_seldom_distinguished_on_a_calibrated_bench():
    """What wanders for as long as a duel takes shows between the calibrating duels alone."""

    def wrong(cell):
        answers = [compared(Design.BOTH, cell, 0.0, seed).answer for seed in range(60)]
        return sum(answer in (Answer.SLOWER, Answer.FASTER) for answer in answers)

    assert wrong(benchmark.OWN) >= 3
    assert wrong(benchmark.KNOWN) <= 2
