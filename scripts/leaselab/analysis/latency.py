"""Latency of a sweep, at the loads that prove its runs."""

from __future__ import annotations

import statistics
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

PERCENTILES = ("p50", "p90", "p99", "p99.9", "max")
_STAGES = {4: ("DISCOVER-OFFER", "REQUEST-ACK"), 6: ("SOLICIT-ADVERTISE", "REQUEST-REPLY")}


def stages(family: int) -> dict[str, str]:
    """The stages of an exchange in words, by their field in ``latency_s``."""
    first, second = _STAGES[family]
    return {"offer": first, "ack": second, "exchange": "whole exchange"}


def latencies(document: Mapping[str, Any]) -> dict[str, list[float]]:
    """Median over the runs of each percentile at the lower bound (s), by stage in words.

    A stage that no trial has is left out.
    """
    trials = [trial for run in document["runs"] if (trial := lower_trial(run)) is not None]
    found = {}
    for stage, label in stages(document["scenario"]["family"]).items():
        seen = [
            value for trial in trials if (value := trial["latency_s"].get(stage)) is not None
        ]
        if seen:
            found[label] = [
                statistics.median(value[column] for value in seen) for column in PERCENTILES
            ]
    return found


def lower_trial(run: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The trial that proves the lower bound."""
    position = run.get("lower_trial")
    if position is not None:
        trial: Mapping[str, Any] = run["trials"][position]
        return trial
    proving = [
        trial
        for trial in run["trials"]
        if trial["valid"] and trial["rate"] == run["lower_bound"]
    ]
    return max(proving, key=lambda trial: float(trial["duration_s"]), default=None)
