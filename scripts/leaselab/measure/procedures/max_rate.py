"""Max rate: a search in each round, and a confirmation of what all rounds found."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from leaselab.measure.ports import Ask, Server
from leaselab.measure.procedures.confirmation import Confirming, max_rates
from leaselab.measure.procedures.method import Found, Method
from leaselab.measure.search import search
from leaselab.measure.search_error import SearchError
from leaselab.model.procedures.max_rate import MaxRate
from leaselab.model.record import Confirmation, Round
from leaselab.model.trial import Load, Trial


class Search(Method[MaxRate]):
    """The highest load that the server serves; after the last round, whether that holds."""

    def first_load(self, earlier: Sequence[Round]) -> int:
        """What the last round passed, before it where a search begins (transactions/s)."""
        if earlier and earlier[-1].bracket:
            return round(earlier[-1].bracket.lower)
        return self.procedure.start_rate

    def measure(self, ask: Ask, server: Server, earlier: Sequence[Round]) -> Found:
        """Search; raises `SearchError` where no bracket can be proven."""
        searched = search(ask, self.procedure, max_rates(earlier))
        return Found(
            {"max_rate": searched.max_rate, "completed_rate": searched.lower.completed_rate},
            searched.bracket,
            searched.bracket.lower_trial,
        )

    def next_confirming(
        self, made: Sequence[Trial], rounds: Sequence[Round], *, alone: bool
    ) -> Load | None:
        """As `confirmation` says."""
        return self._confirming(made, rounds).next(alone=alone)

    def confirmed(
        self, made: Sequence[Trial], rounds: Sequence[Round]
    ) -> Callable[[float], Confirmation]:
        """Return the figures of the trials after the last round."""
        confirmed = self._confirming(made, rounds)
        return lambda wall_s: Confirmation(
            rate=confirmed.rate,
            loss_ratio=confirmed.loss_ratio,
            holds=confirmed.objection() is None,
            traffic_s=sum(trial.traffic_s for trial in made),
            wall_s=wall_s,
            trials=tuple(made),
        )

    def objection(self, made: Sequence[Trial], rounds: Sequence[Round]) -> SearchError | None:
        """Return why the trials do not confirm the result, or the rounds have none."""
        confirming = self._confirming(made, rounds)
        return confirming.objection() or confirming.apart()

    def _confirming(self, made: Sequence[Trial], rounds: Sequence[Round]) -> Confirming:
        return Confirming(self.procedure, rounds, made, self.capacity)
