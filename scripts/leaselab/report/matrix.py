"""The table of several results: on a terminal, in a pipe, or as Markdown."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any, TextIO

from leaselab.analysis.comparison.curve import Curve, Standing, curves_of
from leaselab.analysis.comparison.matrix import (
    Cell,
    Column,
    Row,
    by_figure,
    cell_of,
    columns_of,
    rows_of,
)
from leaselab.analysis.comparison.ratio import Basis
from leaselab.analysis.comparison.verdict import Comparison, Verdict
from leaselab.analysis.duels.duel import Answer
from leaselab.model.record import Record
from leaselab.report.listing import (
    aligned,
    escaped,
    heading,
    markdown_table,
    measured,
    number,
)
from leaselab.report.units import in_shown_units
from leaselab.report.width import columns, write_lines

_NONE = "-"
_PLAIN = "none"
"""Value of a factor that the heading of a column leaves out."""
_BAR = 40
"""Letters of the longest bar of a curve."""
_GAIN = "gain"


def print_table(records: Sequence[Record]) -> None:
    """Print the table of records, and the curves that are among them."""
    print_matrix([cell_of(unit) for unit in in_shown_units(records)])
    print_curves(records)


def print_matrix(
    cells: Sequence[Cell], *, markdown: bool = False, stream: TextIO | None = None
) -> None:
    """Print the table of the cells, and under it what its figures are; stdout unless given.

    Results whose factors have other names, or whose figures are others, have a table of their
    own.  On a terminal that is too narrow for them, a line for each cell.
    """
    stream = stream or sys.stdout
    for place, alike in enumerate(by_figure(cells)):
        stream.write("\n" * bool(place))
        _print_alike(alike, stream, markdown=markdown)


def _print_alike(cells: Sequence[Cell], stream: TextIO, *, markdown: bool) -> None:
    """Print the tables of cells with the same figure."""
    kinds = kinds_of(rows_of(cells))
    tables = [_texts(rows) for rows in kinds]
    legend = dict.fromkeys(line for rows in kinds for line in _legend(rows))
    write = markdown_table if markdown else aligned
    texts = ["".join(write(*table)) for table in tables]
    widest = max(len(line) for text in texts for line in text.splitlines())
    width = columns(stream)
    if not markdown and width and widest > width:
        texts, legend = ["".join(aligned(*_one_by_one(cells), 2))], {}
    stream.write("\n".join(texts))
    lines = ["", *legend, *conditions(cells)]
    write_lines(stream, map(escaped, lines) if markdown else lines)


def print_curves(records: Sequence[Record], stream: TextIO | None = None) -> None:
    """Print the curves of each experiment of which there are points along a factor.

    A line for each point: the factor's value, the figure, a bar, and how it stands to the best
    of its curve.  Nothing without an experiment; stdout unless given.
    """
    stream = stream or sys.stdout
    experiments: dict[str, list[Record]] = {}
    for record in records:
        if record.experiment:
            experiments.setdefault(record.experiment.id, []).append(record)
    for members in experiments.values():
        curves = curves_of(in_shown_units(members))
        for curve in curves:
            label = ", ".join(f"{name} {value}" for name, value in curve.alike.items())
            stream.writelines(["\n", f"{label}\n" if label else ""])
            stream.writelines(aligned(*_curve_texts(curve), 0))
        if curves:
            write_lines(stream, ["", *_curve_legend(curves, members[0])])


def _curve_texts(curve: Curve) -> tuple[list[str], list[list[str]]]:
    highest = max((point.value or 0.0 for point in curve.points), default=0.0)
    body = []
    for point in curve.points:
        text = measured(point.value, curve.unit, point.half_width)
        bar = "█" * round(_BAR * (point.value or 0.0) / (highest or 1.0))
        mark = (point.standing or "").ljust(max(map(len, Standing)))
        body.append([f"{point.at:g}", text, bar.ljust(_BAR), mark])
    return [curve.factor, heading(curve.title, curve.unit), "", ""], body


def _curve_legend(curves: Sequence[Curve], record: Record) -> Iterator[str]:
    standings = {point.standing for curve in curves for point in curve.points}
    if standings & {Standing.ALIKE, Standing.OTHER}:
        yield (
            f"{Standing.ALIKE}: from the best, at 5 %, each tested alone: of 20 that are as "
            "good, one differs by chance"
        )
    if Standing.UNCLEAR in standings:
        yield f"{Standing.UNCLEAR}: one run has no interval, so take two or more rounds"
    experiment = record.experiment
    if experiment and not experiment.interleaved:
        why = f" ({experiment.why})" if experiment.why else ""
        yield (
            f"the points were measured one after the other{why}: the drift of the machine is "
            "part of their differences"
        )


def kinds_of(rows: Sequence[Row]) -> list[list[Row]]:
    """The rows of each table: those whose factors, and those across, have the same names."""
    return [
        list(members)
        for _, members in groupby(rows, key=lambda row: (list(row.factors), row.across))
    ]


def document(cells: Sequence[Cell]) -> list[dict[str, Any]]:
    """The rows for ``--json``: a mapping each, cells by scenario."""
    return [
        {
            "factors": dict(row.factors),
            "durability": row.durability,
            "results": {
                cell.scenario: {
                    **cell_document(cell),
                    **_against_base(row.compared(column)),
                }
                for column, cell in row.cells.items()
            },
        }
        for alike in by_figure(cells)
        for row in rows_of(alike)
    ]


def _against_base(comparison: Comparison | None) -> dict[str, Any]:
    """A comparison with the base of a row for ``--json``; None of what there is not."""
    verdict = comparison.verdict if comparison else None
    return {
        "word": comparison.word if comparison else None,
        "ratio": verdict.ratio if verdict else None,
        **ends_document(verdict),
        "basis": verdict.basis.value if verdict else None,
    }


def ends_document(verdict: Verdict | None) -> dict[str, Any]:
    """The interval of a ratio, or of counts, which have none, the `range` of their starts.

    An end without a bound, of a figure that is known badly, is null.
    """
    ends = [end if math.isfinite(end) else None for end in verdict.ci95] if verdict else None
    counted = verdict is not None and verdict.cost is not None
    return {"ci95": None if counted else ends, "range": ends if counted else None}


def cell_document(cell: Cell) -> dict[str, Any]:
    """One result in the rows for ``--json``."""
    figure = ("unit", "value", "half_width", "extent")
    names = ("id", "outcome", *figure, "bench", "environment", "started_at")
    known = {name: getattr(cell, name) for name in names}
    return {"metric": cell.title, **known, "runs": cell.rounds}


def conditions(cells: Sequence[Cell], *, servers_named: bool = False) -> Iterator[str]:
    """What has to be known to read the figures, a line each.

    `servers_named`: the table's rows say already which server each is of.
    """
    counts = sorted({cell.rounds for cell in cells})
    figures = " or ".join(sorted({f"{cell.title} in {cell.unit}" for cell in cells}))
    how = " or ".join(sorted({cell.how for cell in cells}))
    runs = f"{how} of {' or '.join(map(str, counts))} runs"
    lines = [f"{figures}: {'one run' if counts == [1] else runs}"]
    if any(cell.half_width is not None for cell in cells):
        lines.append("± half of its 95 % interval")
    if any(cell.half_width is None and cell.extent for cell in cells):
        lines.append("in brackets the lowest and the highest of runs too few for an interval")
    yield ", ".join(lines)
    yield from sorted({cell.procedure for cell in cells})
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


def column_words(column: Column, across: Sequence[str]) -> str:
    """Heading of a column: values of its factors; a number has its factor's name before it."""
    words = [
        value if isinstance(value, str) else f"{name} {value}"
        for name, value in zip(across, column, strict=True)
        if value is not None
    ]
    return " ".join([word for word in words if word != _PLAIN] or words)


def _legend(rows: Sequence[Row]) -> Iterator[str]:
    """What stands across in the table of rows of one kind, and what a gain is."""
    first = rows[0]
    across = [f"across: {', '.join(first.across)}"] if first.across else []
    yield "; ".join([*across, f"{_NONE}: not among these results"])
    if any(_gained(rows, column) for column in columns_of(rows)):
        base = column_words(first.base, first.across)
        compared = [row.compared(column) for row in rows for column in columns_of(rows)]
        line = f"{_GAIN}: over {base}, as `leaselab compare` judges it"
        if any(one.apart for one in compared if one):
            line += f"; {Basis.SESSIONS.value}: this includes the drift of the machine"
        yield line


def _gained(rows: Sequence[Row], column: Column) -> bool:
    """Whether a column has a gain beside it: some row has it and the one it is measured by."""
    base = rows[0].base
    return (
        column != base
        and column[1:] == base[1:]
        and any({base, column} <= row.cells.keys() for row in rows)
    )


def _texts(rows: Sequence[Row]) -> tuple[list[str], list[list[str]], int]:
    """Headings and rows of a table, and how many of its columns name a row."""
    columns = columns_of(rows)
    names = [*rows[0].factors, *["durability"] * any(row.durability for row in rows)]
    headings, body = list(names), [_names(row, names) for row in rows]
    for column in columns:
        title = next(row.cells[column].title for row in rows if column in row.cells)
        headings.append(column_words(column, rows[0].across) or title)
        for texts, row in zip(body, rows, strict=True):
            texts.append(shown(row.cells.get(column)))
        if _gained(rows, column):
            headings.append(_GAIN)
            for texts, row in zip(body, rows, strict=True):
                texts.append(gain_words(row, column))
    return headings, body, len(names)


def _names(row: Row, names: Sequence[str]) -> list[str]:
    return [str({**row.factors, "durability": row.durability}[name]) for name in names]


def gain_words(row: Row, column: Column) -> str:
    """What a column brings over the row's base, in words: the change, or that it is none."""
    found = row.compared(column)
    if found is None or found.verdict is None:
        return _NONE
    if found.verdict.answer is Answer.SAME:
        return found.words
    across = f" {Basis.SESSIONS.value}" * found.apart
    return f"{100 * (found.verdict.ratio - 1):+.0f} %{across}"


def _one_by_one(cells: Sequence[Cell]) -> tuple[list[str], list[list[str]]]:
    """Headings and rows of the same figures, a scenario each."""
    filled = [cell for row in rows_of(cells) for cell in row.cells.values()]
    titles = " or ".join(dict.fromkeys(cell.title for cell in filled))
    body = [[cell.scenario, cell.durability, shown(cell)] for cell in filled]
    return ["scenario", "durability", titles], body


def shown(cell: Cell | None) -> str:
    """A cell's figure with how well it is known, or why there is none."""
    if cell is None:
        return _NONE
    if cell.value is None:
        return cell.outcome
    text = measured(cell.value, cell.unit, cell.half_width)
    if cell.half_width is None and cell.extent is not None:
        ends = (number(end, cell.unit, cell.value) for end in cell.extent)
        text += f" ({'-'.join(ends)})"
    return text


def _minute(text: str) -> str:
    return text[:16].replace("T", " ")
