"""How a scenario is measured: the parameters of a sweep and what must hold for them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from leaselab.model.errors import usage_error
from leaselab.model.scenario import Scenario
from leaselab.model.trial import Goal, SearchLimits

POOL_USE_LIMIT = 0.5
"""Highest share of the pool that may be leased at the end of a trial."""

TRIAL_OVERHEAD_S = 5
"""Time one trial may take beyond traffic and wait, for the bound on a sweep (s)."""

STALLED_LIMIT = 6
"""Trials in a row that the generator's stalls may spoil before a run ends, and of a
confirmation in all."""

PAUSE_LIMIT_S = 300.0
"""Time that a sweep may wait in all, between such trials, for the lab to calm down (s)."""

RUN_OVERHEAD_S = 60
"""Time starting and stopping the server may take, for the same bound (s)."""


NOT_COMPARED = frozenset({"runs", "trim", "start_rate", "max_trials", "confirm_s"})
"""Fields of a result's goal that may differ from those of a result it is compared with.

Runs and trim have a rule of their own; the others say where to look, when to give up, and
what is asked of a figure afterwards.  All others are the ruler, and move the figure.
"""
TRIM_FROM = 5
"""Runs from which on one is dropped at each end unless told otherwise; fewer leave too few."""


def ruler(goal: Mapping[str, Any]) -> dict[str, Any]:
    """What of a result's `goal` has to agree for its figure to be compared with another's."""
    return {name: goal[name] for name in sorted(goal) if name not in NOT_COMPARED}


@dataclass(frozen=True, slots=True)
class Plan:
    """Parameters of one sweep."""

    runs: int = 9
    trim: int = -1
    """Runs dropped at each end before averaging; -1: one of `TRIM_FROM` runs or more."""
    wait_s: float = 4.0
    """How long the generator waits for replies after its traffic (s)."""
    goal: Goal = field(default_factory=Goal)
    limits: SearchLimits = field(default_factory=SearchLimits)

    def __post_init__(self) -> None:
        """Refuse parameters no sweep could meet."""
        if self.trim == -1:
            object.__setattr__(self, "trim", int(self.runs >= TRIM_FROM))
        if self.trim < 0 or self.runs <= 2 * self.trim:
            raise usage_error(
                "nothing would be left after trimming",
                where="sweep parameters",
                found=f"runs {self.runs}, trim {self.trim}",
                wanted="runs > 2 x trim",
                todo="raise --runs or lower --trim",
            )
        if self.trim and self.runs - 2 * self.trim == 1:
            raise usage_error(
                "one run would be left after trimming, and nothing to compare it by",
                where="sweep parameters",
                found=f"runs {self.runs}, trim {self.trim}",
                wanted="2 runs or more that are kept",
                todo="raise --runs or lower --trim",
            )
        if min(self.limits.warm_up_s, self.limits.confirm_s) < 0:
            raise usage_error(
                "a length below 0",
                where="sweep parameters",
                found=f"warm_up_s {self.limits.warm_up_s}, confirm_s {self.limits.confirm_s}",
                wanted="whole seconds, 0 for none",
            )
        if self.limits.trial_s < 1 or self.limits.scout_s < 1:
            raise usage_error(
                "trial too short",
                where="sweep parameters",
                found=f"trial_s {self.limits.trial_s}, scout_s {self.limits.scout_s}",
                wanted="whole seconds, 1 or more",
            )
        if not 0 < self.goal.loss_ratio < 1 or not 0 < self.goal.relative_width < 1:
            raise usage_error(
                "goal out of range",
                where="sweep parameters",
                found=f"loss_ratio {self.goal.loss_ratio}, "
                f"relative_width {self.goal.relative_width}",
                wanted="both between 0 and 1",
            )
        if self.goal.late_s <= 0 or self.limits.max_trials < 2:
            raise usage_error(
                "no run could prove a bracket",
                where="sweep parameters",
                found=f"late_s {self.goal.late_s:g}, max_trials {self.limits.max_trials}",
                wanted="late_s above 0, max_trials 2 or more",
            )
        if self.wait_s < 2 * self.goal.late_s:
            raise usage_error(
                "exchanges that are in time would count as lost: each of their two replies may "
                "take late_s",
                where="sweep parameters",
                found=f"wait_s {self.wait_s:g}, late_s {self.goal.late_s:g}",
                wanted=f"wait_s of {2 * self.goal.late_s:g} or more",
                todo="raise --wait-s or lower --late-s",
            )
        if not 0 < self.limits.min_rate < self.limits.max_rate:
            raise usage_error(
                "no room to search",
                where="sweep parameters",
                found=f"min_rate {self.limits.min_rate}, max_rate {self.limits.max_rate}",
                wanted="0 < min_rate < max_rate",
            )

    @property
    def longest_s(self) -> float:
        """Upper bound of the sweep's duration (s)."""
        beside = self.wait_s + TRIAL_OVERHEAD_S
        trial = self.limits.trial_s + beside
        run = self.limits.max_trials * trial + self.limits.warm_up_s + beside + RUN_OVERHEAD_S
        confirmation = (self.confirming_trials + STALLED_LIMIT + 1) * trial + RUN_OVERHEAD_S
        return self.runs * run + confirmation + PAUSE_LIMIT_S

    @property
    def confirming_trials(self) -> int:
        """How many trials confirm the result."""
        return math.ceil(self.limits.confirm_s / self.limits.trial_s)

    def check_fits(self, scenario: Scenario) -> None:
        """Refuse a scenario whose leases or pool cannot hold this sweep.

        Raises a usage error that says which figure is short and by how much.
        """
        where = f"scenario {scenario.name}"
        if scenario.lease_lifetime_s <= self.longest_s:
            raise usage_error(
                "leases could expire while the sweep runs",
                where=where,
                found=f"lease_lifetime_s {scenario.lease_lifetime_s}",
                wanted=f"more than {self.longest_s:.0f} s, the longest this sweep can take",
                todo="raise lease_lifetime_s, or lower --runs or --trial-s",
            )
        most = self.limits.max_rate * self.limits.trial_s
        if most > POOL_USE_LIMIT * scenario.pool.size:
            raise usage_error(
                "one trial could fill the pool beyond half, where allocation slows down",
                where=where,
                found=f"{scenario.pool.size} addresses",
                wanted=f"at least {most / POOL_USE_LIMIT:.0f} "
                f"(max_rate {self.limits.max_rate}/s x trial_s {self.limits.trial_s} s x 2)",
                todo="enlarge the pool, or lower --max-rate or --trial-s",
            )
