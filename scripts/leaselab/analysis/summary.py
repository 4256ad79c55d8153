"""What the runs of a sweep come to."""

from __future__ import annotations

import math
import statistics
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from leaselab.analysis.statistics import Estimate, check_trim, estimate, trimmed_indices

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


@dataclass(frozen=True, slots=True)
class Summary:
    """The figures of a whole sweep."""

    max_rate: Estimate | None
    """Over the runs (exchanges/s); None where the sweep was not completed, or its result
    does not hold."""
    at_least: float | None
    """A max rate that every run proved to be passed (exchanges/s), where there is no
    `max_rate`; None where one of them passed nothing."""
    completed_rate: Estimate | None
    """At the lower bounds (1/s), trimmed by its own order: the error of a
    trimmed mean is known only for values that were dropped for their own size."""
    cpu_us_per_exchange: float | None
    """Median over the runs of `run_cpu_us` (us)."""
    traffic_s: float
    """Time in which traffic was offered, all trials (s)."""
    wall_s: float
    """Time the sweep was worked on (s)."""
    trimmed: tuple[int, ...]
    """Positions in `runs` of those dropped from the max rate, from 0."""

    @property
    def traffic_share(self) -> float | None:
        """Traffic seconds over wall seconds (0..1)."""
        return min(1.0, self.traffic_s / self.wall_s) if self.wall_s else None

    def document(self) -> dict[str, Any]:
        """The `summary` of a result.json."""
        return {
            "max_rate": _document(self.max_rate),
            "at_least": self.at_least,
            "completed_rate": _document(self.completed_rate),
            "cpu_us_per_exchange": self.cpu_us_per_exchange,
            "traffic_s": self.traffic_s,
            "wall_s": self.wall_s,
            "traffic_share": self.traffic_share,
        }


def summarise(
    runs: Sequence[Mapping[str, Any]],
    *,
    planned: int,
    trim: int,
    loss_ratio: float,
    trial_s: int,
    wall_s: float | None = None,
    confirmation: Mapping[str, Any] | None = None,
) -> Summary:
    """The summary of the runs, as they stand in a result.json.

    `planned` is how many runs the goal asks for: a sweep with fewer, or with
    a run that found no max rate, has no estimate.  `loss_ratio` is the goal's.
    `wall_s` is the time the sweep was worked on, by default the sum of the
    runs'.  `confirmation` is what came of confirming the result, None where that was not
    tried; its seconds count.  Raises usage_error when nothing is left of the planned runs.
    """
    check_trim(planned, trim)
    rates = [run["max_rate"] for run in runs if run["max_rate"] is not None]
    completed = [run["completed_rate"] for run in runs if run["completed_rate"] is not None]
    cpu = [value for run in runs if (value := run_cpu_us(run, loss_ratio)) is not None]
    parts = [part for part in [*runs, confirmation] if part is not None]
    whole = len(rates) == len(completed) == len(runs) >= planned
    if confirmation is not None:
        whole = whole and confirmation["holds"]
    return Summary(
        max_rate=estimate(rates, trim) if whole else None,
        at_least=None if whole else _at_least(runs, loss_ratio, trial_s),
        completed_rate=estimate(completed, trim) if whole else None,
        cpu_us_per_exchange=statistics.median(cpu) if cpu else None,
        traffic_s=math.fsum(part["traffic_s"] for part in parts),
        wall_s=math.fsum(part["wall_s"] for part in parts) if wall_s is None else wall_s,
        trimmed=trimmed_indices(rates, trim) if whole else (),
    )


def _at_least(
    runs: Sequence[Mapping[str, Any]], loss_ratio: float, trial_s: int
) -> float | None:
    """The lowest of the highest rates that the runs passed for the full trial length."""
    passed = [
        max(
            (
                trial["rate"]
                for trial in _passing(run, loss_ratio)
                if trial["duration_s"] == trial_s
            ),
            default=None,
        )
        for run in runs
    ]
    known = [float(rate) for rate in passed if rate is not None]
    return min(known) if known and len(known) == len(passed) else None


def run_cpu_us(run: Mapping[str, Any], loss_ratio: float) -> float | None:
    """Server CPU time for each exchange completed, over the run's passing trials (us).

    Trials that failed are left out: an overloaded server spends time on
    exchanges that it does not complete.  None when no passing trial has it.
    """
    counted = [
        trial for trial in _passing(run, loss_ratio) if trial["cpu_us_per_exchange"] is not None
    ]
    if not counted:
        return None
    spent = math.fsum(trial["cpu_us_per_exchange"] * trial["completed"] for trial in counted)
    return spent / math.fsum(trial["completed"] for trial in counted)


def _passing(run: Mapping[str, Any], loss_ratio: float) -> list[Mapping[str, Any]]:
    return [
        trial
        for trial in run["trials"]
        if trial["valid"] and trial["loss_ratio"] <= loss_ratio and trial["completed"]
    ]


def other_cpu_us(runs: Sequence[Mapping[str, Any]], loss_ratio: float) -> dict[str, float]:
    """CPU time of what serves beside the server, for each exchange completed (us).

    By name: its database, its partner, the partner's database, as far as there
    are any.  The median over passing trials, each from its first sample, before
    the traffic, to its last.
    """
    found: dict[str, list[float]] = {}
    for trial in (trial for run in runs for trial in _passing(run, loss_ratio)):
        for name, samples, field in (
            ("database", "samples", "database_cpu_s"),
            ("partner", "partner_samples", "cpu_s"),
            ("partner's database", "partner_samples", "database_cpu_s"),
        ):
            taken = [one for one in trial.get(samples, ()) if one.get(field) is not None]
            if len(taken) > 1:
                spent = taken[-1][field] - taken[0][field]
                found.setdefault(name, []).append(1e6 * spent / trial["completed"])
    return {name: statistics.median(values) for name, values in found.items()}


def _document(value: Estimate | None) -> dict[str, Any] | None:
    if value is None:
        return None
    return {
        "trimmed_mean": value.trimmed_mean,
        "ci95": None if value.ci95 is None else list(value.ci95),
        "n": value.n,
        "trim": value.trim,
        "standard_error": value.standard_error,
        "spread": value.spread,
        "min": value.minimum,
        "max": value.maximum,
    }
