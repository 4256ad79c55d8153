"""Results as metrics, in the text form of OpenMetrics."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from prometheus_client.core import GaugeMetricFamily
from prometheus_client.openmetrics.exposition import generate_latest
from prometheus_client.registry import Collector

from leaselab.model.errors import BELIEVED

_LABELS = ("scenario", "server", "durability", "bench", "environment")
"""What one line of a history has in common; version and commit are `leaselab_result_info`'s."""
_INFO = ("id", "version", "commit", "release", "outcome")


def openmetrics(rows: Sequence[Mapping[str, Any]], *, history: bool) -> bytes:
    """The metrics of results; `rows` are the index's, with all columns.

    With `history` each has the time of its result (s), to be backfilled
    (``promtool tsdb create-blocks-from openmetrics``).  Without, the newest of
    each line counts and has no time, as a scraper wants it.
    """
    return bytes(generate_latest(_Results(rows if history else _newest(rows), timed=history)))


class _Results(Collector):
    """What prometheus_client asks for the metrics."""

    def __init__(self, rows: Sequence[Mapping[str, Any]], *, timed: bool) -> None:
        # samples of one line have to stand together, in the order of time
        self._rows = sorted(rows, key=lambda row: (_labels(row), row["finished_at"]))
        self._timed = timed

    def collect(self) -> Iterator[GaugeMetricFamily]:
        for name, told, column, scale in (
            ("max_rate", "Trimmed mean of the max rates (exchanges/s)", "trimmed_mean", 1.0),
            ("max_rate_low", "Lower end of its 95 % interval (exchanges/s)", "ci_low", 1.0),
            ("max_rate_high", "Upper end of its 95 % interval (exchanges/s)", "ci_high", 1.0),
            (
                "server_cpu_seconds_per_exchange",
                "CPU time of the server for each exchange completed",
                "cpu_us",
                1e-6,
            ),
            ("sweep_duration_seconds", "Time the sweep was worked on", "wall_s", 1.0),
        ):
            family = GaugeMetricFamily(f"leaselab_{name}", told, labels=_LABELS)
            for row in self._rows:
                if row[column] is not None and _believed(row):
                    family.add_metric(_labels(row), row[column] * scale, self._time(row))
            yield family
        yield self._runs()
        yield self._info()

    def _runs(self) -> GaugeMetricFamily:
        family = GaugeMetricFamily(
            "leaselab_run_max_rate",
            "Max rate of one run (exchanges/s)",
            labels=[*_LABELS, "run"],
        )
        found = [
            ([*_labels(row), str(number)], rate, self._time(row))
            for row in self._rows
            if _believed(row)
            for number, (rate, _) in enumerate(json.loads(row["runs"] or "[]"), start=1)
            if rate is not None
        ]
        for labels, rate, at in sorted(found, key=lambda one: one[0]):
            family.add_metric(labels, rate, at)
        return family

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
    """The newest of each line in whatever environment: a lab that is gone says nothing."""
    newest = {}
    for row in sorted(rows, key=lambda row: str(row["finished_at"])):
        newest[row["scenario"], row["server"], row["durability"], row["bench"]] = row
    return list(newest.values())


def _labels(row: Mapping[str, Any]) -> list[str]:
    return [str(row[name] or "") for name in _LABELS]


def _believed(row: Mapping[str, Any]) -> bool:
    """A figure that may be plotted; how the others ended is `leaselab_result_info`'s."""
    return row["outcome"] in BELIEVED
