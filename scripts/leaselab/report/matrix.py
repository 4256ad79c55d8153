"""The table of several results: on a terminal, in a pipe, or as Markdown."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, TextIO

from rich import box
from rich.console import Console
from rich.table import Table

from leaselab.analysis.matrix import HOT_STANDBY, LOAD_BALANCING, ONE, Cell, Row, rows_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_NONE = "-"
_COLUMNS = (
    ("single-threaded", (False, ONE)),
    ("multi-threaded", (True, ONE)),
    ("hot standby", (False, HOT_STANDBY)),
    ("hot standby, multi-threaded", (True, HOT_STANDBY)),
    ("load balancing", (False, LOAD_BALANCING)),
    ("load balancing, multi-threaded", (True, LOAD_BALANCING)),
)


def print_matrix(
    cells: Sequence[Cell], *, markdown: bool = False, stream: TextIO | None = None
) -> None:
    """Print the table of the cells, and under it what its figures are; stdout unless given."""
    stream = stream or sys.stdout
    headings, body = _texts(rows_of(cells))
    console = Console(file=stream, highlight=False)
    if markdown:
        stream.writelines(_markdown(headings, body))
    elif console.is_terminal:
        table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
        for number, heading in enumerate(headings):
            table.add_column(heading, justify="left" if number < _NAMES else "right")
        for row in body:
            table.add_row(*row)
        console.print(table)
    else:
        stream.writelines(_aligned(headings, body))
    stream.write("\n")
    stream.writelines(f"{line}\n" for line in conditions(cells))


def document(cells: Sequence[Cell]) -> list[dict[str, Any]]:
    """The rows for ``--json``: a mapping each, cells by scenario."""
    return [
        {
            "family": row.family,
            "backend": row.backend,
            "durability": row.durability,
            "gain": row.gain,
            "results": {
                cell.scenario: {
                    "id": cell.id,
                    "outcome": cell.outcome,
                    "max_rate": cell.mean,
                    "half_width": cell.half_width,
                    "extent": cell.extent,
                    "runs": cell.runs,
                    "bench": cell.bench,
                    "environment": cell.environment,
                    "started_at": cell.started_at,
                }
                for cell in row.cells.values()
            },
        }
        for row in rows_of(cells)
    ]


def conditions(cells: Sequence[Cell]) -> Iterator[str]:
    """What has to be known to read the figures, a line each."""
    counts = sorted({cell.runs for cell in cells})
    told = [f"exchanges/s: trimmed mean of {' or '.join(map(str, counts))} runs"]
    if any(cell.half_width is not None for cell in cells):
        told.append("± half of its 95 % interval")
    if any(cell.half_width is None and cell.extent for cell in cells):
        told.append("in brackets the lowest and the highest of runs too few for an interval")
    yield ", ".join(told)
    places = sorted(
        {f"{cell.bench}, environment {cell.environment or _NONE}" for cell in cells}
    )
    first = min(cell.started_at for cell in cells)
    last = max(cell.finished_at for cell in cells)
    yield f"bench {' and '.join(places)}; from {_minute(first)} to {_minute(last)} UTC"
    if len(places) > 1:
        yield "of different benches or environments: these are not to be compared"


_NAMES = 3
"""Columns that name a row."""


def _texts(rows: Sequence[Row]) -> tuple[list[str], list[list[str]]]:
    used = {place for row in rows for place in row.cells}
    columns = [column for column in _COLUMNS if column[1] in used]
    gains = any(row.gain is not None for row in rows)
    headings = ["clients", "backend", "durability"]
    for heading, place in columns:
        headings.append(heading)
        if gains and place == (True, ONE):
            headings.append("gain")
    body = []
    for row in rows:
        texts = [f"DHCPv{row.family}", row.backend, row.durability]
        for _, place in columns:
            texts.append(_cell(row.cells.get(place)))
            if gains and place == (True, ONE):
                texts.append(_NONE if row.gain is None else f"{100 * row.gain:+.0f} %")
        body.append(texts)
    return headings, body


def _cell(cell: Cell | None) -> str:
    if cell is None:
        return _NONE
    if cell.mean is None:
        return cell.outcome
    if cell.half_width is not None:
        return f"{cell.mean:.0f} ± {cell.half_width:.0f}"
    if cell.extent is not None:
        return f"{cell.mean:.0f} ({cell.extent[0]:.0f}-{cell.extent[1]:.0f})"
    return f"{cell.mean:.0f}"


def _aligned(headings: list[str], body: list[list[str]]) -> Iterator[str]:
    widths = [max(map(len, column)) for column in zip(headings, *body, strict=True)]
    for row in [headings, *body]:
        cells = [
            text.ljust(width) if number < _NAMES else text.rjust(width)
            for number, (text, width) in enumerate(zip(row, widths, strict=True))
        ]
        yield "  ".join(cells).rstrip() + "\n"


def _markdown(headings: list[str], body: list[list[str]]) -> Iterator[str]:
    yield f"| {' | '.join(headings)} |\n"
    yield "|" + "".join("---|" if n < _NAMES else "---:|" for n in range(len(headings))) + "\n"
    for row in body:
        yield f"| {' | '.join(row)} |\n"


def _minute(text: str) -> str:
    return text[:16].replace("T", " ")
