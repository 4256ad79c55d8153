"""The units that figures are shown in: milliseconds, percent, KiB, GiB.

Records, the index and exports have seconds, ratios and bytes; converted values are only shown.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from typing import Any, TypeVar

from msgspec.structs import force_setattr, replace

from leaselab.model.record import Metric, Record, Round

Kind = tuple[str, str]
Part = TypeVar("Part", Metric, Round)
Scales = Mapping[Kind, tuple[str, float]]

_OF_STEP = re.compile(r"^step_\d+_")
_STEP = 1024
"""From MiB to GiB."""
_OF_ROWS = ("value", "ci_low", "ci_high", "standard_error")
"""Columns of the index that are in the unit of the row's metric."""


_ALWAYS = {"ratio": ("%", 100.0), "bytes/s": ("KiB/s", 1 / 1024)}
"""Units that are never shown, what is in their place, and the factor to it."""


def scale_of(unit: str, values: Iterable[float | None]) -> tuple[str, float]:
    """The unit in which figures that stand together are shown, and the factor to it.

    Seconds become milliseconds where all of the values, as far as there are any, are below 1
    and one is above 0; ratios become percent; MiB become GiB where all are 1024 or more.
    """
    if unit in _ALWAYS:
        return _ALWAYS[unit]
    sizes = [abs(value) for value in values if value is not None]
    if unit == "MiB" and sizes and min(sizes) >= _STEP:
        return "GiB", 1 / _STEP
    return ("ms", 1000.0) if unit == "s" and sizes and 0 < max(sizes) < 1 else (unit, 1.0)


def in_shown_units(records: Sequence[Record]) -> list[Record]:
    """The same records with figures in the units to show; one unit for each metric of all.

    So have those of the steps of a procedure.  Not to be archived or exported.
    """
    values: dict[Kind, list[float | None]] = {}
    for record in records:
        for metric in record.metrics:
            known = record.values(metric.name) if metric.value is None else (metric.value,)
            values.setdefault(_kind(metric.name, metric.unit), []).extend(known)
    scales = _scales(values)
    return [_shown(record, scales) for record in records]


def rows_in_shown_units(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The same for rows of the index, whichever of its columns they have."""
    values: dict[Kind, list[float | None]] = {}
    for row in rows:
        values.setdefault(_kind(row["metric"], row["unit"]), []).append(row["value"])
        for name, (value, _, _, unit) in _metrics(row).items():
            values.setdefault(_kind(name, unit), []).append(value)
    scales = _scales(values)
    return [_shown_row(row, scales) for row in rows]


def _kind(metric: str | None, unit: str) -> Kind:
    """What has one unit: a metric, of the whole and of each step; a result may have none."""
    return _OF_STEP.sub("", metric or ""), unit


def _scales(values_by_kind: Mapping[Kind, Sequence[float | None]]) -> Scales:
    """The unit and the factor of each kind that is shown in another one."""
    scales = {kind: scale_of(kind[1], values) for kind, values in values_by_kind.items()}
    return {kind: scale for kind, scale in scales.items() if scale[0] != kind[1]}


def _shown(record: Record, scales: Scales) -> Record:
    scaled = {
        metric.name: scales.get(_kind(metric.name, metric.unit)) for metric in record.metrics
    }
    factors = {name: scale[1] for name, scale in scaled.items() if scale}
    if not factors:
        return record
    return replace(
        record,
        metrics=tuple(_shown_metric(metric, scaled[metric.name]) for metric in record.metrics),
        rounds=tuple(_shown_round(round_, factors) for round_ in record.rounds),
    )


def _shown_metric(metric: Metric, scale: tuple[str, float] | None) -> Metric:
    if scale is None:
        return metric
    unit, factor = scale
    low, high = metric.ci95 or (None, None)
    return _changed(
        metric,
        unit=unit,
        value=_times(metric.value, factor),
        ci95=None if low is None or high is None else (low * factor, high * factor),
        standard_error=_times(metric.standard_error, factor),
        lowest=_times(metric.lowest, factor),
        highest=_times(metric.highest, factor),
    )


def _shown_round(round_: Round, factors: Mapping[str, float]) -> Round:
    metrics = {
        name: _times(value, factors.get(name, 1.0)) for name, value in round_.metrics.items()
    }
    return _changed(round_, metrics=metrics)


def _changed(part: Part, **fields: object) -> Part:
    """Replace fields by values that no record can have, such as a large ratio in percent."""
    changed = copy(part)
    for name, value in fields.items():
        force_setattr(changed, name, value)
    return changed


def _shown_row(row: Mapping[str, Any], scales: Scales) -> dict[str, Any]:
    shown = dict(row)
    unit, factor = scales.get(_kind(row["metric"], row["unit"]), (row["unit"], 1.0))
    if factor != 1.0:
        shown["unit"] = unit
        shown |= {name: _times(row[name], factor) for name in _OF_ROWS if name in row}
        if row.get("rounds"):
            shown["rounds"] = json.dumps(
                [
                    [_times(value, factor), dropped]
                    for value, dropped in json.loads(row["rounds"])
                ]
            )
    metrics = {
        name: [
            *(_times(figure, scales[_kind(name, unit)][1]) for figure in figures),
            scales[_kind(name, unit)][0],
        ]
        for name, (*figures, unit) in _metrics(row).items()
        if _kind(name, unit) in scales
    }
    if metrics:
        shown["metrics"] = json.dumps({**_metrics(row), **metrics})
    return shown


def _metrics(row: Mapping[str, Any]) -> dict[str, list[Any]]:
    """By name: value, the ends of its interval, unit."""
    values: dict[str, list[Any]] = json.loads(row.get("metrics") or "{}")
    return values


def _times(value: float | None, factor: float) -> float | None:
    return None if value is None else value * factor
