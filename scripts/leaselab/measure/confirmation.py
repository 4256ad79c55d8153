"""Which trials confirm a sweep's result, and what they say; pure."""

from __future__ import annotations

import math
import statistics
from typing import TYPE_CHECKING

from leaselab.measure.outcomes import GENERATOR_STALLED
from leaselab.measure.search import FAR_BELOW
from leaselab.measure.search_error import disturbed, loses_at_any_load, not_sustained
from leaselab.model.plan import STALLED_LIMIT

if TYPE_CHECKING:
    from collections.abc import Sequence

    from leaselab.measure.search_error import SearchError
    from leaselab.model.plan import Plan
    from leaselab.model.trial import RunEstimate, Trial

OVERLOAD_FACTOR = 4.0
"""Offered load of the last trial over what was confirmed."""
CONFIRM_BELOW = 0.05
"""Least distance of the confirmation from the lowest bound of the runs (ratio)."""


def confirmed_rate(estimates: Sequence[RunEstimate]) -> int:
    """Rate at which a sweep's result is confirmed (exchanges/s).

    Below the lowest bound of the runs by one standard deviation of their max rates, at
    least by `CONFIRM_BELOW`.
    """
    rates = [estimate.max_rate for estimate in estimates]
    spread = statistics.stdev(rates) / statistics.fmean(rates) if len(rates) > 1 else 0.0
    lowest = min(estimate.lower.rate for estimate in estimates)
    return max(1, math.floor(lowest * (1.0 - max(CONFIRM_BELOW, spread))))


def next_load(trials: Sequence[Trial], rate: int, plan: Plan, *, pair: bool) -> int | None:
    """Return what the next trial offers (exchanges/s); None where all are made.

    First `rate` until its trials are made, those again that the generator's stalls have
    spoiled, up to `STALLED_LIMIT`; then the overload, once, and not to a pair.
    """
    below = [trial for trial in trials if trial.rate == rate]
    stalled = sum(trial.reason == GENERATOR_STALLED for trial in below)
    if stalled < STALLED_LIMIT and len(below) - stalled < plan.confirming_trials:
        return rate
    if pair or len(trials) > len(below):
        return None
    return min(round(OVERLOAD_FACTOR * rate), plan.limits.max_rate)


def lost(trials: Sequence[Trial], rate: int) -> float:
    """Return the loss ratio of the trials at `rate` together, of the valid ones if any."""
    counted = _counted(trials, rate)
    return 1.0 - sum(trial.completed for trial in counted) / sum(
        trial.started for trial in counted
    )


def objection(
    trials: Sequence[Trial], rate: int, plan: Plan, estimates: Sequence[RunEstimate]
) -> SearchError | None:
    """Return why the trials do not confirm the result; None where they do."""
    overload = [trial for trial in trials if trial.rate != rate]
    highest = max(estimate.max_rate for estimate in estimates)
    if any(highest < FAR_BELOW * trial.completed_rate for trial in overload):
        failing = [estimate.upper for estimate in estimates]
        return loses_at_any_load(plan.goal, [*failing, *overload])
    counted = _counted(trials, rate)
    if all(trial.reason == GENERATOR_STALLED for trial in counted):
        return disturbed(len(counted), rate)
    loss_ratio = lost(trials, rate)
    if loss_ratio > plan.goal.loss_ratio:
        traffic_s = sum(trial.traffic_s for trial in counted)
        return not_sustained(loss_ratio, plan.goal, rate, traffic_s)
    return None


def _counted(trials: Sequence[Trial], rate: int) -> list[Trial]:
    below = [trial for trial in trials if trial.rate == rate]
    return [trial for trial in below if trial.valid] or below
