"""Max rate: a search for the highest load that a server serves within the loss goal."""

from __future__ import annotations

from typing import Annotated, Final, Literal

import msgspec

from leaselab.model.procedure import (
    ROUND_OVERHEAD_S,
    SPOILED_LIMIT,
    Length,
    LengthOrNone,
    MetricKind,
    Procedure,
    Rate,
    Ratio,
    completed_kind,
    cpu_kind,
    refuse,
)

MAX_RATE: Final = "max-rate"
"""Name of the procedure, which is the usual one."""
USUAL_TRIALS, USUAL_SCOUTS = 3, 2
"""Trials of a search: means over the servers of benchmarks/results/search.md, rounded up."""
# One stretch without rests: six trials of 5 s with rests between them confirmed 1.37 times what
# a server on burst credit sustains.
STRETCHES = (1, 2, 4)
"""Lengths of the successive periods that may confirm a result, relative to the first."""


class MaxRate(Procedure, frozen=True, kw_only=True, tag=MAX_RATE):
    """The highest load that the server serves within the loss goal, searched in each round."""

    relative_width: Ratio = 0.01
    """Widest bracket that ends a search, (upper - lower) / upper (0..1)."""
    # Nine runs of v4-memfile took 204 s by trials of 3 s, 420 s by trials of 5 s, with
    # intervals of 1.4 and 1.5 %: what scatters on a shared machine is slower than either.
    trial_s: Length = 3
    """Length of a trial that can be an end of a bracket (s)."""
    scout_s: Length = 1
    """Length of a scout trial, which only narrows the search (s)."""
    min_rate: Rate = 10
    """Lowest offered load that is tried (transactions/s)."""
    max_rate: Rate = 200_000
    """Highest offered load that is tried (transactions/s)."""
    start_rate: Rate = 2_000
    """First offered load of the first round (transactions/s)."""
    max_trials: Annotated[int, msgspec.Meta(ge=2, le=1000)] = 40
    """Trials of one round after which the search gives up."""
    confirm_s: LengthOrNone = 60
    """Length of the continuous traffic that confirms the result (s), longer where that is not
    conclusive; 0: switched off."""

    limit: Literal["server", "generator"] = "server"
    """Whose limit is searched. generator: that of the generator and of the path, with a faster
    server; transactions that the generator could not begin in time count as lost and not as a
    doubt."""

    @property
    def of_generator(self) -> bool:
        return self.limit == "generator"

    @property
    def words(self) -> str:
        return (
            f"loss at most {100 * self.loss_ratio:g} %, replies within {self.late_s:g} s, "
            f"bracket at most {100 * self.relative_width:g} %, trials of {self.trial_s:g} s"
        )

    @property
    def most_attempted(self) -> int:
        return self.max_rate * self.trial_s

    @property
    def widest(self) -> float:
        return self.relative_width

    @property
    def unconfirmed(self) -> str:
        if not self.confirm_s:
            return "switched off (confirm_s=0)"
        return "the sweep ended before that"

    @property
    def longest_trial_s(self) -> float:
        return self.trial_s

    @property
    def longest_trials_s(self) -> float:
        return self.max_trials * (self.trial_s + self.beside_s)

    @property
    def round_s(self) -> float:
        traffic_s = USUAL_TRIALS * self.trial_s + USUAL_SCOUTS * self.scout_s
        return self.approximate_s(USUAL_TRIALS + USUAL_SCOUTS, traffic_s)

    @property
    def longest_s(self) -> float:
        return super().longest_s + self._longest_confirmation_s

    @property
    def _longest_confirmation_s(self) -> float:
        """Upper bound of the time that confirming the result can take (s)."""
        if not self.confirm_s:
            return 0.0
        beside = self.beside_s
        stretches = sum(STRETCHES) * (self.confirm_s + beside * self.confirm_s / self.trial_s)
        spoiled = SPOILED_LIMIT * (max(STRETCHES) * self.confirm_s + beside)
        others = SPOILED_LIMIT * (self.trial_s + beside)
        return stretches + spoiled + others + ROUND_OVERHEAD_S

    @property
    def confirming_s(self) -> float:
        if not self.confirm_s:
            return 0.0
        return self.confirm_s + 1.0 + 3.0 * (self.trial_s + 1.0)

    def metrics(self, plural: str) -> tuple[MetricKind, ...]:
        """Return the metrics: max rate, completed rate at its lower bound, and cost there."""
        max_rate = MetricKind("max_rate", "max rate", f"{plural}/s", "higher")
        return max_rate, completed_kind(plural), cpu_kind(plural)

    def check(self) -> None:
        """Raise a usage error for rates that leave no room to search."""
        Procedure.check(self)
        if self.min_rate >= self.max_rate:
            refuse(
                "no room to search",
                f"min_rate {self.min_rate}, max_rate {self.max_rate}",
                "min_rate < max_rate",
            )
