"""The table of several results: on a terminal, in a pipe, or as Markdown."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, TextIO

from rich.console import Console

from leaselab.analysis.matrix import HOT_STANDBY, LOAD_BALANCING, ONE, Cell, Row, rows_of
from leaselab.report.markup import escaped

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_NONE = "-"
_GAIN, _OVERLAP = "gain", "none seen"
COLUMNS = (
    ("st", (False, ONE)),
    ("mt", (True, ONE)),
    ("st hs", (False, HOT_STANDBY)),
    ("mt hs", (True, HOT_STANDBY)),
    ("st lb", (False, LOAD_BALANCING)),
    ("mt lb", (True, LOAD_BALANCING)),
)
"""Ways of running in the order of the table: heading, and threads with mode."""


def print_matrix(
    cells: Sequence[Cell], *, markdown: bool = False, stream: TextIO | None = None
) -> None:
    """Print the table of the cells, and under it what its figures are; stdout unless given.

    On a terminal that is too narrow for it, a line for each cell.
    """
    stream = stream or sys.stdout
    headings, body = _texts(rows_of(cells))
    legend = list(_legend(headings))
    if markdown:
        stream.writelines(markdown_table(headings, body, _NAMES))
    else:
        lines = list(aligned(headings, body, _NAMES))
        if stream.isatty() and max(map(len, lines)) > Console(file=stream).width:
            lines, legend = list(aligned(*_one_by_one(cells), 2)), []
        stream.writelines(lines)
    told = [*legend, *conditions(cells)]
    if markdown:
        told = [escaped(line) for line in told]
    stream.writelines(["\n", *(f"{line}\n" for line in told)])


def document(cells: Sequence[Cell]) -> list[dict[str, Any]]:
    """The rows for ``--json``: a mapping each, cells by scenario."""
    return [
        {
            "family": row.family,
            "backend": row.backend,
            "durability": row.durability,
            "gain": row.gain,
            "results": {cell.scenario: cell_document(cell) for cell in row.cells.values()},
        }
        for row in rows_of(cells)
    ]


def cell_document(cell: Cell) -> dict[str, Any]:
    """One result in the rows for ``--json``."""
    return {
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


def conditions(cells: Sequence[Cell], *, servers_named: bool = False) -> Iterator[str]:
    """What has to be known to read the figures, a line each.

    `servers_named`: the table's rows say already which server each is of.
    """
    counts = sorted({cell.runs for cell in cells})
    runs = f"trimmed mean of {' or '.join(map(str, counts))} runs"
    told = ["exchanges/s: " + ("max rate of one run" if counts == [1] else runs)]
    if any(cell.half_width is not None for cell in cells):
        told.append("± half of its 95 % interval")
    if any(cell.half_width is None and cell.extent for cell in cells):
        told.append("in brackets the lowest and the highest of runs too few for an interval")
    yield ", ".join(told)
    yield from sorted({cell.goal for cell in cells})
    servers = " and ".join(sorted({cell.server for cell in cells}))
    places = sorted(
        {f"{cell.bench}, environment {cell.environment or _NONE}" for cell in cells}
    )
    first = min(cell.started_at for cell in cells)
    last = max(cell.finished_at for cell in cells)
    yield ("" if servers_named else f"{servers}; ") + f"bench {' and '.join(places)}"
    yield f"from {_minute(first)} to {_minute(last)} UTC"
    if len(places) > 1:
        yield "of different benches or environments: these are not to be compared"


def _legend(headings: Sequence[str]) -> Iterator[str]:
    told = ["st, mt: single-, multi-threaded"]
    if any(heading.endswith((" hs", " lb")) for heading in headings):
        told.append("hs, lb: as a pair in hot standby, load balancing")
    yield "; ".join([*told, f"{_NONE}: not among these results"])
    if _GAIN in headings:
        yield f"{_GAIN}: of mt over st; {_OVERLAP}: what the two may be overlaps"


_NAMES = 3
"""Columns that name a row."""


def _texts(rows: Sequence[Row]) -> tuple[list[str], list[list[str]]]:
    used = {place for row in rows for place in row.cells}
    columns = [column for column in COLUMNS if column[1] in used]
    gains = any({(False, ONE), (True, ONE)} <= row.cells.keys() for row in rows)
    headings = ["clients", "backend", "durability"]
    for heading, place in columns:
        headings.append(heading)
        if gains and place == (True, ONE):
            headings.append(_GAIN)
    body = []
    for row in rows:
        texts = [f"DHCPv{row.family}", row.backend, row.durability]
        for _, place in columns:
            texts.append(shown(row.cells.get(place)))
            if gains and place == (True, ONE):
                texts.append(gain_words(row))
        body.append(texts)
    return headings, body


def gain_words(row: Row) -> str:
    """What threads bring one server, in words."""
    if row.gain is not None:
        return f"{100 * row.gain:+.0f} %"
    return _OVERLAP if row.compared else _NONE


def _one_by_one(cells: Sequence[Cell]) -> tuple[list[str], list[list[str]]]:
    """Headings and rows of the same figures, a scenario each."""
    body = [
        [cell.scenario, cell.durability, shown(cell)]
        for row in rows_of(cells)
        for cell in row.cells.values()
    ]
    return ["scenario", "durability", "max rate"], body


def shown(cell: Cell | None) -> str:
    """A cell's max rate with how well it is known, or why there is none."""
    if cell is None:
        return _NONE
    if cell.mean is None:
        return cell.outcome
    if cell.half_width is not None:
        return f"{cell.mean:.0f} ± {cell.half_width:.0f}"
    if cell.extent is not None:
        return f"{cell.mean:.0f} ({cell.extent[0]:.0f}-{cell.extent[1]:.0f})"
    return f"{cell.mean:.0f}"


def aligned(headings: list[str], body: list[list[str]], names: int) -> Iterator[str]:
    """Lines of a table; its first `names` columns are words, the others figures."""
    widths = [max(map(len, column)) for column in zip(headings, *body, strict=True)]
    for row in [headings, *body]:
        cells = [
            text.ljust(width) if number < names else text.rjust(width)
            for number, (text, width) in enumerate(zip(row, widths, strict=True))
        ]
        yield "  ".join(cells).rstrip() + "\n"


def markdown_table(headings: list[str], body: list[list[str]], names: int) -> Iterator[str]:
    """Lines of the same table in Markdown, with nothing in it taken for markup."""
    yield f"| {' | '.join(headings)} |\n"
    yield "|" + "".join("---|" if n < names else "---:|" for n in range(len(headings))) + "\n"
    for row in body:
        yield f"| {' | '.join(map(escaped, row))} |\n"


def _minute(text: str) -> str:
    return text[:16].replace("T", " ")
