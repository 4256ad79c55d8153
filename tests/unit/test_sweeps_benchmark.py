"""The benchmark of sweeps: intervals and doubts of machines that move."""

import json

import pytest
from benchmarks import sweeps as benchmark


@pytest.mark.parametrize("world", ["independent", "line of 16 %", "follow 0.6"])
def test_sweeps_of_a_machine_know_their_mean_and_say_what_moved(world, capsys):
    asked = ["--only", world, "--sweeps", "200", "--processes", "1", "--json"]
    benchmark.main(asked)
    *_, nine = json.loads(capsys.readouterr().out)["rows"]
    assert nine["covered"] >= 91
    assert nine["half_width"] < 2.2
    assert nine["doubted"] >= 95 if "line" in world else nine["doubted"] <= 8
    assert nine["differ"] <= 12


def test_a_promise_that_is_broken_is_missed():
    steady = benchmark.World("line of 16 %", line=8.0, doubted=(0.0, 3.0))
    assert not benchmark.simulate(steady, 9, 20).kept
