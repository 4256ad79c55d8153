"""The server under test in the samples of trials: its memory, and what it wrote."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from itertools import pairwise

from leaselab.model.record import SERVER
from leaselab.model.trial import Trial


def memory_mib(trials: Sequence[Trial]) -> float | None:
    """Return the highest of all samples (MiB); None without a sample that has it."""
    highest = max((used for _, used in _taken(trials)), default=None)
    return None if highest is None else highest / 2**20


def memory_drift(trials: Sequence[Trial]) -> float | None:
    """Return how fast it grows (bytes/s): a line through all samples.

    None with fewer than two samples.
    """
    taken = _taken(trials)
    if len(taken) < 2 or all(one[0] == other[0] for one, other in pairwise(taken)):
        return None
    slope, _ = statistics.linear_regression(*zip(*taken, strict=True))
    return slope


def written_rate(trial: Trial) -> float | None:
    """Return how many changes it wrote to its store in a trial (1/s).

    None without two samples that have it.
    """
    readings = [
        (sample.t, sample.written)
        for sample in trial.samples.get(SERVER, ())
        if sample.written is not None
    ]
    if len(readings) < 2 or readings[-1][0] <= readings[0][0]:
        return None
    return (readings[-1][1] - readings[0][1]) / (readings[-1][0] - readings[0][0])


def _taken(trials: Sequence[Trial]) -> list[tuple[float, float]]:
    """When each sample with a memory reading was taken (s), and that reading (bytes)."""
    return [
        (sample.t, float(sample.rss_bytes))
        for trial in trials
        for sample in trial.samples.get(SERVER, ())
        if sample.rss_bytes is not None
    ]
