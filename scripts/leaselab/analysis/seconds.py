"""A run second by second: its trials' own seconds and the server's samples on one clock."""

from __future__ import annotations

from datetime import datetime
from itertools import pairwise
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

Point = dict[str, Any]
"""Time since the run's start (`s`), the trial's number, and the figures of that time."""


def traffic_points(run: Mapping[str, Any]) -> Iterator[Point]:
    """Per second of each trial: what was started and completed, lost, and the latencies.

    Keys: ``s`` (s), ``trial`` (from 1), ``started`` and ``completed`` (1/s),
    ``loss`` (ratio; None where nothing was started), ``p50_ms``, ``p99_ms``.
    A reply may come in the second after its request, so the loss of one second can be below 0
    in truth; it is shown as 0 then.
    """
    for number, trial, begin in _trials(run):
        for second in trial["per_second"]:
            started = second["started"]
            yield {
                "s": begin + second["t"],
                "trial": number,
                "started": started,
                "completed": second["completed"],
                "loss": max(0.0, 1 - second["completed"] / started) if started else None,
                "p50_ms": _ms(second["p50_s"]),
                "p99_ms": _ms(second["p99_s"]),
            }


def server_points(run: Mapping[str, Any], samples: str = "samples") -> Iterator[Point]:
    """Per sample of each trial: what the server did since the sample before.

    Keys: ``s`` (s), ``trial``, ``cpu`` and ``database_cpu`` (CPUs busy), ``rss_mb``
    (1e6 bytes), ``leases``, ``granted`` (leases that came to be, 1/s), ``drops`` (packets
    lost for want of receive buffer, 1/s).
    The time is that of the servers' clock from the server's first sample of the trial
    on, as its clock may not agree with ours; what a partner told before that is left out.
    """
    for number, trial, begin in _trials(run):
        taken = trial.get(samples) or ()
        origin = (trial["samples"] or taken or [{"t": 0.0}])[0]["t"]
        for before, now in pairwise(taken):
            length = now["t"] - before["t"]
            if length <= 0 or now["t"] < origin:
                continue
            yield {
                "s": begin + now["t"] - origin,
                "trial": number,
                "cpu": _slope(before, now, "cpu_s", length),
                "database_cpu": _slope(before, now, "database_cpu_s", length),
                "rss_mb": None if now["rss_bytes"] is None else now["rss_bytes"] / 1e6,
                "leases": now["leases"],
                "granted": _slope(before, now, "leases", length),
                "drops": _slope(before, now, "udp_drops", length),
            }


def _trials(run: Mapping[str, Any]) -> Iterator[tuple[int, Mapping[str, Any], float]]:
    """Each trial with its number and its start, in seconds since the run's."""
    origin = datetime.fromisoformat(run["started_at"])
    for number, trial in enumerate(run["trials"], start=1):
        begin = (datetime.fromisoformat(trial["started_at"]) - origin).total_seconds()
        yield number, trial, begin


def _slope(
    before: Mapping[str, Any], now: Mapping[str, Any], field: str, length: float
) -> float | None:
    if before.get(field) is None or now.get(field) is None:
        return None
    return float(now[field] - before[field]) / length


def _ms(value: float | None) -> float | None:
    return None if value is None else 1000 * value
