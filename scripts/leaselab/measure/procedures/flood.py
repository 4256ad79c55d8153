"""Flood: as much as the generator can offer, and how fast it is answered."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from leaselab.measure.generators.adapter import GENERATOR_STALLED
from leaselab.measure.ports import Ask, Server
from leaselab.measure.procedures.fixed_load import figures
from leaselab.measure.procedures.method import Found, Method, none_counts
from leaselab.model.procedure import STALLED_LIMIT
from leaselab.model.procedures.flood import DROPPED, Flood
from leaselab.model.record import Round
from leaselab.model.trial import Load, Trial

WARM_UP_RATE = 200
"""Offered load of the warm-up (transactions/s), unless one is asked for: the first flood of a
round is what warms the server up."""


class Floods(Method[Flood]):
    """Floods one after the other, between which nothing is reset."""

    unbroken = True

    def first_load(self, earlier: Sequence[Round]) -> int:
        """A rate of the warm-up (transactions/s)."""
        return WARM_UP_RATE

    def measure(self, ask: Ask, server: Server, earlier: Sequence[Round]) -> Found:
        """Let them go; the first ones are dropped, and what a stall spoiled is made again.

        Raises an invalid-measurement error where fewer than two of the others count.
        """
        procedure, made, stalled = self.procedure, list[Trial](), 0
        load = Load(0, procedure.flood_s, flood=True)
        while len(made) - min(stalled, STALLED_LIMIT) < procedure.floods:
            made.append(ask(load, may_abort=False, reset=False))
            stalled += made[-1].reason == GENERATOR_STALLED
        counted = [trial for trial in made[DROPPED:] if trial.valid]
        if len(counted) < 2:
            raise none_counts(made, load.words)
        rates = [trial.completed_rate for trial in counted]
        mean = statistics.fmean(rates)
        alike = figures(counted)
        return Found(
            {
                "flood_rate": mean,
                "flood_spread": statistics.stdev(rates) / mean if mean else None,
                "loss_ratio": alike["loss_ratio"],
                "p99_s": alike["p99_s"],
                "p50_s": alike["p50_s"],
            },
            shown_trial=made.index(counted[-1]),
        )
