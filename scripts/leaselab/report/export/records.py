"""Results as flat tables: one row a result, a run, or a trial."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from leaselab.model.text import cell

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from leaselab.archive.row import Row
    from leaselab.model.record import Record

_TEXT: pa.DataType = pa.string()
_NUMBER: pa.DataType = pa.float64()
_WHOLE: pa.DataType = pa.int64()
_FLAG: pa.DataType = pa.bool_()
_RESULT = tuple(
    (name, _WHOLE if name == "dirty" else _TEXT)
    for name in (
        *("id", "started_at", "finished_at", "scenario", "outcome", "reasons", "server"),
        *("version", "commit", "author_date", "commit_date", "subject", "dirty", "release"),
        *("durability", "bench", "environment", "procedure", "experiment", "metric", "unit"),
    )
)
"""Columns of every table: what a row is of, and the metric that its procedure is about."""
_ENDS = ("", "_low", "_high")
"""What a metric's figure and the ends of its interval are called."""
_OF_RESULT = (
    ("ci_low", _NUMBER),
    ("ci_high", _NUMBER),
    ("standard_error", _NUMBER),
    ("runs", _WHOLE),
    ("wall_s", _NUMBER),
)
_TRIAL = (
    ("run", _WHOLE),
    ("trial", _WHOLE),
    ("rate", _NUMBER),
    ("duration_s", _NUMBER),
    ("started", _WHOLE),
    ("completed", _WHOLE),
    ("late", _WHOLE),
    ("lost", _WHOLE),
    ("loss_ratio", _NUMBER),
    ("valid", _FLAG),
    ("reason", _TEXT),
    ("aborted", _FLAG),
    ("traffic_s", _NUMBER),
    ("trial_cpu_us", _NUMBER),
)
_OTHERWISE = {"started": "attempted", "trial_cpu_us": "cpu_us"}
"""Columns of trials that have another name than their field."""


def results_table(rows: Sequence[Row]) -> pa.Table:
    """The table of results; `rows` are the index's, with all columns.

    A metric has three columns: its figure, and the ends of its 95 % interval; that of the
    procedure has `ci_low`, `ci_high` and `standard_error`, too.  A parameter of the procedure
    that moves a figure has one, ``parameter_`` before its name where another column has it.
    """
    found = [_metrics(row) for row in rows]
    metrics = dict.fromkeys(name for values in found for name in values)
    schema = [*_RESULT, *((name, _NUMBER) for name in metrics), *_OF_RESULT]
    taken = {name for name, _ in schema}
    rulers = [json.loads(row["ruler"] or "{}") for row in rows]
    parameters = dict.fromkeys(name for ruler in rulers for name in ruler if name != "name")
    table = _table(
        (
            {**row, **values, "runs": len(_rounds(row))}
            for row, values in zip(rows, found, strict=True)
        ),
        schema,
    )
    for name in parameters:
        column = f"parameter_{name}" if name in taken else name
        table = table.append_column(column, _told([ruler.get(name) for ruler in rulers]))
    return table


def runs_table(rows: Sequence[Row]) -> pa.Table:
    """The table of their runs: of each the value of the metric that its procedure is about."""
    metrics = dict.fromkeys(row["metric"] for row in rows if row["metric"])
    return _table(
        (
            {**row, "run": number, row["metric"]: value, "dropped": dropped}
            for row in rows
            for number, (value, dropped) in enumerate(_rounds(row), start=1)
        ),
        [*_RESULT, ("run", _WHOLE), *((name, _NUMBER) for name in metrics), ("dropped", _FLAG)],
    )


def trials_table(results: Iterable[tuple[Row, Record]]) -> pa.Table:
    """The table of trials; `results` are index rows and their records."""
    return _table(
        (trial for row, record in results for trial in _trials(row, record)),
        [*_RESULT, *_TRIAL],
    )


def cells_of(table: pa.Table) -> pa.Table:
    """The same table with texts that are no formula to a spreadsheet, for CSV."""
    columns = [
        pa.array([text and cell(text) for text in column.to_pylist()], _TEXT)
        if column.type == _TEXT
        else column
        for column in table.columns
    ]
    return pa.table(columns, names=table.column_names)


def _table(records: Iterable[Mapping[str, Any]], schema: Sequence[Any]) -> pa.Table:
    return pa.Table.from_pylist(list(records), schema=pa.schema(schema))


def _metrics(row: Row) -> dict[str, float | None]:
    """Figure and ends of the interval of each metric, by column."""
    return {
        f"{name}{end}": value
        for name, (*values, _) in json.loads(row["metrics"] or "{}").items()
        for end, value in zip(_ENDS, values, strict=True)
    }


def _rounds(row: Row) -> list[tuple[float | None, bool]]:
    found: list[tuple[float | None, bool]] = json.loads(row["rounds"] or "[]")
    return found


def _told(values: Sequence[Any]) -> pa.Array[Any]:
    """A column of a parameter: numbers, or texts where one of its values is no number."""
    if all(value is None or isinstance(value, int | float) for value in values):
        return pa.array(values, _NUMBER)
    texts = [
        value if value is None or isinstance(value, str) else json.dumps(value)
        for value in values
    ]
    return pa.array(texts, _TEXT)


def _trials(row: Row, record: Record) -> Iterator[dict[str, Any]]:
    for one in record.rounds:
        for number, trial in enumerate(one.trials, start=1):
            fields = {name: _OTHERWISE.get(name, name) for name, _ in _TRIAL[2:]}
            yield {
                **row,
                "run": one.index,
                "trial": number,
                **{column: getattr(trial, field) for column, field in fields.items()},
            }
