"""Results as metrics, in the text form of OpenMetrics."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from prometheus_client.core import GaugeMetricFamily
from prometheus_client.openmetrics.exposition import generate_latest
from prometheus_client.registry import Collector

from leaselab.analysis.comparison.basis import anchor_of, to_anchor
from leaselab.archive.row import PLACE
from leaselab.model.errors import BELIEVED
from leaselab.model.source import SHORT

_LABELS = ("scenario", "procedure", "server", "durability", "bench", "environment")
"""Labels common to a line of a history; version and commit are in `leaselab_result_info`."""
_ENDS = {
    "": "",
    "_low": ", lower end of its 95 % interval",
    "_high": ", upper end of its 95 % interval",
}
"""Name suffixes and fields of a metric's figure and of the ends of its interval."""
_SECONDS = {"us": 1e-6, "ms": 1e-3, "s": 1.0}
"""Suffixes of the names of times, and their unit in seconds."""
_Sample = tuple[str, str, str, float | None, Mapping[str, str]]
_INFO = ("id", "version", "commit", "release", "outcome")


def openmetrics(rows: Sequence[Mapping[str, Any]], *, history: bool) -> bytes:
    """The metrics of results; `rows` are the index's, with all columns.

    With `history` each has the time of its result (s), to be backfilled
    (``promtool tsdb create-blocks-from openmetrics``).  Without, the newest of
    each line counts and has no time, as a scraper wants it.
    """
    known = {row["id"]: row for row in rows}
    shown = rows if history else _newest(rows)
    return bytes(generate_latest(_Results(shown, known, timed=history)))


class _Results(Collector):
    """What prometheus_client asks for the metrics."""

    def __init__(
        self,
        rows: Sequence[Mapping[str, Any]],
        known: Mapping[str, Mapping[str, Any]],
        *,
        timed: bool,
    ) -> None:
        self._known = known
        """Rows by id, anchors among them."""
        # samples of one line have to stand together, in the order of time
        self._rows = sorted(rows, key=lambda row: (_labels(row), row["finished_at"]))
        self._timed = timed

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """A family for each metric that a row has, for the ends of its interval, for runs."""
        families: dict[str, GaugeMetricFamily] = {}
        units: dict[str, dict[str, None]] = {}
        for row in self._rows:
            figures = (*_figures(row), *_to_anchor(row, self._known))
            for name, words, unit, value, more in figures:
                if value is None:
                    continue
                if name not in families:
                    labels = [*_LABELS, *more]
                    families[name] = GaugeMetricFamily(f"leaselab_{name}", words, labels=labels)
                families[name].add_metric(
                    [*_labels(row), *more.values()], value, self._time(row)
                )
                units.setdefault(name, {})[unit] = None
        for name, family in families.items():
            family.documentation += f" ({' or '.join(units[name])})"
            family.samples.sort(key=lambda sample: tuple(sample.labels.values()))
            yield family
        yield self._info()

    def _info(self) -> GaugeMetricFamily:
        family = GaugeMetricFamily(
            "leaselab_result_info",
            "What was measured and how it ended; always 1",
            labels=[*_LABELS, *_INFO],
        )
        for row in self._rows:
            labels = [*_labels(row), *(str(row[name] or "") for name in _INFO)]
            family.add_metric(labels, 1, self._time(row))
        return family

    def _time(self, row: Mapping[str, Any]) -> int | None:
        """Whole seconds: Prometheus' older text form knows no fractions of its own."""
        if not self._timed:
            return None
        return round(datetime.fromisoformat(row["finished_at"]).timestamp())


def _newest(rows: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The newest result of each line in any environment, as old labs do not count."""
    newest = {}
    for row in sorted(rows, key=lambda row: str(row["finished_at"])):
        newest[tuple(row[name] for name in (*PLACE, "server", "bench"))] = row
    return list(newest.values())


def _labels(row: Mapping[str, Any]) -> list[str]:
    return [str(row[name] or "") for name in _LABELS]


def _figures(row: Mapping[str, Any]) -> Iterator[_Sample]:
    """Name, help, unit, value and labels of its own, of all that may be plotted of a row.

    How those ended whose figures may not is `leaselab_result_info`'s.
    """
    if row["outcome"] not in BELIEVED:
        return
    for metric, (*values, given) in json.loads(row["metrics"]).items():
        name, unit, scale = _in_seconds(metric, given)
        for (end, words), value in zip(_ENDS.items(), values, strict=True):
            yield f"{name}{end}", _words(name) + words, unit, _times(scale, value), {}
    name, unit, scale = _in_seconds(row["metric"], row["unit"])
    for number, (value, _) in enumerate(json.loads(row["rounds"]), start=1):
        words = f"{_words(name)} of one run"
        yield f"run_{name}", words, unit, _times(scale, value), {"run": str(number)}
    yield "sweep_duration_seconds", "Time the sweep was worked on", "s", row["wall_s"], {}


def _to_anchor(
    row: Mapping[str, Any], known: Mapping[str, Mapping[str, Any]]
) -> Iterator[_Sample]:
    """The same of the ratio to the anchor, which took turns with it; of that build's commit."""
    base = anchor_of(row, known)
    ratio = to_anchor(base, row) if base else None
    if ratio is None:
        return
    more = {"commit": (row["commit"] or "")[:SHORT], "subject": row["subject"] or ""}
    title = "The figure over that of the anchor"
    for (end, words), value in zip(
        _ENDS.items(), (ratio.value, *(ratio.ci95 or (None, None))), strict=True
    ):
        yield f"to_anchor_ratio{end}", title + words, "ratio", value, more


def _words(name: str) -> str:
    return name.replace("_", " ").capitalize()


def _times(scale: float, value: float | None) -> float | None:
    return None if value is None else scale * value


def _in_seconds(metric: str, unit: str) -> tuple[str, str, float]:
    """Name and unit of a metric as Prometheus wants them, times in seconds; and the factor."""
    stem, _, end = metric.rpartition("_")
    if stem and end in _SECONDS:
        per = unit.partition(" ")[2]
        return f"{stem}_seconds", f"s {per}".strip(), _SECONDS[end]
    return metric, unit, 1.0
