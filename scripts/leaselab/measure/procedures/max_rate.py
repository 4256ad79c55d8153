"""Max rate: a search in each round, and a confirmation of what all rounds found."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Sequence

from leaselab.measure.generators.adapter import GENERATOR_STALLED
from leaselab.measure.ports import Ask, Server
from leaselab.measure.procedures.method import Found, Method
from leaselab.measure.search import FAR_BELOW, search
from leaselab.measure.search_error import (
    SearchError,
    loses_at_any_load,
    none_confirms,
    not_sustained,
)
from leaselab.model.load import Load
from leaselab.model.procedure import STALLED_LIMIT
from leaselab.model.procedures.max_rate import MaxRate
from leaselab.model.record import Confirmation, Round
from leaselab.model.trial import Trial

OVERLOAD_FACTOR = 4.0
"""Offered load of the last trial over what was confirmed."""
CONFIRM_BELOW = 0.05
"""Least distance of the confirmation from the lowest bound of the rounds (ratio)."""


class Search(Method[MaxRate]):
    """The highest load that the server serves.

    After the last round, a rate that every round passed is offered for tens of seconds.  A
    search sees a few seconds at each rate, and calls a server that stands still now and then
    a slower one.  The rate is below the lowest bound of the rounds by as much as the next
    round may differ from them: what a sound server passes.  In trials one after the other,
    each after a reset: as a search measures, since a server may slow down as it fills, and
    that is another question.

    Then four times as much is offered, once and to the end.  A search that begins where a
    server loses by chance ends there, as if that were its limit; one that completes far more
    when it is offered more loses at any load.  Not to several servers that serve as one,
    which such a load breaks.
    """

    def first_load(self, earlier: Sequence[Round]) -> int:
        """What the last round passed, before it where a search begins (transactions/s)."""
        if earlier and earlier[-1].bracket:
            return round(earlier[-1].bracket.lower)
        return self.procedure.start_rate

    def measure(self, ask: Ask, server: Server, earlier: Sequence[Round]) -> Found:
        """Search; raises `SearchError` where no bracket can be proven."""
        found = search(ask, self.procedure, _rates(earlier))
        return Found(
            {"max_rate": found.max_rate, "completed_rate": found.lower.completed_rate},
            found.bracket,
            found.bracket.lower_trial,
        )

    def next_confirming(
        self, made: Sequence[Trial], rounds: Sequence[Round], *, alone: bool
    ) -> Load | None:
        """First the confirmed rate until its trials are made, then the overload, once.

        Trials that the generator's stalls have spoiled are made again, up to
        `STALLED_LIMIT` of them.
        """
        procedure = self.procedure
        if not procedure.confirming_trials:
            return None
        rate = confirmed_rate(rounds)
        below = [trial for trial in made if trial.rate == rate]
        stalled = sum(trial.reason == GENERATOR_STALLED for trial in below)
        if stalled < STALLED_LIMIT and len(below) - stalled < procedure.confirming_trials:
            return Load(rate, procedure.trial_s, proof=True)
        if not alone or len(made) > len(below):
            return None
        overload = min(round(OVERLOAD_FACTOR * rate), procedure.max_rate)
        return Load(overload, procedure.trial_s)

    def confirmed(
        self, made: Sequence[Trial], rounds: Sequence[Round]
    ) -> Callable[[float], Confirmation]:
        """Say whether the loss of all trials is at or under the goal."""
        return lambda wall_s: Confirmation(
            rate=confirmed_rate(rounds),
            loss_ratio=lost(made, confirmed_rate(rounds)),
            holds=self.objection(made, rounds) is None,
            traffic_s=sum(trial.traffic_s for trial in made),
            wall_s=wall_s,
            trials=tuple(made),
        )

    def objection(self, made: Sequence[Trial], rounds: Sequence[Round]) -> SearchError | None:
        """Return why the trials do not confirm the result; None where they do."""
        rate, procedure = confirmed_rate(rounds), self.procedure
        overload = [trial for trial in made if trial.rate != rate]
        highest = max(_rates(rounds))
        if any(highest < FAR_BELOW * trial.completed_rate for trial in overload):
            failing = [one.trials[one.bracket.upper_trial] for one in rounds if one.bracket]
            return loses_at_any_load(procedure, [*failing, *overload])
        counted = _counted(made, rate)
        if not any(trial.valid for trial in counted):
            return none_confirms(counted)
        loss_ratio = lost(made, rate)
        if loss_ratio > procedure.loss_ratio:
            traffic_s = sum(trial.traffic_s for trial in counted)
            return not_sustained(loss_ratio, procedure, rate, traffic_s)
        return None


def confirmed_rate(rounds: Sequence[Round]) -> int:
    """Rate at which a result is confirmed (transactions/s).

    Below the lowest bound of the rounds by one standard deviation of their max rates, at
    least by `CONFIRM_BELOW`.
    """
    rates = _rates(rounds)
    spread = statistics.stdev(rates) / statistics.fmean(rates) if len(rates) > 1 else 0.0
    lowest = min(one.bracket.lower for one in rounds if one.bracket)
    return max(1, math.floor(lowest * (1.0 - max(CONFIRM_BELOW, spread))))


def lost(trials: Sequence[Trial], rate: int) -> float:
    """Return the loss ratio of the trials at `rate` together, of the valid ones if any."""
    counted = _counted(trials, rate)
    return 1.0 - sum(trial.completed for trial in counted) / sum(
        trial.attempted for trial in counted
    )


def _counted(trials: Sequence[Trial], rate: int) -> list[Trial]:
    below = [trial for trial in trials if trial.rate == rate]
    return [trial for trial in below if trial.valid] or below


def _rates(rounds: Sequence[Round]) -> list[float]:
    return [rate for one in rounds if (rate := one.metrics["max_rate"]) is not None]
