"""A benchmark's tables: on the terminal, and as a document where a file is named."""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table

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


def show(
    tables: Sequence[Table], width: int, markdown: Path | None, lines: Sequence[str] = ()
) -> None:
    """Print tables and the lines below them; into a pipe nothing is folded: `width` columns."""
    for table in tables:
        Console(width=None if sys.stdout.isatty() else width).print(table)
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
        headings = [_cell(column.header) for column in table.columns]
        rules = ["---:" if column.justify == "right" else "---" for column in table.columns]
        rows = zip(*(map(_cell, column.cells) for column in table.columns), strict=True)
        parts += [str(text) for text in (table.title, table.caption) if text]
        parts.append("\n".join(f"| {' | '.join(row)} |" for row in (headings, rules, *rows)))
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


def _cell(text: object) -> str:
    return " ".join(str(text).split()).replace("|", "\\|")
