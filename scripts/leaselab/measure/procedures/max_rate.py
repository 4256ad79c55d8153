"""Max rate: a search in each round, and a confirmation of what all rounds found."""

from __future__ import annotations

from collections.abc import Sequence

from leaselab.measure.ports import Ask, Server
from leaselab.measure.procedures.confirmation import Confirming, max_rates
from leaselab.measure.procedures.method import Found, Method
from leaselab.measure.search import search
from leaselab.model.procedures.max_rate import MaxRate
from leaselab.model.record import Round


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

    def confirming(self, rounds: Sequence[Round], *, alone: bool) -> Confirming:
        """As `confirmation` says."""
        return Confirming(self.procedure, rounds, (), self.capacity, alone)
