"""Synthetic results for `leaselab bench archive`: whole, valid, and cheap to make."""

from __future__ import annotations

import hashlib
import json
import random
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from leaselab.analysis.summary import summarise
from leaselab.archive.checksums import SUMS
from leaselab.archive.ident import month_of, new_id
from leaselab.archive.running import RESULT
from leaselab.cli.document import goal_document
from leaselab.model.plan import Plan

COMMITS_A_YEAR = 330
_BACKENDS = (
    ("memfile", 10_000, "written"),
    ("mysql", 1_600, "written"),
    ("postgresql", 1_500, "synced"),
)
_WAYS = (("", 1.0), ("-mt", 1.4), ("-hs", 0.3), ("-mt-hs", 0.4), ("-lb", 0.35))
SCENARIOS = [
    (f"v{family}-{backend}{way}", family, backend, rate * factor, durability)
    for family in (4, 6)
    for backend, rate, durability in _BACKENDS
    for way, factor in _WAYS
]
"""Name, family, backend, typical max rate (exchanges/s), durability: thirty."""
_GOAL = goal_document(Plan())
_RUN = timedelta(seconds=24)
_BROKEN = 0.02
"""Share of results that gave no figure."""


def write_result(root: Path, number: int, started: datetime, rng: random.Random) -> int:
    """Write one result where the archive has it, with its checksum; return its size (bytes).

    Without the flush to the disk that a real one gets: the machine that makes
    these may lose them.
    """
    document = _document(number, started, rng)
    content = json.dumps(document).encode()
    year, month = month_of(document["id"])
    place = root / year / month / document["id"]
    place.mkdir(parents=True)
    (place / RESULT).write_bytes(content)
    digest = hashlib.sha256(content).hexdigest()
    (place / SUMS).write_text(f"{digest}  {RESULT}\n", encoding="ascii")
    return len(content)


def _document(number: int, started: datetime, rng: random.Random) -> dict[str, Any]:
    name, family, backend, rate, durability = SCENARIOS[number % len(SCENARIOS)]
    sweep_id = new_id(started, name, f"{number % 65536:04x}")
    broken = rng.random() < _BROKEN
    # drifts over the years, a step at some commits, noise from run to run
    level = rate * (1 + 0.02 * (started.year - 2016)) * (1 + 0.03 * ((number // 9000) % 3))
    runs = [
        _run(index, level * rng.gauss(1.0, 0.015), started + index * _RUN, rng)
        for index in range(1, 4 if broken else 10)
    ]
    summary = summarise(runs, planned=9, trim=1, loss_ratio=0.025, trial_s=5)
    for position in summary.trimmed:
        runs[position]["trimmed"] = True
    commit = hashlib.sha1(str(number // len(SCENARIOS)).encode()).hexdigest()  # noqa: S324  # as git
    source = {
        "repository": "https://example.invalid/kea.git",
        "ref": commit,
        "hash": commit,
        "tree": commit[::-1],
        "describe": "",
        "author_date": started.isoformat(timespec="seconds"),
        "subject": f"[#{number // len(SCENARIOS)}] Change what allocates <leases> & more",
        "dirty": False,
    }
    host = {
        "hostname": "bench",
        "kernel": "6.12",
        "cpu_model": "synthetic",
        "cpus_allowed": "0",
        "memory_bytes": 64_000_000_000,
        "governor": "performance",
        "os": f"Debian {8 + (started.year - 2014) // 2}",
        "test_interface": "eth1",
        "test_address": "198.18.0.10",
    }
    reason = {"word": "generator-limited", "text": "run 3: the generator could not keep up"}
    return {
        "schema_version": 1,
        "id": sweep_id,
        "started_at": _time(started),
        "finished_at": _time(started + 10 * _RUN),
        "outcome": "invalid" if broken else "ok",
        "reasons": [reason] if broken else [],
        "scenario": {
            "name": name,
            "family": family,
            "backend": backend,
            "server": "kea",
            "multi_threading": {"enabled": "-mt" in name, "threads": 4, "queue_size": 64},
            "high_availability": {
                "mode": "hot-standby"
                if name.endswith("-hs")
                else "load-balancing"
                if name.endswith("-lb")
                else "none"
            },
        },
        "goal": _GOAL,
        "server": {
            "name": "kea",
            "version": f"2.{started.year - 2016}.0",
            "commit": commit,
            "durability": durability,
            "config_sha256": hashlib.sha256(name.encode()).hexdigest(),
            "config_file": None,
            "package": None,
            "build": {"source": source},
        },
        "partner": None,
        "generator": {"name": "perfdhcp", "version": "2.6.3", "host": "generator"},
        "bench": {
            "name": "synthetic",
            "inventory": None,
            "environment": f"1-{started.year}",
            "hosts": {"server": host, "generator": {**host, "cpus_allowed": "1"}},
            "lock_owner": None,
        },
        "runs": runs,
        "summary": summary.document(),
        "provenance": {
            "leaselab_version": "0.1.0",
            "leaselab_commit": None,
            "leaselab_dirty": False,
            "command": ["leaselab", "run", name],
            "inventory_vars": {},
            "tuning": {},
        },
    }


def _run(index: int, rate: float, started: datetime, rng: random.Random) -> dict[str, Any]:
    lower, upper = round(rate * 0.997), round(rate * 1.005)
    offers = [(round(rate * 1.3), 1, 0.2), (upper, 5, 0.029), (lower, 5, 0.017)]
    trials = [
        _trial(*offer, started + timedelta(seconds=8 * place), rng)
        for place, offer in enumerate(offers)
    ]
    return {
        "index": index,
        "trimmed": False,
        "max_rate": rate,
        "completed_rate": trials[-1]["completed"] / 5,
        "lower_bound": float(lower),
        "upper_bound": float(upper),
        "started_at": _time(started),
        "traffic_s": 11.0,
        "wall_s": _RUN.total_seconds(),
        "lower_trial": 2,
        "upper_trial": 1,
        "trials": trials,
    }


def _trial(
    rate: int, seconds: int, loss: float, started: datetime, rng: random.Random
) -> dict[str, Any]:
    offered = rate * seconds
    completed = round(offered * (1 - loss))
    middle = 0.0005 * rng.uniform(0.8, 1.2)
    percentiles = {"p50": middle, "p90": 3 * middle, "p99": 9 * middle, "p99.9": 15 * middle}
    return {
        "rate": rate,
        "duration_s": seconds,
        "started": offered,
        "completed": completed,
        "late": 0,
        "lost": offered - completed,
        "loss_ratio": 1 - completed / offered,
        "valid": True,
        "reason": "",
        "aborted": False,
        "traffic_s": float(seconds),
        "started_at": _time(started),
        "wall_s": seconds + 2.2,
        "latency_s": {
            "offer": {**percentiles, "max": 20 * middle},
            "ack": {**percentiles, "max": 25 * middle},
        },
        "per_second": [],
        "samples": [],
        "cpu_us_per_exchange": 90.0 * rng.uniform(0.95, 1.05),
        "argv": ["perfdhcp", "-4", "-r", str(rate), "-p", str(seconds), "198.18.0.10"],
        "raw_file": None,
        "seed": rng.randrange(2**31),
    }


def _time(moment: datetime) -> str:
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
