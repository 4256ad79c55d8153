"""The findings of an inspection as text: a table on a terminal, lines in a pipe."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from itertools import groupby
from typing import Any, TextIO

from rich.table import Table
from rich.text import Text

from leaselab.report.console import Console

_STYLES = {"ok": "green", "warning": "yellow", "error": "bold red"}


def print_findings(document: Mapping[str, Any], stream: TextIO | None = None) -> None:
    """Print what ``leaselab lab check --json`` would, to be read; stdout unless given.

    A pipe gets one line a finding, each whole in itself.
    """
    stream = stream or sys.stdout
    console = Console(file=stream, highlight=False)
    if console.is_terminal:
        for host, rows in groupby(document["findings"], key=lambda row: row["host"]):
            console.print(Text(host, style="bold"))
            console.print(_table(list(rows)))
        console.print(
            Text(verdict(document), style=_STYLES["ok" if document["ok"] else "error"])
        )
        return
    stream.writelines(f"{finding['text']}\n" for finding in document["findings"])
    stream.write(verdict(document) + "\n")


def verdict(document: Mapping[str, Any]) -> str:
    """The last line: ``bench docker: ready (0 errors, 9 warnings)``."""
    word = "ready" if document["ok"] else "NOT ready"
    counts = ", ".join(
        f"{document[kind]} {kind if document[kind] != 1 else kind.removesuffix('s')}"
        for kind in ("errors", "warnings")
    )
    return f"bench {document['bench']}: {word} ({counts})"


def _table(rows: list[dict[str, str]]) -> Table:
    table = Table(box=None, show_header=False, padding=(0, 1), pad_edge=True)
    table.add_column(min_width=7, no_wrap=True)
    table.add_column(min_width=14, no_wrap=True)
    table.add_column(overflow="fold")
    for row in rows:
        lines = [row["found"]]
        lines += [f"wanted: {row['wanted']}"] if row["wanted"] else []
        lines += [f"to do: {row['todo']}"] if row["todo"] else []
        cell = Text("\n").join(
            Text(line, style="" if number == 0 else "dim") for number, line in enumerate(lines)
        )
        level = row["level"]
        table.add_row(Text(level, style=_STYLES[level]), row["check"], cell)
    return table
