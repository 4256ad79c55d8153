"""A benchmark's table: on the terminal, and as Markdown where a file is named."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from rich.console import Console
from rich.table import Table


def add_markdown(parser: argparse.ArgumentParser) -> None:
    """Add ``--markdown``; `show` writes the file."""
    parser.add_argument(
        "--markdown",
        metavar="FILE",
        type=Path,
        help="also write the table there, such as benchmarks/results/NAME.md",
    )


def show(table: Table, width: int, markdown: Path | None) -> None:
    """Print a table; into a pipe nothing is folded, it has `width` columns there."""
    Console(width=None if sys.stdout.isatty() else width).print(table)
    if markdown is not None:
        command = " ".join(["leaselab dev bench", Path(sys.argv[0]).stem, *sys.argv[1:]])
        markdown.write_text(as_markdown(table, command), encoding="utf-8")


def as_markdown(table: Table, command: str) -> str:
    """The table with the command that made it, its title and its caption."""
    headings = [_cell(column.header) for column in table.columns]
    rules = ["---:" if column.justify == "right" else "---" for column in table.columns]
    rows = zip(*(map(_cell, column.cells) for column in table.columns), strict=True)
    lines = [headings, rules, *rows]
    words = [f"`{command}`", *(str(text) for text in (table.title, table.caption) if text)]
    body = "".join(f"| {' | '.join(line)} |\n" for line in lines)
    return "\n\n".join([*words, body])


def _cell(text: object) -> str:
    return " ".join(str(text).split()).replace("|", "\\|")
