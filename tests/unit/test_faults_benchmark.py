"""The benchmark of faults: sweeps by the real engine, and what a wrong outcome makes of it."""

import json

import pytest
from benchmarks import faults as benchmark
from benchmarks._packets import Faults


@pytest.mark.parametrize(
    ("case", "word", "has_figure"),
    [
        ("loses 30% at any load", "loses-at-any-load", False),
        ("generator begins half of what confirms", "generator-limited", False),
        ("1.15 times as fast in every second", "two speeds", True),
        ("0.5 times as fast for 20 s after", "noisy", False),
        ("0.7 times as fast for 20 s after", "slow after overload", True),
    ],
)
def test_a_fault_is_reported_by_its_word(case, word, has_figure, capsys):
    assert benchmark.main(["--only", case, "--processes", "1", "--json"]) == benchmark.OK
    (row,) = json.loads(capsys.readouterr().out)["cases"]
    assert (row["outcomes"], row["max_rate"] is not None) == ({word: 1}, has_figure)


def test_a_fault_that_is_not_reported_is_missed():
    missed = benchmark.measure(benchmark.Case("sound by mistake", Faults(loses=0.3)))
    assert not missed.kept
