"""MLRsearch from PyPI, as its users would call it: every run a fresh search."""

from __future__ import annotations

from typing import TYPE_CHECKING

from MLRsearch import (  # type: ignore[import-untyped]
    AbstractMeasurer,
    Config,
    MeasurementResult,
    MultipleLossRatioSearch,
    SearchGoal,
)

from leaselab.model.trial import Load

if TYPE_CHECKING:
    from benchmarks._servers import Server
    from leaselab.model.procedures.max_rate import MaxRate


class _Measurer(AbstractMeasurer):  # type: ignore[misc]  # it has no types
    """What MLRsearch asks for trials."""

    def __init__(self, server: Server) -> None:
        self.server = server

    def measure(self, intended_duration: float, intended_load: float) -> MeasurementResult:
        """Run one trial at the nearest whole rate."""
        trial = self.server.measure(Load(round(intended_load), int(intended_duration)))
        return MeasurementResult(
            intended_duration=intended_duration,
            intended_load=intended_load,
            offered_count=trial.attempted,
            forwarding_count=trial.completed,
        )


def mlrsearch(server: Server, procedure: MaxRate) -> float:
    """Find the max rate of one run: the relevant lower bound (exchanges/s).

    One trial of the final length suffices for a bound (duration sum = final
    length); the other attributes are MLRsearch's own defaults.
    """
    search_goal = SearchGoal(
        loss_ratio=procedure.loss_ratio,
        exceed_ratio=0.5,
        relative_width=procedure.relative_width,
        initial_trial_duration=float(procedure.scout_s),
        final_trial_duration=float(procedure.trial_s),
        duration_sum=float(procedure.trial_s),
        preceding_targets=1,
        expansion_coefficient=2,
    )
    config = Config(
        goals=[search_goal],
        min_load=float(procedure.min_rate),
        max_load=float(procedure.max_rate),
        search_duration_max=1e9,
        warmup_duration=None,
    )
    result = MultipleLossRatioSearch(config=config).search(
        measurer=_Measurer(server), debug=_quiet
    )
    return float(result[search_goal].relevant_lower_bound)


def _quiet(_: str) -> None:
    """A log for MLRsearch that discards every message."""
