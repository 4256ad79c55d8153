"""The benchmark of faults: sweeps by the real engine, and what a wrong outcome makes of it."""

import json

import pytest
from benchmarks import faults as benchmark
from benchmarks._packets import Faults


@pytest.mark.parametrize(
    ("case", "words"),
    [
        ("loses 30% at any load", {"loses-at-any-load": 1}),
        ("generator begins half of what confirms", {"generator-limited": 1}),
    ],
)
def test_a_fault_is_reported_by_its_word(case, words, capsys):
    assert benchmark.main(["--only", case, "--processes", "1", "--json"]) == benchmark.OK
    (row,) = json.loads(capsys.readouterr().out)["cases"]
    assert (row["outcomes"], row["max_rate"], row["kept"]) == (words, None, True)


def test_a_fault_that_is_not_reported_is_missed():
    missed = benchmark.measure(benchmark.Case("sound by mistake", Faults(loses=0.3)))
    assert not missed.kept


def test_an_unknown_case_is_refused(capsys):
    assert benchmark.main(["--only", "nothing"]) == benchmark.USAGE
    assert "no case has 'nothing' in its name" in capsys.readouterr().err
