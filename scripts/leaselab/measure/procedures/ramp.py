"""Ramp: steps of offered load, and how long it takes in each until the server has settled."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from leaselab.measure.generators.adapter import GENERATOR_STALLED
from leaselab.measure.ports import Ask, Server
from leaselab.measure.procedures.method import CLIENTS_PER_ATTEMPT, Found, Method, none_counts
from leaselab.model.procedure import of_step
from leaselab.model.procedures.ramp import (
    ATTEMPTS,
    COMPLETED,
    LOSS,
    P99,
    SETTLED,
    SETTLED_FOR_S,
    Ramp,
)
from leaselab.model.record import Round
from leaselab.model.trial import Load, Trial, completed_rate_of, loss_ratio_of

NEAR = 0.1
"""How far a settled second's completed rate may be from what the step ends with (ratio)."""


class Steps(Method[Ramp]):
    """Each step once, on a server that keeps what the steps before have left in it."""

    unbroken = True

    def first_load(self, earlier: Sequence[Round]) -> int:
        """The load of the first step (transactions/s)."""
        return self.procedure.rates[0]

    def measure(self, ask: Ask, server: Server, earlier: Sequence[Round]) -> Found:
        """Offer the steps, each with other clients.

        A step that a stall of the generator spoiled is not made again alone: the server has
        been loaded by it, and would be found warmer.  So the server is reset, and the ramp
        is repeated, at most `ATTEMPTS` times in all.  Where a step does not count in the end,
        neither it nor the whole ramp of the round has figures.  Raises an invalid-measurement
        error where no step counts.
        """
        made = list[Trial]()
        for attempt in range(1, ATTEMPTS + 1):
            steps = self._steps(ask, len(made), to_the_end=attempt == ATTEMPTS)
            made += steps
            if not spoiled(steps) or attempt == ATTEMPTS:
                break
            if not self.procedure.keeps:
                server.reset()
        if not any(trial.valid for trial in steps):
            raise none_counts(steps, f"ramp of {self.procedure.steps_words}")
        metrics = whole(steps) if all(trial.valid for trial in steps) else {}
        for number, trial in enumerate(steps, start=1):
            if trial.valid:
                metrics |= {of_step(name, number): one for name, one in step(trial).items()}
        first = len(made) - len(steps)
        shown = max(place for place, trial in enumerate(steps, first) if trial.valid)
        return Found(metrics, shown_trial=shown)

    def _steps(self, ask: Ask, made: int, *, to_the_end: bool) -> list[Trial]:
        """Make the steps once; a stall ends it early, unless it is `to_the_end`.

        `made` is how many trials of the round were made before, whose clients are others.
        """
        procedure, steps = self.procedure, list[Trial]()
        client = CLIENTS_PER_ATTEMPT * made * max(procedure.rates) * procedure.step_s
        for rate in procedure.rates:
            load = Load(rate, procedure.step_s, client)
            last = len(steps) + 1 == len(procedure.rates)
            steps.append(ask(load, may_abort=False, reset=last))
            client += CLIENTS_PER_ATTEMPT * rate * procedure.step_s
            if spoiled(steps) and not to_the_end:
                break
        return steps


def spoiled(steps: Sequence[Trial]) -> bool:
    """Whether a stall of the generator spoiled one of the steps."""
    return any(trial.reason == GENERATOR_STALLED for trial in steps)


def step(trial: Trial) -> dict[str, float | None]:
    """What a valid step comes to, by the metrics' names."""
    latency = trial.whole
    return {
        COMPLETED: trial.completed_rate,
        LOSS: trial.loss_ratio,
        P99: latency.p99 if latency else None,
        SETTLED: settled_s(trial),
    }


def whole(trials: Sequence[Trial]) -> dict[str, float | None]:
    """What the steps come to together; the latency is that of the slowest step.

    Percentiles of trials cannot be joined; the time until they settled is added up.
    """
    steps = [step(trial) for trial in trials]
    slowest = [p99_s for one in steps if (p99_s := one[P99]) is not None]
    times = [one[SETTLED] for one in steps]
    known = [time for time in times if time is not None]
    return {
        COMPLETED: completed_rate_of(trials),
        LOSS: loss_ratio_of(trials),
        P99: max(slowest, default=None),
        SETTLED: sum(known) if len(known) == len(times) else None,
    }


def settled_s(trial: Trial) -> float | None:
    """Time from the step's start until its completed rate is what it ends with (s).

    That is the median of the last third of its seconds.  From the returned time on, the
    rate stays within `NEAR` of it for `SETTLED_FOR_S` seconds in a row.  None where it never
    does, or where nothing was completed.
    """
    counts = [second.completed for second in trial.per_second]
    last = counts[-(len(counts) // 3) :] if len(counts) >= SETTLED_FOR_S else []
    level = statistics.median(last) if last else 0.0
    if not level:
        return None
    near = [abs(count / level - 1.0) <= NEAR for count in counts]
    for place in range(len(near) - SETTLED_FOR_S + 1):
        if all(near[place : place + SETTLED_FOR_S]):
            return trial.per_second[place].t
    return None
