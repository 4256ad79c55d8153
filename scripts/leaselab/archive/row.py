"""The row of a result in the index: what lists, histories and exports ask of it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from leaselab.archive.running import RESULT
from leaselab.archive.schema import decode
from leaselab.model.errors import LeaselabError
from leaselab.model.record import SERVER

if TYPE_CHECKING:
    from pathlib import Path

    from leaselab.model.record import Record

Row = dict[str, Any]
"""One line of the index, by column name; values are JSON's."""
UNREADABLE = "unreadable"
"""Stands for the outcome of a result whose result.json cannot be read."""
LISTED = (
    "id",
    "started_at",
    "finished_at",
    "scenario",
    "procedure",
    "server",
    "version",
    "commit",
    "durability",
    "bench",
    "outcome",
    "metric",  # what the procedure is about
    "unit",  # of the metric
    "value",  # of the metric; null where the result came to none
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
    "ruler",  # JSON: the procedure, as far as results of another one are not compared
    "reasons",  # words, joined by a blank
    "better",  # of the metric: higher, lower, neither
    "ci_low",  # 95 % interval of the metric
    "ci_high",
    "standard_error",
    "rounds",  # JSON: [value or null, dropped] of each round
    "metrics",  # JSON: [value, low and high of the interval, unit] by the name of each metric
    "titles",  # JSON: the words for each metric by its name
    "wall_s",
    "experiment",  # its id; null where the point was measured alone
)
"""All columns: what a history shows, so that it reads no result.json."""


def row_of(found: Record, path: str) -> Row:
    """The index row of a result that lies at `path` below the results folder."""
    figure, server, source = found.figure, found.server, found.source
    low, high = figure.ci95 or (None, None)
    hosts = found.bench.hosts
    return {
        "id": found.id,
        "started_at": found.started_at,
        "finished_at": found.finished_at,
        "scenario": found.scenario.name,
        "procedure": found.procedure.name,
        "server": server.name,
        "version": server.version,
        "commit": server.commit,
        "durability": server.durability,
        "bench": found.bench.name,
        "outcome": found.outcome,
        "metric": figure.name,
        "unit": figure.unit,
        "value": figure.value,
        "path": path,
        "environment": found.bench.environment,
        "release": hosts[SERVER].os if SERVER in hosts else None,
        "author_date": source.author_date if source else None,
        "subject": source.subject if source else None,
        "dirty": int(bool(source and source.dirty)),
        "ruler": json.dumps(found.procedure.ruler()),
        "reasons": " ".join(reason.word for reason in found.reasons),
        "better": figure.better,
        "ci_low": low,
        "ci_high": high,
        "standard_error": figure.standard_error,
        "rounds": json.dumps(
            [
                [value, place in figure.dropped]
                for place, value in enumerate(found.values(figure.name))
            ]
        ),
        "metrics": json.dumps(
            {
                one.name: [one.value, *(one.ci95 or (None, None)), one.unit]
                for one in found.metrics
            }
        ),
        "titles": json.dumps({one.name: one.title for one in found.metrics}),
        "wall_s": found.wall_s,
        "experiment": found.experiment.id if found.experiment else None,
    }


def read_row(root: Path, path: str) -> Row:
    """The row of the result at `path`; one that cannot be read has a row that says so."""
    name = path.rpartition("/")[2]
    try:
        found = decode((root / path / RESULT).read_bytes(), path)
        if found.id != name:
            raise ValueError(found.id)  # a folder that somebody renamed
        return row_of(found, path)
    except (OSError, ValueError, LeaselabError):
        started = f"{name[:4]}-{name[4:6]}-{name[6:11]}:{name[11:13]}:{name[13:16]}"
        row: Row = dict.fromkeys(COLUMNS)
        return row | {
            "id": name,
            "path": path,
            "outcome": UNREADABLE,
            "started_at": started,
            "finished_at": started,
        }
