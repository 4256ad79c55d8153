"""A benchmark's tables: on the terminal, and as a document where a file is named."""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from pathlib import Path
from typing import Literal

from leaselab.report.width import write_table

_OPTION = "--markdown"


def options_of(name: str, about: str | None) -> argparse.ArgumentParser:
    """The parser of a simulation with the options that all have; `about` is its docstring."""
    parser = argparse.ArgumentParser(prog=f"leaselab dev bench {name}", description=about)
    parser.add_argument("--json", action="store_true", help="one JSON document on stdout")
    add_markdown(parser)
    parser.add_argument("--processes", type=int, default=2, help="default 2")
    return parser


def add_markdown(parser: argparse.ArgumentParser) -> None:
    """Add ``--markdown``; `show` writes the file."""
    parser.add_argument(
        _OPTION,
        metavar="FILE",
        type=Path,
        help="also write all of it there, such as benchmarks/results/NAME.md",
    )


@dataclass
class Table:
    """A table with what stands above and below it."""

    title: str
    caption: str = ""
    headings: list[str] = field(default_factory=list)
    rules: list[str] = field(default_factory=list)
    """How Markdown aligns each column."""
    rows: list[tuple[str, ...]] = field(default_factory=list)

    def add_column(self, heading: str, justify: Literal["left", "right"] = "left") -> None:
        """Add a column; those of words come first."""
        self.headings.append(heading)
        self.rules.append("---" if justify == "left" else "---:")

    def add_row(self, *cells: str) -> None:
        """Add a row, with a cell for each column."""
        self.rows.append(cells)

    @property
    def names(self) -> int:
        """How many columns of words there are before the first of figures."""
        return len([*takewhile("---".__eq__, self.rules)])


def show(tables: Sequence[Table], markdown: Path | None, lines: Sequence[str] = ()) -> None:
    """Print tables and the lines below them."""
    for table in tables:
        print(table.title)
        write_table(sys.stdout, table.headings, table.rows, table.names)
        print(table.caption)
    for line in lines:
        print(line)
    if markdown is not None:
        document = as_markdown(tables, lines, Path(sys.argv[0]).stem, sys.argv[1:])
        markdown.write_text(document, encoding="utf-8")


def as_markdown(
    tables: Sequence[Table], lines: Sequence[str], name: str, arguments: Sequence[str]
) -> str:
    """The tables with their titles and captions, with the command that made them."""
    command = shlex.join(["leaselab", "dev", "bench", name, *_without_file(arguments)])
    parts = [f"# Benchmark {name}", f"Made by `{command}`."]
    for table in tables:
        rows = [[*map(_cell, row)] for row in (table.headings, *table.rows)]
        parts += [text for text in (table.title, table.caption) if text]
        parts.append(
            "\n".join(f"| {' | '.join(row)} |" for row in (rows[0], table.rules, *rows[1:]))
        )
    if lines:
        parts.append("\n".join(f"- {_cell(line)}" for line in lines))
    return "\n\n".join(parts) + "\n"


def _without_file(arguments: Sequence[str]) -> list[str]:
    """The arguments without the file, which is another for each reader."""
    kept = [word for word in arguments if not word.startswith(f"{_OPTION}=")]
    if _OPTION in kept:
        at = kept.index(_OPTION)
        del kept[at : at + 2]
    return kept


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
