"""Ramp: steps of offered load, one after the other, on one server that is never reset."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec.structs import replace

from leaselab.model.procedure import (
    LOSS_KIND,
    P99_KIND,
    MetricKind,
    Rate,
    Rounds,
    Unjudged,
    completed_kind,
    cpu_kind,
    of_step,
)

COMPLETED, LOSS, P99, SETTLED = "completed_rate", "loss_ratio", "p99_s", "settled_s"
"""Metrics of a ramp as a whole; those of a step are named by `of_step`."""
ATTEMPTS = 3
"""Most attempts of a round's ramp, where stalls of the generator invalidate it."""
SETTLED_FOR_S = 3
"""Successive seconds for which a step has to stay near its final rate."""


class Ramp(Unjudged, frozen=True, kw_only=True, tag="ramp"):
    """Steps of offered load, such as the warm-up of a server whose caches are empty.

    Each step is a trial; nothing is reset between them.
    """

    rounds: Rounds = 3
    """Rounds planned."""
    rates: Annotated[tuple[Rate, ...], msgspec.Meta(min_length=1, max_length=100)] = (
        10_000,
        50_000,
        100_000,
    )
    """Offered load of each step (transactions/s), in their order."""
    step_s: Annotated[int, msgspec.Meta(ge=2 * SETTLED_FOR_S, le=604_800)] = 60
    """Traffic of each step (s)."""

    @property
    def words(self) -> str:
        return (
            f"{self.steps_words} for {self.step_s} s each, nothing reset between them, "
            f"replies within {self.late_s:g} s"
        )

    @property
    def steps(self) -> tuple[str, ...]:
        """Names of the steps: ``step 1 (10000/s)``."""
        return tuple(f"step {number} ({rate}/s)" for number, rate in enumerate(self.rates, 1))

    @property
    def ramps(self) -> bool:
        return True

    @property
    def steps_words(self) -> str:
        """Words for the loads of the steps."""
        return ", ".join(f"{rate}/s" for rate in self.rates)

    @property
    def most_attempted(self) -> int:
        return sum(self.rates) * self.step_s

    @property
    def longest_trial_s(self) -> float:
        return self.step_s

    @property
    def round_s(self) -> float:
        return self.approximate_s(len(self.rates), len(self.rates) * self.step_s)

    @property
    def longest_trials_s(self) -> float:
        return ATTEMPTS * len(self.rates) * (self.step_s + self.beside_s)

    def metrics(self, plural: str) -> tuple[MetricKind, ...]:
        """Return the figures of the whole ramp, then those of each step."""
        settled = MetricKind(SETTLED, "settling time", "s", "lower")
        alike = (completed_kind(plural), LOSS_KIND, P99_KIND, settled)
        whole = (
            replace(kind, title=f"{kind.title} of the worst step") if kind.name == P99 else kind
            for kind in alike
        )
        steps = (
            replace(
                kind,
                name=of_step(kind.name, number),
                title=f"{kind.title} in {step}",
            )
            for number, step in enumerate(self.steps, start=1)
            for kind in alike
        )
        return (*whole, cpu_kind(plural), *steps)
