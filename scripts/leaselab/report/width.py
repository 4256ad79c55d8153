"""Lines and tables as wide as a terminal; a pipe gets whole ones, so that grep finds them."""

from __future__ import annotations

import os
import shutil
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from typing import TextIO

from leaselab.model.text import printable
from leaselab.report.listing import aligned

_WITH_NUMBER = "\N{NO-BREAK SPACE}%"


def write_lines(stream: TextIO, lines: Iterable[str]) -> None:
    """Write sentences, a line each; a terminal has them folded between words."""
    width = columns(stream)
    for line in map(printable, lines):
        stream.write(f"{folded(line, width) if width else line}\n")


def write_table(
    stream: TextIO,
    headings: Sequence[str],
    body: Iterable[Sequence[str]],
    names: int,
    spare: Sequence[str] = (),
) -> None:
    """Write a table as `aligned` has it.

    On a narrow terminal, columns with the headings in `spare` are left out, in this order, and
    named below; if that does not do, each cell has a line.
    """
    rows: Sequence[Sequence[str]] = [*body]
    width = columns(stream)
    lines = [*aligned(headings, rows, names)]
    whole, out = (headings, rows), list[str]()
    while width and max(map(len, lines)) > width + 1:  # that is the line's end
        if not spare:
            lines, out = [*_blocks(*whole, width)], []
            break
        out.append(spare[0])
        left, spare = headings.index(spare[0]), spare[1:]
        headings, *rows = [_without(row, left) for row in (headings, *rows)]
        names -= left < names
        lines = [*aligned(headings, rows, names)]
    stream.writelines(lines)
    write_lines(stream, [left_out(out)] if out else [])


def left_out(headings: Iterable[str]) -> str:
    """A line for columns that a narrow terminal lacks."""
    return f"not shown at this width: {', '.join(headings)}"


def _without(row: Sequence[str], place: int) -> list[str]:
    return [*row[:place], *row[place + 1 :]]


def columns(stream: TextIO) -> int | None:
    """How many a terminal has; None for a pipe or a file."""
    return shutil.get_terminal_size().columns if stream.isatty() else None


def is_screen(stream: TextIO) -> bool:
    """Whether it is a terminal that obeys control codes: one without a name may not."""
    return stream.isatty() and os.environ.get("TERM", "") not in ("", "dumb", "unknown")


def _blocks(
    headings: Sequence[str], rows: Iterable[Sequence[str]], width: int
) -> Iterator[str]:
    """Each row below its first cell; cells without a value are left out."""
    gap = max(map(len, headings)) + 4
    for name, *cells in rows:
        yield f"{printable(name)}\n"
        for heading, cell in zip(headings[1:], cells, strict=True):
            if cell not in ("", "-"):
                text = f"  {heading}".ljust(gap) + printable(cell)
                yield f"{folded(text, width, gap)}\n"


def folded(line: str, width: int, indent: int | None = None) -> str:
    """The line with breaks between words; an id, a path, and a number with its % stay whole.

    Further lines are indented by 2 more, or by `indent`.
    """
    if len(line) <= width:
        return line
    if indent is None:
        indent = len(line) - len(line.lstrip()) + 2
    filled = textwrap.fill(
        line.replace(" %", _WITH_NUMBER),
        width,
        subsequent_indent=" " * indent,
        break_long_words=False,
        break_on_hyphens=False,
    )
    return filled.replace(_WITH_NUMBER, " %")
