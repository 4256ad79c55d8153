"""The table of servers, of commits or of releases: a row each, a column for each scenario."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any, TextIO

from leaselab.analysis.comparison.matrix import cell_of
from leaselab.model.record import Record
from leaselab.model.source import SHORT
from leaselab.model.text import printable
from leaselab.report.matrix import cell_document, conditions, shown
from leaselab.report.units import in_shown_units
from leaselab.report.width import write_lines, write_table

_SUBJECT = 50
"""Letters of a subject that a table shows."""
_OF_COMMITS = ["commit", "date", "subject"]
_OF_RELEASES = ["release", "server", "package"]


def print_by_server(records: Sequence[Record], stream: TextIO | None = None) -> None:
    """Print the results of several servers, in their order; stdout unless given."""
    stream = stream or sys.stdout
    records = in_shown_units(records)
    rows = _rows(records)
    scenarios = list(dict.fromkeys(name for row in rows for name in row["results"]))
    releases = {row["release"] for row in rows if row["release"]}
    headings = _OF_COMMITS if rows[0]["commit"] else _OF_RELEASES
    if rows[0]["commit"] and len(releases) > 1:
        headings = [*_OF_COMMITS, "release"]
    body = [
        [
            *(_name(row)[heading] for heading in headings),
            *(shown(row["results"].get(name)) for name in scenarios),
        ]
        for row in rows
    ]
    write_table(stream, [*headings, *scenarios], body, len(headings))
    cells = [cell_of(record) for record in records]
    lines = list(conditions(cells, servers_named=True))
    if any(row["dirty"] for row in rows):
        lines.append("*: a checkout with changes that no commit has")
    if len(releases) > 1:
        lines.append(
            "releases differ in libraries and compiler, too, and not in the server alone"
        )
    write_lines(stream, ["", *lines])


def by_server_document(records: Sequence[Record]) -> list[dict[str, Any]]:
    """The rows for ``--json``: one for each server, with its results by scenario."""
    return [
        {
            **row,
            "results": {name: cell_document(cell) for name, cell in row["results"].items()},
        }
        for row in _rows(records)
    ]


def _name(row: Mapping[str, Any]) -> dict[str, str]:
    return {
        **row,
        "commit": f"{(row['commit'] or '')[:SHORT]}{'*' * row['dirty']} {row['tag']}".rstrip(),
        "date": row["commit_date"][:10],
        "subject": printable(row["subject"])[:_SUBJECT],
    }


def _rows(records: Sequence[Record]) -> list[dict[str, Any]]:
    rows: dict[tuple[str, ...], dict[str, Any]] = {}
    for record in records:
        source, cell = record.source, cell_of(record)
        row = {
            "commit": source.hash if source else None,
            "tag": source.tag if source else "",
            "dirty": bool(source and source.dirty),
            "commit_date": source.date if source else "",
            "subject": source.subject if source else "",
            "release": record.release or "",
            "server": cell.server,
            # its version: servers of several protocols may be packages of one and the same
            "package": (record.server.package or "").partition(" ")[2],
        }
        key = (source.hash, source.tree) if source else (cell.server,)
        key = (row["release"], *key)
        rows.setdefault(key, {**row, "results": {}})["results"][cell.scenario] = cell
    return list(rows.values())
