"""The row of a result in the index: what lists, histories and exports ask of it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from leaselab.archive.schema import SCHEMA_VERSION
from leaselab.model.durability import durability_of
from leaselab.model.plan import ruler
from leaselab.model.source import source_of

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

Row = dict[str, Any]
"""One line of the index, by column name; values are JSON's."""
UNREADABLE = "unreadable"
"""Stands for the outcome of a result whose result.json cannot be read."""
LISTED = (
    "id",
    "started_at",
    "finished_at",
    "scenario",
    "server",
    "version",
    "commit",
    "durability",
    "bench",
    "outcome",
    "trimmed_mean",
    "path",
)
"""Columns of a list."""
COLUMNS = (
    *LISTED,
    "environment",
    "release",  # distribution of the server's host
    "author_date",
    "subject",
    "dirty",  # 1: a checkout with changes that no commit has
    "goal",  # JSON: the goal, as far as results of another one are not compared
    "reasons",  # words, joined by a blank
    "ci_low",  # 95 % interval of the trimmed mean (exchanges/s)
    "ci_high",
    "standard_error",  # of the trimmed mean (exchanges/s)
    "runs",  # JSON: [max rate or null, dropped] of each run
    "cpu_us",  # server CPU for each exchange completed (us)
    "wall_s",
)
"""All columns: what a history shows, so that it reads no result.json."""


def row_of(document: Mapping[str, Any], path: str) -> Row:
    """The index row of a result that lies at `path` below the results folder."""
    summary = document["summary"]
    rate = summary["max_rate"]
    server = document["server"]
    source = source_of(server)
    low, high = (rate and rate["ci95"]) or (None, None)
    return {
        "id": path.rpartition("/")[2],
        "started_at": document["started_at"],
        "finished_at": document["finished_at"],
        "scenario": document["scenario"]["name"],
        "server": server["name"],
        "durability": durability_of(server) or None,
        "version": server["version"],
        "commit": server["commit"],
        "bench": document["bench"]["name"],
        "outcome": document["outcome"],
        "trimmed_mean": rate["trimmed_mean"] if rate else None,
        "path": path,
        "environment": document["bench"].get("environment"),
        "release": document["bench"]["hosts"].get("server", {}).get("os"),
        "author_date": source.get("author_date"),
        "subject": source.get("subject"),
        "dirty": int(bool(source.get("dirty"))),
        "goal": json.dumps(ruler(document["goal"])),
        "reasons": " ".join(reason["word"] for reason in document["reasons"]),
        "ci_low": low,
        "ci_high": high,
        "standard_error": rate["standard_error"] if rate else None,
        "runs": json.dumps([[run["max_rate"], run["trimmed"]] for run in document["runs"]]),
        "cpu_us": summary["cpu_us_per_exchange"],
        "wall_s": summary["wall_s"],
    }


def read_row(root: Path, path: str) -> Row:
    """The row of the result at `path`; one that cannot be read has a row that says so."""
    try:
        document = json.loads((root / path / "result.json").read_bytes())
        name = document["scenario"]["name"]
        if f"-{name}-" not in path or document["schema_version"] != SCHEMA_VERSION:
            raise ValueError(name)  # not the scenario of its id, or not for this version
        return row_of(document, path)
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        name = path.rpartition("/")[2]
        started = f"{name[:4]}-{name[4:6]}-{name[6:11]}:{name[11:13]}:{name[13:16]}"
        row: Row = dict.fromkeys(COLUMNS)
        return row | {
            "id": name,
            "path": path,
            "outcome": UNREADABLE,
            "started_at": started,
            "finished_at": started,
        }
