"""Burst: clients that all begin at once, and how long it takes until all are served."""

from __future__ import annotations

from collections.abc import Sequence

from leaselab.measure.ports import Ask, Server
from leaselab.measure.procedures.method import Found, Method, is_to_repeat, none_counts
from leaselab.model.procedures.burst import RESENT, Burst
from leaselab.model.record import Round
from leaselab.model.trial import Load, Trial

WARM_UP_RATE = 200
"""Offered load of the warm-up (transactions/s): low enough for any server, since a burst
names no rate that this one serves."""


class AllAtOnce(Method[Burst]):
    """One burst a round, on a server that was reset."""

    def first_load(self, earlier: Sequence[Round]) -> int:
        """A rate of the warm-up (transactions/s)."""
        return min(WARM_UP_RATE, self.procedure.clients)

    def measure(self, ask: Ask, server: Server, earlier: Sequence[Round]) -> Found:
        """Let them begin; a burst that a stall of the generator spoiled is made again.

        Raises an invalid-measurement error where none of the round counts.
        """
        load = Load(0, self.procedure.limit_s, at_once=self.procedure.clients)
        made = [ask(load, may_abort=False)]
        while is_to_repeat(made):
            made.append(ask(load, may_abort=False))
        trial = made[-1]
        if not trial.valid:
            raise none_counts(made, load.words)
        return Found(figures(trial), shown_trial=len(made) - 1)


def figures(trial: Trial) -> dict[str, float | None]:
    """What a valid burst comes to, by the metrics' names.

    There is no time until all are served where some were not, and no rate then.
    """
    served_s = trial.traffic_s if trial.completed == trial.at_once else None
    resent = trial.figures.get(RESENT)
    return {
        "served_s": served_s,
        RESENT: resent,
        "resent_ratio": None if resent is None else resent / trial.at_once,
        "served_ratio": trial.completed / trial.at_once,
        "served_rate": trial.completed / served_s if served_s else None,
    }
