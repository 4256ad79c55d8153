"""Latency of a result, at the loads that stand for its rounds."""

from __future__ import annotations

import statistics

from msgspec.structs import astuple

from leaselab.model.record import Record

PERCENTILES = ("p50", "p90", "p99", "p99.9", "max")


def latencies(record: Record) -> dict[str, list[float]]:
    """Median over the rounds of each of `PERCENTILES` at the trial shown (s), by stage.

    Stages in the trials' order; one that no trial has is left out.
    """
    found: dict[str, list[tuple[float, ...]]] = {}
    for trial in (round_.shown for round_ in record.rounds):
        for stage, value in trial.latency_s.items() if trial else ():
            seen = found.setdefault(stage, [])
            if value is not None:
                seen.append(astuple(value))
    return {
        stage: [statistics.median(column) for column in zip(*seen, strict=True)]
        for stage, seen in found.items()
        if seen
    }


def whole_latency(record: Record) -> dict[str, float]:
    """The same of the whole transaction alone, by percentile (s); empty where it has none."""
    found = list(latencies(record).values())
    return dict(zip(PERCENTILES, found[-1], strict=True)) if found else {}
