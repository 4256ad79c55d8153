"""Results as flat tables: one row a result, a run, or a trial."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

_TEXT: pa.DataType = pa.string()
_NUMBER: pa.DataType = pa.float64()
_WHOLE: pa.DataType = pa.int64()
_FLAG: pa.DataType = pa.bool_()
_RESULT = (
    ("id", _TEXT),
    ("started_at", _TEXT),
    ("finished_at", _TEXT),
    ("scenario", _TEXT),
    ("outcome", _TEXT),
    ("reasons", _TEXT),
    ("server", _TEXT),
    ("version", _TEXT),
    ("commit", _TEXT),
    ("author_date", _TEXT),
    ("subject", _TEXT),
    ("dirty", _WHOLE),
    ("release", _TEXT),
    ("durability", _TEXT),
    ("bench", _TEXT),
    ("environment", _TEXT),
)
RESULTS = pa.schema(
    [
        *_RESULT,
        ("max_rate", _NUMBER),
        ("ci_low", _NUMBER),
        ("ci_high", _NUMBER),
        ("standard_error", _NUMBER),
        ("runs", _WHOLE),
        ("cpu_us", _NUMBER),
        ("wall_s", _NUMBER),
        ("loss_ratio", _NUMBER),
        ("late_s", _NUMBER),
        ("relative_width", _NUMBER),
        ("trial_s", _NUMBER),
    ]
)
"""Columns of a table of results; rates in exchanges/s, `max_rate` is the trimmed mean."""
RUNS = pa.schema([*_RESULT, ("run", _WHOLE), ("max_rate", _NUMBER), ("dropped", _FLAG)])
"""Columns of a table of runs."""
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
TRIALS = pa.schema([*_RESULT, *_TRIAL])
"""Columns of a table of trials."""


def results_table(rows: Iterable[Mapping[str, Any]]) -> pa.Table:
    """The table of results; `rows` are the index's, with all columns."""
    return _table((_result(row) for row in rows), RESULTS)


def runs_table(rows: Iterable[Mapping[str, Any]]) -> pa.Table:
    """The table of their runs."""
    return _table((run for row in rows for run in _runs(row)), RUNS)


def trials_table(
    results: Iterable[tuple[Mapping[str, Any], Mapping[str, Any]]],
) -> pa.Table:
    """The table of trials; `results` are index rows and their documents."""
    return _table(
        (trial for row, document in results for trial in _trials(row, document)), TRIALS
    )


def _table(records: Iterator[Mapping[str, Any]], schema: pa.Schema) -> pa.Table:
    return pa.Table.from_pylist(list(records), schema=schema)


def _result(row: Mapping[str, Any]) -> dict[str, Any]:
    goal = json.loads(row["goal"] or "{}")
    runs = json.loads(row["runs"] or "[]")
    return {**row, **goal, "max_rate": row["trimmed_mean"], "runs": len(runs)}


def _runs(row: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for number, (rate, dropped) in enumerate(json.loads(row["runs"] or "[]"), start=1):
        yield {**row, "run": number, "max_rate": rate, "dropped": dropped}


def _trials(row: Mapping[str, Any], document: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for run in document["runs"]:
        for number, trial in enumerate(run["trials"], start=1):
            yield {
                **trial,
                **row,
                "run": run["index"],
                "trial": number,
                "trial_cpu_us": trial["cpu_us_per_exchange"],
            }
