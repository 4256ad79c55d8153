"""Fixed load: one rate for seconds to hours, and how latency and memory drift under it."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from leaselab.measure.generators.adapter import GENERATOR_STALLED
from leaselab.measure.ports import Ask, Server
from leaselab.measure.procedures.method import (
    CLIENTS_PER_ATTEMPT,
    Found,
    OneLoadMethod,
    none_counts,
)
from leaselab.measure.server_use import memory_drift
from leaselab.model.procedure import STALLED_LIMIT
from leaselab.model.procedures.fixed_load import FixedLoad
from leaselab.model.record import Round
from leaselab.model.trial import Load, Trial, completed_rate_of, loss_ratio_of


class Steady(OneLoadMethod[FixedLoad]):
    """One load, in trials one after the other, between which nothing is reset."""

    def measure(self, ask: Ask, server: Server, earlier: Sequence[Round]) -> Found:
        """Offer the load for its time; what a stall of the generator spoiled is made again.

        The last of several trials is not, as the server is reset after it.
        Raises an invalid-measurement error where no trial of the round counts.
        """
        left_s, client, made, stalled = self.procedure.duration_s, 0, list[Trial](), 0
        while left_s > 0:
            seconds = min(left_s, self.procedure.trial_s)
            load = Load(self.rate, seconds, client)
            # The last trial alone may be reset: the round is over then.
            is_last = seconds == left_s
            made.append(ask(load, may_abort=False, reset=is_last))
            client += CLIENTS_PER_ATTEMPT * self.rate * seconds
            is_stalled = made[-1].reason == GENERATOR_STALLED
            stalled += is_stalled
            # After several trials the server is another one than after a reset.
            is_after_others = is_last and seconds < self.procedure.duration_s
            if not is_stalled or is_after_others or stalled > STALLED_LIMIT:
                left_s -= seconds
        counted = [trial for trial in made if trial.valid]
        if not counted:
            raise none_counts(made, f"fixed load of {self.rate}/s")
        return Found(figures(counted), shown_trial=made.index(counted[-1]))


def figures(trials: Sequence[Trial]) -> dict[str, float | None]:
    """What valid trials of one load come to, by the metrics' names.

    Percentiles are the median over the trials, as each knows only its own.
    """
    whole = [trial.whole for trial in trials if trial.whole]
    return {
        "p99_s": statistics.median(one.p99 for one in whole) if whole else None,
        "p50_s": statistics.median(one.p50 for one in whole) if whole else None,
        "loss_ratio": loss_ratio_of(trials),
        "completed_rate": completed_rate_of(trials),
        "latency_drift": latency_drift(trials),
        "memory_drift": memory_drift(trials),
    }


def latency_drift(trials: Sequence[Trial]) -> float | None:
    """Median latency of the last third of the seconds over that of the first, less 1 (ratio).

    None with fewer than three seconds that have one.
    """
    medians = [
        second.p50_s
        for trial in trials
        for second in trial.per_second
        if second.p50_s is not None
    ]
    third = len(medians) // 3
    if not third:
        return None
    first, last = statistics.median(medians[:third]), statistics.median(medians[-third:])
    return last / first - 1.0 if first else None
