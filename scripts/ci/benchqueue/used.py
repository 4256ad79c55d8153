"""Who used which bench for how long, from Buildbot's REST interface."""

from __future__ import annotations

import json
import time
from collections import Counter
from http.client import HTTPException
from typing import Any
from urllib.request import urlopen

from ci.benchqueue.site import CANARY
from leaselab.model.errors import lab_broken

RESULTS = ("done", "doubtful", "failed", "skipped", "faulty", "retried", "cancelled")
"""Buildbot's results, by their number."""
DAY_S = 86_400


def used(page: str, days: float) -> str:
    """A table: state of each bench, then minutes and builds of each job and owner on it."""
    since = time.time() - days * DAY_S
    builders = {one["builderid"]: one["name"] for one in _ask(page, "builders")}
    canaries: dict[str, dict[str, Any]] = {}
    minutes: Counter[tuple[str, str, str]] = Counter()
    counts: dict[tuple[str, str, str], Counter[str]] = {}
    workers = _ask(page, "workers")
    names = {one["workerid"]: one["name"] for one in workers}
    builds = _ask(page, f"builds?started_at__ge={since:.0f}&property=owners&order=buildid")
    for build in builds:
        job, bench = builders[build["builderid"]], names[build["workerid"]]
        if job.startswith(CANARY):
            canaries[bench] = build
        owners = (build["properties"].get("owners") or [[]])[0]
        key = (bench, job, ", ".join(owners) or "-")
        minutes[key] += ((build["complete_at"] or time.time()) - build["started_at"]) / 60
        result = RESULTS[build["results"]] if build["complete"] else "running"
        counts.setdefault(key, Counter())[result] += 1
    lines = [f"{one['name']}: {_state(one, canaries.get(one['name']))}" for one in workers]
    lines.append(f"{'bench':12} {'job':24} {'by':24} {'minutes':>8}  builds")
    for bench, job, owner in sorted(minutes):
        told = ", ".join(f"{n} {word}" for word, n in counts[bench, job, owner].items())
        lines.append(
            f"{bench:12} {job:24} {owner:24} {minutes[bench, job, owner]:8.1f}  {told}"
        )
    return "\n".join(lines)


def _state(worker: dict[str, Any], canary: dict[str, Any] | None) -> str:
    if not worker["connected_to"]:
        return "no worker"
    if worker["paused"]:
        return f"paused: {worker['pause_reason'] or 'no reason given'}"
    if canary and (not canary["complete"] or canary["results"]):
        return f"out, canary {canary['number']}: {canary['state_string']}"
    return "offered"


def _ask(page: str, what: str) -> list[dict[str, Any]]:
    try:
        with urlopen(f"{page}api/v2/{what}", timeout=60) as answer:  # noqa: S310  # our own page
            content = json.load(answer)
    except (OSError, HTTPException) as error:
        raise lab_broken("the queue does not answer", where=page, found=str(error)) from error
    return list(content[what.partition("?")[0]])
