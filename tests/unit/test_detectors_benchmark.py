"""The benchmark of the detector: fair series, a verdict that can fail."""

import json
import math

import numpy as np
import pytest
from benchmarks import detectors as benchmark
from benchmarks._anchored import Kind, history

from leaselab.analysis.history.detectors import shifts


def test_a_number_names_one_series():
    true = np.zeros(5)
    assert history(Kind.BANDS, 3, true) == history(Kind.BANDS, 3, true)
    assert history(Kind.BANDS, 3, true) != history(Kind.BANDS, 4, true)


def test_a_series_is_of_the_true_ratios_with_the_noise_that_is_given():
    readings = history(Kind.INDEPENDENT, 0, np.full(400, math.log(0.97)))
    values = [math.exp(reading.value) for reading in readings]
    assert np.mean(values) == pytest.approx(0.97, abs=0.001)
    assert np.std(values) == pytest.approx(0.0057, rel=0.1)
    assert np.mean([reading.error for reading in readings]) == pytest.approx(0.0055, rel=0.1)


def test_drift_cancels_in_ratios_but_for_what_is_within_a_round():
    readings = history(Kind.DRIFTING_MORE, 1, np.zeros(200))
    assert np.std([reading.value for reading in readings]) < 0.03


def test_a_short_run_says_everything_and_keeps_what_is_wanted(capsys):
    assert benchmark.main(["--json", "--series", "1"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["kept"] is True
    assert {row["kind"] for row in document["rows"]} == {kind.value for kind in Kind}
    assert sum(row["wanted"] for row in document["rows"]) == 6


def test_a_detector_that_finds_nothing_fails(monkeypatch):
    monkeypatch.setattr(benchmark, "shifts", lambda _: [])
    row = benchmark.measure(Kind.INDEPENDENT, 3)
    assert (row.drops_found, row.creeps_found, row.kept) == (0, 0, False)


def test_a_detector_that_always_speaks_fails(monkeypatch):
    true = np.zeros(80)
    true[40:] = math.log(0.95)
    spoken = shifts(history(Kind.INDEPENDENT, 0, true))
    monkeypatch.setattr(benchmark, "shifts", lambda _: spoken)
    row = benchmark.measure(Kind.INDEPENDENT, 3)
    assert row.false_alarms == 1.0
    assert not row.kept
