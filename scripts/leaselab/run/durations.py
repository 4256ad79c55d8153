"""Durations of sweeps, duels and builds in the archive."""

from __future__ import annotations

import json
import math
import statistics
from collections.abc import Sequence
from typing import Any

from leaselab.archive.store import Store
from leaselab.model import moment
from leaselab.model.errors import BELIEVED
from leaselab.model.procedures.duel import DUEL
from leaselab.model.procedures.max_rate import MAX_RATE, MaxRate
from leaselab.report.plan import counted

_BUILDS = 40
"""Number of newest results whose builds are read."""


def durations(store: Store, names: Sequence[str]) -> dict[str, tuple[float, str]]:
    """Durations of sweeps, duels and builds of these scenarios (min), each with its source.

    By the field of a lab: `measure_min`, `duel_min`, `build_warm_min`, as far as results have
    them.
    """
    known = {}
    sweeps: dict[str, list[float]] = {}
    duels: dict[str, dict[str, list[dict[str, Any]]]] = {}
    built = []
    wanted = set(names)
    for row in store.index.every():
        if row["commit"]:
            built.append(row["id"])
        if row["scenario"] not in wanted or row["outcome"] not in BELIEVED:
            continue
        if row["procedure"] == MAX_RATE:
            if len(json.loads(row["rounds"] or "[]")) < MaxRate().rounds:
                continue  # a quick look is no sweep as jobs make it
            sweeps.setdefault(row["scenario"], []).append(row["wall_s"] / 60)
        elif row["procedure"] == DUEL and row["experiment"]:
            own = duels.setdefault(row["scenario"], {})
            own.setdefault(row["experiment"], []).append(row)
    if sweeps:
        known["measure_min"] = _mean_of_medians(sweeps, "sweep")
    if duels:
        took = {
            scenario: [_span_min(rows) for rows in own.values()]
            for scenario, own in duels.items()
        }
        known["duel_min"] = _mean_of_medians(took, "duel")
    builds = _builds(store, built[-_BUILDS:])
    if builds:
        number = counted(len(builds), "build")
        known["build_warm_min"] = (statistics.median(builds), f"archive, median of {number}")
    return known


def _mean_of_medians(times: dict[str, list[float]], singular: str) -> tuple[float, str]:
    """The mean over scenarios of their medians (min), and its source."""
    medians = {name: statistics.median(own) for name, own in times.items()}
    number = counted(sum(map(len, times.values())), singular)
    few = ", ".join(f"{name} {value:.3g}" for name, value in list(medians.items())[:4])
    more = ", …" if len(medians) > 4 else ""
    return (
        statistics.fmean(medians.values()),
        f"archive, {number}, median: {few}{more}",
    )


def _span_min(rows: Sequence[dict[str, Any]]) -> float:
    """Lab time of an experiment (min).

    From the beginning of its first result to the end of its last; at most the sum of their
    durations, in case of an interruption or a changed clock.
    """
    began = min(row["started_at"] for row in rows)
    span = moment.minutes(began, max(row["finished_at"] for row in rows))
    spent = math.fsum(row["wall_s"] for row in rows) / 60
    return min(span, spent) if span > 0 else spent


def _builds(store: Store, ids: Sequence[str]) -> list[float]:
    """Durations of the builds of these results, each once (min)."""
    seconds: dict[str, float] = {}
    for record in store.load_readable(ids):
        build = record.server.build
        if build and build.key and build.seconds.get("total"):
            seconds[build.key] = build.seconds["total"] / 60
    return list(seconds.values())
