"""A round second by second: its trials' own seconds and the servers' samples on one clock."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from itertools import pairwise
from typing import Any

from leaselab.model.record import SERVER, Round
from leaselab.model.trial import Trial

Point = dict[str, Any]
"""Time since the round's start (`s`), the trial's number, and the figures of that time."""


def traffic_points(one: Round) -> Iterator[Point]:
    """Per second of each trial: what was attempted and completed, lost, and the latencies.

    Keys: ``s`` (s), ``trial`` (from 1), ``offered`` (what was asked for; None where no rate
    was), ``attempted`` and ``completed`` (1/s), ``loss`` (ratio; None where nothing was
    attempted), ``p50_ms``, ``p99_ms``. A reply may come in the second after its request, so the
    loss of one second can be below 0 in truth; it is shown as 0 then.
    """
    for number, trial, begin in _trials(one):
        for second in trial.per_second:
            attempted = second.attempted
            yield {
                "s": begin + second.t,
                "trial": number,
                "offered": trial.rate or None,
                "attempted": attempted,
                "completed": second.completed,
                "loss": max(0.0, 1 - second.completed / attempted) if attempted else None,
                "p50_ms": _ms(second.p50_s),
                "p99_ms": _ms(second.p99_s),
            }


def server_points(one: Round, role: str = SERVER) -> Iterator[Point]:
    """Per sample of each trial: what the server of a role did since the sample before.

    Keys: ``s`` (s), ``trial``, ``cpu`` (CPUs busy), ``beside`` (the same of companion services,
    by name), ``rss_mb`` (1e6 bytes), ``held``, ``gained`` (growth of ``held``, 1/s),
    ``drops`` (packets lost for want of receive buffer, 1/s), ``counted`` (what its own counters
    gained, 1/s, by their names). The time is that of the servers'
    clock from the first sample of the server under test in the trial on, as its clock may not
    agree with ours; samples of other servers before that are left out.
    """
    for number, trial, begin in _trials(one):
        taken = trial.samples.get(role, ())
        first = next(iter(trial.samples.get(SERVER) or taken), None)
        for before, now in pairwise(taken):
            length = now.t - before.t
            if first is None or length <= 0 or now.t < first.t:
                continue
            yield {
                "s": begin + now.t - first.t,
                "trial": number,
                "cpu": _counted(before.cpu_s, now.cpu_s, length),
                "beside": {
                    name: _counted(before.beside_cpu_s.get(name), spent, length)
                    for name, spent in now.beside_cpu_s.items()
                },
                "rss_mb": None if now.rss_bytes is None else now.rss_bytes / 1e6,
                "held": now.held,
                "gained": _slope(before.held, now.held, length),
                "drops": _counted(before.udp_drops, now.udp_drops, length),
                "counted": {
                    name: _counted(before.counters.get(name), count, length)
                    for name, count in now.counters.items()
                },
            }


def _trials(one: Round) -> Iterator[tuple[int, Trial, float]]:
    """Each trial with its number and its start, in seconds since the round's."""
    if not one.trials:
        return  # a round of a sweep that is watched, and has not begun
    origin = datetime.fromisoformat(one.started_at)
    for number, trial in enumerate(one.trials, start=1):
        begin = (datetime.fromisoformat(trial.started_at) - origin).total_seconds()
        yield number, trial, begin


def _counted(before: float | None, now: float | None, length: float) -> float | None:
    """Return the slope of a counter, or None where it has begun again with a new process."""
    return _slope(before, now, length) if (now or 0) >= (before or 0) else None


def _slope(before: float | None, now: float | None, length: float) -> float | None:
    return None if before is None or now is None else (now - before) / length


def _ms(value: float | None) -> float | None:
    return None if value is None else 1000 * value
