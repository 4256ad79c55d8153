"""Results as flat tables: one row a result, a run, or a trial."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from leaselab.analysis.comparison.basis import anchor_of, to_anchor
from leaselab.analysis.comparison.verdict import ratio_word
from leaselab.archive.row import Row
from leaselab.model.errors import usage_error
from leaselab.model.record import Record
from leaselab.model.text import cell

if TYPE_CHECKING:
    import pyarrow as pa

Kinds = dict[str, type]
"""What the values of a column are, by its name: str, float, int or bool, or None."""

_RESULT: Kinds = {
    name: int if name == "dirty" else str
    for name in (
        *("id", "started_at", "finished_at", "scenario", "outcome", "reasons", "server"),
        *("version", "commit", "author_date", "commit_date", "subject", "dirty", "release"),
        *("durability", "bench", "environment", "procedure", "experiment", "metric", "unit"),
    )
}
"""Columns of every table: what a row is of, and the metric that its procedure is about."""
_ENDS = ("", "_low", "_high")
"""What a metric's figure and the ends of its interval are called."""
_OF_RESULT: Kinds = {
    "ci_low": float,
    "ci_high": float,
    "standard_error": float,
    "runs": int,
    "wall_s": float,
    "anchor": str,
    **dict.fromkeys((f"to_anchor_ratio{end}" for end in _ENDS), float),
    "to_anchor_word": str,
}
_TRIAL: Kinds = {
    "run": int,
    "trial": int,
    "rate": float,
    "duration_s": float,
    "started": int,
    "completed": int,
    "late": int,
    "lost": int,
    "loss_ratio": float,
    "valid": bool,
    "reason": str,
    "aborted": bool,
    "traffic_s": float,
    "trial_cpu_us": float,
}
_OTHERWISE = {"started": "attempted", "trial_cpu_us": "cpu_us"}
"""Columns of trials that have another name than their field."""


@dataclass(frozen=True)
class Table:
    """Rows, each with a value or None for each column."""

    kinds: Kinds
    rows: list[tuple[Any, ...]]

    def csv(self) -> str:
        """Write it as CSV; no text is a formula to a spreadsheet."""
        stream = io.StringIO()
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(self.kinds)
        writer.writerows(map(_cell, row) for row in self.rows)
        return stream.getvalue()

    def parquet(self, name: str) -> dict[str, bytes]:
        """Write it as Parquet files: the content of each, by its place in a folder.

        Rows are parted by month and scenario, which stand in the places alone, in Hive's style.
        Raises usage_error where pyarrow is not installed.
        """
        try:
            import pyarrow as pa  # noqa: PLC0415  # an extra, and slow to import
        except ModuleNotFoundError:
            raise usage_error(
                "Parquet files need pyarrow, which is not installed",
                where="export --parquet",
                todo="./leaselab extra parquet",
            ) from None
        types: dict[type, pa.DataType] = {
            str: pa.string(),
            float: pa.float64(),
            int: pa.int64(),
            bool: pa.bool_(),
        }
        schema = pa.schema([(column, types[kind]) for column, kind in self.kinds.items()])
        started, scenario = map([*self.kinds].index, ("started_at", "scenario"))
        parts: dict[str, list[tuple[Any, ...]]] = {}
        for row in self.rows:
            month = row[started] and row[started][: len("2026-11")]
            place = f"month={_folder(month)}/scenario={_folder(row[scenario])}/{name}.parquet"
            parts.setdefault(place, []).append(row)
        return {place: _file(rows, schema) for place, rows in parts.items()}


def _folder(value: str | None) -> str:
    """A value in the name of a folder; readers take the word for none from it."""
    return quote(value, safe="") if value else "__HIVE_DEFAULT_PARTITION__"


def _file(rows: Sequence[tuple[Any, ...]], schema: pa.Schema) -> bytes:
    import pyarrow as pa  # noqa: PLC0415
    from pyarrow import parquet  # noqa: PLC0415

    columns = zip(*rows, strict=True)
    arrays = [
        pa.array(values, kind) for values, kind in zip(columns, schema.types, strict=True)
    ]
    table = pa.table(arrays, schema=schema).drop_columns(["scenario"])
    stream = io.BytesIO()
    parquet.write_table(table, stream, compression="zstd")
    return stream.getvalue()


def results_table(rows: Sequence[Row], known: Mapping[str, Row]) -> Table:
    """The table of results; `rows` are the index's, with all columns.

    `known` are rows by their ids, with those of their anchors.
    A metric has three columns: its figure, and the ends of its 95 % interval; that of the
    procedure has `ci_low`, `ci_high` and `standard_error`, too.  A parameter of the procedure
    that moves a figure has one, ``parameter_`` before its name where another column has it.
    """
    metrics = [_metrics(row) for row in rows]
    rulers = [json.loads(row["ruler"] or "{}") for row in rows]
    kinds = {
        **_RESULT,
        **dict.fromkeys((name for values in metrics for name in values), float),
        **_OF_RESULT,
    }
    names = dict.fromkeys(name for ruler in rulers for name in ruler if name != "name")
    columns = {name: f"parameter_{name}" if name in kinds else name for name in names}
    parameters = {
        columns[name]: _of_one_kind([ruler.get(name) for ruler in rulers]) for name in names
    }
    return _table(
        (
            {
                **row,
                **metrics[number],
                "runs": len(_rounds(row)),
                **_to_anchor(row, known),
                **{column: values[number] for column, (_, values) in parameters.items()},
            }
            for number, row in enumerate(rows)
        ),
        {**kinds, **{column: kind for column, (kind, _) in parameters.items()}},
    )


def runs_table(rows: Sequence[Row]) -> Table:
    """The table of their runs: of each the value of the metric that its procedure is about."""
    metrics = dict.fromkeys((row["metric"] for row in rows if row["metric"]), float)
    return _table(
        (
            {**row, "run": number, row["metric"]: value, "dropped": dropped}
            for row in rows
            for number, (value, dropped) in enumerate(_rounds(row), start=1)
        ),
        {**_RESULT, "run": int, **metrics, "dropped": bool},
    )


def trials_table(results: Iterable[tuple[Row, Record]]) -> Table:
    """The table of trials; `results` are index rows and their records."""
    return _table(
        (trial for row, record in results for trial in _trials(row, record)),
        {**_RESULT, **_TRIAL},
    )


def _table(records: Iterable[Mapping[str, Any]], kinds: Kinds) -> Table:
    return Table(kinds, [tuple(map(record.get, kinds)) for record in records])


def _cell(value: object) -> object:
    match value:
        case str():
            return cell(value)
        case bool():
            return "true" if value else "false"
        case float():
            return repr(value).removesuffix(".0")
    return value


def _metrics(row: Row) -> dict[str, float | None]:
    """Figure and ends of the interval of each metric, by column."""
    return {
        f"{name}{end}": value
        for name, (*values, _) in json.loads(row["metrics"] or "{}").items()
        for end, value in zip(_ENDS, values, strict=True)
    }


def _to_anchor(row: Row, known: Mapping[str, Row]) -> dict[str, float | str | None]:
    """The ratio to the anchor, the ends of its interval, and the word for it."""
    base = anchor_of(row, known)
    ratio = to_anchor(base, row) if base else None
    if ratio is None:
        return {}
    values = (ratio.value, *(ratio.ci95 or (None, None)))
    columns = {f"to_anchor_ratio{end}": one for end, one in zip(_ENDS, values, strict=True)}
    return {**columns, "to_anchor_word": ratio_word(ratio, row["metric"], row["better"])}


def _rounds(row: Row) -> list[tuple[float | None, bool]]:
    rounds: list[tuple[float | None, bool]] = json.loads(row["rounds"] or "[]")
    return rounds


def _of_one_kind(values: Sequence[Any]) -> tuple[type, list[Any]]:
    """A column of a parameter: numbers, or texts where one of its values is no number."""
    if all(value is None or isinstance(value, int | float) for value in values):
        return float, [value if value is None else float(value) for value in values]
    return str, [
        value if value is None or isinstance(value, str) else json.dumps(value)
        for value in values
    ]


def _trials(row: Row, record: Record) -> Iterator[dict[str, Any]]:
    for round_ in record.rounds:
        for number, trial in enumerate(round_.trials, start=1):
            fields = {name: _OTHERWISE.get(name, name) for name in [*_TRIAL][2:]}
            yield {
                **row,
                "run": round_.index,
                "trial": number,
                **{column: getattr(trial, field) for column, field in fields.items()},
            }
