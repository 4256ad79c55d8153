"""Operate: one load, and operations on the server under it, such as a reload."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec.structs import replace

from leaselab.model.procedure import MEDIAN, MEMORY, MetricKind, of_step, refuse
from leaselab.model.procedures.one_load import VIOLATIONS, OneLoad

STALL, RECOVERY, EFFECT = "stall_s", "recovered_s", "effect_s"
LATE, LOST, USUAL_GAP = "late", "lost", "usual_gap_s"
"""Metrics of an operation, by `of_step`; of all of them the worst, or the sum of the lost."""
ATTEMPTS = 3
"""Most trials of a round, where stalls of the generator invalidate them."""
LONGEST_LOAD_S = 900
"""Longest load (s): leaseload counts a million of bins."""
LONGEST_OPERATION_S = 90.0
"""How long the contract may take for one, and for what it prepares and restores (s)."""
Operations = Annotated[
    tuple[Annotated[str, msgspec.Meta(pattern="^[a-z0-9][a-z0-9-]{0,39}$")], ...],
    msgspec.Meta(max_length=50),
]
"""What is done to a server, in this order."""
Spacing = Annotated[int, msgspec.Meta(ge=3, le=604_800)]


class Operate(OneLoad, frozen=True, kw_only=True, tag="operate"):
    """One load, and operations under it that the kind of server declares."""

    operations: Annotated[Operations, msgspec.Meta(min_length=1)] = ("pause-1s",)
    """What is done to the server, in this order; its contract's verb `operations` lists what a
    server has."""
    before_s: Spacing = 5
    """Traffic before the first (s)."""
    every_s: Spacing = 15
    """Traffic from the begin of each to the next, or to the end (s)."""

    @property
    def usual_share(self) -> float:
        return 0.5

    @property
    def words(self) -> str:
        names = ", ".join(self.operations)
        return f"{self.load_words}, {names} after {self.before_s} s and each {self.every_s} s"

    @property
    def steps(self) -> tuple[str, ...]:
        """The operations: ``1 reload``."""
        return tuple(f"{number} {name}" for number, name in enumerate(self.operations, 1))

    @property
    def operates(self) -> bool:
        return True

    @property
    def step_word(self) -> str:
        return "operation"

    @property
    def traffic_s(self) -> int:
        """Traffic of a round (s)."""
        return self.before_s + len(self.operations) * self.every_s

    @property
    def most_attempted(self) -> int:
        return (self.rate or 0) * self.traffic_s

    @property
    def longest_trial_s(self) -> float:
        return self.traffic_s

    @property
    def round_s(self) -> float:
        return self.approximate_s(1, self.longest_trial_s)

    @property
    def longest_trials_s(self) -> float:
        operating_s = len(self.operations) * LONGEST_OPERATION_S
        return ATTEMPTS * (self.longest_trial_s + operating_s + self.beside_s)

    def check(self) -> None:
        """As in the base class; a load is counted by milliseconds only for so long."""
        super().check()
        if self.traffic_s > LONGEST_LOAD_S:
            refuse(
                "the load would be too long to be counted by milliseconds",
                f"{len(self.operations)} operations, each {self.every_s} s: {self.traffic_s} s",
                f"{LONGEST_LOAD_S} s or less",
                "lower every_s, or name fewer operations",
            )

    def metrics(self, plural: str) -> tuple[MetricKind, ...]:
        """Return the figures of all operations together, then those of each."""
        alike = (
            MetricKind(STALL, "stall", "s", "lower", MEDIAN),
            MetricKind(RECOVERY, "recovery", "s", "lower", MEDIAN),
            MetricKind(EFFECT, "effect", "s", "lower", MEDIAN),
            MetricKind(LATE, "late", plural, "lower", MEDIAN),
            MetricKind(LOST, "lost", plural, "lower", MEDIAN),
        )
        memory = MetricKind(MEMORY, "memory", "MiB", "lower", MEDIAN)
        usual = MetricKind(USUAL_GAP, "longest gap before", "s", "neither", MEDIAN)
        whole = (
            kind if kind.name in (LATE, LOST) else replace(kind, title=f"longest {kind.title}")
            for kind in alike
        )
        steps = (
            replace(kind, name=of_step(kind.name, number), title=f"{kind.title} in {operation}")
            for number, operation in enumerate(self.steps, start=1)
            for kind in (*alike, memory)
        )
        return (*whole, usual, VIOLATIONS, *steps)
