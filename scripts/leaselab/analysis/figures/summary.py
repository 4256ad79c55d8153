"""What the rounds of a result come to: metrics, CPU time, latency."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from msgspec.structs import asdict, astuple

from leaselab.analysis.figures.statistics import (
    check_trim,
    interval,
    spread,
    standard_error,
    trimmed_indices,
    trimmed_mean,
)
from leaselab.model.procedure import MEDIAN, MetricKind, Procedure
from leaselab.model.procedures.max_rate import MaxRate
from leaselab.model.record import SERVER, Metric, Record, Round
from leaselab.model.trial import Trial


def metrics_of(
    kinds: Sequence[MetricKind],
    rounds: Sequence[Round],
    procedure: Procedure,
    *,
    holds: bool = True,
) -> tuple[Metric, ...]:
    """The metrics of the rounds, one for each kind, in their order.

    A mean needs all rounds that the procedure asks for, each with a value, and a figure that
    `holds`; else its value is None.  A procedure that ends as soon as it knows enough asks for
    one with a value.  A median is of the rounds that have it.  Raises
    usage_error when nothing would be left of the planned rounds.
    """
    check_trim(procedure.rounds, procedure.trim)
    return tuple(_metric(kind, rounds, procedure, holds=holds) for kind in kinds)


def _metric(
    kind: MetricKind, rounds: Sequence[Round], procedure: Procedure, *, holds: bool
) -> Metric:
    known = {name: value for name, value in asdict(kind).items() if name != "seldom"}
    values = [
        value for round_ in rounds if (value := round_.metrics.get(kind.name)) is not None
    ]
    if kind.how == MEDIAN:
        middle = statistics.median(values) if values else None
        return Metric(**known, value=middle, n=len(values))
    wanted = 1 if procedure.ends_early else max(procedure.rounds, len(rounds))
    if not holds or len(values) < wanted:
        return Metric(**known, value=None)
    trim = procedure.trim
    return Metric(
        **known,
        value=trimmed_mean(values, trim),
        n=len(values),
        trim=trim,
        dropped=trimmed_indices(values, trim),
        ci95=interval(values, trim),
        standard_error=standard_error(values, trim),
        spread=spread(values),
        lowest=min(values),
        highest=max(values),
    )


def at_least(rounds: Sequence[Round], procedure: MaxRate) -> float | None:
    """The lowest of the highest rates that the rounds passed for the full trial length.

    None where one of them passed nothing, or there is none.
    """
    passed = [
        max(
            (
                trial.rate
                for trial in round_.trials
                if trial.duration_s == procedure.trial_s
                and trial.completed
                and procedure.counts(trial)
            ),
            default=None,
        )
        for round_ in rounds
    ]
    known = [float(rate) for rate in passed if rate is not None]
    return min(known) if known and len(known) == len(passed) else None


def other_cpu_us(rounds: Sequence[Round], procedure: Procedure) -> dict[str, float]:
    """CPU time of companion services, for each transaction completed (us).

    By name, such as its database, or another server by its role, as far as there are any.
    The median over the trials that count, each from its first sample, before the traffic, to
    its last.
    """
    found: dict[str, list[float]] = {}
    for trial in (trial for round_ in rounds for trial in round_.trials):
        if procedure.counts(trial) and trial.completed:
            for name, spent in _spent(trial):
                found.setdefault(name, []).append(1e6 * spent / trial.completed)
    return {name: statistics.median(values) for name, values in found.items()}


def _spent(trial: Trial) -> list[tuple[str, float]]:
    """CPU time beside the server's own during a trial, by name (s)."""
    found: list[tuple[str, float]] = []
    for role, samples in trial.samples.items():
        if len(samples) < 2:
            continue
        first, last = samples[0], samples[-1]
        if role != SERVER and first.cpu_s is not None and last.cpu_s is not None:
            found.append((role, last.cpu_s - first.cpu_s))
        whose = "" if role == SERVER else f"{role}'s "
        found += [
            (f"{whose}{name}", last.beside_cpu_s[name] - first.beside_cpu_s[name])
            for name in last.beside_cpu_s
            if name in first.beside_cpu_s
        ]
    return found


PERCENTILES = ("p50", "p90", "p99", "p99.9", "max")


def latencies(record: Record) -> dict[str, list[float]]:
    """Median over the rounds of each of `PERCENTILES` at the trial shown (s), by stage.

    Stages in the trials' order; one that no trial has is left out.
    """
    found: dict[str, list[tuple[float, ...]]] = {}
    for trial in (round_.shown for round_ in record.rounds):
        for stage, value in trial.latency_s.items() if trial else ():
            seen = found.setdefault(stage, [])
            if value is not None:
                seen.append(astuple(value))
    return {
        stage: [statistics.median(column) for column in zip(*seen, strict=True)]
        for stage, seen in found.items()
        if seen
    }


def whole_latency(record: Record) -> dict[str, float]:
    """The same of the whole transaction alone, by percentile (s); empty where it has none."""
    found = list(latencies(record).values())
    return dict(zip(PERCENTILES, found[-1], strict=True)) if found else {}
