"""Replay: recorded arrivals in one load, and what came of each of its minutes."""

from __future__ import annotations

from collections.abc import Sequence

from leaselab.measure.ports import Ask, Server
from leaselab.measure.procedures.method import Found, Method, none_counts
from leaselab.model.errors import invalid_measurement
from leaselab.model.procedures.replay import KEPT, WORST_LOSS, WORST_P99, Replay
from leaselab.model.record import Round
from leaselab.model.trial import Trial


class Replayed(Method[Replay]):
    """One load a round, which is not repeated: it may take hours."""

    def first_load(self, earlier: Sequence[Round]) -> int:
        """The mean load (transactions/s)."""
        return self.procedure.load.rate

    def measure(self, ask: Ask, server: Server, earlier: Sequence[Round]) -> Found:
        """Offer it to the end; raises an invalid-measurement error where it does not count."""
        trial = ask(self.procedure.load, may_abort=False)
        if not trial.valid:
            raise none_counts([trial], self.procedure.load.words)
        if not any(part.attempted for part in trial.parts):
            raise invalid_measurement(
                "nothing was begun",
                where=self.procedure.load.words,
                wanted="clients that come",
                todo="see the trial's raw output: has no client a lease to renew?",
            )
        return Found(figures(trial, self.procedure.loss_ratio), shown_trial=0)


def figures(trial: Trial, loss_ratio: float) -> dict[str, float | None]:
    """What a valid replay comes to, by the metrics' names.

    A minute is kept up with where at most `loss_ratio` of what began in it failed.  Minutes
    without arrivals count for nothing.
    """
    latency = trial.whole
    parts = [part for part in trial.parts if part.attempted]
    slowest = [part.p99_s for part in parts if part.p99_s is not None]
    return {
        KEPT: sum(part.loss_ratio <= loss_ratio for part in parts) / len(parts),
        WORST_LOSS: max(part.loss_ratio for part in parts),
        WORST_P99: max(slowest, default=None),
        "loss_ratio": trial.loss_ratio,
        "p99_s": latency.p99 if latency else None,
        "completed_rate": trial.completed_rate,
    }
