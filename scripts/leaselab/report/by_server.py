"""The table of servers, of commits or of releases: a row each, a column for each scenario."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, TextIO

from leaselab.analysis.matrix import Cell, cell_of
from leaselab.model.source import SHORT, source_of
from leaselab.report.commits import printable
from leaselab.report.matrix import aligned, cell_document, conditions, shown

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_SUBJECT = 50
"""Letters of a subject that a table shows."""
_OF_COMMITS = ["commit", "date", "subject"]
_OF_RELEASES = ["release", "server", "package"]


def print_by_server(
    documents: Sequence[Mapping[str, Any]], stream: TextIO | None = None
) -> None:
    """Print the results of several servers, in their order; stdout unless given."""
    stream = stream or sys.stdout
    rows = _rows(documents)
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
    stream.writelines(aligned([*headings, *scenarios], body, len(headings)))
    cells = [cell_of(document) for document in documents]
    told = list(conditions(cells, servers_named=True))
    if any(row["dirty"] for row in rows):
        told.append("*: a checkout with changes that no commit has")
    if len(releases) > 1:
        told.append(
            "releases differ in libraries and compiler, too, and not in the server alone"
        )
    stream.writelines(["\n", *(f"{line}\n" for line in told)])


def by_server_document(documents: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The rows for ``--json``: a server each, with its results by scenario."""
    return [
        {
            **row,
            "results": {name: cell_document(cell) for name, cell in row["results"].items()},
        }
        for row in _rows(documents)
    ]


def _name(row: Mapping[str, Any]) -> dict[str, str]:
    return {
        "commit": (row["commit"] or "")[:SHORT] + ("*" if row["dirty"] else ""),
        "date": row["author_date"][:10],
        "subject": printable(row["subject"])[:_SUBJECT],
        "release": row["release"],
        "server": row["server"],
        "package": row["package"],
    }


def _rows(documents: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    rows: dict[tuple[str, ...], dict[str, Any]] = {}
    for document in documents:
        server = document["server"]
        source = source_of(server)
        cell: Cell = cell_of(document)
        row = {
            "commit": source.get("hash"),
            "dirty": source.get("dirty", False),
            "author_date": source.get("author_date", ""),
            "subject": source.get("subject", ""),
            "release": document["bench"]["hosts"].get("server", {}).get("os", ""),
            "server": cell.server,
            # its version: DHCPv4 and DHCPv6 may be packages of one and the same server
            "package": (server["package"] or "").partition(" ")[2],
        }
        key = (source["hash"], source["tree"]) if source else (row["server"],)
        key = (row["release"], *key)
        rows.setdefault(key, {**row, "results": {}})["results"][cell.scenario] = cell
    return list(rows.values())
